"""Drawings of graphs: DOT text for graphviz, and one HTML file that needs nothing else.

In the HTML every section is a layered drawing: arguments above their users, the colour says the
kind of operation, the tooltip the typed text of :func:`pinnsolve.diff.graph.show` and the cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from pinnsolve.diff.cost import Cost, cost, flops, is_free, over_points, own_bytes
from pinnsolve.diff.graph import Graph, Node, show
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.rewrite import stages

COLOURS = {
    "leaf": "#e8e8e8",
    "elementwise": "#ffd8a8",
    "linear": "#d0ebff",
    "bilinear": "#b2f2bb",
    "mask": "#eebefa",
    "choice": "#ffc9c9",
    "program": "#fff3bf",
}
LONGEST = 30  # characters of a line in a box; the tooltip has the rest
CHARACTER, LINE, GAP, BETWEEN = 7.3, 15, 14, 40  # pixels: of text, and between boxes and layers


def passes(graph: Graph) -> list[tuple[str, Graph]]:
    """The graph as built, and after each pass of :mod:`pinnsolve.diff.rewrite` that changes it."""
    return [("as built", graph), *stages(graph)]


# --- text in boxes ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """A node as it is drawn: two lines of text, the full text, and what it takes."""

    lines: tuple[str, str]
    tooltip: str
    colour: str
    is_output: bool


def _boxes(graph: Graph) -> dict[Node, Box]:
    order = graph.nodes()
    texts = show(graph.outputs).split("\n")
    names: dict[Node, list[str]] = {}
    for name, node in graph.outputs.items():
        names.setdefault(node, []).append(name)
    found = {}
    for k, (node, text) in enumerate(zip(order, texts, strict=False)):
        attributes = " ".join(str(getattr(a, "name", a)) for a in node.attributes)
        value = f"{node.shape}" + "".join(f" = {name}" for name in names.get(node, ()))
        lines = _short(f"%{k} {node.primitive} {attributes}".rstrip()), _short(value)
        kind = PRIMITIVES[node.primitive].kind
        found[node] = Box(lines, f"{text}\n{_price(node)}", COLOURS[kind], node in names)
    return found


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _price(node: Node) -> str:
    """What a node takes, in words."""
    if is_free(node):
        return "no work"
    work, memory = (
        " at each point" if at_points else "" for at_points in (over_points(node), node.points)
    )
    return f"{flops(node):,} operations{work}, {own_bytes(node):,} bytes{memory}"


# --- DOT -------------------------------------------------------------------------------------


def to_dot(graph: Graph) -> str:
    """The graph in the language of graphviz.

    >>> from pinnsolve.diff import functions as ops
    >>> print(to_dot(Graph({"y": ops.tanh(ops.input_points("x", 2))})))
    digraph {
      node [shape=box, style=filled, fontname=monospace]
      n0 [label="%0 input x\\n[n, 2]", fillcolor="#e8e8e8", tooltip="%0: [n, 2] = input x\\nno work"]
      n1 [label="%1 tanh\\n[n, 2] = y", fillcolor="#ffd8a8", tooltip="%1: [n, 2] = tanh %0\\n40 operations at each point, 16 bytes at each point", penwidth=3]
      n0 -> n1
    }
    """  # noqa: E501
    boxes = _boxes(graph)
    number = {node: k for k, node in enumerate(boxes)}
    lines = ["digraph {", "  node [shape=box, style=filled, fontname=monospace]"]
    for node, box in boxes.items():
        label = _quoted("\n".join(box.lines))
        text = f'label={label}, fillcolor="{box.colour}", tooltip={_quoted(box.tooltip)}'
        lines.append(f"  n{number[node]} [{text}{', penwidth=3' if box.is_output else ''}]")
        lines += [f"  n{number[argument]} -> n{number[node]}" for argument in node.args]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


# --- layout ----------------------------------------------------------------------------------


@dataclass
class Layout:
    """Layers of nodes from top to bottom, the centre of each node, and the widths of boxes."""

    layers: list[list[Node]]
    x: dict[Node, float]
    width: dict[Node, float]

    def y(self, layer: int) -> float:
        return GAP + layer * (self.height + BETWEEN)

    height = 2 * LINE + 8


def layout(graph: Graph, width: dict[Node, float]) -> Layout:
    """Every node below all of its arguments, near what it is joined with; boxes of one layer do
    not overlap (the layers of Sugiyama et al. 1981, without its placement of edges)."""
    order = graph.nodes()
    users: dict[Node, list[Node]] = {node: [] for node in order}
    for node in order:
        for argument in node.args:
            users[argument].append(node)
    level: dict[Node, int] = {}
    for node in order:
        level[node] = 1 + max((level[argument] for argument in node.args), default=-1)
    for node in order:  # leaves go down to their first user
        if not node.args and users[node]:
            level[node] = min(level[user] for user in users[node]) - 1
    layers: list[list[Node]] = [[] for _ in range(1 + max(level.values(), default=0))]
    for node in order:
        layers[level[node]].append(node)
    found = Layout(layers, {}, width)
    for layer in layers:
        _place(found, layer, dict.fromkeys(layer, 0.0))
    for _ in range(8):
        for downwards in (True, False):
            for layer in layers if downwards else reversed(layers):
                wanted = {
                    node: _mean(found.x, node, node.args if downwards else users[node])
                    for node in layer
                }
                _place(found, sorted(layer, key=wanted.__getitem__), wanted)
    left = min((found.x[n] - width[n] / 2 for n in order), default=0.0)
    found.x = {node: x - left + GAP for node, x in found.x.items()}
    return found


def _mean(x: dict[Node, float], node: Node, others: Sequence[Node]) -> float:
    return sum(x[other] for other in others) / len(others) if others else x[node]


def _place(found: Layout, layer: list[Node], wanted: dict[Node, float]) -> None:
    """In this order as near as possible to where they should be: pushed to the right where they
    would overlap, then all moved back by as much on average."""
    edge = -float("inf")
    for node in layer:
        half = found.width[node] / 2
        found.x[node] = max(wanted[node], edge + half)
        edge = found.x[node] + half + GAP
    shift = sum(wanted[node] - found.x[node] for node in layer) / max(1, len(layer))
    for node in layer:
        found.x[node] += shift


# --- HTML ------------------------------------------------------------------------------------

STYLE = """
body { font: 14px sans-serif; margin: 24px; }
table { border-collapse: collapse; } td, th { padding: 2px 12px; text-align: right; }
td:first-child, th:first-child { text-align: left; }
.drawing { overflow: auto; max-height: 90vh; border: 1px solid #ccc; }
text { font: 12px monospace; text-anchor: middle; }
path { fill: none; stroke: #888; } rect { stroke: #666; } .output { stroke-width: 3; }
"""


def to_html(graphs: Graph | Iterable[tuple[str, Graph]]) -> str:
    """A page with a drawing of each graph and a table of what they cost; :func:`passes` gives the
    graphs before and after each pass.

    >>> from pinnsolve.diff import functions as ops
    >>> x = ops.input_points("x", 2)
    >>> page = to_html(passes(Graph({"y": ops.sum_points(3.0 * x)})))
    >>> page.count("<svg"), "simplify by rules" in page
    (2, True)
    """
    given = [("graph", graphs)] if isinstance(graphs, Graph) else list(graphs)
    named = [part for name, graph in given for part in _with_bodies(name, graph)]
    rows = [_row(k, name, cost(graph)) for k, (name, graph) in enumerate(named)]
    legend = " ".join(
        f'<span style="background:{colour}">&nbsp;{kind}&nbsp;</span>'
        for kind, colour in COLOURS.items()
    )
    sections = [
        f'<h2 id="g{k}">{escape(name)}</h2><div class="drawing">{to_svg(graph)}</div>'
        for k, (name, graph) in enumerate(named)
    ]
    head = "<th>".join(["graph", "nodes", "operations at a point", "operations once",
                        "bytes at a point", "live bytes at a point"])  # fmt: skip
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>graph</title>'
        f"<style>{STYLE}</style></head><body><table><tr><th>{head}</tr>{''.join(rows)}</table>"
        f"<p>{legend}</p>{''.join(sections)}</body></html>\n"
    )


def _with_bodies(name: str, graph: Graph) -> Iterator[tuple[str, Graph]]:
    """A graph, and the graphs inside its programs."""
    yield name, graph
    for k, node in enumerate(graph.nodes()):
        for body in node.attributes[0].bodies if node.primitive == "program" else ():
            results = {f"result {j}": output for j, output in enumerate(body.outputs)}
            yield from _with_bodies(f"{name}, inside %{k} {node.attributes[0]}", Graph(results))


def _row(k: int, name: str, price: Cost) -> str:
    numbers = (price.nodes, price.flops_per_point, price.uniform_flops, price.bytes_per_point,
               price.live_per_point)  # fmt: skip
    cells = "".join(f"<td>{number:,}" for number in numbers)
    return f'<tr><td><a href="#g{k}">{escape(name)}</a>{cells}</tr>'


def to_svg(graph: Graph) -> str:
    """The drawing of one graph."""
    boxes = _boxes(graph)
    width = {n: CHARACTER * max(map(len, box.lines)) + 12 for n, box in boxes.items()}
    found = layout(graph, width)
    y = {node: found.y(k) for k, layer in enumerate(found.layers) for node in layer}
    parts = [
        _edge(found.x[a], y[a] + found.height, found.x[node], y[node])
        for node in boxes
        for a in node.args
    ]
    parts += [_box(box, found.x[n], y[n], width[n], found.height) for n, box in boxes.items()]
    right = max((found.x[n] + width[n] / 2 for n in boxes), default=0) + GAP
    size = f'width="{right:.0f}" height="{found.y(len(found.layers)):.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def _edge(x0: float, y0: float, x1: float, y1: float) -> str:
    bend = (y1 - y0) / 2
    return (
        f'<path d="M{x0:.0f} {y0:.0f}C{x0:.0f} {y0 + bend:.0f} '
        f'{x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1:.0f}"/>'
    )


def _box(box: Box, x: float, y: float, width: float, height: float) -> str:
    lines = "".join(
        f'<text x="{x:.1f}" y="{y + LINE * (k + 1):.1f}">{escape(line)}</text>'
        for k, line in enumerate(box.lines)
    )
    mark = ' class="output"' if box.is_output else ""
    return (
        f"<g><title>{escape(box.tooltip)}</title>"
        f'<rect{mark} x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" '
        f'rx="4" fill="{box.colour}"/>{lines}</g>'
    )
