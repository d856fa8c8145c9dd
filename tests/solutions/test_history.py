import math

import numpy as np
import pytest

from pinnsolve.errors import FileError
from pinnsolve.solutions.history import History, Record

RECORDS = (
    Record(0, 0.0, 1.5, (1.0, 0.5), held_out=0.3, stage="Adam"),
    Record(1, 0.1, 1 / 3, (0.1, 1 / 3 - 0.1), stage="Adam"),
    Record(2, 0.25, 1e-300, (0.0, 1e-300), stage="Lévenberg", damping=1e-3),
    Record(3, 0.5, 0.0, (0.0, 0.0), stage="Adam", errors={"v": math.inf, "pressure": 1 / 3}),
    Record(4, 0.6, 0.0, (0.0, 0.0), stage="Adam", errors={"v": 1e-9}),
)


def test_append_leaves_the_shorter_history_as_it_was() -> None:
    short = History(RECORDS[:2])
    long = short.append(RECORDS[2])
    assert (len(short), len(long), long[-1]) == (2, 3, RECORDS[2])


def test_columns() -> None:
    history = History(RECORDS)
    assert history.column("step").tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(history.column("held_out")).tolist() == [False, True, True, True, True]
    assert history.losses.shape == (5, 2)
    assert list(history.errors) == ["v", "pressure"]
    np.testing.assert_array_equal(history.errors["v"], [np.nan] * 3 + [np.inf, 1e-9])
    np.testing.assert_array_equal(history.errors["pressure"], [np.nan] * 3 + [1 / 3, np.nan])
    assert history.losses[0].tolist() == [1.0, 0.5]
    assert history.stages == ("Adam", "Lévenberg")
    with pytest.raises(KeyError, match="no column 'error'"):
        history.column("error")


def test_the_number_of_equations_may_differ_between_records() -> None:
    losses = History((Record(0, 0.0, 1.0, (1.0,)), Record(1, 1.0, 1.0, (0.5, 0.5)))).losses
    assert math.isnan(losses[0, 1])
    assert losses[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_arrays_bring_the_same_history_back(count: int) -> None:
    history = History(RECORDS[:count])
    assert History.from_arrays(history.to_arrays()) == history


def test_a_lost_column_is_named() -> None:
    arrays = History(RECORDS).to_arrays()
    del arrays["seconds"]
    with pytest.raises(FileError, match="seconds"):
        History.from_arrays(arrays)


def test_columns_of_different_length_are_refused() -> None:
    arrays = History(RECORDS).to_arrays()
    arrays["loss"] = arrays["loss"][:-1]
    with pytest.raises(FileError, match="differ in length"):
        History.from_arrays(arrays)
