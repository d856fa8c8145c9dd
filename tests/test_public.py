"""Every public name explains itself, with an example that runs (as a doctest of its module)."""

import inspect
import sys
from types import ModuleType

import pytest

import pinnsolve as ps

NAMES = [
    (module, name)
    for module in (ps, ps.diff, ps.equations, ps.nets, ps.ops)
    for name in module.__all__
    if not isinstance(getattr(module, name), ModuleType)
]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda v: getattr(v, "__name__", v))
def test_public_names_have_documentation_with_an_example(module, name):
    value = getattr(module, name)
    text = inspect.getdoc(value) or ""
    assert len(text.split()) >= 3, f"{name} does not say what it is"
    assert ">>>" in text, f"{name} has no example"
    home = sys.modules[value.__module__]
    assert home.__name__.startswith("pinnsolve")
    assert vars(home).get(value.__name__) is value, f"no doctest run finds {name}"


@pytest.mark.parametrize("module", [ps, ps.diff, ps.equations, ps.nets, ps.ops])
def test_listed_names_exist_once(module):
    assert len(module.__all__) == len(set(module.__all__))
    assert all(hasattr(module, name) for name in module.__all__)
