"""The text of matrix products: sums stay in registers, vectors lie along points, nothing is packed.

A product of a tile is small (tens to a few hundred features, a hundred points), so what a BLAS
does to feed large ones (copying panels) costs more than it saves. Here a block of features and a
vector of points, or a block of feature pairs, is summed in registers in one innermost loop, in the
vocabulary of all loops; sizes of blocks are text, how many there are is read at run time.
"""

from __future__ import annotations

from collections.abc import Iterator

from pinnsolve.devices.cpu.cells import Call, Cells, indented
from pinnsolve.devices.cpu.instructions import Product

FEATURES = 6, 5  # of a block of dot: each has a sum of a whole cache line of points
PAIRS = 3, 2  # features of either side of a block of contract, in sums of half a line
CHAINS = {1: 4, 2: 2}  # sums over every so many terms, where features alone are too few to overlap


def product_call(instruction: Product) -> Call:
    return _dot(instruction) if instruction.target is not None else _contract(instruction)


def block_sizes(count: int, sizes: tuple[int, int]) -> list[tuple[int, int]]:
    """(size, how many) of blocks that features are cut into: the larger size as often as leaves
    no rest to the smaller. Both are there even if one is not needed, so that most widths share a
    text; where there is always a rest, it is a block of its own.

    >>> block_sizes(50, (6, 5)), block_sizes(60, (6, 5)), block_sizes(13, (6, 5))
    ([(6, 5), (5, 4)], [(6, 10), (5, 0)], [(6, 2), (1, 1)])
    """
    large, small = sizes
    for many in range(count // large, -1, -1):
        if (count - many * large) % small == 0:
            return [(large, many), (small, (count - many * large) // small)]
    return [(large, count // large), (count % large, 1)]


def _starts(cells: Cells, sizes: list[tuple[int, int]]) -> Iterator[tuple[int, str, str]]:
    """(size, how many, first feature) of each kind of block."""
    first = 0
    for size, many in sizes:
        yield size, cells.number(many), cells.number(first)
        first += size * many


def _dot(instruction: Product) -> Call:
    """z[f] = sum_k x[k] W[k, f] over the points of all blocks; W[f, k] where it is transposed."""
    cells = Cells()
    node, left, target = instruction.node, instruction.left, instruction.target
    assert target is not None
    x, weight = node.args
    a, w = cells.place(left), cells.start("U", weight)
    c = cells.place(target, written=True)
    count = f"tile * {cells.number(max(1, x.points))}"
    inner, outer = cells.number(x.columns), cells.number(node.columns)
    row, column = ("1", inner) if node.attributes[0] else (outer, "1")
    lines = []
    for size, many, first in _starts(cells, block_sizes(node.columns, FEATURES)):
        chains = CHAINS.get(size, 1)
        sums = [[f"t{f}{q}" for q in range(chains)] for f in range(size)]
        whole, rest = divmod(x.columns, chains)

        def term(q: int, k: str, sums=sums) -> list[str]:
            """Term k is added to chain q of every feature."""
            return [
                f"x = load({left.space}, p{a} + ({k} + {q}) * q{a} + i)",
                *(f"{t[q]} += x * uniform(U, w + ({k} + {q}) * {row} + {f} * {column})"
                  for f, t in enumerate(sums)),
            ]  # fmt: skip

        body = [f"{t} = accumulator()" for chain in sums for t in chain]
        body.append(f"for k in range({cells.number(whole)}):")
        for q in range(chains):
            body += indented(term(q, f"k * {chains}"))
        if chains > 1:
            body.append(f"for k in perhaps({cells.number(rest)}):")
            body += indented(term(0, f"({cells.number(whole * chains)} + k)"))
        body += [
            f"store(S, z + {f} * q{c} + i, {' + '.join(f'{t}.value' for t in chain)})"
            for f, chain in enumerate(sums)
        ]
        lines += [
            f"for block in perhaps({many}):",
            f"    f = {first} + block * {size}",
            f"    w, z = {w} + f * {column}, p{c} + f * q{c}",
            f"    for i in points({count}):",
            *indented(indented(body)),
        ]
    return cells.call(lines)


def _contract(instruction: Product) -> Call:
    """G[g, h] += sum over points of x[g] y[h]."""
    cells = Cells()
    node, left, right = instruction.node, instruction.left, instruction.right
    assert right is not None
    a, b, c = cells.place(left), cells.place(right), cells.start("A", node)
    columns, count = cells.number(node.columns), f"tile * {cells.number(node.args[0].points or 1)}"
    across = list(_starts(cells, block_sizes(node.columns, PAIRS)))
    lines = []
    for height, many, first in _starts(cells, block_sizes(node.shape.rows, PAIRS)):
        body = [f"g = {first} + block * {height}", f"x = p{a} + g * q{a}"]
        for width, number, start in across:
            pairs = [(m, n, f"t{m}{n}") for m in range(height) for n in range(width)]
            inner = [
                f"h = {start} + other * {width}",
                f"y = p{b} + h * q{b}",
                *(f"{t} = accumulator()" for *_, t in pairs),
                f"for i in points({count}):",
                *(f"    x{m} = load({left.space}, x + {m} * q{a} + i)" for m in range(height)),
                *(f"    y{n} = load({right.space}, y + {n} * q{b} + i)" for n in range(width)),
                *(f"    {t} += x{m} * y{n}" for m, n, t in pairs),
                *(f"increase(A, {c} + (g + {m}) * {columns} + h + {n}, {t})" for m, n, t in pairs),
            ]
            body += [f"for other in perhaps({number}):", *indented(inner)]
        lines += [f"for block in perhaps({many}):", *indented(body)]
    return cells.call(lines, "pairs")
