"""The differentiation engine: graphs and what can be done to them.

graph and primitives: nodes and the table of operations. functions: the constructors of nodes.
evaluate: what a graph means. plan, taylor, reverse: derivatives. residual: the programs of a solve.
rewrite, cost, verify: fewer operations, counted and checked. export: graphs as data.
"""
