"""The table of operations is complete, and each backend is a single class."""

from inspect import isfunction

import pytest

from seqloom._rust._native import ElementwiseProgram
from seqloom.errors import InternalError
from seqloom.tensor import Backend, backend
from seqloom.tensor._backend import check_overrides
from seqloom.tensor._families import EXTENSION_OPS, GRAD_RULES, REQUIRED_OPS, ArrayFunctions
from seqloom.tensor._families._table import FAMILY_MODULES
from seqloom.tensor._operations import OPERATIONS

BACKEND_NAMES = ["numpy", "torch", "jax"]


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_a_backend_class_derives_directly_from_backend(name):
    pytest.importorskip(name)
    kinds = type(backend(name)).__mro__
    assert sum(kind.__module__.startswith("seqloom") for kind in kinds) <= 4


def test_each_default_implementation_is_in_the_operation_table():
    bodies = {
        value
        for module in FAMILY_MODULES.values()
        for name, value in vars(module).items()
        if isfunction(value) and name in EXTENSION_OPS
    }
    assert bodies == {getattr(ArrayFunctions, name) for name in EXTENSION_OPS}


def test_each_gradient_rule_belongs_to_an_operation():
    assert set(GRAD_RULES) <= EXTENSION_OPS | REQUIRED_OPS


def test_the_operation_table_names_the_family_of_each_default_implementation():
    assert set(OPERATIONS) == EXTENSION_OPS | REQUIRED_OPS | {"to_full_precision"}
    bodies = {
        name: getattr(ArrayFunctions, name, None) for name in EXTENSION_OPS | REQUIRED_OPS
    }
    bodies["to_full_precision"] = Backend.to_full_precision
    assert {name for name, line in OPERATIONS.items() if line.has_default} == {
        name for name, body in bodies.items() if body
    }
    for name in EXTENSION_OPS:
        assert bodies[name].__module__.endswith(f"._families._{OPERATIONS[name].family}")


@pytest.mark.parametrize(
    ("table", "column"), [("GRAD_RULES", "rule"), ("SHAPE_RULES", "shape")]
)
def test_the_operation_table_lists_each_gradient_rule_and_shape_function(table, column):
    written = {
        (name, family)
        for family, module in FAMILY_MODULES.items()
        for name in getattr(module, table, ())
    }
    listed = {
        (name, line.family)
        for name, line in OPERATIONS.items()
        if getattr(line, f"has_{column}")
    }
    assert written == listed


def test_the_rust_extension_fuses_the_operations_in_the_table():
    fused = {name for name, line in OPERATIONS.items() if line.kind in ("float", "bool")}
    # The extension does not fuse casts, because it converts each input to a float.
    assert set(filter(is_step, OPERATIONS)) == fused - {"astype"}


def is_step(name):
    """Return whether the Rust extension can fuse an operation with this name."""
    with pytest.raises(ValueError, match=r"no operation is called|arguments") as caught:
        ElementwiseProgram(False, 0, [], [(name, [])], [])  # noqa: FBT003 - its only form
    return "no operation is called" not in str(caught.value)


def test_a_misspelt_operation_of_a_backend_class_is_an_error_at_import():
    functions = {name: abs for name, line in OPERATIONS.items() if "jax" in line.overrides}
    assert check_overrides("jax", functions) is functions
    functions["sofmax"] = functions.pop("softmax")
    with pytest.raises(InternalError, match=r"jax backend.*differ in softmax: correct"):
        check_overrides("jax", functions)


def test_an_unlisted_operation_of_a_backend_class_is_an_error_at_import():
    functions = {name: abs for name, line in OPERATIONS.items() if "jax" in line.overrides}
    with pytest.raises(InternalError, match="differ in max_pool1d"):
        check_overrides("jax", {**functions, "max_pool1d": abs})
