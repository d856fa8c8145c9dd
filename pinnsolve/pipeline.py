"""The straight line from a problem to an executable, one call per arrow.

problem = declare(...)            sympy, checked
system = normalize(problem)       scalar residuals in derivatives at places
system, model = approximate(...)  networks that stand for the fields; what they fulfil left out
plans = plan(system, model)       which derivatives each sweep carries
blocks = build(system, plans, model)      residual graphs
executable = device.compile(blocks, layout)    device code
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from pinnsolve.devices.base import AbstractDevice, AbstractExecutable, ResidualBlock
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import Node, Shape, substitute, topological
from pinnsolve.diff.parameters import Array, Layout, Parameter, initialize
from pinnsolve.diff.plan import BlockPlan, plan_block
from pinnsolve.diff.residual import Approximator, residual_nodes
from pinnsolve.diff.schemes import block_schemes
from pinnsolve.errors import NetworkError, PinnsolveError
from pinnsolve.nets import Cell
from pinnsolve.nets.choice import Network, cells_of
from pinnsolve.nets.initializers import constant
from pinnsolve.pde.ansatz import Ansatz, Reasons, impose, refuse, with_positive
from pinnsolve.pde.columns import column_values
from pinnsolve.pde.compatibility import incompatible
from pinnsolve.pde.coordinates import is_log
from pinnsolve.pde.numeric import largest
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.scaling import Scaling, scaling_of, sized
from pinnsolve.pde.system import Block, Jet, Residual, System, normalize
from pinnsolve.pde.unknowns import LATENT, PREFIX, Unknown

EXACT = ("auto", "never", "require")
ROUNDING = 1e-12  # of a condition that holds by construction


@dataclass(frozen=True)
class Model:
    """Networks that stand for the fields, in forms that fulfil conditions, and the unknown numbers
    as nodes; all their parameters in one vector, in which those of the unknown numbers come last,
    named by `PREFIX` and its name."""

    approximators: tuple[Approximator, ...]
    layout: Layout
    text: str
    forms: tuple[Ansatz, ...] = ()
    unknowns: Mapping[Unknown, Node] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        return tuple(approximator.fields for approximator in self.approximators)


@dataclass(frozen=True)
class Pipeline:
    """All artefacts of the line, for looking at and for training.

    soft: name of each condition in the loss -> why it does not hold by construction.
    sizes: of fields and residuals, in words, where they are scaled by them.
    """

    problem: Problem
    system: System
    model: Model
    plans: tuple[BlockPlan, ...]
    blocks: tuple[ResidualBlock, ...]
    executable: AbstractExecutable
    soft: Reasons
    sizes: str = ""

    @property
    def exact(self) -> tuple[str, ...]:
        """The conditions that hold by construction."""
        return tuple(r.source for block in self.system.exact for r in block.residuals)

    @property
    def channels(self) -> str:
        """The channels of the sets that fill the domain, in a line."""
        names = [c.name for c in self.system.coordinates]
        return "; ".join(
            ", ".join(basis.names(names, group[0]))
            for block, plan in zip(self.system.blocks, self.plans, strict=True)
            if block.dimension == self.system.dimension
            for basis, group in zip(plan.bases[0], self.model.groups, strict=True)
            if basis is not None
        )

    def describe(self) -> str:
        """The plan in words: which channels each set of points carries, and what other schemes
        would carry."""
        names = [c.name for c in self.system.coordinates]
        groups = self.model.groups
        lines = [str(form) for form in self.model.forms]
        lines += [
            f"{', '.join(r.name for r in block.residuals)}\n  "
            + f"{plan.describe(names, groups)}\n{block_schemes(plan, groups)}".replace("\n", "\n  ")
            for block, plan in zip(self.system.blocks, self.plans, strict=True)
        ]
        lines += [f"exact: {source}" for source in self.exact]
        lines += [f"soft: {name}: {why}" for name, why in self.soft.items()]
        return "\n".join(lines)


def compile_problem(
    problem: Problem,
    network: Network,
    device: AbstractDevice,
    exact: str = "auto",
    weighed: Collection[str] = (),
    base: Sequence[Ansatz] = (),
    scaling: Scaling | None = None,
) -> Pipeline:
    """Everything up to the executable; arguments as for `approximate`. With a scaling, that of the
    problem by default, networks stand for fields over their sizes.

    Raises:
        ProblemError: with exact = "require", for a condition that cannot hold by construction.
    """
    scaling = scaling_of(problem) if scaling is None else scaling
    system = scaling.of(normalize(problem))
    sizes = scaling.fields if scaling.applied and not base else {}
    system, model, soft = approximate(system, network, exact, weighed, base, sizes)
    plans = plan(system, model)
    blocks = build(system, plans, model)
    executable = device.compile(blocks, model.layout)
    return Pipeline(problem, system, model, plans, blocks, executable, soft, scaling.text)


def approximate(
    system: System,
    network: Network,
    exact: str,
    weighed: Collection[str] = (),
    base: Sequence[Ansatz] = (),
    sizes: Mapping[str, float] = MappingProxyType({}),
) -> tuple[System, Model, Reasons]:
    """Networks for the fields; the system without the conditions that they fulfil by construction;
    and, for every other condition, why they do not. With exact = "auto" those that have a weight of
    their own are trained with it. `base` is what networks correct, if they do, and `sizes` what
    they are multiplied by: field -> number."""
    if exact not in EXACT:
        raise PinnsolveError(f"there is no exact={exact!r}; choose {', '.join(map(repr, EXACT))}")
    if exact == "never":
        network = cells_of(system, network, periodic=False)
        model = represent(system, network, sized(with_positive(system, upon(base, ())), sizes))
        return system, model, {r.name: 'exact="never"' for r in system.conditions}
    barred: Reasons = {}
    if exact == "auto":
        barred = incompatible(system) | dict.fromkeys(weighed, "it has a weight")
    barred |= {
        r.name: "it contains a number to be found"
        for r in system.conditions
        if r.expression.has(*system.unknowns)
    }
    while True:
        forms, soft = impose(system, barred)
        model = represent(system, network, sized(with_positive(system, upon(base, forms)), sizes))
        rest, broken = leave_out_exact(system, model)
        if not broken:
            break
        parts = "it does not hold for the known part" if base else "rounding errors are too large"
        barred |= dict.fromkeys(broken, parts)
    soft = {r.name: soft[r.name] for r in rest.conditions}
    if exact == "require":
        refuse(rest, soft)
    return rest, model, soft


def upon(base: Sequence[Ansatz], forms: Sequence[Ansatz]) -> tuple[Ansatz, ...]:
    """Known fields that fulfil the conditions of the forms instead of their lifts, where given."""
    if not base:
        return tuple(forms)
    asked = {form.field: form for form in forms}
    return tuple(
        replace(b, factor=b.factor * asked[b.field].factor, conditions=asked[b.field].conditions)
        if b.field in asked
        else b
        for b in base
    )


def represent(system: System, network: Network, forms: Sequence[Ansatz] = ()) -> Model:
    """The networks of `cells_of`, in these forms.

    Raises NetworkError as it does, and when an output is missing.
    """
    forms = with_positive(system, forms)
    cells = cells_of(system, network)
    named = {
        name if len(cells) == 1 else f"{group[0]}.{name}": parameter
        for group, cell in cells.items()
        for name, parameter in cell.named_parameters().items()
    }
    trained = {name: p for name, p in named.items() if p.requires_grad}
    approximators = tuple(
        _approximator(system, group, cell, forms) for group, cell in cells.items()
    )
    text = "; ".join(repr(cell).splitlines()[0] for cell in cells.values())
    latent = {u: Parameter((), constant(0.0), name=u.name) for u in system.unknowns}
    unknowns = {u: freeze(u.formula, {LATENT: p.node}) for u, p in latent.items()}
    trained |= {f"{PREFIX}{u.name}": p for u, p in latent.items()}
    model = Model(approximators, Layout.of(trained), text, tuple(forms), unknowns)
    check_smoothness(system, model)
    return model


def _approximator(
    system: System, group: tuple[str, ...], cell: Cell, forms: Sequence[Ansatz]
) -> Approximator:
    """The network behind the affine map of the domain to [-1, 1], in the form of each field; what
    is frozen is constant."""
    inputs = system.inputs(group[0])
    scaled = [is_log(system.coordinates[axis]) for axis in inputs]
    ends = np.array([system.ranges(group)[axis] for axis in inputs])
    ends[scaled] = np.log(ends[scaled])
    centre, factor = ends.mean(axis=1).tolist(), (2 / np.diff(ends)[:, 0]).tolist()

    frozen = [p for p in cell.parameters() if not p.requires_grad]
    initialize(frozen)
    fixed = {p.node: ops.constant(p.value) for p in frozen}
    # Training moves all values in float64; the network sees them as they are stored.
    trained = [p for p in cell.parameters() if p.requires_grad]
    fixed |= {p.node: ops.single(p.node) for p in trained if p.dtype == "float32"}

    def function(x: Node) -> Node:
        own = _columns(x, inputs, scaled)
        output = cell((own - ops.constant(centre)) * ops.constant(factor))
        output = substitute({"output": output}, fixed)["output"]
        return _formed(output, x, system, group, forms)

    output = function(ops.input_points("site0", system.dimension))
    if output.shape != Shape(1, (len(group),)):
        raise NetworkError(
            f"the network gives values of shape {output.shape}, but stands for "
            f"{len(group)} field(s): {', '.join(group)}"
        )
    return Approximator(group, function)


def _columns(x: Node, axes: Sequence[int], logarithms: Sequence[bool]) -> Node:
    """Some columns of x, or their logarithms."""
    if tuple(axes) == tuple(range(x.columns)) and not any(logarithms):
        return x
    columns = [ops.column(x, axis) for axis in axes]
    return ops.concatenate(
        [ops.log(c) if log else c for c, log in zip(columns, logarithms, strict=True)]
    )


def _formed(
    output: Node, x: Node, system: System, group: Sequence[str], forms: Sequence[Ansatz]
) -> Node:
    """lift + factor * output, or its exponential, of each field that has a form."""
    known = {form.field: form for form in forms}
    if output.dims != (*x.dims[:-1], len(group)) or not known.keys() & set(group):
        return output
    symbols = {c: ops.column(x, j) for j, c in enumerate(system.coordinates)}

    def at_points(value: Any) -> Node:
        node = freeze(value, symbols)
        return ops.widen(node if node.points else node * ops.ones(x), (*x.dims[:-1], 1))

    lifts = [at_points(known[f].lift if f in known else 0) for f in group]
    factors = [at_points(known[f].factor if f in known else 1) for f in group]
    inner = ops.concatenate(lifts) + ops.concatenate(factors) * output
    if not any(f in known and known[f].exponential for f in group):
        return inner
    columns = [ops.column(inner, j) for j in range(len(group))]
    return ops.concatenate(
        [
            ops.exp(c) if f in known and known[f].exponential else c
            for f, c in zip(group, columns, strict=True)
        ]
    )


KINKS = {"absolute", "sign", "floor", "less", "less_equal", "equal"}


def check_smoothness(system: System, model: Model) -> None:
    """Refuse a network with a kink where the equations differentiate twice or more."""
    for approximator in model.approximators:
        output = approximator.function(ops.input_points("site0", system.dimension))
        kinks = {node.primitive for node in topological([output])} & KINKS
        order, source = max(
            (sum(jet.orders), residual.source)
            for residual in system.residuals
            for jet in residual.expression.atoms(Jet)
            if jet.field in approximator.fields
        )
        if kinks and order >= 2:
            raise NetworkError(
                f"the network for {', '.join(approximator.fields)} has a kink (its activation is "
                f"built from {', '.join(sorted(kinks))}, as relu is) and no derivative of order "
                f"{order}, which {source} needs; use a smooth activation: tanh, sin or swish"
            )


def plan(system: System, model: Model) -> tuple[BlockPlan, ...]:
    return tuple(plan_block(block, system.dimension, model.groups) for block in system.blocks)


def build(system: System, plans: Sequence[BlockPlan], model: Model) -> tuple[ResidualBlock, ...]:
    return tuple(
        ResidualBlock(
            tuple(residual_nodes(system, block, plan, model.approximators, model.unknowns))
        )
        for block, plan in zip(system.blocks, plans, strict=True)
    )


def leave_out_exact(system: System, model: Model) -> tuple[System, list[str]]:
    """Take out the conditions that hold whatever the parameters are, to round-off at random ones;
    only those that relate two places, or that are in a form, are asked. Names of those in a form
    that do not hold come with it."""
    claimed = {name for form in model.forms for name in form.conditions}
    kept, exact, broken = [], [], []
    for block in system.blocks:
        asked = [r for r in block.residuals if len(block.sites) > 1 or r.name in claimed]
        asked = [r for r in asked if r.kind != "equation" and not r.expression.has(Unknown)]
        holding = _holding(replace(block, residuals=tuple(asked)), system, model) if asked else []
        broken += [r.name for r in asked if r not in holding and r.name in claimed]
        rest = tuple(r for r in block.residuals if r not in holding)
        kept += [replace(block, residuals=rest)] if rest else []
        exact += [replace(block, residuals=tuple(holding))] if holding else []
    return replace(system, blocks=tuple(kept), exact=tuple(exact)), broken


def _holding(block: Block, system: System, model: Model) -> list[Residual]:
    """The residuals of a block that vanish for random parameters."""
    alone = replace(system, blocks=(block,))
    points = site_points(block, alone, sample(block, alone, 16, 0))
    theta = model.layout.initialize(np.random.default_rng(0))
    leaves: dict[Any, Array] = {**model.layout.views(theta)}
    leaves |= {f"site{s}": x for s, x in enumerate(points)}
    if (columns := column_values(block, alone, points)) is not None:
        leaves["data"] = columns
    (residuals,) = (b.residuals for b in build(alone, plan(alone, model), model))
    at = {c.name: points[0][:, j] for j, c in enumerate(system.coordinates)}
    given = [r.expression.subs(dict.fromkeys(r.expression.atoms(Jet), 0)) for r in block.residuals]
    sizes = [largest(data, at) for data in given]
    return [
        residual
        for residual, value, size in zip(
            block.residuals, evaluate(residuals, leaves), sizes, strict=True
        )
        if np.abs(value).max() < ROUNDING * (residual.size + size)
    ]
