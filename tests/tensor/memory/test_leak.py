"""Leaks: who holds a tensor of a scope that has ended is named, once."""

import gc
import sys
import types
import warnings
from typing import Any

import pytest

import seqloom as sl
from seqloom.errors import LeakWarning

B = sl.tensor.backend("numpy", num_threads=1)
HELD = {}


class Logger:
    def __init__(self):
        self.last: Any = None


class Slotted:
    __slots__ = ("last",)


@pytest.fixture(scope="module", autouse=True)
def _unfrozen():
    """Shows the garbage collector the objects that conftest.py has frozen."""
    gc.unfreeze()
    yield
    gc.freeze()


def warned(step):
    """The warnings of three rounds of a step, each in a scope."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            with sl.tensor.scope():
                step()
    return [str(each.message) for each in caught if each.category is LeakWarning]


def test_a_list_is_named_with_its_variable_and_once():
    seen = []
    (message,) = warned(lambda: seen.append(B.tensor([1.0])))
    assert "a list: the variable 'seen' of" in message


def test_the_line_that_made_the_tensor_is_named():
    seen = []

    def step():
        x = B.tensor([1.0, 2.0])
        seen.append(x)

    line = step.__code__.co_firstlineno + 1
    (message,) = warned(step)
    assert f"shape (2,) made at {__file__}:{line}" in message


def test_the_warning_points_at_the_line_that_made_the_tensor():
    seen = []
    with pytest.warns(LeakWarning) as caught, sl.tensor.scope():
        seen.append(B.tensor([1.0]))
    assert caught[0].filename == __file__


def test_an_attribute_is_named_with_its_class():
    logger = Logger()

    def step():
        logger.last = B.tensor([1.0])

    (message,) = warned(step)
    assert "attribute 'last' of a Logger" in message


def test_a_slot_is_named_too():
    holder = Slotted()

    def step():
        holder.last = B.tensor([1.0])

    (message,) = warned(step)
    assert "attribute 'last' of a Slotted" in message


def test_a_list_that_an_object_holds_is_named():
    logger = Logger()
    logger.last = []
    (message,) = warned(lambda: logger.last.append(B.tensor([1.0])))
    assert "a list: attribute 'last' of a Logger" in message


def test_a_dict_of_a_module_is_named():
    (message,) = warned(lambda: HELD.update(x=B.tensor([1.0])))
    assert f"a dict: the global 'HELD' of {__name__}" in message


def test_a_global_of_a_module_is_named():
    module: Any = types.ModuleType("elsewhere")
    sys.modules["elsewhere"] = module

    def step():
        module.kept = B.tensor([1.0])

    (message,) = warned(step)
    assert "the global 'kept' of elsewhere" in message


def test_a_local_variable_is_no_leak():
    def step():
        x = B.tensor([1.0])
        return x + x

    assert warned(step) == []
    with sl.tensor.scope():
        loss = B.tensor([1.0])
    assert "released" in repr(loss)


def test_a_tuple_in_a_local_variable_is_no_leak():
    with sl.tensor.scope():
        result = (B.tensor([1.0]), B.tensor([2.0]))
    assert "released" in repr(result[0])


def test_a_variable_of_an_enclosing_function_is_no_leak():
    with sl.tensor.scope():
        loss = B.tensor([1.0])

        def later():
            return loss

    assert "released" in repr(later())


def test_a_script_whose_variable_holds_a_tensor_has_no_leak():
    script = (
        "import seqloom as sl\n"
        "B = sl.tensor.backend('numpy')\n"
        "with sl.tensor.scope():\n"
        "    loss = B.tensor([1.0])\n"
    )
    exec(compile(script, "script.py", "exec"), {"__name__": "__main__"})  # noqa: S102


def test_what_is_kept_is_no_leak():
    seen = []
    assert warned(lambda: seen.append(B.tensor([1.0]).keep())) == []


def test_a_leak_that_begins_later_is_found():
    seen = []
    rounds = iter(range(64))

    def step():
        x = B.tensor([1.0])
        if next(rounds) >= 10:
            seen.append(x)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(40):
            with sl.tensor.scope():
                step()
    assert [each.category for each in caught] == [LeakWarning]


def test_looking_for_a_holder_leaves_the_callers_variables_alone():
    seen, number = [], 5
    names = locals()
    with pytest.warns(LeakWarning), sl.tensor.scope():
        seen.append(B.tensor([1.0]))
    assert names["number"] == number
