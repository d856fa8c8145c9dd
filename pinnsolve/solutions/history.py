"""What training has seen: one `Record` per report, collected in a `History`.

Invariant: both are frozen; `History.from_arrays(history.to_arrays())` gives the same history back.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinnsolve.errors import FileError

NUMBERS = ("step", "seconds", "loss", "held_out", "damping", "trained", "window")


@dataclass(frozen=True)
class Record:
    """The state of training after one step.

    Attributes:
        step: optimizer steps taken so far.
        seconds: training time so far, compilation not counted.
        loss: the sum that the optimizer lowers.
        losses: the part of the loss due to each equation, in the order of the residual names, on
            points never trained on and with the first weights.
        held_out: root of the sum of `losses`; None when not measured at this step.
        stage: the optimizer at work, such as ``"LevenbergMarquardt"``.
        damping: the optimizer's damping or step length where it has one.
        trained: as `held_out`, but on the points trained on.
        errors: field -> its relative L2 error at some of the known values; None where none are
            known.
        window: the window of time, counted from 0; losses of different ones are no comparison.
    """

    step: int
    seconds: float
    loss: float
    losses: tuple[float, ...] = ()
    held_out: float | None = None
    stage: str = ""
    damping: float | None = None
    trained: float | None = None
    errors: Mapping[str, float] | None = None
    window: int = 0


@dataclass(frozen=True)
class History:
    """Records in the order of time; a sequence that also gives its columns as arrays.

    Attributes:
        chosen: the number, from 0, of the record whose parameters are kept, where one was chosen.

    >>> history = History((Record(0, 0.0, 2.0), Record(1, 0.1, 0.5)))
    >>> [float(loss) for loss in history.column("loss")]
    [2.0, 0.5]
    """

    records: tuple[Record, ...] = ()
    chosen: int | None = None

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    def append(self, record: Record) -> "History":
        """A longer history; this one stays as it is."""
        return History((*self.records, record), self.chosen)

    @property
    def kept(self) -> Record | None:
        """The record of the parameters kept: the one chosen, or else the one with the smallest
        held-out residual in the last window of time, or else the last."""
        if self.chosen is not None:
            return self.records[self.chosen]
        last = max((record.window for record in self), default=0)
        measured = [r for r in self if r.held_out is not None and r.window == last]
        if measured:
            return min(measured, key=lambda record: record.held_out or 0.0)
        return self.records[-1] if self.records else None

    def column(self, name: str) -> NDArray[np.float64]:
        """The numbers of one name (see `NUMBERS`) as an array (n,); a missing one is nan."""
        if name not in NUMBERS:
            raise KeyError(f"a history has no column {name!r}; it has {', '.join(NUMBERS)}, losses")
        values = [getattr(record, name) for record in self.records]
        return np.array([math.nan if v is None else v for v in values], dtype=np.float64)

    @property
    def losses(self) -> NDArray[np.float64]:
        """The loss of each equation, an array (n, number of equations)."""
        width = max((len(record.losses) for record in self.records), default=0)
        table = np.full((len(self.records), width), np.nan)
        for row, record in zip(table, self.records, strict=True):
            row[: len(record.losses)] = record.losses
        return table

    @property
    def errors(self) -> dict[str, NDArray[np.float64]]:
        """Field -> its errors (n,), nan where not measured; empty where nothing is known."""
        measured = [record.errors or {} for record in self.records]
        names = dict.fromkeys(name for errors in measured for name in errors)
        return {name: np.array([e.get(name, math.nan) for e in measured]) for name in names}

    @property
    def turns(self) -> list[str]:
        """When each stage after the first began, in words."""
        first = {r.stage: r for r in reversed(list(self))}
        ordered = sorted(first.values(), key=lambda r: r.step)[1:]
        return [f"{r.stage} from step {r.step}, {r.seconds:.1f} s" for r in ordered]

    @property
    def stages(self) -> tuple[str, ...]:
        """The optimizers that were at work, each once, in the order of use."""
        return tuple(dict.fromkeys(record.stage for record in self.records if record.stage))

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The history as plain arrays, for a file. The name of each stage is stored once."""
        arrays: dict[str, NDArray[np.generic]] = {name: self.column(name) for name in NUMBERS}
        arrays["losses"], errors = self.losses, self.errors
        if self.chosen is not None:
            arrays["chosen"] = np.array(self.chosen)
        arrays["errors"] = np.array([*errors.values()]).reshape(len(errors), len(self)).T
        arrays["error_names"] = np.array([name.encode() for name in errors], dtype=np.bytes_)
        names = list(dict.fromkeys(record.stage for record in self.records))
        arrays["stage"] = np.array([names.index(record.stage) for record in self], dtype=np.int64)
        arrays["stage_names"] = np.array([name.encode() for name in names], dtype=np.bytes_)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "History":
        """Inverse of `to_arrays`.

        Raises:
            FileError: a column is missing or its length differs from the others.
        """
        expected = (*NUMBERS, "losses", "errors", "error_names", "stage", "stage_names")
        missing = [name for name in expected if name not in arrays]
        if missing:
            raise FileError(f"the history has no column {', '.join(missing)}")
        lengths = {len(arrays[name]) for name in expected if not name.endswith("_names")}
        if len(lengths) > 1:
            raise FileError(f"the columns of the history differ in length: {sorted(lengths)}")
        stages, fields = (
            [bytes(name).decode() for name in arrays[key]] for key in ("stage_names", "error_names")
        )
        columns = [arrays[name].tolist() for name in (*NUMBERS, "losses", "errors", "stage")]
        records = tuple(_record(row, stages, fields) for row in zip(*columns, strict=True))
        return cls(records, int(arrays["chosen"]) if "chosen" in arrays else None)


def _record(row: tuple, stages: list[str], fields: list[str]) -> Record:
    step, seconds, loss, held_out, damping, trained, window, losses, errors, stage = row
    known = {n: e for n, e in zip(fields, errors, strict=True) if not math.isnan(e)}
    return Record(
        step=int(step),
        seconds=seconds,
        loss=loss,
        losses=tuple(losses),
        held_out=None if math.isnan(held_out) else held_out,
        stage=stages[stage],
        damping=None if math.isnan(damping) else damping,
        trained=None if math.isnan(trained) else trained,
        errors=known or None,
        window=int(window),
    )
