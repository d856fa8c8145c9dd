"""How a run ended, in a line: a row of the reports on several runs."""

from pinnsolve.solutions.solution import Solution


def row(solution: Solution) -> str:
    """A line of the report."""
    kept = solution.kept
    held_out = float("nan") if kept is None or kept.held_out is None else kept.held_out
    return (
        f"held-out residual {held_out:.1e}, {solution.steps} steps, {solution.seconds:.1f} s; "
        f"{solution.stop_reason}"
    )
