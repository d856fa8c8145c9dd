"""Drawings: valid files with every node in them, boxes that do not overlap, tables that add up."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.draw import CHARACTER, COLOURS, layout, passes, to_dot, to_html, to_svg
from pinnsolve.diff.graph import Graph
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.profile import profile
from pinnsolve.diff.residual import PROGRAMS
from tests.devices.gallery import case

X = ops.input_points("x", 3)
WEIGHT = Parameter((3, 8), lambda rng, shape: rng.normal(size=shape), name="weight")
SMALL = Graph({"u & v": ops.tanh(X @ WEIGHT.node), "n<0": ops.sum_points(ops.less(X, 0.0) * X)})


def program(name):
    problem = case("burgers")
    nodes = [p.node for p in problem.layout.parameters]
    return PROGRAMS[name](problem.blocks[0].residuals, nodes)


def drawing(graph):
    """The SVG as a tree: tag -> elements, in order."""
    root = ElementTree.fromstring(to_svg(graph))
    found = {}
    for element in root.iter():
        found.setdefault(element.tag.split("}")[1], []).append(element)
    return found


def test_every_node_and_edge_is_drawn():
    graph = program("gradient")
    found = drawing(graph)
    assert len(found["rect"]) == len(graph.nodes())
    assert len(found["path"]) == sum(len(node.args) for node in graph.nodes())
    assert sum(r.get("class") == "output" for r in found["rect"]) == len(graph.outputs)


def test_a_box_says_what_a_node_is():
    """Typed text, with the whole line and the cost where the mouse is."""
    found = drawing(SMALL)
    texts = [t.text for t in found["text"]]
    assert "%3 tanh" in texts
    assert "[n, 8] = u & v" in texts
    assert "%1 parameter weight" in texts
    titles = [t.text for t in found["title"]]
    assert "%3: [n, 8] = tanh %2\n160 operations at each point, 64 bytes at each point" in titles
    assert any(t.endswith("sum_points %6\n3 operations at each point, 24 bytes") for t in titles)


def test_the_colour_is_the_kind():
    assert set(COLOURS) == {row.kind for row in PRIMITIVES.values()}
    fills = [rect.get("fill") for rect in drawing(SMALL)["rect"]]
    kinds = [PRIMITIVES[node.primitive].kind for node in SMALL.nodes()]
    assert fills == [COLOURS[kind] for kind in kinds]


@pytest.mark.parametrize("name", ["residuals", "jacobian"])
def test_boxes_do_not_overlap_and_hold_their_text(name):
    found = drawing(program(name))
    rows = {}
    for rect in found["rect"]:
        x, y, width = (float(rect.get(key)) for key in ("x", "y", "width"))
        rows.setdefault(y, []).append((x, x + width))
    for boxes in rows.values():
        assert all(left[1] < right[0] for left, right in pairwise(sorted(boxes)))
    heights = sorted(rows)
    tall = float(found["rect"][0].get("height"))
    assert all(upper + tall < lower for upper, lower in pairwise(heights))
    widths = [float(rect.get("width")) for rect in found["rect"] for _ in range(2)]
    for text, width in zip(found["text"], widths, strict=True):
        assert CHARACTER * len(text.text) < width
    page = found["svg"][0]
    assert max(box[1] for boxes in rows.values() for box in boxes) < float(page.get("width"))
    assert heights[-1] + tall < float(page.get("height"))


def test_arguments_are_above_their_users():
    graph = program("tangent")
    found = layout(graph, dict.fromkeys(graph.nodes(), 10.0))
    level = {node: k for k, layer in enumerate(found.layers) for node in layer}
    assert all(level[a] < level[node] for node in graph.nodes() for a in node.args)
    leaves = [n for n in graph.nodes() if not n.args]
    users = {n: [level[u] for u in graph.nodes() if n in set(u.args)] for n in leaves}
    assert all(level[n] == min(users[n]) - 1 for n in leaves)


def test_a_page_shows_the_graph_before_and_after_each_pass():
    stages = passes(program("gradient"))
    names = [name for name, _ in stages]
    assert names[0] == "as built"
    assert names[-1] == "merge sums of contractions"
    page = to_html(stages)
    assert page.count("<svg") == len(stages)
    assert all(f">{name}</h2>" in page for name in names)
    for _, graph in stages:
        assert f"<td>{cost(graph).flops_per_point:,}<td>" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)  # nothing is fetched
    assert to_html(stages[0][1]).count("<svg") == 1


def test_the_insides_of_programs_are_drawn_too():
    from pinnsolve.diff import scan

    loop = scan(lambda c, _: (ops.tanh(c) * 2, None), X, length=3)[0]
    page = to_html(Graph({"y": ops.sin(loop)}))
    assert re.search(r"graph, inside %\d+ scan</h2>", page)
    assert page.count("<svg") == 2
    assert page.count(" tanh</text>") == 1


def test_dot_text():
    lines = to_dot(SMALL).split("\n")
    nodes = [line for line in lines if re.match(r"  n\d+ \[label=", line)]
    edges = [line for line in lines if re.fullmatch(r"  n\d+ -> n\d+", line)]
    assert len(nodes) == len(SMALL.nodes())
    assert len(edges) == sum(len(node.args) for node in SMALL.nodes())
    assert sum("penwidth" in line for line in nodes) == 2
    assert lines[0] == "digraph {"
    assert lines[-1] == "}"
    quoted = to_dot(Graph({'a "b" \\': X}))
    assert r'"%0 input x\n[n, 3] = a \"b\" \\"' in quoted


# --- profile ---------------------------------------------------------------------------------


def test_a_profile_adds_up():
    x = np.linspace(-1, 1, 30).reshape(10, 3)
    graph = Graph({"y": ops.sum_points(ops.sin(ops.sin(X) + 1)), "w": 2 * WEIGHT.node})
    found = profile(graph, {"x": x, WEIGHT: np.ones((3, 8))}, repeats=2)
    lines = {line.primitive: line for line in found.lines}
    assert {name: line.calls for name, line in lines.items()} == {
        "sin": 2, "add": 1, "sum_points": 1, "scale": 1,
    }  # fmt: skip
    assert lines["sin"].operations == 2 * 20 * 30
    assert lines["sin"].bytes_written == 2 * 8 * 30
    assert lines["sum_points"].operations == 30
    assert lines["sum_points"].bytes_written == 8 * 3
    assert lines["scale"].operations == 24
    assert found.run_seconds == pytest.approx(sum(line.seconds for line in found.lines))
    assert [line.seconds for line in found.lines] == sorted(
        (line.seconds for line in found.lines), reverse=True
    )
    assert found.compile_seconds > 0
    rows = str(found).split("\n")
    assert rows[0].startswith("compile ")
    assert len(rows) == 2 + len(found.lines)
    shares = [float(row.split()[3].rstrip("%")) for row in rows[2:]]
    assert sum(shares) == pytest.approx(100, abs=0.3)


def test_a_profile_of_stacks():
    """Blocks are not points."""
    found = profile(Graph({"y": ops.sin(ops.stack([X, 2 * X]))}), {"x": np.ones((4, 3))})
    lines = {line.primitive: line for line in found.lines}
    assert lines["sin"].operations == 2 * 3 * 20 * 4
    assert lines["scale"].operations == 3 * 4
