"""Random expressions, mixed derivatives to order 6, random mixes of transforms, at 50 digits."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from mpmath import mpf

from tests.diff.expressions import TRANSFORMS, Case, cases, simplest
from tests.diff.operations import OPERATIONS

TOLERANCE = 1e-10  # relative to the derivative, or to what one rounding error does to it


@dataclass
class Report:
    """The worst relative error, and what has been tried."""

    worst: float = 0.0
    at: str = ""
    tried: int = 0
    ill: int = 0  # cases whose operations and slopes had to be disturbed one by one
    operations: set[str] = field(default_factory=set)
    transforms: set[str] = field(default_factory=set)
    orders: set[int] = field(default_factory=set)

    def __str__(self) -> str:
        return (
            f"{self.tried} random expressions: worst relative error {self.worst:.1e}, "
            f"{self.ill} ill-conditioned"
        )

    def check(self, case: Case) -> None:
        found, exact = float(case.function()(*case.point)), case.exactly()
        difference = abs(float(mpf(found) - exact))
        scale = case.scale(exact)
        if difference > TOLERANCE * scale:
            self.ill += 1
            scale = case.scale(exact, smooth=True)
        error = difference / scale if difference else 0.0
        if error > self.worst:
            self.worst, self.at = error, f"{case}: {found}, not {float(exact)}"
        self.tried += 1
        self.operations |= case.expression.names()
        self.transforms |= {name for name, _, _ in case.steps}
        self.orders.add(sum(case.orders))
        assert error <= TOLERANCE, self.at


def run(count: int) -> Report:
    report = Report()

    @settings(
        max_examples=count, derandomize=True, deadline=None, database=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases())
    def each(case: Case) -> None:
        report.check(case)

    each()
    return report


def assert_various(report: Report, count: int) -> None:
    assert report.tried >= count
    assert len(report.operations) >= 0.9 * len(OPERATIONS)
    assert report.transforms == set(TRANSFORMS)
    assert report.orders == {1, 2, 3, 4, 5, 6}
    assert report.ill < 0.1 * count


MIXES = (
    (("grad", 0, 1), ("jet", 1, 2), ("vjp", 1, 1)),
    (("jet", 0, 2), ("reverse", 1, 1), ("jvp", 0, 1)),
    (("derivative", 1, 1), ("hessian", 0, 2), ("checkpoint", 1, 3)),
    (("jet", 0, 6),),
    (("grad", 1, 6),),
)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation(name):
    """Of arguments that depend on two variables, with fixed mixes of transforms."""
    report = Report()
    for steps in MIXES:
        report.check(simplest(name, steps))
    assert report.tried == len(MIXES)


def test_random_expressions(record_property):
    report = run(300)
    record_property("random expressions", str(report))
    assert_various(report, 300)


@pytest.mark.slow
def test_many_random_expressions(capsys):
    report = run(5000)
    with capsys.disabled():
        print(f"\n{report}\n  {report.at}")  # noqa: T201
    assert_various(report, 5000)
