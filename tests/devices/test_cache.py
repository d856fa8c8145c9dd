"""Compiled code between processes: what it is kept by, damage, races, removal."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.cache import Files
from pinnsolve.devices.cpu import jit
from pinnsolve.devices.cpu.final import finished
from pinnsolve.devices.finishing import final_graph
from pinnsolve.diff.residual import PROGRAMS
from tests.devices.gallery import case

ROOT = Path(__file__).parents[2]
TILE = 32  # points
TEXT = """def call(row, at, D, U, S, O, A, tile, stride, column, segment):
    p0 = row[1]
    for i in points(tile):
        store(O, p0 + i, R({factor}) * load(D, at + i))
"""


def text(factor):
    return TEXT.format(factor=float(factor))


def product(factor, folder, dtype="float64"):
    """The factor times 0, 1, 2, ... of compiled code."""
    program = jit.program([text(factor)], dtype, folder)
    table = np.array([[program.addresses[text(factor)], 0]])
    x, out, none = np.arange(TILE, dtype=dtype), np.zeros(TILE, dtype), np.zeros(0, dtype)
    program.run(table, 0, 1, TILE, x, none, none, out, none, 0, 0, 0)()
    return out


@pytest.fixture(autouse=True)
def anew(monkeypatch):
    """What a new process has loaded: nothing. Call it for another."""

    def forget():
        monkeypatch.setattr(jit, "_ADDRESSES", {})

    forget()
    return forget


@pytest.fixture
def compilations(monkeypatch):
    """Names of the functions that were compiled."""
    names = []
    compile_one = jit._compile

    def record(module):
        names.append(module)
        return compile_one(module)

    monkeypatch.setattr(jit, "_compile", record)
    return names


def files_in(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


# --- what code is kept by --------------------------------------------------------------------


def test_each_text_and_precision_is_compiled_once_and_kept(tmp_path, compilations, anew):
    for factor, dtype in ((2, "float64"), (3, "float64"), (2, "float32")):
        assert np.array_equal(product(factor, tmp_path, dtype), factor * np.arange(TILE))
    assert len(compilations) == len(files_in(tmp_path)) == 4  # three texts and the driver
    product(2, tmp_path)
    anew()
    assert np.array_equal(product(2, tmp_path), 2 * np.arange(TILE))
    assert np.array_equal(product(3, tmp_path), 3 * np.arange(TILE))
    assert len(compilations) == 4


@pytest.mark.parametrize("what", ["cpu", "features", "compiler", "tracing"])
def test_code_of_another_machine_or_compiler_is_not_loaded(
    tmp_path, monkeypatch, compilations, anew, what
):
    product(2, tmp_path)
    anew()
    name, features = jit._processor()
    match what:
        case "cpu":
            monkeypatch.setattr(jit, "_processor", lambda: ("x86-64", features))
        case "features":
            monkeypatch.setattr(jit, "_processor", lambda: (name, features + ",-sse4a"))
        case "compiler":
            monkeypatch.setattr(jit.llvmlite, "__version__", "0.0")
        case "tracing":
            changed = tmp_path / "trace.py"
            changed.write_text(Path(jit.trace.__file__).read_text() + "\n")
            monkeypatch.setattr(jit.trace, "__file__", str(changed))
            jit._sources.cache_clear()
    product(2, tmp_path)
    jit._sources.cache_clear()
    assert len(compilations) == 4
    assert len(list((tmp_path / "kernels").iterdir())) == 2


def test_every_module_that_makes_code_is_part_of_the_key():
    """What those of the key import of this device is in the key too."""
    folder = Path(jit.__file__).parent
    texts = {p.read_text(): p for p in folder.rglob("*.py")}
    known = {texts[source] for source in jit._sources()}
    assert len(known) == len(jit._sources()) > 5
    for path in known - {Path(jit.__file__)}:
        for module in re.findall(r"from pinnsolve\.devices\.cpu\.(\S+) import", path.read_text()):
            assert folder / (module.replace(".", "/") + ".py") in known, (path, module)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_final_graphs_are_kept_whole(tmp_path, name):
    """What is read is the very graph that was made: nodes are interned."""
    found = case("kovasznay")
    parameters = found.layout.parameters
    graph = PROGRAMS[name](found.blocks[0].residuals, [p.node for p in parameters])
    made = finished(graph)
    assert final_graph(graph, parameters, tmp_path, "cpu", finished).outputs == made.outputs
    assert len(files_in(tmp_path)) == 1
    fail = lambda graph: pytest.fail("made again")  # noqa: E731
    kept = final_graph(graph, parameters, tmp_path, "cpu", fail)
    assert list(kept.outputs) == list(made.outputs)
    assert all(kept.outputs[key] is node for key, node in made.outputs.items())


# --- damage ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    {
        "empty": lambda code: b"",
        "short": lambda code: code[:10],
        "truncated": lambda code: code[:-100],
        "garbage": lambda code: bytes(range(256)) * 20,
        "one bit": lambda code: code[:500] + bytes([code[500] ^ 1]) + code[501:],
        "longer": lambda code: code + b"\0",
    }.items(),
    ids=lambda damage: damage[0],
)
def test_a_damaged_file_is_made_anew(tmp_path, compilations, anew, damage):
    product(2, tmp_path)
    whole = {path: path.read_bytes() for path in files_in(tmp_path)}
    assert len(whole) == 2  # the text and the driver
    for path, code in whole.items():
        path.write_bytes(damage[1](code))
    anew()
    assert np.array_equal(product(2, tmp_path), 2 * np.arange(TILE))
    assert len(compilations) == 4
    assert {path: path.read_bytes() for path in files_in(tmp_path)} == whole


def test_code_under_the_name_of_another_is_not_run(tmp_path, anew):
    files = Files(tmp_path, "e")
    files.write("two", b"code of two")
    (files.folder / "three").write_bytes((files.folder / "two").read_bytes())
    assert files.read("two") == b"code of two"
    assert files.read("three") is None
    assert files.read("four") is None


def test_a_folder_that_cannot_be_written(tmp_path):
    """Results are right all the same; the warning names the folder and the way out."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(UserWarning, match="cannot be kept in .*file.*set PINNSOLVE_CACHE"):
        found = product(2, blocked)
    assert np.array_equal(found, 2 * np.arange(TILE))


def test_a_write_that_breaks_off_leaves_nothing(tmp_path, monkeypatch):
    def full(path, code):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        Files(tmp_path, "e").write("two", b"code")
    assert files_in(tmp_path) == []


# --- processes -------------------------------------------------------------------------------

SOLVE = """
import pinnsolve as ps
x = ps.coordinates("x")[0]
u = ps.field("u", x)
problem = ps.Problem(u.dx + u, u(0) - 1, domain={x: (0, 1)})
network = ps.MLP(1, 1, width=4, depth=2)
solution = problem.solve(network=network, steps=20, progress=False)
print(repr(float(solution.u(0.5))))
"""


def start(folder):
    environment = {**os.environ, "PINNSOLVE_CACHE": str(folder), "PINNSOLVE_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SOLVE], env=environment, cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def result(process):
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return float(out)


def test_two_processes_start_cold_at_once_and_a_third_repairs_their_files(tmp_path):
    pair = [start(tmp_path / "moved"), start(tmp_path / "moved")]
    first, second = map(result, pair)
    assert first == second
    assert abs(first - np.exp(-0.5)) < 1e-3
    whole = {path: path.read_bytes() for path in files_in(tmp_path)}
    assert len(whole) > 5
    assert not [path for path in whole if path.suffix == ".tmp"]
    for path in whole:
        path.write_bytes(b"")
    assert result(start(tmp_path / "moved")) == first
    assert {path: path.read_bytes() for path in files_in(tmp_path)} == whole


# --- removal ---------------------------------------------------------------------------------


def test_clearing_removes_what_is_ours_alone(tmp_path, monkeypatch, anew, compilations):
    monkeypatch.setenv("PINNSOLVE_CACHE", str(tmp_path))
    product(2, tmp_path)
    ours = files_in(tmp_path)
    other_version = tmp_path / "kernels" / ("0" * 32) / ("f" * 32)
    other_version.parent.mkdir()
    other_version.write_bytes(b"old code")
    left_over = ours[0].with_name(ours[0].name + ".123.4.tmp")
    left_over.write_bytes(b"half")
    foreign = [tmp_path / "references" / "burgers.npz", ours[0].with_name("notes.txt"),
               tmp_path / "kernels" / "mine" / ("a" * 32)]  # fmt: skip
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("not of the library")
    size = sum(path.stat().st_size for path in [*ours, other_version, left_over])

    assert ps.clear_cache() == size
    assert files_in(tmp_path) == sorted(foreign)
    assert not other_version.parent.exists()
    assert ps.clear_cache() == 0
    assert np.array_equal(product(2, tmp_path), 2 * np.arange(TILE))  # what is loaded stays
    assert len(compilations) == 2
    anew()
    product(2, tmp_path)
    assert len(compilations) == 4


def test_clearing_a_cache_that_is_not_there(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ps.clear_cache(tmp_path / "nowhere") == 0
    assert files_in(tmp_path) == []
