"""JAX: three schemes for the residuals of the cases, each for all points or in blocks.

Everything is jitted ahead and runs on one core. In blocks means what an expert would write: a scan
over blocks of points that adds up loss and gradient, which keeps what it computes near the core and
needs little memory.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import DISPERSION, EQUATIONS, VISCOSITY, Case, residuals
from benchmarks.measure import MEMORY_LIMIT, Array, Evaluation, SkippedError

COMPILE_LIMIT = 120.0  # seconds, for one program

Function = Callable[[Any], Any]
Derivatives = tuple[Any, Any, Any, Any]  # u, u_0, u_1 and the operator of top order, (n, outputs)


def load() -> Any:
    """JAX on the cores that a worker has, float64 allowed. Call it first: settings are read when
    JAX is imported."""
    if "JAX_PLATFORMS" not in os.environ:
        os.environ["JAX_PLATFORMS"] = "cpu"
        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        os.environ["XLA_FLAGS"] = (
            f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()} "
            f"intra_op_parallelism_threads={threads} " + os.environ.get("XLA_FLAGS", "")
        )
    try:
        jax: Any = importlib.import_module("jax")
    except ImportError:
        raise SystemExit("this comparison needs JAX: pip install 'pinnsolve[bench]'") from None
    importlib.import_module("jax.experimental.jet")
    jax.config.update("jax_enable_x64", True)
    return jax


def peer(
    jax: Any, name: str, loss: Callable[[Any, Any], Any], theta: Array, x: Array, block: int
) -> Evaluation:
    """Loss and gradient by JAX, ``block`` points at a time (0: all at once).

    loss: ``(theta, points) -> mean square``. Raises SkippedError when a limit is passed.
    """
    both = jax.value_and_grad(loss)

    def blocked(theta: Any, x: Any) -> Any:
        def add(total: Any, points: Any) -> Any:
            return jax.tree.map(jax.numpy.add, total, both(theta, points)), None

        blocks = x.reshape(-1, block, x.shape[1])
        zero = (jax.numpy.zeros((), theta.dtype), jax.numpy.zeros_like(theta))
        total, _ = jax.lax.scan(add, zero, blocks)
        return jax.tree.map(lambda value: value / len(blocks), total)

    start = time.perf_counter()
    compiled = jax.jit(blocked if block else both).lower(theta, x).compile()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis().temp_size_in_bytes
    if seconds > COMPILE_LIMIT:
        raise SkippedError(f"took {seconds:.0f} s to compile")
    if memory > MEMORY_LIMIT:
        raise SkippedError(f"needs {memory / 1e9:.1f} GB")
    program = compiled.as_text()
    assert theta.dtype != np.float32 or "f64[" not in program, f"{name} is not all float32"
    arguments = jax.device_put((theta, x))

    def call() -> Any:
        return jax.block_until_ready(compiled(*arguments))

    def result() -> tuple[float, Array]:
        value, gradient = call()
        return float(value), np.asarray(gradient)

    return Evaluation(name, call, result, seconds, memory, program.count(" = "))


def perceptron(jax: Any, layers: Sequence[Any], x: Any) -> Any:
    """The tanh network of these weights and biases: ``(..., inputs) -> (..., outputs)``."""
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        x = jax.numpy.tanh(x @ weight + bias.ravel())
    return x @ layers[-2] + layers[-1].ravel()


def flat_perceptron(jax: Any, shapes: Sequence[tuple[int, ...]]) -> Callable[[Any, Any], Any]:
    """The same with all weights and biases in one vector: ``u(theta, x)``."""
    starts = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])

    def u(theta: Any, x: Any) -> Any:
        places = zip(starts[:-1], starts[1:], shapes, strict=True)
        return perceptron(jax, [theta[a:b].reshape(shape) for a, b, shape in places], x)

    return u


def evaluation(case: Case, scheme: str, block: int) -> Evaluation:
    """A case by one of the schemes."""
    jax = load()
    theta, x = case.data()
    centre, factor = (np.array(value, case.precision) for value in case.affine)
    derivatives = SCHEMES[scheme]

    def loss(theta: Any, x: Any) -> Any:
        layers = case.split(theta)
        if scheme == "by hand":
            found = by_hand(jax, case.equation, layers, (x - centre) * factor, factor, block > 0)
        else:
            function = lambda y: perceptron(jax, layers, (y - centre) * factor)  # noqa: E731
            found = derivatives(jax, case.equation, function, x)
        rows = residuals(case.equation, jax.numpy.sin, x, *found)
        return sum(jax.numpy.mean(row**2) for row in rows)

    form = f"blocks of {block}" if block else "all points"
    return peer(jax, f"JAX {scheme}, {form}", loss, theta, x, block)


# --- forward over forward -----------------------------------------------------------------------


def along(jax: Any, u: Function, x: Any, axis: int, order: int) -> list[Any]:
    """u and its derivatives along an axis to an order, by one nest of forward sweeps."""
    direction = jax.numpy.zeros_like(x).at[:, axis].set(1)

    def lifted(inner: Function) -> Function:
        return lambda y: jax.jvp(inner, (y,), (direction,))

    nest = u
    for _ in range(order):
        nest = lifted(nest)
    pairs, found = nest(x), []
    for k in range(order + 1):  # in the tree of pairs, k derivatives are the last k branches
        value = pairs
        for level in range(order):
            value = value[int(level >= order - k)]
        found.append(value)
    return found


def nested(jax: Any, equation: str, u: Function, x: Any) -> Derivatives:
    if equation in ("Burgers", "KdV"):
        order, factor = (2, -VISCOSITY) if equation == "Burgers" else (3, DISPERSION)
        value, slope, *higher = along(jax, u, x, 0, order)
        in_time = along(jax, u, x, 1, 1)[1]
        return value, slope, in_time, in_time + factor * higher[-1]

    def laplacian(u: Function, x: Any) -> Any:
        return along(jax, u, x, 0, 2)[2] + along(jax, u, x, 1, 2)[2]

    if equation == "biharmonic":
        top = laplacian(partial(laplacian, u), x)
        return top, top, top, top  # its residual needs no other
    (value, u_0, u_00), (_, u_1, u_11) = (along(jax, u, x, axis, 2) for axis in (0, 1))
    return value, u_0, u_1, u_00 + u_11


# --- forward over reverse -----------------------------------------------------------------------


def gradients(jax: Any, outputs: int, u: Function, x: Any) -> tuple[Any, Any]:
    """u ``(n, outputs)`` and its gradient by reverse sweeps ``(2, n, outputs)``."""
    value, pull = jax.vjp(u, x)
    units = [jax.numpy.zeros_like(value).at[:, k].set(1) for k in range(outputs)]
    return value, jax.numpy.stack([pull(unit)[0].T for unit in units], axis=2)


def forward_over_reverse(jax: Any, equation: str, u: Function, x: Any) -> Derivatives:
    gradient = partial(gradients, jax, EQUATIONS[equation].outputs, u)
    if equation in ("Burgers", "KdV"):
        order, factor = (1, -VISCOSITY) if equation == "Burgers" else (2, DISPERSION)
        first, *_, last = along(jax, gradient, x, 0, order)
        (value, slopes), (_, highest) = first, last
        return value, slopes[0], slopes[1], slopes[1] + factor * highest[0]

    def laplacian(u: Function, x: Any) -> Any:
        sweep = partial(gradients, jax, EQUATIONS[equation].outputs, u)
        return sum(along(jax, sweep, x, axis, 1)[1][1][axis] for axis in (0, 1))

    if equation == "biharmonic":
        top = laplacian(partial(laplacian, u), x)
        return top, top, top, top
    value, slopes = gradient(x)
    return value, slopes[0], slopes[1], laplacian(u, x)


SCHEMES: dict[str, Any] = {
    "nested forward": nested,
    "forward over reverse": forward_over_reverse,
    "by hand": None,
}

# --- channels propagated by hand ----------------------------------------------------------------


def by_hand(
    jax: Any, equation: str, layers: Sequence[Any], y: Any, factor: Array, joined: bool
) -> Derivatives:
    """The smallest set of channels through every layer, as an expert would write it for this
    equation and tanh; the top channel is the whole operator. y: the points in [-1, 1].
    joined: one product a layer over all channels, which is faster where they fit into the cache."""
    step, product = HAND[equation], partial(_products, jax, joined)
    channels = [y, *_first(jax, equation, y, factor)]
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        value, *rest = product(channels, weight)
        a = jax.numpy.tanh(value + bias)
        s1 = 1 - a * a
        channels = [a, *step(a, s1, *rest)]
    value, *rest = product(channels, layers[-2])
    top = rest[-1]
    return value + layers[-1], rest[0], top if equation in ("Burgers", "KdV") else rest[1], top


def _products(jax: Any, joined: bool, channels: Sequence[Any], weight: Any) -> list[Any]:
    if joined:
        return jax.numpy.split(jax.numpy.concatenate(channels) @ weight, len(channels))
    return [channel @ weight for channel in channels]


def _first(jax: Any, equation: str, y: Any, factor: Array) -> list[Any]:
    """The channels of the affine map: constants, (n, 2)."""

    def constant(first: float, second: float) -> Any:
        return jax.numpy.broadcast_to(np.array([first, second], y.dtype), y.shape)

    zero, axes = constant(0, 0), (constant(factor[0], 0), constant(0, factor[1]))
    if equation == "Burgers":
        return [axes[0], axes[1]]
    if equation == "KdV":
        return [axes[0], zero, axes[1]]
    return [*axes, *[zero] * (EQUATIONS[equation].channels - 3)]


def _burgers(a: Any, s1: Any, x: Any, top: Any) -> tuple[Any, ...]:
    s2 = -2 * a * s1
    return s1 * x, s1 * top - VISCOSITY * (s2 * x * x)


def _kdv(a: Any, s1: Any, x: Any, xx: Any, top: Any) -> tuple[Any, ...]:
    s2 = -2 * a * s1
    s3 = -2 * (s1 * s1 + a * s2)
    third = (3 * s2 * xx + s3 * x * x) * x
    return s1 * x, s1 * xx + s2 * x * x, s1 * top + DISPERSION * third


def _laplacian(a: Any, s1: Any, x: Any, y: Any, top: Any) -> tuple[Any, ...]:
    s2 = -2 * a * s1
    return s1 * x, s1 * y, s1 * top + s2 * (x * x + y * y)


def _biharmonic(
    a: Any, s1: Any, x: Any, y: Any, xx: Any, xy: Any, yy: Any, lx: Any, ly: Any, top: Any
) -> tuple[Any, ...]:
    """lx, ly: derivatives of the Laplacian."""
    s2 = -2 * a * s1
    s3 = -2 * (s1 * s1 + a * s2)
    s4 = -2 * (3 * s1 * s2 + a * s3)
    square, laplacian = x * x + y * y, xx + yy
    hx, hy = xx * x + xy * y, xy * x + yy * y  # Hessian times gradient
    second = 4 * (x * lx + y * ly) + laplacian * laplacian + 2 * (xx * xx + 2 * xy * xy + yy * yy)
    third = 2 * square * laplacian + 4 * (x * hx + y * hy)
    return (
        s1 * x,
        s1 * y,
        s1 * xx + s2 * x * x,
        s1 * xy + s2 * x * y,
        s1 * yy + s2 * y * y,
        s1 * lx + s2 * (x * laplacian + 2 * hx) + s3 * x * square,
        s1 * ly + s2 * (y * laplacian + 2 * hy) + s3 * y * square,
        s1 * top + s2 * second + s3 * third + s4 * square * square,
    )


HAND: dict[str, Callable[..., tuple[Any, ...]]] = {
    "Burgers": _burgers,
    "KdV": _kdv,
    "Poisson": _laplacian,
    "biharmonic": _biharmonic,
    "Navier-Stokes": _laplacian,
}
