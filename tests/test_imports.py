"""The one-way rule of imports, read from the source of every module."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pinnsolve"

# A module may import modules of lower rows and of its own part, which is a folder or a module. Of
# some folders each module is a part of its own. Parts in one row do not know each other.
ROWS = (
    {"errors"},
    {"options"},
    {"cache"},
    {"geometry"},
    {"pde"},
    {"diff"},
    {"nets", "devices", "ops"},
    {"optim", "compiled"},
    {"formats"},
    {"pipeline"},
    # What is trained where: points and weights.
    {"sampling.draws", "sampling.weighting"},
    {"sampling.points", "sampling.weights"},
    # What comes out.
    {"solutions.history", "solutions.comparison", "solutions.field_evaluator", "solutions.file"},
    {"solutions.diagnosis", "solutions.estimates", "solutions.field"},
    {
        "solutions.piecewise",
        "solutions.named_fields",
        "solutions.fitting",
        "solutions.field_export",
    },
    {"solutions.plot"},
    {"solutions.solution"},
    {"solutions.row"},
    {"solutions.ensemble", "solutions.sweep"},
    {"solutions.loading"},
    # How it comes about.
    {
        "training.policy",
        "training.progress",
        "training.nodes",
        "training.spreads",
        "training.judge",
    },
    {"training.stages", "training.checkpoint", "training.warm_start", "training.correction"},
    {"training.agreement"},
    {"training.identity"},
    {"training.loop"},
    {"training.marching"},
    # What starts it.
    {"runs.arguments"},
    {"runs.solve"},
    {"runs.continuation", "runs.members"},
    {"runs.ensemble", "runs.sweep"},
    # What it will take.
    {"cost.machine"},
    {"cost.model"},
    {"cost.estimate"},
    {"__init__"},
    {"command_line", "self_check"},
    {"doctor"},
    {"__main__"},
)
RANK = {part: rank for rank, row in enumerate(ROWS) for part in row}
ORDERED = {part.split(".")[0] for part in RANK if "." in part}  # folders with an order inside

# Imported upwards on purpose, inside a function or for type checkers only.
EXCEPTIONS = {
    ("pinnsolve.pde.problem", "runs.solve"),  # problem.solve() makes the script one line shorter
    ("pinnsolve.pde.problem", "cost.estimate"),  # ... and problem.estimate() says what it will take
    ("pinnsolve.pde.problem", "solutions.solution"),  # ... and its result has a type
    ("pinnsolve.solutions.plot", "solutions.solution"),  # the type of what is drawn
    ("pinnsolve.formats.function_file", "__init__"),  # the version of the package
}

# A third-party package that only some places may import.
CONFINED = {
    "onnx": ("pinnsolve.formats.onnx_graph",),
    "llvmlite": ("pinnsolve.devices.cpu",),
    "mindspore": ("pinnsolve.devices.ascend",),
    "mpi4py": ("pinnsolve.devices.communication",),
    "sympy": (
        "pinnsolve.geometry",
        "pinnsolve.pde",
        "pinnsolve.diff.alike",
        "pinnsolve.diff.freeze",
        "pinnsolve.diff.plan",
        "problems",
    ),
    "matplotlib": ("pinnsolve.solutions.plot", "pinnsolve.geometry.domain_plot"),
    "pint": ("pinnsolve.pde.units",),
    "rich": ("pinnsolve.training.progress",),
    "h5py": (
        "pinnsolve.solutions.file",
        "pinnsolve.formats.function_file",
        "pinnsolve.nets.checkpoint",
        "pinnsolve.pde.readers",
    ),
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    # A package's __init__ answers for the package; that of pinnsolve itself has its own row.
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def imports_of(source: str) -> set[str]:
    """Full names of all that a module imports, wherever the statement stands."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            found |= {f"{prefix}.{alias.name}" for alias in node.names}
    return found


def part_of(name: str) -> str:
    parts = name.split(".")
    for part in (".".join(parts[1:3]), ".".join(parts[1:2])):
        if part in RANK:
            return part
    return "__init__"  # `import pinnsolve` and `from pinnsolve import Name` go through it


def layer_violations(module: str, source: str) -> list[str]:
    own = part_of(module)
    wrong = []
    for name in sorted(imports_of(source)):
        if name.startswith("."):
            wrong.append(f"{module} imports {name}: write the full name")
        if name.split(".")[0] != "pinnsolve":
            continue
        part = part_of(name)
        if part != own and RANK[part] >= RANK[own] and (module, part) not in EXCEPTIONS:
            wrong.append(f"{module} imports {name}, which is not in a lower row")
    return wrong


def within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


def confinement_violations(module: str, source: str) -> list[str]:
    return [
        f"{module} imports {name}; only {', '.join(CONFINED[package])} may"
        for name in sorted(imports_of(source))
        if (package := name.split(".")[0]) in CONFINED and not within(module, CONFINED[package])
    ]


def reads_environment(source: str) -> bool:
    names = {"environ", "getenv", "environb"}
    return any(
        (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.alias) and node.name in names)
        for node in ast.walk(ast.parse(source))
    )


LIBRARY = sorted(PACKAGE.rglob("*.py"))
PROBLEMS = sorted((ROOT / "problems").rglob("*.py"))


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_keeps_its_layer(path: Path) -> None:
    module = module_name(path)
    if module.split(".")[1] in ORDERED and path.name == "__init__.py":
        assert imports_of(path.read_text()) == set()
        return
    assert module == "pinnsolve.__init__" or part_of(module) != "__init__", f"{module}: see ROWS"
    assert layer_violations(module, path.read_text()) == []


def test_rows_of_a_folder_stand_together() -> None:
    """So that folders are one above the other, as their modules are."""
    firsts = [{part.split(".")[0] for part in row} for row in ROWS]
    for folder in ORDERED:
        ranks = [rank for rank, names in enumerate(firsts) if folder in names]
        assert ranks == list(range(ranks[0], ranks[-1] + 1))
        assert all(firsts[rank] == {folder} for rank in ranks)


@pytest.mark.parametrize("path", LIBRARY + PROBLEMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_are_imported_only_where_they_belong(path: Path) -> None:
    assert confinement_violations(module_name(path), path.read_text()) == []


@pytest.mark.parametrize("path", LIBRARY + PROBLEMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_options_reads_the_environment(path: Path) -> None:
    if path != PACKAGE / "options.py":
        assert not reads_environment(path.read_text())


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("pinnsolve.pde.check", "from pinnsolve.diff import graph"),
        ("pinnsolve.nets.cell", "def f():\n    from pinnsolve.devices.base import Device"),
        ("pinnsolve.optim.adam", "import pinnsolve"),
        ("pinnsolve.diff.graph", "from pinnsolve import Problem"),
        ("pinnsolve.solutions.solution", "import pinnsolve.runs.solve"),
        ("pinnsolve.training.stages", "from pinnsolve.training import loop"),
        ("pinnsolve.solutions.field", "from pinnsolve.solutions.piecewise import Piecewise"),
        ("pinnsolve.pde.check", "from .problem import Problem"),
    ],
)
def test_an_upward_import_is_found(module: str, statement: str) -> None:
    assert layer_violations(module, statement)


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("pinnsolve.diff.graph", "import sympy"),
        ("pinnsolve.devices.ascend.emit", "from llvmlite import ir"),
        ("pinnsolve.solutions.solution", "import matplotlib.pyplot as plt"),
        ("pinnsolve.plotting", "import matplotlib"),
    ],
)
def test_a_misplaced_package_is_found(module: str, statement: str) -> None:
    assert confinement_violations(module, statement)


def test_reading_the_environment_is_found() -> None:
    assert reads_environment("import os\nos.environ['HOME']")
    assert reads_environment("from os import getenv")
    assert not reads_environment("import os\nos.replace('a', 'b')")


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = ["llvmlite", "matplotlib", "mindspore", "h5py", "rich"]
    code = f"import pinnsolve, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"
