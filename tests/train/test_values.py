"""Tests of the setting classes of `fit`, and of deprecated keywords with equal effect."""

import inspect
from typing import Any, cast

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, SeqloomError
from seqloom.train._settings import read_arguments

# Keywords of the previous version, and their replacements.
RENAMED_ARGUMENTS: dict[str, Any] = {
    "task": ("classify", {"objective": "classify"}),
    "class_weight": (
        "balanced",
        {"objective": sl.train.Objective(class_weight="balanced")},
    ),
    "early_stop": (1, {"epochs": sl.train.Epochs(2, early_stop=1)}),
    "accumulate": (2, {"batch_size": sl.train.Batches(accumulate=2)}),
    "clip_norm": (0.1, {"optimizer": sl.train.Updates(clip_norm=0.1)}),
    "schedule": (sl.optim.Constant(0.01), {"lr": sl.optim.Constant(0.01)}),
    "num_threads": (1, {"backend": sl.train.Computation(num_threads=1)}),
}


@pytest.mark.parametrize("keyword", RENAMED_ARGUMENTS)
def test_an_older_keyword_warns_and_trains_like_its_replacement(toy, small, keyword):
    old, new = RENAMED_ARGUMENTS[keyword]
    options: Any = {"epochs": 2, keyword: old}
    with pytest.warns(DeprecationWarning, match=f"fit\\({keyword}=...\\) will be") as told:
        before = sl.train.fit(small, toy(), toy(20), **options)
    assert told[0].filename == __file__
    options = {"epochs": 2, **new}
    after = sl.train.fit(small, toy(), toy(20), **options)
    expected = after.model.to_record()
    for path, array in before.model.to_record().items():
        np.testing.assert_array_equal(array, expected[path])


@pytest.mark.filterwarnings("ignore:fit.schedule")
def test_an_older_schedule_with_a_learning_rate_is_an_error(toy, small):
    with pytest.raises(ArgumentError, match="both set the learning rate"):
        sl.train.fit(small, toy(), schedule=sl.optim.Constant(0.1), lr=0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": sl.train.Epochs(9, early_stop=3), "early_stop": 5},
        {"lr": sl.optim.Constant(0.1), "schedule": sl.optim.Constant(0.2)},
    ],
)
def test_an_older_keyword_together_with_its_replacement_is_an_error(toy, small, options):
    with pytest.raises(ArgumentError, match="contradict each other: pass"):
        sl.train.fit(small, toy(), **options)


@pytest.mark.parametrize("count", ["x", -1, 1.5, True])
def test_an_invalid_number_of_threads_is_an_error(count):
    with pytest.raises(ArgumentError, match="num_threads must be an integer from 1"):
        sl.train.Computation(num_threads=count)


def test_a_number_of_threads_becomes_a_python_integer():
    count = cast("Any", np.int64(2))
    assert type(sl.train.Computation(num_threads=count).num_threads) is int


def test_fit_has_at_most_15_parameters():
    parameters = inspect.signature(sl.train.fit).parameters.values()
    assert sum(each.kind is not each.VAR_KEYWORD for each in parameters) <= 15


def test_a_function_as_objective_is_used_as_the_loss():
    loss = sl.nn.functional.mse_loss
    given = read_arguments({"objective": loss, "lr": 0.1}, {})
    assert given["objective"] == sl.train.Objective(loss=loss, task="auto")


def test_a_number_and_its_settings_class_give_the_same_settings():
    plain = read_arguments({"epochs": 3, "out": "run", "lr": 0.1}, {})
    values = {"epochs": sl.train.Epochs(3), "out": sl.train.RunFolder("run"), "lr": 0.1}
    assert read_arguments(values, {}) == plain


def test_a_field_name_of_another_library_suggests_the_seqloom_name(toy, small):
    hint = r"did you mean optimizer=sl.train.Updates\(clip_norm=...\)\?"
    with pytest.raises(TypeError, match=hint):
        sl.train.fit(small, toy(), max_grad_norm=1.0)


@pytest.mark.parametrize(
    ("value", "field", "wrong"),
    [
        (sl.train.Objective, "loss", 1.0),
        (sl.train.Epochs, "early_stop", 0),
        (sl.train.Batches, "accumulate", 0),
        (sl.train.Updates, "clip_norm", 0.0),
        (sl.train.Computation, "precision", "half"),
        (sl.train.RunFolder, "keep", 0),
    ],
)
def test_an_invalid_field_is_an_error_at_construction(value, field, wrong):
    with pytest.raises(ArgumentError, match=field):
        value(**{field: wrong})


def test_numpy_numbers_in_settings_become_python_numbers():
    numbers: Any = np.int64(8), np.int32(2)
    value = sl.train.Batches(numbers[0], accumulate=numbers[1])
    assert [type(it) for it in (value.batch_size, value.accumulate)] == [int, int]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sl.train.Objective(task="clasify"), 'task must be "auto", "classify"'),
        (lambda: sl.train.Objective(class_weight=cast("Any", "balance")), "got 'balance'"),
        (lambda: sl.train.Computation("nmpy"), "no backend is called 'nmpy'"),
    ],
)
def test_a_misspelled_value_of_a_setting_is_an_error_at_construction(make, message):
    with pytest.raises(SeqloomError) as caught:
        make()
    assert message in str(caught.value)
