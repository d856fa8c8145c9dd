import io
from dataclasses import replace

import pytest

from pinnsolve.solutions.history import Record
from pinnsolve.training.progress import Forecast, Limits, Progress, forecast

NAMES = ("u.dt + u*u.dx = 0.01*u.dxx/pi", "u(x, 0) = -sin(pi*x)")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def record(step: int, seconds: float, loss: float = 1e-3) -> Record:
    return Record(step, seconds, loss, (0.75 * loss, 0.25 * loss), stage="LevenbergMarquardt")


def train(output: io.StringIO, steps: int = 1000, **settings) -> str:
    progress = Progress(NAMES, output=output, **settings)
    progress.start()
    for step in range(1, steps + 1):
        progress.update(record(step, 0.05 * step))
    progress.stop("time budget")
    return output.getvalue()


def test_a_log_gets_few_plain_lines() -> None:
    text = train(io.StringIO(), limits=Limits(seconds=60.0))
    lines = text.splitlines()
    assert lines[0].startswith("LevenbergMarquardt  step 1  loss 1.00e-03  0.1/60 s")
    assert lines[-1] == "stopped after 1000 steps, 50.0 s: time budget (loss 1.00e-03)"
    # 50 seconds: after 0, 1, 3, 8, then every ten.
    assert len(lines) == 9
    assert "\x1b" not in text


def test_a_terminal_shows_the_loss_of_every_equation() -> None:
    text = train(Terminal(), steps=40, limits=Limits(steps=40))
    assert all(name in text for name in NAMES)
    assert "7.50e-04" in text
    assert "ends: 40 steps in" in text
    assert "\x1b" in text
    assert text.rstrip().endswith("time budget (loss 1.00e-03)")


def test_errors_are_shown_where_they_are_known() -> None:
    output = io.StringIO()
    progress = Progress(NAMES, output=output)
    progress.update(replace(record(1, 0.0), errors={"u": 2.34e-5, "p": float("inf")}))
    assert "error u 2.3e-05, p inf  0.0 s" in output.getvalue()
    assert "error" not in train(io.StringIO())


def test_the_live_block_ends_with_the_last_record() -> None:
    output = Terminal()
    progress = Progress(NAMES, output=output)
    progress.start()
    progress.update(record(1, 0.0))
    progress.update(record(2, 0.01))  # too soon to be drawn at once
    progress.stop("done")
    assert "step 2" in output.getvalue()


@pytest.mark.parametrize("output", [io.StringIO(), Terminal()], ids=["log", "terminal"])
def test_silence(output: io.StringIO) -> None:
    assert train(output, enabled=False) == ""


def test_stopping_twice_says_it_once() -> None:
    output = io.StringIO()
    progress = Progress(NAMES, output=output)
    progress.start()
    progress.stop("interrupted")
    progress.stop("interrupted")
    assert output.getvalue() == "stopped before the first step: interrupted\n"


def test_fewer_losses_than_names_are_shown() -> None:
    output = Terminal()
    progress = Progress(NAMES, output=output)
    progress.start()
    progress.update(Record(1, 0.0, 1.0))
    progress.stop("done")
    assert "step 1" in output.getvalue()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(), None),
        (Limits(seconds=60.0), Forecast("60 s of training", 50.0)),
        (Limits(seconds=60.0, steps=120), Forecast("120 steps", 2.0)),
        # Four decades in ten seconds, so two more take five.
        (Limits(seconds=60.0, loss=1e-6), Forecast("loss 1e-06", pytest.approx(5.0))),
        (Limits(steps=50), Forecast("50 steps", 0.0)),
    ],
)
def test_forecast(limits: Limits, expected: Forecast | None) -> None:
    assert forecast(record(0, 0.0, 1.0), record(100, 10.0, 1e-4), limits) == expected


def test_a_loss_that_does_not_fall_foretells_nothing() -> None:
    assert forecast(record(0, 0.0, 1.0), record(9, 1.0, 1.0), Limits(loss=1e-9)) is None


def test_the_first_record_alone_foretells_the_time_only() -> None:
    first = record(0, 0.0)
    limits = Limits(seconds=9.0, steps=5, loss=1e-9)
    assert forecast(first, first, limits) == Forecast("9 s of training", 9.0)


def test_what_is_due_is_what_would_be_shown() -> None:
    progress = Progress(NAMES, output=io.StringIO())
    assert progress.is_due(0.0)
    progress.update(record(1, 0.5))
    assert not progress.is_due(1.4)
    assert progress.is_due(1.5)  # the second plain line comes a second after the first
    assert not Progress(NAMES, enabled=False).is_due(100.0)
