"""The planner: how many channels, which, and that they obey the product rule."""

import itertools
import random

import pytest
import sympy
from sympy import Rational, Symbol, expand, pi

from pinnsolve.diff.plan import close, operator_text, plan_block
from pinnsolve.nets import MLP
from pinnsolve.pde.coordinates import coordinates
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.system import Block, Residual
from pinnsolve.pipeline import Model, plan, represent
from tests.devices.gallery import case, system_of

COORDINATES = coordinates("x y z t")


def jets(field, dimension):
    """u_xx as ``u("xx")``, over the first letters; the last coordinate is t when asked for."""
    names = [c.name for c in COORDINATES[: dimension - 1]] + ["t"]

    def jet(letters="", site=0):
        orders = [letters.count(name) for name in names]
        assert sum(orders) == len(letters)
        return Jet(field, orders, site, names=names)

    return jet


def spatial(field, dimension):
    names = [c.name for c in COORDINATES[:dimension]]

    def jet(letters="", site=0):
        return Jet(field, [letters.count(name) for name in names], site, names=names)

    return jet


def planned(expressions, dimension, groups=(("u",),), sites=1):
    block = Block(
        tuple(COORDINATES[:dimension]),
        (tuple(COORDINATES[:dimension]),) * sites,
        tuple(
            Residual(str(k), "", sympy.sympify(e), "equation") for k, e in enumerate(expressions)
        ),
    )
    return plan_block(block, dimension, groups)


def sizes(expressions, dimension, groups=(("u",),), sites=1):
    plan = planned(expressions, dimension, groups, sites)
    return [basis.size if basis else 0 for row in plan.bases for basis in row]


def laplace(u, letters):
    return sum(u(2 * letter) for letter in letters)


def bilaplace(u, letters):
    return sum(u(2 * a + 2 * b) for a in letters for b in letters)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("burgers", 3),
        ("heat", 3),
        ("allen_cahn", 3),
        ("kdv", 4),
        ("wave", 4),
        ("poisson", 4),
        ("helmholtz", 4),
        ("biharmonic", 9),
        ("kovasznay", 4),
        ("taylor_green", 4),
    ],
)
def test_channels_of_the_gallery(name, count):
    """d_t - nu Laplacian: d + 2; Navier-Stokes with one network for all fields: 4."""
    (row,) = case(name).plans[0].bases
    assert [basis.size for basis in row] == [count]


def test_values_on_the_boundary_need_one_channel():
    for name in ("burgers", "heat", "poisson", "taylor_green"):
        assert all(p.bases[0][0].size == 1 for p in case(name).plans[1:])


def test_navier_stokes_with_a_network_for_each_field():
    system = system_of("taylor_green")
    networks = {name: MLP(3, 1, 8, 1) for name in system.fields}
    model: Model = represent(system, networks)
    (row,) = plan(system, model)[0].bases
    assert dict(zip(system.fields, [basis.size for basis in row], strict=True)) == {
        "u": 4,
        "v": 4,
        "p": 3,
    }


@pytest.mark.parametrize("d", [1, 2, 3])
def test_heat_in_any_dimension(d):
    u = jets("u", d + 1)
    equation = u("t") - Rational(1, 3) * laplace(u, "xyz"[:d])
    assert sizes([equation], d + 1) == [d + 2]


NU = Rational(1, 7)


@pytest.mark.parametrize(
    ("equation", "dimension", "count"),
    [
        (lambda u: u("t") + u() * u("x") + 2 * u("xx") + u("xxxx") / 3, 2, 5),
        (lambda u: u("t") + u() * u("x") + 0.022**2 * u("xxx"), 2, 4),
        (lambda u: u("tt") - 4 * u("xx"), 2, 4),
        (lambda u: u("tt") - u("xx") - u("yy") + sympy.sin(u()), 3, 5),
        (lambda u: u("t") + 3 * u("x"), 2, 2),
        (lambda u: u("t") + 3 * u("x") + u() * u("x"), 2, 3),
        (lambda u: u("tt") + u("xxxx"), 2, 6),
        (lambda u: u("t") - u("xxt") + u("x"), 2, 6),
    ],
    ids=[
        "kuramoto-sivashinsky",
        "kdv",
        "wave",
        "sine-gordon 2D",
        "advection",
        "inviscid",
        "beam",
        "bbm",
    ],
)
def test_channels_in_time(equation, dimension, count):
    assert sizes([equation(jets("u", dimension))], dimension) == [count]


@pytest.mark.parametrize(
    ("equation", "dimension", "count"),
    [
        (lambda u: u("xx"), 1, 3),
        (lambda u: u("xx"), 2, 3),
        (lambda u: u("xx"), 4, 3),
        (lambda u: u("xy"), 2, 4),
        (lambda u: u("xxxx"), 3, 5),
        (lambda u: u() - 1, 3, 1),
        (lambda u: u("x"), 3, 2),
        (lambda u: laplace(u, "xyz"), 3, 5),
        (lambda u: bilaplace(u, "x"), 1, 5),
        (lambda u: bilaplace(u, "xy"), 2, 9),
        (lambda u: bilaplace(u, "xyz"), 3, 14),
        (lambda u: u("xx") * u("yy") - u("xy") ** 2, 2, 6),
        (lambda u: u("x") ** 2 + u("y") ** 2 - 1, 2, 3),
    ],
)
def test_channels_in_space(equation, dimension, count):
    """Only what is used: a lone u_xx carries u, u_x and u_xx, in any dimension."""
    assert sizes([equation(spatial("u", dimension))], dimension) == [count]


def test_streamfunction_forms():
    """u = psi_y, v = -psi_x: eight channels where the flow is steady, nine where it is not."""
    s, p = spatial("u", 2), spatial("p", 2)
    steady = [
        s("y") * s("xy") - s("x") * s("yy") + p("x") - NU * (s("xxy") + s("yyy")),
        -s("y") * s("xx") + s("x") * s("xy") + p("y") + NU * (s("xxx") + s("xyy")),
    ]
    assert sizes(steady, 2, (("u",), ("p",))) == [8, 3]
    s, p = jets("u", 3), jets("p", 3)
    unsteady = [
        s("yt") + s("y") * s("xy") - s("x") * s("yy") + p("x") - NU * (s("xxy") + s("yyy")),
        -s("xt") - s("y") * s("xx") + s("x") * s("xy") + p("y") + NU * (s("xxx") + s("xyy")),
    ]
    assert sizes(unsteady, 3, (("u",), ("p",))) == [9, 3]


def test_a_derivative_used_singly_stays_single():
    """The scheme with fewer channels wins; both are planned."""
    u = jets("u", 2)
    assert sizes([u("t") - u("xx") + u("xx") * u()], 2) == [4]
    assert sizes([u("t") - u("xx"), u("t") + u("xx")], 2) == [4]
    assert sizes([u("t") - u("xx"), u("t") - u("xx") + u() ** 3], 2) == [3]


def test_variable_coefficients_are_numbers_at_a_point():
    u, k = jets("u", 2), sympy.exp(COORDINATES[0])
    assert sizes([u("t") - k * u("xx")], 2) == [3]
    assert sizes([k * u("t") - k**2 * u("xx")], 2) == [4]  # nothing is known not to vanish


def test_sites_have_channels_of_their_own():
    u = jets("u", 2)
    assert sizes([u("x", 0) - u("x", 1), u("", 0) - u("", 1)], 2, sites=2) == [2, 2]
    assert sizes([u("x", 0) - u("", 1)], 2, sites=2) == [2, 1]


def test_text_of_a_plan():
    u = jets("u", 2)
    plan = planned([u("t") + u() * u("x") - 0.01 / pi * u("xx")], 2)
    text = plan.describe(["x", "t"], [("u",)])
    assert text.startswith("site 0, u: 3 channels: ")
    assert "0.00318*u_xx" in text
    assert operator_text({(2, 0): -sympy.S.One, (0, 1): sympy.S.One}, "xt") == "-u_xx + u_t"


# --- closure and product rule --------------------------------------------------------------------


def random_operator(rng, dimension, order):
    exponents = [
        e for e in itertools.product(range(order + 1), repeat=dimension) if sum(e) <= order
    ]
    chosen = rng.sample(exponents[1:], k=min(3, len(exponents) - 1))
    return {
        e: Rational(rng.choice([-3, -2, -1, 1, 2, 5]), rng.choice([1, 1, 2, 3])) for e in chosen
    }


def act(operator, function, symbols):
    return sum(
        c * sympy.diff(function, *[(s, k) for s, k in zip(symbols, e, strict=True) if k])
        if any(e)
        else c * function
        for e, c in operator.items()
    )


def random_polynomial(rng, symbols, degree):
    exponents = itertools.product(range(degree + 1), repeat=len(symbols))
    return sum(
        rng.randint(-4, 4) * sympy.prod(s**k for s, k in zip(symbols, e, strict=True))
        for e in exponents
        if sum(e) <= degree
    )


@pytest.mark.parametrize("seed", range(12))
def test_product_rule_of_random_operators(seed):
    """q(u v) = sum m (q_i u)(q_j v), exactly, for every channel of a random closure."""
    rng = random.Random(seed)
    dimension, order = [(1, 6), (2, 4), (3, 3)][seed % 3]
    symbols = sympy.symbols("x y z")[:dimension]
    basis = close([random_operator(rng, dimension, order) for _ in range(1 + seed % 2)], dimension)
    u, v = (random_polynomial(rng, symbols, order if dimension < 3 else 2) for _ in range(2))
    qu, qv = ([expand(act(q, f, symbols)) for q in basis.operators] for f in (u, v))
    for operator, terms in zip(basis.operators, basis.products(), strict=True):
        found = sum(m * qu[i] * qv[j] for i, j, m in terms)
        assert expand(act(operator, expand(u * v), symbols) - found) == 0


@pytest.mark.parametrize("seed", range(12))
def test_a_closure_is_closed_and_reduced(seed):
    rng = random.Random(100 + seed)
    dimension = 1 + seed % 3
    needed = [random_operator(rng, dimension, 4) for _ in range(2)]
    basis = close(needed, dimension)
    for i, operator in enumerate(basis.operators):
        assert [operator.get(p, 0) for p in basis.pivots] == [
            int(i == j) for j in range(basis.size)
        ]
    derivatives = [
        {(*e[:a], e[a] - 1, *e[a + 1 :]): e[a] * c for e, c in operator.items() if e[a]}
        for operator in basis.operators
        for a in range(dimension)
    ]
    for operator in [*needed, *derivatives]:
        total = {}
        for q, factor in basis.coordinates(operator):
            for e, c in basis.operators[q].items():
                total[e] = total.get(e, 0) + factor * c
        assert {e: c for e, c in total.items() if c} == {e: c for e, c in operator.items() if c}
    assert basis.operators[0] == {(0,) * dimension: 1}


def test_decimal_coefficients_give_the_same_closure():
    exact = close([{(0, 1): sympy.S.One, (2, 0): -Rational(1, 10), (3, 0): Rational(3, 10)}], 2)
    decimal = close([{(0, 1): 1.0, (2, 0): -0.1, (3, 0): 0.3}], 2)
    assert exact.pivots == decimal.pivots
    assert exact.size == 4


def test_symbols_as_coefficients():
    """A coefficient of unknown value is never taken for a pivot."""
    k = Symbol("k")
    basis = close([{(0, 1): sympy.S.One, (2, 0): -k}], 2)
    assert basis.size == 3
    assert basis.pivots == ((0, 0), (1, 0), (0, 1))
    assert close([{(2, 0): k}], 2).pivots == ((0, 0), (1, 0), (2, 0))
