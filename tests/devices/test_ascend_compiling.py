"""What is compiled, how often, and that a kept graph is never another one's."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sympy import pi, sin

import pinnsolve as ps
from pinnsolve.compiled import jit
from pinnsolve.devices.ascend import AscendDevice
from pinnsolve.devices.ascend.emit import Source
from pinnsolve.devices.ascend.module import JitFunction, tensor
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.errors import DeviceError
from pinnsolve.nets import MLP
from pinnsolve.pipeline import compile_problem
from tests.devices.gallery import points_of, relative

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"
)

DEVICE = AscendDevice("ascend:cpu", "float64")

# Two functions of the same shapes, compiled in the order that is asked for: what each process
# prints is the error against numpy and whether the graph was compiled or found.
SCRIPT = """
import sys
import numpy as np
from pinnsolve.compiled import jit
from pinnsolve.devices.ascend import AscendDevice
from pinnsolve.devices.ascend.compiling import _workshop
from pinnsolve.devices.ascend.environment import load, target
from pinnsolve.diff import functions as ops

target("ascend:cpu")
if sys.argv[2]:  # somebody else's cache, in use before
    ms = load()
    ms.set_context(enable_compile_cache=True, compile_cache_path=sys.argv[2])
    ms.jit(ms.ops.tanh)(ms.Tensor([1.0], ms.float64))
x = np.linspace(0.1, 2.0, 12).reshape(3, 4)
device = AscendDevice("ascend:cpu", "float64")
known = {"sin": lambda x: ops.sin(ops.sin(x)), "cos": lambda x: ops.cos(ops.cos(x))}
for name in sys.argv[1].split():
    before = _workshop().found
    value = jit(known[name], device=device)(x)
    truth = getattr(np, name)(getattr(np, name)(x))
    print(name, abs(value - truth).max() < 1e-12, "found" if _workshop().found > before else "made")
"""


def in_a_new_process(names: str, folder: Path, foreign: str = "") -> list[str]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), names, foreign],
        capture_output=True,
        text=True,
        env={**os.environ, "PINNSOLVE_CACHE": str(folder), "PYTHONPATH": str(Path.cwd())},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_another_process_finds_what_was_compiled_whatever_the_order(tmp_path) -> None:
    assert in_a_new_process("sin", tmp_path) == ["sin True made"]
    assert in_a_new_process("cos sin", tmp_path) == ["cos True made", "sin True found"]
    # MindSpore goes on using the folder that it was told of first, so nothing of it is trusted.
    assert in_a_new_process("sin", tmp_path, str(tmp_path / "foreign")) == ["sin True made"]


def compiled() -> int:
    """How many graphs there are in this process: MindSpore's own list."""
    from mindspore.graph.api import ms_compile_cache

    return len(ms_compile_cache)


def burgers(viscosity: float):
    """The pipeline of a device object, all conditions in the loss."""
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    equation = u.dt + u * u.dx - viscosity * u.dxx
    sides = (u(x, 0) - sin(pi * x), u(-1, t), u(1, t))
    problem = ps.Problem(equation, *sides, domain={x: (-1, 1), t: (0, 1)})
    return compile_problem(problem, MLP(2, 1, width=8, depth=2), DEVICE, exact="never")


def check(pipeline, count: int, seed: int) -> None:
    """Loss and gradient are those of the reference device."""
    points = points_of(pipeline.system, count, seed)
    layout = pipeline.model.layout
    theta = layout.initialize(np.random.default_rng(seed))
    loss, gradient = pipeline.executable.bind(points).loss_gradient(theta)
    reference = ReferenceDevice().compile(pipeline.blocks, layout).bind(points)
    expected, slope = reference.loss_gradient(theta)
    assert loss == pytest.approx(expected, rel=1e-12)
    assert relative(gradient, slope) <= 1e-12


def test_new_points_and_new_coefficients_compile_nothing() -> None:
    first = burgers(0.013)
    check(first, 50, seed=0)
    graphs, seconds = compiled(), first.executable.compile_seconds
    assert seconds > 0
    check(first, 50, seed=1)  # redrawn
    check(first, 60, seed=2)  # a few more
    assert first.executable.compile_seconds == seconds
    second = burgers(0.37)
    check(second, 50, seed=3)
    assert compiled() == graphs
    functions = [f for group in second.executable.functions.values() for f in group]
    assert all(f.run.compile_seconds == f.before > 0 for f in functions)  # the time of the first
    check(first, 300, seed=4)  # many more
    assert compiled() == graphs + 3  # one for each kind of block
    assert first.executable.compile_seconds > seconds


def test_source_and_graphs_are_dumped(tmp_path) -> None:
    x = np.array([0.1, 0.2, 0.3])
    device = AscendDevice("ascend:cpu", "float64", dump=tmp_path / "dump")
    value = jit(lambda x: ops.tanh(x) * 3.0, device=device)(x)
    assert np.allclose(value, 3.0 * np.tanh(x), rtol=1e-14)
    (source,) = (tmp_path / "dump").glob("*.py")
    assert source.name.startswith("function-")
    assert "P.Tanh()" in source.read_text()
    (graphs,) = (tmp_path / "dump" / source.stem).iterdir()
    texts = {path.name: path.read_text() for path in graphs.glob("*.ir")}
    assert any("execute" in name and "Tanh" in text for name, text in texts.items())
    before = len(list((tmp_path / "dump").rglob("*.ir")))
    jit(lambda x: ops.tanh(x) * 5.0, device=DEVICE)(x)
    assert len(list((tmp_path / "dump").rglob("*.ir"))) == before


def test_what_mindspore_cannot_compile_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PINNSOLVE_CACHE", str(tmp_path))
    name = f"program_{'0' * 32}"
    head = "from mindspore.ops import operations as P\n\nf0 = P.MatMul()\n\n\n"
    text = f"{head}def {name}(a0):\n    v0 = f0(a0, a0)\n    return (v0,)\n"
    function = JitFunction(Source(text, "gradient", name, (), {}), "CPU")
    with pytest.raises(
        DeviceError, match=r"cannot compile gradient(?s:.*)MatMul(?s:.*)doctor"
    ) as e:
        function([tensor([[1.0, 2.0]], "float32")])
    assert str(tmp_path) in str(e.value)  # where the source is
    x = np.array([0.1, 0.2])
    assert np.allclose(jit(lambda x: ops.tanh(x) * 7.0, device=DEVICE)(x), 7.0 * np.tanh(x))
