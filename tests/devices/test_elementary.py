"""The CPU's own elementary functions against mpmath, in units in the last place."""

import math

import numpy as np
import pytest
from mpmath import mp

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.devices.cpu.elementary import ERRORS, FUNCTIONS
from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Layout, Parameter

EXACT = {
    "exp": mp.exp,
    "expm1": mp.expm1,
    "tanh": mp.tanh,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "sin": mp.sin,
    "cos": mp.cos,
    "log": mp.log,
    "log1p": mp.log1p,
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "erf": mp.erf,
    "arctan": mp.atan,
    "sqrt": mp.sqrt,
    "power": lambda x: x ** mp.mpf(2.75),
    "absolute": abs,
    "sign": mp.sign,
    "single": lambda x: mp.mpf(float(np.float32(float(x)))),
    "less": lambda x: mp.mpf(x < 0.5),
    "less_equal": lambda x: mp.mpf(x <= 0.5),
    "equal": lambda x: mp.mpf(x == 0.5),
    "where": lambda x: x if x < 0.5 else 1 - x,
}
TWO = {
    "power": lambda x: ops.power(x, 2.75),
    "less": lambda x: ops.less(x, 0.5),
    "less_equal": lambda x: ops.less_equal(x, 0.5),
    "equal": lambda x: ops.equal(x, 0.5),
    "where": lambda x: ops.where(ops.less(x, 0.5), x, 1 - x),
}
BUILD = {name: TWO.get(name) or getattr(ops, name) for name in EXACT}
LIBRARY = 2.0  # units that the C library is trusted to
LIMITS = {name: ERRORS.get(name, LIBRARY) for name in EXACT}

tiny = np.concatenate([10.0 ** -np.arange(1, 38.0), [0.0]])
near = np.concatenate([np.linspace(-1, 1, 301), tiny, -tiny])
turns = np.concatenate([np.arange(-40, 41), np.arange(97, 63_000, 211)]) * (np.pi / 2)
angles = np.concatenate([np.linspace(-50, 50, 801), turns, np.linspace(-1e5, 1e5, 301), near])
positive = np.concatenate(
    [np.linspace(1e-3, 30, 301), 10.0 ** np.arange(-35, 36.0), 1 + near[near > -1]]
)
steps = np.array([-1e30, -2, -0.5, -0.0, 0, 0.25, np.nextafter(np.float32(0.5), np.float32(0)), 0.5,
                  np.nextafter(np.float32(0.5), np.float32(1)), 0.75, 2, 1e30])  # fmt: skip
PLACES = {
    "exp": np.concatenate([np.linspace(-86, 87, 901), near]),
    "expm1": np.concatenate([np.linspace(-86, 87, 901), np.linspace(-2, 2, 801), near]),
    "tanh": np.concatenate([np.linspace(-25, 25, 901), near]),
    "sigmoid": np.concatenate([np.linspace(-85, 50, 901), near]),
    "sin": angles,
    "cos": angles,
    "log": positive,
    "log1p": np.concatenate([positive, near[near > -1], np.linspace(-0.999, 3, 801)]),
    "softplus": np.concatenate([np.linspace(-85, 90, 901), near]),
    "erf": np.concatenate([np.linspace(-7, 7, 1401), near]),
    "arctan": np.concatenate([np.linspace(-9, 9, 1401), near, 1 / tiny[:-1], -1 / tiny[:-1]]),
    "sqrt": positive,
    "power": positive[np.abs(np.log10(positive)) < 13],
    "single": np.concatenate([angles, positive]),
    **dict.fromkeys(("absolute", "sign", "less", "less_equal", "equal", "where"), steps),
}


@pytest.fixture(scope="module", params=["float64", "float32"])
def run(request):
    """All functions of one column, compiled together: ``run(x)`` gives values by name."""
    weight = Parameter((1, 1), lambda rng, shape: np.ones(shape))
    x = ops.input_points("site0", 1) * weight.node
    block = ResidualBlock(tuple(build(x) for build in BUILD.values()))
    device = CpuDevice(threads=1, precision=request.param)
    executable = device.compile([block], Layout.of({"w": weight}))

    def values(points):
        points = np.asarray(points, request.param)
        bound = executable.bind(
            [BlockPoints((points[:, None],), np.ones((len(points), len(BUILD))))]
        )
        rows = bound.residuals(np.ones(1)).reshape(len(BUILD), -1)
        return dict(zip(BUILD, rows, strict=True))

    values.dtype = np.dtype(request.param)
    return values


def units(found, exact, dtype):
    """The error in units in the last place of the exact value."""
    worst = 0.0
    for value, expected in zip(found, exact, strict=True):
        spacing = float(np.spacing(dtype.type(abs(float(expected)))))
        worst = max(worst, float(abs(mp.mpf(float(value)) - expected)) / spacing)
    return worst


@pytest.mark.parametrize("name", EXACT)
def test_error_is_within_the_stated_bound(run, name):
    points = PLACES[name].astype(run.dtype)
    with mp.workdps(50):
        exact = [EXACT[name](mp.mpf(float(p))) for p in points]
        assert units(run(points)[name], exact, run.dtype) <= LIMITS[name]


SPECIAL = {  # at infinity, minus infinity, NaN, 0, -1, -2
    "exp": [np.inf, 0, np.nan, 1, math.exp(-1), math.exp(-2)],
    "expm1": [np.inf, -1, np.nan, 0, math.expm1(-1), math.expm1(-2)],
    "tanh": [1, -1, np.nan, 0, math.tanh(-1), math.tanh(-2)],
    "sigmoid": [1, 0, np.nan, 0.5, 1 / (1 + math.e), 1 / (1 + math.e**2)],
    "sin": [np.nan] * 3,
    "cos": [np.nan] * 3,
    "log": [np.inf, np.nan, np.nan, -np.inf, np.nan, np.nan],
    "log1p": [np.inf, np.nan, np.nan, 0, -np.inf, np.nan],
    "softplus": [np.inf, 0, np.nan, math.log(2)],
    "erf": [1, -1, np.nan, 0],
    "arctan": [math.pi / 2, -math.pi / 2, np.nan, 0],
    "sqrt": [np.inf, np.nan, np.nan, 0, np.nan, np.nan],
    "absolute": [np.inf, np.inf, np.nan, 0, 1, 2],
    "single": [np.inf, -np.inf, np.nan, 0, -1, -2],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_infinity_nan_and_the_ends_of_the_domain(run, name):
    expected = SPECIAL[name]
    found = run([np.inf, -np.inf, np.nan, 0, -1, -2])[name][: len(expected)]
    assert np.allclose(found, expected, rtol=1e-6, equal_nan=True)


def test_logarithms_of_subnormal_numbers(run):
    smallest = np.finfo(run.dtype).smallest_subnormal
    points = smallest * 2.0 ** np.arange(20)
    exact = [mp.log(mp.mpf(float(p))) for p in points.astype(run.dtype)]
    assert units(run(points)["log"], exact, run.dtype) <= LIMITS["log"]


def test_beyond_the_range(run):
    """Overflow and underflow are where they belong, to within a few per cent of the range."""
    largest = np.log(np.finfo(run.dtype).max)
    found = run([largest + 0.1, largest + 1, 1e30, -largest - 6, -1e30])
    assert np.array_equal(found["exp"], [np.inf, np.inf, np.inf, 0, 0])
    assert np.array_equal(found["tanh"], [1, 1, 1, -1, -1])
    assert np.array_equal(found["sigmoid"], [1, 1, 1, 0, 0])
    inside = run([largest - 1, -largest + 2])["exp"]
    assert np.isfinite(inside).all()
    assert np.all(inside > 0)


def test_parity(run):
    points, eps = np.linspace(0.001, 30, 500), np.finfo(run.dtype).eps
    right, left = run(points), run(-points)
    for name in ("sin", "arctan", "erf", "single"):
        assert np.array_equal(left[name], -right[name]), name
    assert np.array_equal(left["cos"], right["cos"])
    assert np.allclose(left["tanh"], -right["tanh"], rtol=ERRORS["tanh"] * eps, atol=0)
    assert np.allclose(left["sigmoid"], 1 - right["sigmoid"], rtol=0, atol=4 * eps)


def test_bounded_functions_stay_bounded(run):
    eps = np.finfo(run.dtype).eps
    found = run(np.linspace(-300, 300, 4001))
    for name in ("tanh", "sin", "cos"):
        assert np.abs(found[name]).max() <= 1 + eps, name
    assert found["sigmoid"].min() >= 0
    assert found["sigmoid"].max() <= 1
    assert np.abs(found["erf"]).max() <= 1
    assert np.abs(found["arctan"]).max() <= np.pi / 2 * (1 + eps)
    assert found["softplus"].min() >= 0
    assert found["expm1"].min() >= -1


def test_every_function_is_measured():
    assert set(FUNCTIONS) == set(EXACT)
    assert set(ERRORS) < set(EXACT)
