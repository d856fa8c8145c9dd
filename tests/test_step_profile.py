"""The profile of a step leaves the library as it found it, and its parts make up the whole."""

import pytest

import pinnsolve as ps
from benchmarks.step_profile import PARTS, TIMED, Case, measured


@pytest.mark.parametrize(
    ("optimizer", "first"), [(ps.Adam(), 100), (ps.LevenbergMarquardt(), 10)], ids=["Adam", "LM"]
)
def test_shares_of_a_step(optimizer, first: int) -> None:
    originals = [getattr(owner, name) for _, owner, name in TIMED]
    row = measured(Case(optimizer, 1, 8, 60, first, 10), threads=1)
    assert [getattr(owner, name) for _, owner, name in TIMED] == originals
    shares = [row[part] for part in (*PARTS, "the rest")]
    assert sum(shares) == pytest.approx(1.0)
    assert all(share >= 0.0 for share in shares)
    assert min(row["kernels"], row["looks"], row["the rest"]) > 0.0
    assert (row["linear algebra"] > 0.0) == isinstance(optimizer, ps.LevenbergMarquardt)
    assert row["milliseconds"] > 0.0
