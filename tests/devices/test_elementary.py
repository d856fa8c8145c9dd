"""The CPU's own elementary functions against mpmath, in units in the last place."""

import math

import numpy as np
import pytest
from mpmath import mp
from scipy import special

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
    "floor": mp.floor,
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
STARTS = {"log": 0, "sqrt": 0, "log1p": -1}
LIBRARY = 2.0  # units that the C library is trusted to
LIMITS = {name: ERRORS.get(name, LIBRARY) for name in EXACT}

LN2, TURN = np.log(2), np.pi / 2
small = 10.0 ** -np.concatenate([np.arange(1, 47.0), np.arange(50, 325, 25)])  # and subnormal
near = np.concatenate([np.linspace(-1, 1, 401), small, -small, [0.0]])
halves = np.arange(-60, 60) + 0.5
positive = np.concatenate(
    [np.linspace(1e-3, 30, 601), 10.0 ** np.arange(-44, 39.0), 10.0 ** np.arange(-323, 309, 7.0),
     1 + near[near > -1], 2.0 ** halves]
)  # fmt: skip
turns = np.concatenate([np.arange(-81, 81) / 2, np.arange(97, 636_000, 2111)]) * TURN
angles = np.concatenate(
    [np.linspace(-50, 50, 801), turns, np.linspace(-1.2e4, 1.2e4, 301), near,
     np.linspace(-1.2e6, 1.2e6, 301), 10.0 ** np.arange(4, 38, 0.25),
     10.0 ** np.arange(40, 308, 9.0),
     [16367173 * 2.0**72]]  # of single precision the nearest to a multiple of pi / 2
)  # fmt: skip
exponents = np.concatenate(
    [np.linspace(-110, 92, 601), np.linspace(-760, 720, 601), np.linspace(-3, 3, 301), near,
     halves * LN2, halves[::4] * LN2 * 8]
)  # fmt: skip
steps = np.array([-1e30, -2, -0.5, -0.0, 0, 0.25, np.nextafter(np.float32(0.5), np.float32(0)), 0.5,
                  np.nextafter(np.float32(0.5), np.float32(1)), 0.75, 2, 1e30])  # fmt: skip
PLACES = {
    **dict.fromkeys(("exp", "expm1", "sigmoid", "softplus"), exponents),
    "tanh": np.concatenate(
        [
            np.linspace(-25, 25, 601),
            np.linspace(0.17, 0.7, 401),
            near,
            halves * LN2 / 2,
            np.linspace(8, 9.2, 301),
            np.linspace(18, 19.2, 301),
        ]
    ),
    **dict.fromkeys(("sin", "cos"), angles),
    **dict.fromkeys(("log", "sqrt"), positive),
    "log1p": np.concatenate([positive, near[near > -1], np.linspace(-0.999, 3, 801)]),
    "erf": np.concatenate([np.linspace(-7, 7, 1401), near]),
    "arctan": np.concatenate([np.linspace(-9, 9, 1401), near, 1 / small, -1 / small]),
    "power": positive[np.abs(np.log10(positive)) < 13],
    "single": np.concatenate([near, turns, 10.0 ** np.arange(-46, 38.0)]),
    **dict.fromkeys(("absolute", "sign", "floor", "less", "less_equal", "equal", "where"), steps),
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
    """The largest error in units in the last place of the exact value."""
    form = np.finfo(dtype)
    largest, lowest, digits = mp.mpf(float(form.max)), int(form.minexp), int(form.nmant)
    worst = mp.mpf(0)
    for value, expected in zip(found.tolist(), exact, strict=True):
        if abs(expected) > largest:
            assert abs(value) in (form.max, np.inf)
            continue
        exponent = max(mp.frexp(expected)[1] - 1, lowest)
        worst = max(worst, abs(mp.ldexp(mp.mpf(value) - expected, digits - exponent)))
    return worst


@pytest.mark.parametrize("name", EXACT)
def test_error_is_within_the_stated_bound(run, name):
    """On a grid that has the places where the method changes, and neighbours of some points."""
    with np.errstate(over="ignore", under="ignore"):
        points = PLACES[name].astype(run.dtype)
        points = points[np.isfinite(points)]
        if name != "single":
            ends = run.dtype.type(-np.inf), run.dtype.type(np.inf)
            points = np.concatenate([points, *(np.nextafter(points[::7], end) for end in ends)])
    if name in STARTS:
        points = points[points > STARTS[name]]
    with mp.workdps(40):
        exact = [EXACT[name](mp.mpf(float(p))) for p in points]
        assert units(run(points)[name], exact, run.dtype) <= LIMITS[name]


DENSE = {
    "exp": np.exp, "expm1": np.expm1, "tanh": np.tanh, "sigmoid": special.expit, "sin": np.sin,
    "cos": np.cos, "log": np.log, "log1p": np.log1p, "softplus": lambda x: np.logaddexp(0, x),
    "erf": special.erf, "arctan": np.arctan,
}  # fmt: skip
RANGES = {"exp": (-104, 88.7), "expm1": (-20, 88.7), "sigmoid": (-104, 20), "softplus": (-104, 20),
          "tanh": (-9.2, 9.2), "sin": (-1.1e4, 1.1e4), "cos": (-1.1e4, 1.1e4), "log": (0, 5),
          "log1p": (-1, 5), "erf": (-4.2, 4.2), "arctan": (-9, 9)}  # fmt: skip


@pytest.mark.parametrize("run", ["float32"], indirect=True)
@pytest.mark.parametrize("name", DENSE)
def test_single_precision_on_a_dense_grid(run, name):
    """Against double precision of the libraries, whose own error does not count here."""
    rng, (low, high) = np.random.default_rng(0), RANGES[name]
    wide, close = rng.uniform(low, high, 100_000), rng.uniform(-1, 1, 100_000)
    points = np.concatenate([wide, 1 + close if name == "log" else close]).astype(run.dtype)
    exact = DENSE[name](points.astype(float))
    exponents = np.maximum(np.frexp(exact)[1] - 1, np.finfo(run.dtype).minexp)
    errors = np.abs(run(points)[name] - exact) / 2.0 ** (exponents - np.finfo(run.dtype).nmant)
    assert errors.max() <= LIMITS[name]


SPECIAL = {  # at infinity, minus infinity, NaN, 0, -1, -2
    "exp": [np.inf, 0, np.nan, 1, math.exp(-1), math.exp(-2)],
    "expm1": [np.inf, -1, np.nan, 0, math.expm1(-1), math.expm1(-2)],
    "tanh": [1, -1, np.nan, 0, math.tanh(-1), math.tanh(-2)],
    "sigmoid": [1, 0, np.nan, 0.5, 1 / (1 + math.e), 1 / (1 + math.e**2)],
    "sin": [np.nan, np.nan, np.nan, 0],
    "cos": [np.nan, np.nan, np.nan, 1],
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


def test_zero_keeps_its_sign(run):
    found = run([0.0, -0.0])
    for name in ("expm1", "tanh", "sin", "log1p", "erf", "arctan", "sqrt", "single"):
        assert np.array_equal(found[name], [0, 0]), name
        assert np.array_equal(np.signbit(found[name]), [False, True]), name


def test_the_smallest_numbers(run):
    """Functions of slope 1 at 0 return subnormal arguments (expm1 to within the last bit)."""
    points = np.finfo(run.dtype).smallest_subnormal * np.array([1, 2, 3, 17, 1001, -1, -2, -5, -77])
    found = run(points)
    for name in ("tanh", "sin", "log1p", "arctan"):
        assert np.array_equal(found[name], points), name
    for name in ("exp", "cos"):
        assert np.array_equal(found[name], np.ones(len(points))), name
    assert np.array_equal(found["sigmoid"], np.full(len(points), 0.5))


def test_underflow_is_gradual_and_overflow_late(run):
    form = np.finfo(run.dtype)
    with mp.workdps(50):
        least, last = (mp.log(mp.mpf(float(n))) for n in (form.smallest_subnormal, form.max))
        around = run.dtype.type(float(last)) * (1 + form.eps * np.arange(-2, 3, dtype=run.dtype))
        beyond = min(p for p in around if mp.mpf(float(p)) > last)
    last, least = np.nextafter(beyond, run.dtype.type(0)), float(least)
    found = run([last, beyond, 1e30, np.ceil(least), least - 1, -1e30])
    for name in ("exp", "expm1"):
        assert np.isfinite(found[name][0]), name
        assert np.array_equal(found[name][1:3], [np.inf, np.inf]), name
    for name in ("exp", "sigmoid", "softplus"):
        assert 0 < found[name][3] <= 2 * form.smallest_subnormal, name
        assert np.array_equal(found[name][4:], [0, 0]), name
    for name, low in (("tanh", -1), ("sigmoid", 0), ("erf", -1)):
        assert np.array_equal(found[name][[0, 1, 2, 5]], [1, 1, 1, low]), name


def test_a_value_does_not_depend_on_its_neighbours(run):
    """Where one number of a vector is beyond the usual range, the others stay as they are."""
    points = np.linspace(0.1, 3, 64)
    alone = run(points)
    points[::5] = np.resize([1e38, np.inf, np.nan, -1, 1e-45], len(points[::5]))
    mixed = run(points)
    others = np.arange(64) % 5 != 0
    for name in ERRORS:
        assert np.array_equal(alone[name][others], mixed[name][others]), name


def test_parity(run):
    points, eps = np.linspace(0.001, 30, 500), np.finfo(run.dtype).eps
    right, left = run(points), run(-points)
    for name in ("sin", "tanh", "arctan", "erf", "single"):
        assert np.array_equal(left[name], -right[name]), name
    assert np.array_equal(left["cos"], right["cos"])
    assert np.allclose(left["sigmoid"], 1 - right["sigmoid"], rtol=0, atol=4 * eps)


def test_bounded_functions_stay_bounded(run):
    eps = np.finfo(run.dtype).eps
    found = run(np.linspace(-300, 300, 4001))
    for name in ("tanh", "sin", "cos"):
        assert np.abs(found[name]).max() <= 1, name
    assert found["sigmoid"].min() >= 0
    assert found["sigmoid"].max() <= 1
    assert np.abs(found["erf"]).max() <= 1
    assert np.abs(found["arctan"]).max() <= np.pi / 2 * (1 + eps)
    assert found["softplus"].min() >= 0
    assert found["expm1"].min() >= -1


def test_every_function_is_measured():
    assert set(FUNCTIONS) == set(EXACT)
    assert set(ERRORS) < set(EXACT)
