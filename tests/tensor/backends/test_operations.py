"""The tables of operations: flat classes, and no function that a table leaves out."""

from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any

import pytest

from seqloom.tensor import _defaults, backend
from seqloom.tensor._rules import RULES

BACKENDS = ["numpy", "torch", "jax"]


def modules_of(package: Any) -> list[Any]:
    return [
        import_module(f"{package.__name__}.{found.name}")
        for found in iter_modules(package.__path__)
    ]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_is_one_class_over_the_protocol(name):
    pytest.importorskip(name)
    kinds = type(backend(name)).__mro__
    assert sum(kind.__module__.startswith("seqloom") for kind in kinds) <= 4


def test_each_default_body_is_in_the_table():
    bodies = {
        (name, value)
        for module in modules_of(_defaults)
        for name, value in vars(module).items()
        if isfunction(value) and name in _defaults.EXTENSION
    }
    assert {value for _, value in bodies} == {
        getattr(_defaults.ArrayFunctions, name) for name in _defaults.EXTENSION
    }


def test_each_rule_is_of_an_operation():
    assert set(RULES) <= _defaults.EXTENSION | _defaults.REQUIRED
