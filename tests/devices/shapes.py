"""Residual blocks of shapes that the gallery does not have, each as (networks, (block, points))."""

import numpy as np

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.diff import functions as ops
from pinnsolve.diff.forward_laplacian import gradient_nodes, laplacian_node
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import Approximator, field_channels
from pinnsolve.nets import MLP, Dense
from tests.devices.gallery import hand_made

ACTIVATIONS = (ops.sin, ops.swish, ops.gelu, ops.sigmoid, ops.erf, ops.arctan)


def second_derivatives(net, dimension):
    """u, and u_x0x0 + u_x1: the value and one operator."""
    axis = [tuple(int(i == j) for i in range(dimension)) for j in range(dimension)]
    operator = {tuple(2 * k for k in axis[0]): 1, axis[-1]: 1}
    basis = close([operator], dimension)
    x = ops.input_points("site0", dimension)
    fields = tuple(map(str, range(net(x).columns)))
    found = field_channels(basis, Approximator(fields, net), x, {})
    return [(found[f][0], found[f][-1]) for f in fields]


def activations_block():
    nets = {a.__name__: MLP(2, 1, 6, 2, a) for a in ACTIVATIONS}
    x = ops.input_points("site0", 2)
    residuals = []
    for net in nets.values():
        ((u, operator),) = second_derivatives(net, 2)
        residuals.append(operator + u * ops.column(x, 0))
    return nets, hand_made(2, *residuals)


def five_dimensions_block():
    """Five inputs, six outputs from two networks of different widths."""
    first, second = MLP(5, 1, 7, 1, ops.sin), MLP(5, 5, 9, 2)
    ((u, operator),) = second_derivatives(first, 5)
    others = second_derivatives(second, 5)
    coupled = operator + u * others[0][0] - others[4][1] * others[3][0]
    return {"u": first, "v": second}, hand_made(5, coupled, others[2][1] + 0.5, u * u, count=21)


def narrow_block():
    """Fewer features than a matrix product is worth, and more outputs than features."""
    nets = {"narrow": MLP(2, 1, 3, 2), "outputs": MLP(2, 6, 4, 1)}
    pairs = [pair for net in nets.values() for pair in second_derivatives(net, 2)]
    return nets, hand_made(2, *(operator + u * u for u, operator in pairs), count=10)


def linear_block():
    """Rows of the Jacobian that no parameter moves, among others through side-by-side columns."""
    x = ops.input_points("site0", 2)
    nets = {"line": Dense(2, 1), "a": Dense(2, 1, ops.tanh), "b": Dense(2, 1), "c": Dense(4, 1)}
    features = ops.concatenate([nets["a"](x), x, nets["b"](x)])
    return nets, hand_made(2, nets["line"](x) - 1, nets["c"](features))


def point_block():
    """One residual at one point: no tile is ever full."""
    net = MLP(2, 1, 6, 1)
    return {"point": net}, hand_made(2, net(ops.input_points("site0", 2)) - 1, count=1)


def fixed_block():
    """Nothing to train: rows that no parameter moves."""
    x = ops.input_points("site0", 2)
    values = (ops.exp(ops.column(x, 0)), ops.column(x, 0) * ops.column(x, 1))
    return {}, hand_made(2, *values, count=9)


def outside_block():
    """Parameters outside of products: shared, elementwise, broadcast, put beside values."""
    draw = lambda rng, shape: rng.normal(size=shape)  # noqa: E731
    weight, gain, slope, row = (Parameter(s, draw) for s in [(2, 6), (1, 6), (1, 1), (1, 6)])
    x = ops.input_points("site0", 2)
    hidden = ops.tanh(ops.multiply(gain, x @ weight.node) + row.node)
    narrow = ops.concatenate([ops.column(hidden, 1), ops.column(hidden, 5), slope.node])
    out = ops.sum_columns(ops.multiply(slope, hidden) + 1) + ops.exp(ops.column(row.node, 2))
    out = out * ops.sum_columns(narrow) + ops.sum_columns(x @ weight.node) ** 3
    pair = hand_made(2, out, ops.column(hidden, 3) / (2 + ops.column(x, 0)))
    return {"weight": weight, "gain": gain, "slope": slope, "row": row}, pair


def laplacian_block(dimension, width=6, count=13):
    """A Laplacian with a drift, and the size of the gradient, from bundles of `dimension`."""
    net = MLP(dimension, 1, width, 2)
    x = ops.input_points("site0", dimension)
    u = net(x)
    (slopes,) = gradient_nodes([u], x)
    size = ops.reshape(ops.sum_entries(slopes * slopes), (1,))
    equation = laplacian_node(net, x, drift=np.linspace(-1, 1, dimension)) + ops.sin(u)
    pair = hand_made(dimension, equation, count=count), hand_made(dimension, size - u, count=count)
    return [({f"net{dimension}": net}, block) for block in pair]


def bundles_block():
    """Values at points with several axes: parts, sums and products along each of them."""
    draw = lambda rng, shape: rng.normal(size=shape)  # noqa: E731
    names = {"m": (3, 4), "w": (4, 5), "weights": (3, 1), "b": (5,), "thin": (4, 2)}
    held = {name: Parameter(shape, draw) for name, shape in names.items()}
    m, w, weights, b, thin = (p.node for p in held.values())
    x = ops.input_points("site0", 20)
    row, data = ops.tanh(x[:4]), ops.reshape(x[4:16], (3, 4))
    flat = ops.tanh(ops.dot(x[8:12], ops.reshape(m, (4, 3))))
    bundle = m * ops.reshape(row * b[:4], (1, 4))
    moved = ops.dot(bundle, w) + b
    values = [
        bundle * weights + 1,
        ops.tanh(moved) * ops.reshape(flat[:1], (1, 1)),
        ops.sum_axes(bundle * bundle, (-2,)) * row,
        ops.sum_entries(bundle * data, -1) + flat,
        ops.sum_entries(moved * moved, -1, keepdims=True) * ops.sum_axes(moved, (-2,)),
        ops.dot(data, w) * moved,
        ops.dot(bundle, thin) + ops.dot(ops.dot(moved, ops.transpose(w)), thin),
        bundle[1] * row + bundle[2, 1],
        bundle[:2] - data[1:],
        bundle[:, 1:3] * bundle[:, :1],
        ops.reshape(bundle[:, 2:3], (3,)) * flat,
        ops.concatenate([bundle, data, ops.exp(bundle)], -1) * 2,
        ops.dot(ops.concatenate([bundle, moved], -1), ops.concatenate([thin, thin, thin[:1]], 0)),
        ops.concatenate([bundle, data], 0),
        ops.transpose(bundle) * flat,
        ops.reshape(flat, (3, 1)) * bundle + ops.reshape(flat, (3, 1)),
        ops.where(bundle < data, bundle, m),
        ops.dot(
            ops.reshape(bundle, (3, 2, 2)) * ops.reshape(row[:2], (2, 1)), ops.transpose(thin[:2])
        ),
    ]
    rng = np.random.default_rng(0)
    residuals = [
        ops.reshape(ops.sum_entries(v * ops.constant(rng.normal(size=v.dims))), (1,))
        for v in values
    ]
    return held, hand_made(20, *residuals, count=10)


def together(*parts):
    """One layout for all networks, the blocks, and their points."""
    named: dict[str, Parameter] = {}
    for nets, _ in parts:
        for key, net in nets.items():
            inner = {key: net} if isinstance(net, Parameter) else net.named_parameters()
            named |= {f"{key}.{name}": parameter for name, parameter in inner.items()}
    pairs: list[tuple[ResidualBlock, BlockPoints]] = [pair for _, pair in parts]
    blocks, points = zip(*pairs, strict=True)
    return Layout.of(named), blocks, points
