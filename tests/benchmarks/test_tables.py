"""The code of the tables, without peers and with tiny cases: numbers against numpy, no times."""

import importlib.util
import json
import math

import numpy as np
import pytest

from benchmarks import deepxde_runs, figure, loss_gradient, measure, ours, scaling, time_to_error
from benchmarks.cases import EQUATIONS, Case, block_size
from benchmarks.measure import Evaluation, Line, SkippedError


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PINNSOLVE_CACHE", str(tmp_path))  # our side sets it, too


def network(case: Case, x: np.ndarray) -> np.ndarray:
    theta, _ = case.data()
    layers = [np.asarray(a, float) for a in case.split(theta)]
    centre, factor = map(np.array, case.affine)
    y = (x - centre) * factor
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        y = np.tanh(y @ weight + bias)
    return y @ layers[-2] + layers[-1]


def test_loss_is_the_mean_square_of_the_residual():
    """Poisson by second differences of the network in plain numpy."""
    case = Case("Poisson", 2, 5, 20)
    loss, gradient = ours.evaluation(case).result()
    _, x = case.data()
    h, value = 1e-3, network(case, x)
    steps = [np.array([h, 0]), np.array([0, h])]
    laplacian = sum((network(case, x + s) + network(case, x - s) - 2 * value) for s in steps) / h**2
    source = 2 * math.pi**2 * np.sin(math.pi * x[:, 0]) * np.sin(math.pi * x[:, 1])
    assert loss == pytest.approx(np.mean((laplacian[:, 0] + source) ** 2), rel=1e-5)
    assert gradient.shape == (sum(math.prod(shape) for shape in case.shapes),)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_every_equation_is_the_one_of_the_gallery(equation):
    block, layout = ours.equation_block(Case(equation, 2, 4, 8))
    assert len(block.residuals) == EQUATIONS[equation].outputs
    assert layout.size == sum(math.prod(shape) for shape in Case(equation, 2, 4, 8).shapes)


def test_flops_and_blocks():
    # 2*50 + 3*50*50 + 50 entries, 3 channels, 3 products, 2 flops
    assert Case("Burgers", 4, 50, 10).flops == 10 * 7650 * 18
    assert [block_size(2540, target) for target in (125, 250, 500)] == [127, 254, 508]


def named(name: str, value: float = 1.0) -> Evaluation:
    return Evaluation(name, lambda: None, lambda: (value, np.array([value, 2.0])), 0.5, 3e6)


def test_values_that_differ_stop_a_comparison():
    with pytest.raises(AssertionError, match=r"other: values differ by 1.0e-09"):
        measure.compare(named("pinnsolve"), {"other": lambda: named("other", 1 + 1e-9)}, 1)


def test_what_is_left_out_keeps_its_place_and_reason(capsys):
    def refuse() -> Evaluation:
        raise SkippedError("needs 99 GB")

    lines = measure.compare(named("pinnsolve"), {"big": refuse, "small": lambda: named("small")}, 1)
    assert [(row.name, row.skipped) for row in lines] == [
        ("pinnsolve", None), ("big", "needs 99 GB"), ("small", None)
    ]  # fmt: skip
    measure.show("a case", lines)
    assert "big: left out, needs 99 GB" in capsys.readouterr().out


def test_a_worker_answers_fails_and_is_started_again():
    worker = measure.Worker()
    try:
        assert worker.ask(block_size, 12, 5) in (4, 6)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            worker.ask(block_size, 12, 0)
        with pytest.raises(SkippedError, match="died"):
            worker.ask(importlib.import_module("os")._exit, 1)
        assert worker.ask(block_size, 7, 7) == 7
    finally:
        worker.close()


def test_summary_takes_the_fastest_of_each_kind():
    case = Case("Burgers", 4, 50, 1000)
    rate = case.flops / 1e-2  # ours takes 10 ms: half of a machine of twice the rate
    product = Line("matrix product, float64", 1e3 * 2 * ours.SIDE**3 / (2 * rate))
    lines = [
        Line("pinnsolve, float64", 10.0, megabytes=1.0),
        Line("JAX nested forward, all points", 50.0, megabytes=90.0),
        Line("JAX nested forward, blocks of 250", 30.0, megabytes=2.0),
        Line("JAX by hand, all points", 40.0, megabytes=60.0),
        Line("JAX by hand, blocks of 250", 20.0, megabytes=2.0),
        Line.left_out("torch nested reverse, all points", "too long"),
        product,
    ]
    found = loss_gradient.summary(case, lines)
    assert found["torch reverse or JAX nested, whole"] == pytest.approx(5)
    assert found["best whole"] == pytest.approx(4)
    assert found["best autodiff in blocks"] == pytest.approx(3)
    assert found["by hand in blocks"] == pytest.approx(2)
    assert found["share"] == pytest.approx(0.5)
    assert found["smallest megabytes, whole"] == 60
    assert "50 %" in loss_gradient.overview([{"case": case.title, "summary": found}])


def test_scaling_and_files(tmp_path):
    entries = scaling.measure(Case("Burgers", 2, 4, 64), most=1, rounds=1)
    assert [entry["work"] for entry in entries] == list(scaling.WORK)
    measure.save(tmp_path / "deep" / "scaling.json", [{**entries[0], "lines": [Line("a", 1.0)]}])
    kept = json.loads((tmp_path / "deep" / "scaling.json").read_text())
    assert kept["cases"][0]["lines"][0]["milliseconds"] == 1.0
    assert scaling.overview(entries).count("1.00") >= 2


def test_the_clock_notes_errors_and_says_when_to_end():
    exact = np.array([[1.0], [2.0]])
    clock = time_to_error.Clock(np.zeros((2, 2)), exact, budget=100.0)
    clock.start()
    assert clock.look("adam", lambda points: exact * 1.01)
    assert not clock.look("L-BFGS", lambda points: exact * (1 + 1e-6))
    curve = clock.curve
    assert [round(error, 9) for _, error, _ in curve] == [0.01, 1e-6]
    assert time_to_error.reached(curve, 1e-3) == curve[1][0]
    assert time_to_error.reached(curve[:1], 1e-3) is None
    entry = {"problem": "burgers", "solver": "pinnsolve", "curve": curve}
    assert "1.0e-06" in time_to_error.overview([entry])
    drawn = figure.draw([], [entry])
    (line,) = drawn.subfigs[0].axes[0].lines
    assert np.allclose(line.get_ydata(), [0.01, 1e-6])


def test_exact_flow_of_the_peer_is_the_gallerys():
    from problems import kovasznay

    assert float(kovasznay.decay(kovasznay.REYNOLDS)) == pytest.approx(
        deepxde_runs.DECAY, rel=1e-14
    )
