"""Subclasses of SimpleOptimizer: records, other backends, groups and invalid rules."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from optimiser_steps import (
    BACKEND_NAMES,
    new_model,
    plain_step,
    run as run_steps,
    values_of,
)
from seqloom.errors import ArgumentError, DTypeError, RecordError, ShapeError


@dataclass
class Trace:
    """State that consists of a tensor, a float and an integer."""

    velocity: Any
    norm: Any
    updates: Any


class Traced(sl.optim.SimpleOptimizer):
    """SGD with momentum whose state also contains numbers."""

    State = Trace

    def __init__(self, momentum=0.9):
        super().__init__()
        self.momentum = momentum

    def start_state(self, param):
        return Trace(param * 0, 0.0, 0)

    def rule(self, param, grad, state, *, lr, step):  # noqa: ARG002
        velocity = state.velocity * self.momentum + grad
        norm = state.norm + (grad * grad).sum()
        return param - velocity * lr, Trace(velocity, norm, state.updates + 1)


def run(step, model, optimizer, steps=3):
    return values_of(run_steps(step, model, optimizer, steps))


def test_a_simple_optimizer_with_momentum_matches_sgd(step, backend):
    found = run(step, new_model(backend), Traced())
    expected = run(plain_step, new_model(), sl.optim.SGD(momentum=0.9))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_state_numbers_keep_their_dtypes(step, backend):
    optimizer = Traced()
    run(step, new_model(backend), optimizer, 4)
    record = optimizer.to_record()
    updates, norm = record["layers.0.bias.updates"], record["layers.0.bias.norm"]
    assert (updates.shape, updates.dtype, updates.item()) == ((), "int32", 4)
    assert (norm.shape, norm.dtype) == ((), "float32")


def test_a_simple_optimizer_resumes_bit_for_bit(step, tmp_path):
    whole = run(step, new_model(), Traced(), 5)
    model, optimizer = new_model(), Traced()
    run(step, model, optimizer, 2)
    optimizer.to_record().save(tmp_path / "state.safetensors")
    again = Traced().load_record(sl.record.load(tmp_path / "state.safetensors"))
    for one, other in zip(run(step, model, again, 3), whole, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("target", BACKEND_NAMES)
def test_the_state_of_a_simple_optimizer_moves_with_the_model(step, target):
    pytest.importorskip(target)
    model, optimizer = new_model(), Traced()
    run(step, model, optimizer, 2)
    found = run(step, model.to(target, "float32"), optimizer, 2)
    expected = run(plain_step, new_model(), Traced(), 4)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_floats_of_an_optimiser_state_follow_the_dtype_and_integers_do_not(step):
    model, optimizer = new_model(), Traced()
    run(step, model, optimizer, 2)
    run(step, model.to("numpy", "float64"), optimizer, 1)
    record = optimizer.to_record()
    kinds = {name: record[f"layers.0.bias.{name}"].dtype.name for name in Traced.states}
    assert kinds == {"velocity": "float64", "norm": "float64", "updates": "int32"}


def test_a_simple_optimizer_rejects_a_second_model(step):
    optimizer = Traced()
    run(step, new_model(), optimizer, 1)
    with pytest.raises(ArgumentError, match="the state of another model's layers"):
        run(step, new_model(), optimizer, 1)


def test_a_parameter_group_may_have_other_settings(step):
    grouped = Traced(0.0).group("layers.0.*", momentum=0.9, lr_factor=0.5)
    found = run(step, new_model(), grouped)
    reference = sl.optim.SGD().group("layers.0.*", momentum=0.9, lr_factor=0.5)
    for one, other in zip(found, run(plain_step, new_model(), reference), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_last_matching_parameter_group_applies():
    optimizer = Traced().group("*", lr_factor=0.0).group("*.bias", lr_factor=1.0)
    before = values_of(new_model())
    found = run(plain_step, new_model(), optimizer, 1)
    moved = [bool((a != b).any()) for a, b in zip(before, found, strict=True)]
    assert moved == [False, True, False, True]


def test_adding_a_parameter_group_compiles_another_program():
    step = sl.tensor.compile(plain_step)
    model, optimizer = new_model(), Traced()
    run(step, model, optimizer, 2)
    before = values_of(model)
    optimizer.group("*", lr_factor=0.0)
    for one, other in zip(run(step, model, optimizer, 1), before, strict=True):
        np.testing.assert_array_equal(one, other)


FRACTION_TYPED_AS_ANY: Any = 0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Traced().group("*", decay=1.0),
            "no setting 'decay' for a group; expected",
        ),
        (lambda: Traced().group("*", lr_factor=-1), "lr_factor must be a number from 0 up"),
        (
            lambda: sl.optim.AdamW().group("*", weight_decay=-1.0),
            "weight_decay >= 0; got",
        ),
        (
            lambda: sl.optim.Lion(betas=(0.9, 1.0)),
            r"betas must be 2 numbers from 0 up, below 1",
        ),
        (lambda: sl.optim.RMSProp(alpha=1.0), "alpha must be a number from 0 up, below 1"),
        (lambda: sl.optim.AdaGrad(eps=0), "eps must be a number above 0, got 0"),
        (lambda: sl.optim.Muon(scale="big"), "scale must be one of"),
        (lambda: sl.optim.Muon(steps=FRACTION_TYPED_AS_ANY), "steps must be an integer"),
    ],
)
def test_an_invalid_setting_of_a_simple_optimizer_is_rejected(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_the_error_for_an_empty_parameter_group_lists_the_paths():
    optimizer = Traced().group("head.*", lr_factor=0.1)
    with pytest.raises(
        ArgumentError, match=r"'head.\*' matches no parameter of the model; "
    ):
        run(plain_step, new_model(), optimizer, 1)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda p, _: p, ArgumentError, "must return the new values and a Trace"),
        (lambda p, s: (p.sum(), s), ShapeError, r"returned shape \(\) for layers.0.weight"),
        (lambda _, s: (1.0, s), ArgumentError, "must return a tensor for layers.0.weight"),
        (
            lambda p, s: (p.astype("float64"), s),
            DTypeError,
            "returned dtype float64 for layers.0.weight, expected float32",
        ),
        (
            lambda p, s: (p, Trace(p, str(s), 1)),
            DTypeError,
            "the field norm .* must be a tensor, a number or a bool, got str",
        ),
        (
            lambda p, _: (p, Trace(p, None, 1)),
            DTypeError,
            "the field norm .* got NoneType. Use a separate field for each array",
        ),
        (
            lambda p, _: (p, Trace(p, [p, p], 1)),
            DTypeError,
            "the field norm .* got list",
        ),
        (
            lambda p, _: (p, Trace(p, 0.0, 2**31)),
            DTypeError,
            "the field updates .* is 2147483648, but integers in a state must be in",
        ),
    ],
)
def test_the_error_for_a_wrong_update_rule_names_the_parameter(result, error, message):
    class Wrong(Traced):
        def rule(self, param, grad, state, *, lr, step):  # noqa: ARG002
            return result(param, state)

    with pytest.raises(error, match=message):
        run(plain_step, new_model(), Wrong(), 1)


def test_an_optimiser_state_that_is_not_a_dataclass_is_rejected():
    with pytest.raises(ArgumentError, match="State must be a dataclass of tensors"):
        type("Wrong", (Traced,), {"State": dict})


def test_a_record_of_another_optimiser_is_rejected():
    optimizer = sl.optim.AdamW()
    run(plain_step, new_model(), optimizer, 1)
    with pytest.raises(RecordError, match="has only velocity, norm, updates"):
        Traced().load_record(optimizer.to_record())


def test_an_optimiser_without_states_rejects_records_with_states():
    optimizer = sl.optim.SGD(momentum=0.9)
    run(plain_step, new_model(), optimizer, 1)
    with pytest.raises(RecordError, match="but this optimiser has no state arrays"):
        sl.optim.SGD().load_record(optimizer.to_record())
