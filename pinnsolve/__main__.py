"""`python -m pinnsolve`: what can be asked of the library itself."""

import argparse
import sys
from collections.abc import Sequence
from itertools import chain

from pinnsolve.devices.choice import NAMES
from pinnsolve.doctor import examine, processes


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m pinnsolve", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "doctor",
        help="what is installed, and whether it computes what it should",
        description="Print a report that can be pasted into a bug report: versions, devices "
        "compared with the interpreter, gradients compared with differences, known traps of "
        "MindSpore, and under mpiexec or msrun whether the processes reach each other. The exit "
        "status is 1 where something is wrong.",
        allow_abbrev=False,
    )
    check.add_argument(
        "--problem", metavar="FILE", help="check the gradient of the problem of this file instead"
    )
    check.add_argument(
        "--device",
        action="append",
        choices=[name for name in NAMES if name != "reference"],
        help="to check; may be repeated (default: cpu, and ascend where MindSpore is installed)",
    )
    options = parser.parse_args(arguments)
    return doctor(options.problem, options.device or ())


def doctor(file: str | None, devices: Sequence[str]) -> int:
    """Print the report; 1 where something that the library needs is wrong, otherwise 0."""
    ranks, found = processes()
    if ranks.rank > 0:
        return 0
    wrong: list[str] = []
    for section in chain(examine(file, devices), [found]):
        print(f"{section}\n", flush=True)
        wrong += section.wrong
    print(f"WRONG: {'; '.join(wrong)}" if wrong else "All that was checked is in order.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
