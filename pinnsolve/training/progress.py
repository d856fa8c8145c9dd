"""What a person sees while training runs: a live line at a terminal, occasional lines elsewhere.

Invariant: showing progress never changes the training, and nothing is printed when not enabled.
`forecast` and the `*_text` functions are pure; only `Progress` writes.
"""

import math
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from pinnsolve.solutions.history import Record

if TYPE_CHECKING:
    from rich.live import Live

LIVE_INTERVAL = 0.1  # seconds between two drawings of the live line
LINE_INTERVALS = (1.0, 2.0, 5.0, 10.0)  # seconds between plain lines; the last one repeats
NAME_WIDTH = 48


@dataclass(frozen=True)
class Limits:
    """What ends training, as far as it is known beforehand; None where there is no such limit.

    Attributes:
        seconds: training time allowed.
        steps: optimizer steps allowed.
        loss: training ends when the loss is at most this.
    """

    seconds: float | None = None
    steps: int | None = None
    loss: float | None = None


@dataclass(frozen=True)
class Forecast:
    """The limit that will be met first at the present rate, and in how many seconds."""

    rule: str
    seconds: float


def forecast(first: Record, last: Record, limits: Limits) -> Forecast | None:
    """Which of `limits` ends training, by the rates of steps and of log(loss) between two records.

    None when there is no limit that can be foreseen.

    >>> forecast(Record(0, 0.0, 1.0), Record(10, 1.0, 0.1), Limits(seconds=60.0, steps=100))
    Forecast(rule='100 steps', seconds=9.0)
    """
    elapsed = last.seconds - first.seconds
    found: list[Forecast] = []
    if limits.seconds is not None:
        rule = f"{limits.seconds:g} s of training"
        found.append(Forecast(rule, max(0.0, limits.seconds - last.seconds)))
    if limits.steps is not None and last.step > first.step and elapsed > 0:
        remaining = max(0, limits.steps - last.step)
        found.append(
            Forecast(f"{limits.steps} steps", remaining * elapsed / (last.step - first.step))
        )
    if limits.loss is not None and 0 < last.loss < first.loss and elapsed > 0:
        decades = max(0.0, math.log(last.loss / limits.loss)) if limits.loss > 0 else math.inf
        rate = math.log(first.loss / last.loss) / elapsed
        if math.isfinite(decades):
            found.append(Forecast(f"loss {limits.loss:.0e}", decades / rate))
    return min(found, key=lambda item: item.seconds, default=None)


def state_text(record: Record) -> str:
    """Stage, step, loss, held-out residual, damping, errors where they are known."""
    errors = record.errors or {}
    parts = [
        record.stage,
        f"step {record.step}",
        f"loss {record.loss:.2e}",
        f"held-out {record.held_out:.1e}" if record.held_out is not None else "",
        f"damping {record.damping:.0e}" if record.damping is not None else "",
        "error " + ", ".join(f"{name} {e:.1e}" for name, e in errors.items()) if errors else "",
    ]
    return "  ".join(part for part in parts if part)


def clock_text(record: Record, limits: Limits, ending: Forecast | None) -> str:
    """Training time, and what will end it."""
    budget = f"/{limits.seconds:g}" if limits.seconds is not None else ""
    end = f"  ends: {ending.rule} in {ending.seconds:.0f} s" if ending else ""
    return f"{record.seconds:.1f}{budget} s{end}"


def shortened(name: str, width: int = NAME_WIDTH) -> str:
    """`name` in at most `width` characters; the end is what tells long equations least apart."""
    return name if len(name) <= width else name[: width - 1] + "…"


def equations_text(names: Sequence[str], record: Record) -> str:
    """One line an equation: its name and its part of the loss."""
    rows = list(zip(names, record.losses, strict=False))
    width = max((len(shortened(name)) for name, _ in rows), default=0)
    return "\n".join(f"  {shortened(name):<{width}}  {loss:.2e}" for name, loss in rows)


class Progress:
    """Shows records as they come; `start`, any number of `update`, `stop`.

    At a terminal one block is redrawn in place: state, time, and one line for each equation.
    Elsewhere (a log, a pipe, a notebook) whole lines are printed, often at first and then every
    ten seconds.

    Args:
        names: the equations, in the order of `Record.losses`.
        enabled: False prints nothing at all.
        limits: what will end training.
        title: what runs, before the state, where several runs follow each other.
        output: where to write; standard error by default, so that standard output stays the
            script's own.

    >>> progress = Progress(["u_t - u_xx"], limits=Limits(seconds=60), output=sys.stdout)
    >>> progress.start()
    >>> progress.update(Record(1, 2.0, 0.5, (0.5,), stage="Adam"))
    Adam  step 1  loss 5.00e-01  2.0/60 s  ends: 60 s of training in 58 s
    >>> progress.stop("60 s of training")
    stopped after 1 step, 2.0 s: 60 s of training (loss 5.00e-01)
    """

    def __init__(
        self,
        names: Sequence[str],
        enabled: bool = True,
        limits: Limits | None = None,
        title: str = "",
        output: TextIO | None = None,
    ) -> None:
        self.names, self.title = tuple(names), f"{title}  " if title else ""
        self.enabled = enabled
        self.limits = limits or Limits()
        self.output = output
        # About the last two seconds at a terminal: long enough to be steady, and recent.
        self._recent: deque[Record] = deque(maxlen=20)
        self._last: Record | None = None
        self._next = 0.0
        self._lines = 0
        self._live: Live | None = None

    def start(self) -> None:
        """Begin to draw, when enabled and at a terminal."""
        if not self.enabled:
            return
        output = self.output or sys.stderr
        if output.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=output, highlight=False)
            # Drawn only by `update`: no thread runs beside the training.
            self._live = Live(console=console, auto_refresh=False, transient=False)
            self._live.start()

    def is_due(self, seconds: float) -> bool:
        """Whether a record of this training time would be shown."""
        return self.enabled and seconds >= self._next

    def update(self, record: Record) -> None:
        """Show `record`, unless the last one was shown a moment ago."""
        self._last = record
        if not self.is_due(record.seconds):
            return
        self._recent.append(record)
        self._draw(record)
        self._next = record.seconds + self._interval()

    def stop(self, reason: str) -> None:
        """Show the last record and why training ended. Calling it again does nothing."""
        if not self.enabled:
            return
        if self._live is not None:
            if self._last is not None:
                self._draw(self._last)
            self._live.stop()
            self._live = None
        self.enabled = False
        self._print(self.title + stopped_text(self._last, reason))

    def _interval(self) -> float:
        if self._live is not None:
            return LIVE_INTERVAL
        return LINE_INTERVALS[min(self._lines, len(LINE_INTERVALS)) - 1]

    def _draw(self, record: Record) -> None:
        ending = forecast(self._recent[0], record, self.limits) if self._recent else None
        state, clock = self.title + state_text(record), clock_text(record, self.limits, ending)
        if self._live is None:
            self._lines += 1
            self._print(f"{state}  {clock}")
            return
        from rich.text import Text

        # Lines of their own, since a terminal of 80 columns would cut a longer one.
        body = f"{state}\n{clock}\n{equations_text(self.names, record)}".rstrip("\n")
        self._live.update(Text(body, no_wrap=True, overflow="ellipsis"), refresh=True)

    def _print(self, line: str) -> None:
        print(line, file=self.output or sys.stderr, flush=True)


def stopped_text(record: Record | None, reason: str) -> str:
    """The closing line: steps, time, reason, loss."""
    if record is None:
        return f"stopped before the first step: {reason}"
    steps = "1 step" if record.step == 1 else f"{record.step} steps"
    return f"stopped after {steps}, {record.seconds:.1f} s: {reason} (loss {record.loss:.2e})"
