"""A compiled step detects changes of global and enclosing variables that it reads."""

import dataclasses
import datetime as dt
import functools
import itertools
import logging
import os
import random
import secrets
import sqlite3
import sys
import threading
import time
from functools import partial
from random import uniform
from types import CellType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

import seqloom as sl
from seqloom.errors import CaptureError

BACKEND_NAMES = ["numpy", "jax"]
GLOBAL_FACTOR = 2.0
GLOBAL_ARRAY = np.array([1.0, 2.0], "f4")


class Settings:
    shared = 5.0

    def __init__(self):
        self.factor = 2.0
        self.nested = SimpleNamespace(factor=3.0)

    def scale(self, x):
        return x * self.factor


def scaled(x):
    return x * GLOBAL_FACTOR


def change_global(value):
    globals()["GLOBAL_FACTOR"] = value


def use_global():
    return scaled, change_global


def use_called_function():
    return lambda x: scaled(x) + 1, change_global


def use_variable():
    factor = 2.0

    def change(value):
        nonlocal factor
        factor = value

    return lambda x: x * factor, change


def use_inner_function():
    factor = 2

    def change(value):
        nonlocal factor
        factor = int(value)

    def step(x):
        def inner(y):
            return y * factor

        return inner(x)

    return step, change


def use_tensor():
    tensor = [None]

    def change(value):
        tensor[0] = sl.tensor.backend("numpy").tensor([value, 1.0]).numpy()

    change(1.0)
    return lambda x: x * tensor[0], change


def use_written_array():
    table = np.array([1.0, 2.0], "f4")
    return lambda x: x * table, table.fill


def use_written_indices():
    places = np.array([0, 1])
    return lambda x: x[places], lambda value: places.fill(int(value) % 2)


def use_attribute():
    settings = Settings()
    return lambda x: x * settings.factor, lambda value: setattr(settings, "factor", value)


def use_nested_attribute():
    settings = Settings()
    change = lambda value: setattr(settings.nested, "factor", value)  # noqa: E731
    return lambda x: x * settings.nested.factor, change


def use_class_attribute():
    return lambda x: x * Settings.shared, lambda value: setattr(Settings, "shared", value)


def use_method():
    settings = Settings()
    return settings.scale, lambda value: setattr(settings, "factor", value)


def use_called_method():
    settings = Settings()
    return lambda x: settings.scale(x) + 1, lambda value: setattr(settings, "factor", value)


def use_list():
    factors = [2.0, 3.0]
    return lambda x: x * factors[0] + factors[1], lambda value: factors.__setitem__(
        0, value
    )


def use_dict():
    named = {"factor": 2.0}
    return lambda x: x * named["factor"], lambda value: named.update(factor=value)


def use_default_of_called_function():
    table = np.array([1.0, 2.0], "f4")

    def helper(x, table=table):
        return x * table

    return lambda x: helper(x), lambda value: table.fill(value)  # noqa: PLW0108


class Loss:
    def __init__(self, weights):
        self.settings = SimpleNamespace(weights=weights)

    def __call__(self, x):
        return x * self.settings.weights["a"]


class WithProperty:
    def __init__(self):
        self.half = 1.0

    @property
    def factor(self):
        return self.half * 2


class Slotted:
    __slots__ = ("factor",)


@dataclasses.dataclass
class Fields:
    factor: float = 2.0


def times(settings, x):
    return x * settings.factor


def use_callable_object():
    loss = Loss({"a": 2.0})
    return lambda x: loss(x) + 1, lambda value: loss.settings.weights.update(a=value)


def use_object_as_step():
    loss = Loss({"a": 2.0})
    return loss, lambda value: loss.settings.weights.update(a=value)


def use_object_argument():
    settings = Settings()
    change = lambda value: setattr(settings, "factor", value)  # noqa: E731
    return lambda x: times(settings, x), change


def use_partial_function():
    settings = Fields()
    step = partial(times, settings)
    return step, lambda value: setattr(settings, "factor", value)


def use_dataclass_in_partial_function():
    settings = Fields()
    function = partial(times, settings)
    change = lambda value: setattr(settings, "factor", value)  # noqa: E731
    return lambda x: function(x) + 1, change


def use_property():
    settings = WithProperty()
    return lambda x: x * settings.factor, lambda value: setattr(settings, "half", value)


def use_metaclass():
    class Meta(type):
        factor = 1.0

    class WithMeta(metaclass=Meta):
        pass

    return lambda x: x * WithMeta.factor, lambda value: setattr(Meta, "factor", value)


def use_module_argument():
    module: Any = ModuleType("settings")
    module.factor = 1.0
    return lambda x: times(module, x), lambda value: setattr(module, "factor", value)


def use_slot():
    settings = Slotted()
    settings.factor = 1.0
    return lambda x: x * settings.factor, lambda value: setattr(settings, "factor", value)


def use_default_list():
    scale = lambda x, factors=[2.0]: x * factors[0]  # noqa: E731
    change = lambda value: scale.__defaults__[0].__setitem__(0, value)  # noqa: E731
    return lambda x: scale(x) + 1, change


def use_nested_dict():
    named = {"loss": {"factor": 2.0}}
    change = lambda value: named["loss"].update(factor=value)  # noqa: E731
    return lambda x: x * named["loss"]["factor"], change


def use_scalar_array():
    factor = np.array(2.0, "f4")
    return lambda x: x * factor, lambda value: factor.fill(value)  # noqa: PLW0108


def use_array_in_object():
    settings = SimpleNamespace(factor=np.array([2.0, 1.0], "f4"))
    return lambda x: times(settings, x), lambda value: settings.factor.fill(value)  # noqa: PLW0108


def use_torch_scalar():
    factor = torch.tensor(2.0)
    return lambda x: x * float(factor), lambda value: factor.fill_(value)  # noqa: PLW0108


def use_memory_shared_with_torch():
    array = np.array([2.0], "f4")
    factor = torch.from_numpy(array)
    return lambda x: x * float(factor[0]), lambda value: array.fill(value)  # noqa: PLW0108


def use_replaced_object():
    first, second = object(), object()
    holder = SimpleNamespace(first=first, current=first)
    step = lambda x: x * (2.0 if holder.current is first else 3.0)  # noqa: E731
    change = lambda value: setattr(holder, "current", first if value == 2 else second)  # noqa: E731
    return step, change


def use_function_in_list():
    settings = Fields()
    functions = [lambda x: x * settings.factor]
    change = lambda value: setattr(settings, "factor", value)  # noqa: E731
    return lambda x: functions[0](x), change  # noqa: PLW0108


def use_imported_module():
    module: Any = sys.modules.setdefault("settings_of_steps", ModuleType("settings"))
    module.factor = 1.0

    def step(x):
        from settings_of_steps import factor  # pyright: ignore[reportMissingImports]

        return x * factor

    return step, lambda value: setattr(module, "factor", value)


def use_thread_local_field():
    settings = threading.local()
    settings.factor = 1.0
    return lambda x: x * settings.factor, lambda value: setattr(settings, "factor", value)


def use_dict_view():
    weights = {"loss": 1.0}
    values = weights.values()
    return lambda x: x * sum(values), lambda value: weights.update(loss=value)


def use_closure_cell():
    cell = CellType(1.0)
    change = lambda value: setattr(cell, "cell_contents", value)  # noqa: E731
    return lambda x: x * cell.cell_contents, change


STEPS_BY_NAME = {
    name: each for name, each in list(globals().items()) if name.startswith("use_")
}


@pytest.mark.parametrize("kind", STEPS_BY_NAME)
@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_a_changed_value_outside_the_step_takes_effect(name, kind):
    pytest.importorskip(name)
    parts: Any = STEPS_BY_NAME[kind]()
    step, change = parts
    compiled: Any = sl.tensor.compile(step)
    x = sl.tensor.backend(name).tensor([1.0, 10.0])
    for value in (2.0, 7.0, 7.0, 2.0):
        change(value)
        assert compiled(x).tolist() == step(x).tolist()
    assert compiled.recompiles <= 2


def test_changes_of_a_module_imported_by_the_step_take_effect(tmp_path, monkeypatch):
    (tmp_path / "settings_imported_late.py").write_text("factor = 2.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "settings_imported_late", raising=False)

    def step(x):
        import settings_imported_late  # pyright: ignore[reportMissingImports]

        return x * settings_imported_late.factor

    compiled: Any = sl.tensor.compile(step)
    x = sl.tensor.backend("numpy").tensor([1.0])
    assert compiled(x).tolist() == [2.0]
    monkeypatch.setattr(sys.modules["settings_imported_late"], "factor", 5.0)
    assert compiled(x).tolist() == [5.0]


def test_a_compiled_torch_step_uses_a_changed_value_outside_the_step():
    pytest.importorskip("torch")
    step, change = use_variable()
    compiled = sl.tensor.compile(step)
    x = sl.tensor.backend("torch").tensor([1.0, 10.0])
    for value in (2.0, 7.0):
        change(value)
        assert compiled(x).tolist() == step(x).tolist()


def test_a_replaced_tensor_outside_the_step_takes_effect():
    backend = sl.tensor.backend("numpy")
    bias = backend.tensor([1.0])
    step = sl.tensor.compile(lambda x: x + bias)
    assert step(backend.tensor([1.0])).tolist() == [2]
    bias = backend.tensor([5.0])
    assert step(backend.tensor([1.0])).tolist() == [6]


class Scaled(sl.nn.Module):
    linear: sl.nn.Linear

    def __call__(self, x):
        return self.linear(x) * GLOBAL_FACTOR


def test_changes_of_values_that_module_methods_read_are_noticed():
    model = sl.nn.Sequential(Scaled(sl.nn.Linear(2, 1))).bind("numpy", sl.Key(0))
    step = sl.tensor.compile(lambda model, x: model(x))
    x = model.backend.tensor([[1.0, 2.0]])
    for value in (2.0, 5.0):
        change_global(value)
        assert step(model, x).tolist() == model(x).tolist()


class WithFields(sl.nn.Module):
    linear: sl.nn.Linear
    factor: float
    settings: Fields
    function: Any

    def __call__(self, x):
        scaled = self.linear(x) * self.factor * self.settings.factor
        return self.function(times(self.settings, scaled))


FIELD_CHANGES = {
    "a float": lambda model, value: setattr(model, "factor", value),
    "an object": lambda model, value: setattr(model.settings, "factor", value),
    "a closure": lambda _, value: change_global(value),
}


BACKENDS_AND_FIELDS = [
    *itertools.product(BACKEND_NAMES, FIELD_CHANGES),
    pytest.param("torch", "an object", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("name", "kind"), BACKENDS_AND_FIELDS)
def test_a_changed_field_of_a_module_takes_effect(name, kind):
    pytest.importorskip(name)
    linear = sl.nn.Linear(2, 1)
    model = WithFields(linear, 2.0, Fields(), lambda x: x * GLOBAL_FACTOR)
    model.bind(name, sl.Key(0))
    step = sl.tensor.compile(lambda model, x: model(x))
    x = model.backend.tensor([[1.0, 2.0]])
    for value in (2.0, 5.0, 2.0):
        FIELD_CHANGES[kind](model, value)
        np.testing.assert_allclose(step(model, x).numpy(), model(x).numpy(), rtol=1e-6)
    assert step.recompiles == 1


def test_a_changed_field_is_noticed_in_each_of_two_equal_models():
    models = [
        WithFields(sl.nn.Linear(2, 1), 2.0, Fields(), sl.nn.functional.relu).bind(
            "numpy", 0
        )
        for _ in range(2)
    ]
    step = sl.tensor.compile(lambda model, x: model(x))
    x = models[0].backend.tensor([[1.0, 2.0]])
    for value in (2.0, 5.0):
        models[1].settings.factor = value
        for model in models:
            assert step(model, x).tolist() == model(x).tolist()


def test_an_object_implemented_in_c_is_an_error_that_names_it():
    settings = SimpleNamespace(table=sqlite3.connect(":memory:"))
    step = sl.tensor.compile(lambda x: times(settings, x))
    with pytest.raises(CaptureError, match=r"settings.table, a Connection, .*argument"):
        step(sl.tensor.backend("numpy").tensor([1.0]))


def test_a_list_with_too_many_values_is_an_error_that_names_the_list():
    factors = [float(number) for number in range(20_000)]
    step = sl.tensor.compile(lambda x: x * factors[0])
    with pytest.raises(CaptureError, match=r"more than 10,000 values.* factors,.*argument"):
        step(sl.tensor.backend("numpy").tensor([1.0]))


def test_values_read_only_by_unused_methods_are_allowed():
    class TwoMethods:
        def times(self, x):
            return x * 2

        def read(self):
            return next(LOCAL_NUMBERS)

    two = TwoMethods()
    step = sl.tensor.compile(lambda x: two.times(x))  # noqa: PLW0108
    assert step(sl.tensor.backend("numpy").tensor([1.0])).tolist() == [2]


def test_storing_a_tensor_outside_the_step_is_an_error():
    losses = []
    step = sl.tensor.compile(lambda x: losses.append(x * 2) or x)
    with pytest.raises(CaptureError, match=r"stores a tensor in losses\[0\].*return"):
        step(sl.tensor.backend("numpy").tensor([1.0]))


class Table:
    @functools.cached_property
    def factors(self):
        return [2.0, 3.0]


def test_a_cached_property_compiles_one_more_program():
    table = Table()
    step = sl.tensor.compile(lambda x: x * table.factors[0])
    x = sl.tensor.backend("numpy").tensor([1.0])
    assert [step(x).item() for _ in range(3)] == [2, 2, 2]
    assert step.recompiles == 1
    table.factors[0] = 5.0
    assert step(x).item() == 5


def test_a_large_array_outside_the_step_is_an_error_that_names_it():
    table = np.zeros(1 << 20, "f4")
    step = sl.tensor.compile(lambda x: x + table)
    with pytest.raises(CaptureError, match=r"the array table of 4 MB .* argument"):
        step(sl.tensor.backend("numpy").tensor([1.0]))


LOCAL_GENERATOR = np.random.default_rng(0)
LOCAL_NUMBERS = iter([1.0])
RANDOM_DRAWS = {
    "a generator of NumPy": lambda: 2 * LOCAL_GENERATOR.normal(),
    "a generator passed to a helper": lambda: drawn(LOCAL_GENERATOR),
    "np.random": lambda: 2 * np.random.random(),  # noqa: NPY002
    "random": lambda: 2 * random.random(),  # noqa: S311
    "a function of random": lambda: uniform(0, 1),  # noqa: S311
}


def drawn(rng):
    return rng.normal()


@pytest.mark.parametrize("kind", RANDOM_DRAWS)
def test_random_draws_without_a_key_are_an_error(kind):
    draw = RANDOM_DRAWS[kind]
    step = sl.tensor.compile(lambda x: x * draw())
    with pytest.raises(CaptureError, match=r"draws from a .*use a key"):
        step(sl.tensor.backend("numpy").tensor([1.0]))


def test_an_unused_random_generator_is_allowed():
    step = sl.tensor.compile(
        lambda x, far=False: x * LOCAL_GENERATOR.normal() if far else x
    )
    assert step(sl.tensor.backend("numpy").tensor([1.0])).tolist() == [1.0]


def test_unchanged_values_outside_the_step_compile_one_program():
    settings: Any = Settings()
    settings.other = None

    @sl.tensor.compile
    def step(x):
        return settings.scale(x) * float("nan") + GLOBAL_ARRAY

    for _ in range(4):
        settings.other = object()  # a new object, which the step does not read
        step(sl.tensor.backend("numpy").tensor([1.0, 2.0]))
    assert step.recompiles == 0


def call_clock(clock):
    return clock()


class Holder:
    def __init__(self, draw):
        self.draw = draw


def call_nested(holder):
    return call_clock(holder.draw)


CALLS_WITH_CHANGING_RESULTS = {
    "time.time": time.time,
    "time.perf_counter": lambda: time.perf_counter(),  # noqa: PLW0108
    "time.monotonic_ns": lambda: call_clock(time.monotonic_ns) * 1e-9,
    "datetime.now": lambda: dt.datetime.now(dt.UTC).timestamp(),
    "random.random": lambda: call_nested(Holder(random.random)),  # noqa: S311
    "random.randint": lambda: call_nested(Holder(partial(random.randint, 0, 9))),  # noqa: S311
    "random.choice": lambda: call_nested(Holder(lambda: random.choice([1, 2, 3]))),  # noqa: S311
    "secrets.randbelow": lambda: secrets.randbelow(9),
    "rvs of scipy.stats": lambda: scipy.stats.norm(0, 1).rvs(),
    "torch.rand": lambda: float(torch.rand(()).item()),
    "torch.Tensor.normal_": lambda: torch.zeros(1).normal_().item(),
    "urandom": lambda: os.urandom(1)[0],
}


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("call", CALLS_WITH_CHANGING_RESULTS)
def test_clocks_and_random_functions_are_an_error_wherever_they_are_called(call, name):
    pytest.importorskip(name)
    draw = CALLS_WITH_CHANGING_RESULTS[call]
    step = sl.tensor.compile(lambda x: x * draw())
    x = sl.tensor.backend(name).tensor([1.0])
    with pytest.raises(
        CaptureError, match=rf"(?s){call.split('.')[-1]}.*pass|draws from a"
    ):
        step(x)
    assert sl.tensor.compile(lambda x, value: x * value)(x, 2.0).tolist() == [2]


def test_the_error_names_the_line_that_reads_the_clock():
    step = sl.tensor.compile(lambda x: x * time.time())
    with pytest.raises(CaptureError, match=r"test_outside_values.py:\d+ calls time"):
        step(sl.tensor.backend("numpy").tensor([1.0]))


def test_a_changed_number_in_an_imported_module_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "weights_of_losses.py").write_text("weight = 3.0\n")
    monkeypatch.syspath_prepend(tmp_path)

    @sl.tensor.compile
    def step(x):
        import weights_of_losses  # pyright: ignore[reportMissingImports]

        return x * weights_of_losses.weight

    x = sl.tensor.backend("numpy").tensor([1.0])
    assert step(x).tolist() == [3]
    monkeypatch.setattr(sys.modules["weights_of_losses"], "weight", 5.0)
    assert step(x).tolist() == [5]


def test_a_generator_created_in_the_step_is_allowed():
    step = sl.tensor.compile(lambda x: x * random.Random(3).random())  # noqa: S311
    x = sl.tensor.backend("numpy").tensor([1.0])
    assert step(x).item() == pytest.approx(random.Random(3).random())  # noqa: S311


def test_libraries_may_read_the_clock_in_a_step():
    def step(x):
        logging.getLogger("seqloom.test").warning("a record has the time")
        return x * 2

    x = sl.tensor.backend("numpy").tensor([1.0])
    assert sl.tensor.compile(step)(x).tolist() == [2]


def test_another_profiler_keeps_running_during_a_capture():
    seen = []
    step = sl.tensor.compile(lambda x: x * 2)
    sys.setprofile(lambda *_: seen.append(1))
    try:
        step(sl.tensor.backend("numpy").tensor([1.0]))
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert seen


def test_a_failed_step_removes_its_profiler():
    step = sl.tensor.compile(lambda x: x + float(x))
    with pytest.raises(CaptureError):
        step(sl.tensor.backend("numpy").tensor([1.0]))
    assert sys.getprofile() is None


def yield_numbers():
    yield 1.0
    yield 2.0


ITERATORS_CREATED_OUTSIDE = {
    "a generator": yield_numbers,
    "an iterator of a list": lambda: iter([1.0, 2.0]),
    "a count": itertools.count,
    "pairs": lambda: zip([1.0], [2.0], strict=True),
}


@pytest.mark.parametrize("kind", ITERATORS_CREATED_OUTSIDE)
def test_an_iterator_from_outside_the_step_is_an_error(kind):
    numbers = ITERATORS_CREATED_OUTSIDE[kind]()
    holder = SimpleNamespace(numbers=numbers)
    x = sl.tensor.backend("numpy").tensor([1.0])
    for step in (lambda x: x * next(numbers), lambda x: x * next(holder.numbers)):
        with pytest.raises(CaptureError, match=r"reads the iterator \S*numbers .*next"):
            sl.tensor.compile(step)(x)


def test_an_iterator_created_in_the_step_is_allowed():
    layers = [2.0, 3.0]

    def step(x):
        return x * next(iter(layers)) + sum(number for number in layers)

    x = sl.tensor.backend("numpy").tensor([1.0])
    assert sl.tensor.compile(step)(x).tolist() == [7]


changed = 0


def count_in_global(x):
    global changed  # noqa: PLW0603
    changed += 1
    return x * changed


def count_in_variable():
    changed = 0

    def step(x):
        nonlocal changed
        changed += 1
        return x * changed

    return step


def count_in_called_function():
    return lambda x: count_in_global(x) + 1


@pytest.mark.parametrize(
    "step",
    [count_in_global, count_in_variable(), count_in_called_function()],
)
def test_a_step_that_reads_and_changes_an_outside_variable_is_an_error(step: Any):
    x = sl.tensor.backend("numpy").tensor([1.0])
    compiled: Any = sl.tensor.compile(step)
    with pytest.raises(CaptureError, match=r"reads and changes changed.*outside of it"):
        compiled(x)


def test_a_step_may_change_its_local_variables():
    def step(x):
        total = x * 0

        def add(part):
            nonlocal total
            total = total + part

        add(x)
        add(x)
        return total

    x = sl.tensor.backend("numpy").tensor([1.0])
    assert sl.tensor.compile(step)(x).item() == step(x).item() == 2.0
