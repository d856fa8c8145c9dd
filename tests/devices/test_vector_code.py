"""Every elementary function becomes vector instructions, on x86-64 and on aarch64.

Compiled for the processor, not run: what is read is the assembly.
"""

import re

import pytest
from llvmlite import binding

from pinnsolve.devices.cpu.elementary import FUNCTIONS
from pinnsolve.devices.cpu.trace import trace

TARGETS = {
    "aarch64": ("aarch64-unknown-linux-gnu", "generic"),
    "x86-64": ("x86_64-unknown-linux-gnu", "x86-64-v3"),
}
# Arithmetic on vectors, on single numbers in the same registers, and calls.
VECTOR = {
    ("aarch64", "float64"): r"\sfml[as]\s+v\d+\.2d",
    ("aarch64", "float32"): r"\sfml[as]\s+v\d+\.4s",
    ("x86-64", "float64"): r"\svfn?m(add|sub)\w*pd\s.*ymm",
    ("x86-64", "float32"): r"\svfn?m(add|sub)\w*ps\s.*ymm",
}
SCALAR = {
    "aarch64": r"\sf(n?m?add|n?m?sub|mul|nmul|div|sqrt|cvt\w*|cmpe?|csel)\s+[dswx]\d+",
    "x86-64": r"\sv(add|sub|mul|div|sqrt|ucomi|cmp\w*|fn?m(add|sub)\d*)s[sd]\s",
}
CALL = {"aarch64": r"\sbl\s+(\S+)", "x86-64": r"\scallq?\s+(\S+)"}
ARITY = {"where": 3, "less": 2, "less_equal": 2, "equal": 2, "power": 2}
RARE = {"sin", "cos", "log", "log1p"}  # with a branch to the C library
PLAIN = {
    "absolute",
    "sqrt",
    "sign",
    "floor",
    "single",
    "where",
    "less",
    "less_equal",
    "equal",
    "power",
}


def assembly(name, target, precision):
    """The loop ``f(x)`` over points, and the functions beside it: assembly by name."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple, cpu = TARGETS[target]
    operands = ", ".join(["load(D, i)"] * ARITY.get(name, 1))
    text = (
        "def call(row, at, D, U, S, O, A, tile, stride, column, segment):\n"
        f"    for i in points(tile): store(S, i, {name}({operands}))\n"
    )
    module = trace(text, "loop", precision, FUNCTIONS)
    module.triple = triple
    machine = binding.Target.from_triple(triple).create_target_machine(
        cpu=cpu, opt=3, reloc="pic", codemodel="small"
    )
    parsed = binding.parse_assembly(str(module))
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(3))
    passes.getModulePassManager().run(parsed, passes)
    found = re.findall(r"(?ms)^(\w+):(.*?)^\.Lfunc_end", machine.emit_assembly(parsed))
    return dict(found)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "power"])
def test_the_loop_is_vector_code(name, target, precision):
    functions = assembly(name, target, precision)
    loop = functions["loop"]
    assert not re.findall(SCALAR[target], loop)
    assert len(re.findall(VECTOR[target, precision], loop)) >= (0 if name in PLAIN else 8)
    calls = {call.split("@")[0] for call in re.findall(CALL[target], loop)}
    assert len(calls) == (name in RARE)
    assert calls <= set(functions), "only our own function that goes through the lanes"


@pytest.mark.parametrize("target", TARGETS)
def test_single_numbers_are_found_where_there_are_some(target):
    """The patterns see the C library called lane by lane, and scalar arithmetic."""
    functions = assembly("power", target, "float64")
    (lanes,) = functions.keys() - {"loop"}
    assert len(re.findall(CALL[target], functions[lanes])) == 8
    assert re.search(SCALAR["aarch64"], "\tfmadd\td0, d1, d2, d3\n")
    assert re.search(SCALAR["x86-64"], "\tvfmadd213sd\t%xmm0, %xmm1, %xmm2\n")
