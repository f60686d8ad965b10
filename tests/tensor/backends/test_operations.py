"""The tables of operations: flat classes, and no function that a table leaves out."""

from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from typing import Any

import pytest

from seqloom._rust._native import ElementwiseProgram
from seqloom.errors import InternalError
from seqloom.tensor import Backend, _defaults, _rules, backend
from seqloom.tensor._compile import _shapes
from seqloom.tensor._operations import OPERATIONS
from seqloom.tensor._rules import RULES
from seqloom.tensor.backends._table import check_overrides

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


def test_each_operation_has_a_line_that_names_the_file_of_its_default_body():
    bodies = {
        name: vars(Backend).get(name, getattr(_defaults.ArrayFunctions, name, None))
        for name in _defaults.EXTENSION | _defaults.REQUIRED | {"to_full_precision"}
    }
    files = {
        name: body.__module__.rpartition(".")[2] if body else ""
        for name, body in bodies.items()
    }
    assert {name: line.default for name, line in OPERATIONS.items()} == files


@pytest.mark.parametrize(("package", "column"), [(_rules, "rule"), (_shapes, "shape")])
def test_each_rule_and_shape_is_on_the_line_of_its_operation(package, column):
    written = {
        (name, module.__name__.rpartition(".")[2])
        for module in modules_of(package)
        if not module.__name__.endswith("._table")
        for name in getattr(module, "RULES", ())
    }
    listed = {(name, getattr(line, column)) for name, line in OPERATIONS.items()}
    assert written == {(name, file) for name, file in listed if file}


def test_the_extension_fuses_the_operations_that_the_table_says():
    fused = {name for name, line in OPERATIONS.items() if line.kind in ("float", "bool")}
    # A cast is no step: each input becomes a float as it is read.
    assert set(filter(is_step, OPERATIONS)) == fused - {"astype"}


def is_step(name):
    """Whether the extension has a step of this name; without operands it is an error."""
    with pytest.raises(ValueError, match=r"no operation is called|arguments") as caught:
        ElementwiseProgram(False, 0, [], [(name, [])], [])  # noqa: FBT003 - its only form
    return "no operation is called" not in str(caught.value)


def test_an_override_whose_name_is_misspelt_is_an_error_at_import():
    functions = {name: abs for name, line in OPERATIONS.items() if "jax" in line.overrides}
    assert check_overrides("jax", functions) is functions
    functions["sofmax"] = functions.pop("softmax")
    with pytest.raises(InternalError, match=r"jax backend.*differ in softmax: correct"):
        check_overrides("jax", functions)


def test_an_override_that_the_table_does_not_list_is_an_error_at_import():
    functions = {name: abs for name, line in OPERATIONS.items() if "jax" in line.overrides}
    with pytest.raises(InternalError, match="differ in max_pool1d"):
        check_overrides("jax", {**functions, "max_pool1d": abs})
