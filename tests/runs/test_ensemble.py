"""Ensembles in two processes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sympy import exp

import pinnsolve as ps
from pinnsolve.errors import FileError, PinnsolveError

(t,) = ps.coordinates("t")
u = ps.field("u", t)
DECAY = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)}, exact={u: exp(-t)})
NETWORK = ps.MLP(1, 1, width=5, depth=1)
SETTINGS = {"network": NETWORK, "steps": 20, "device": "reference"}
TIMES = np.linspace(0, 1, 5)


class Unlucky:
    """Raises an error at the first record of one seed."""

    def __init__(self, loss: float) -> None:
        self.loss = loss

    def __call__(self, record) -> None:
        if record.step == 0 and record.loss == self.loss:
            raise ArithmeticError("no luck")


@pytest.fixture(scope="module")
def three() -> ps.Ensemble:
    """And a fourth that fails."""
    unlucky = DECAY.solve(seed=1, progress=False, **{**SETTINGS, "steps": 1}).history[0].loss
    return ps.ensemble(
        DECAY, seeds=(4, 1, 0, 7), processes=2, callback=Unlucky(unlucky), **SETTINGS
    )


def test_a_member_is_the_solution_of_its_seed(three: ps.Ensemble) -> None:
    assert [solution.seed for solution in three.solutions] == [4, 0, 7]
    alone = DECAY.solve(seed=7, progress=False, **SETTINGS)
    assert np.array_equal(three.solutions[2].u(TIMES), alone.u(TIMES))


def test_mean_and_deviation_are_those_of_the_members(three: ps.Ensemble) -> None:
    values = [solution.u(TIMES) for solution in three.solutions]
    slopes = [solution.u.dt(TIMES) for solution in three.solutions]
    assert three.mean.u(TIMES) == pytest.approx(np.mean(values, axis=0), rel=1e-14)
    assert three.deviation(t=TIMES) == pytest.approx(np.std(values, axis=0), rel=1e-12)
    assert three.mean.u.dt(TIMES) == pytest.approx(np.mean(slopes, axis=0), rel=1e-14)
    assert np.ptp(values, axis=0).max() > 0
    errors = three.error()
    assert list(errors) == ["mean", "seed 4", "seed 0", "seed 7"]
    assert errors["mean"]["u"] <= max(e["u"] for name, e in errors.items() if name != "mean")
    assert errors["seed 0"] == three.solutions[1].error()


def test_saved_and_loaded_in_a_new_process(three: ps.Ensemble, tmp_path: Path) -> None:
    path = three.save(tmp_path / "three.h5")
    code = (
        "import sys, numpy as np, pinnsolve as ps\n"
        "e = ps.load(sys.argv[1])\n"
        "print(e.report(), file=sys.stderr)\n"
        "sys.stdout.write(e.deviation.u(np.linspace(0, 1, 5)).tobytes().hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == three.deviation.u(TIMES).tobytes().hex()
    assert done.stderr.strip() == three.report()
    with pytest.raises(FileError, match="save the ensemble"):
        three.mean.evaluator.to_data()


def test_a_member_that_fails_is_told_and_the_others_are_kept(three: ps.Ensemble) -> None:
    assert three.failures == {1: "ArithmeticError: no luck"}
    assert "seed 1  failed: ArithmeticError: no luck" in three.report()
    with pytest.raises(PinnsolveError, match="no member was solved; seed 0: NetworkError"):
        ps.ensemble(DECAY, seeds=1, **{**SETTINGS, "network": ps.MLP(2, 1)})


SCRIPT = """
import pinnsolve as ps
t = ps.coordinates("t")[0]
u = ps.field("u", t)
decay = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)})
ps.ensemble(decay, seeds=2, processes=1, steps=5, device="reference")
"""


def test_a_script_needs_its_guard(tmp_path: Path) -> None:
    """As this module has, which processes import to find `Unlucky`."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("pinnsolve.errors.PinnsolveError: a process ended at once")
    assert 'must do so under `if __name__ == "__main__":`' in last


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": 0}, "different seeds, one at least"),
        ({"seeds": (1, 1)}, r"different seeds, one at least, not \(1, 1\)"),
        ({"processes": 0}, "processes must be a whole number of at least 1, not 0"),
        ({"seed": 3}, "takes no seed"),
        ({"checkpoint": "run.h5"}, "takes no checkpoint"),
        ({"callback": lambda record: None}, "callback cannot be sent to another process"),
    ],
)
def test_arguments_that_make_no_sense(arguments: dict, message: str) -> None:
    with pytest.raises(PinnsolveError, match=message):
        ps.ensemble(DECAY, **arguments)
