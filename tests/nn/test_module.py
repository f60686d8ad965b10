"""Tests of Module: registration of submodules, state and gradients."""

import copy
import pickle
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ConfigError, GradientError, RecordError
from seqloom.nn import functional as F

RANDOM_KEY = sl.Key(0)


class Net(sl.nn.Module):
    first: sl.nn.Linear
    blocks: list[sl.nn.Linear]
    ends: dict[str, sl.nn.Linear]
    scale: sl.nn.Param | None
    note: str = "plain"

    def logits(self, x):
        x = F.relu(self.first(x))
        for block in self.blocks:
            x = x + block(x)
        return self.ends["head"](x) * self.scale.value


@dataclass(frozen=True)
class WidthConfig(sl.nn.Config):
    width: int = 6

    def build(self):
        return Net(
            sl.nn.Linear(4, self.width),
            [sl.nn.Linear(self.width, self.width) for _ in range(2)],
            {"head": sl.nn.Linear(self.width, 2)},
            sl.nn.Param((1,), sl.nn.Fill(0.5)),
        )


def net(key=RANDOM_KEY):
    return WidthConfig().init("numpy", key)


def loss_of(model, x):
    return F.cross_entropy(model.logits(x), [0, 1, 1])


def inputs(model):
    return model.backend.tensor(np.random.default_rng(0).normal(size=(3, 4)).astype("f4"))


def test_lists_dicts_and_optional_fields_are_registered():
    paths = [path for path, _ in net().parameters()]
    assert "blocks.1.weight" in paths
    assert "ends.head.bias" in paths
    assert "scale" in paths


def test_an_unannotated_layer_raises_with_a_hint():
    model = net()
    with pytest.raises(ArgumentError, match="add `extra: Linear` to the class"):
        model.extra = sl.nn.Linear(1, 1)


def test_a_field_that_hides_a_method_is_an_error():
    with pytest.raises(ArgumentError, match=r"Bad\.eval hides Module\.eval"):
        type("Bad", (sl.nn.Module,), {"__annotations__": {"eval": sl.nn.Linear}})


def test_an_unbound_module_raises_with_a_hint():
    with pytest.raises(RecordError, match="bind"):
        _ = sl.nn.Linear(1, 1).weight.value


def test_binding_to_another_backend_keeps_the_values():
    layer = sl.nn.Linear(2, 2).bind("numpy", RANDOM_KEY)
    values = layer.weight.numpy()
    assert layer.bind("torch", RANDOM_KEY).weight.value.backend.name == "torch"
    assert np.array_equal(layer.weight.numpy(), values)


def test_parameters_do_not_depend_on_the_order_of_first_use():
    one, other = net(), net()
    forwards = {path: param.numpy() for path, param in one.parameters()}
    backwards = {path: param.numpy() for path, param in reversed(other.parameters())}
    assert all(np.array_equal(forwards[path], backwards[path]) for path in forwards)


def test_different_keys_give_different_parameters():
    assert not np.array_equal(
        net().first.weight.numpy(), net(sl.Key(1)).first.weight.numpy()
    )


def test_visit_calls_a_function_with_each_path_and_parameter_once():
    layer = sl.nn.Linear(2, 2)
    model, visited = sl.nn.Sequential(layer, layer), {}

    def note(path, param):
        assert path not in visited
        visited[path] = param

    model.visit(note)
    assert visited == {"layers.0.weight": layer.weight, "layers.0.bias": layer.bias}


def test_a_shared_parameter_is_listed_once():
    layer = sl.nn.Linear(2, 2)
    assert len(sl.nn.Sequential(layer, layer).parameters()) == 2


def test_gradients_equal_finite_differences_of_the_loss():
    model = net()
    x = inputs(model)
    _, grads = sl.nn.value_and_grad(loss_of)(model, x)
    weight = model.blocks[0].weight
    start, step = weight.numpy(), np.zeros((6, 6), "f4")
    step[2, 3] = 1e-2
    weight.assign(start + step)
    above = loss_of(model, x).item()
    weight.assign(start - step)
    below = loss_of(model, x).item()
    assert grads.wrt(weight).numpy()[2, 3] == pytest.approx(
        (above - below) / 2e-2, rel=2e-2
    )


def test_a_prediction_records_no_operations_for_gradients():
    model = net()
    assert model.logits(inputs(model)).backend is model.backend


def test_additional_results_of_a_loss_record_no_gradients():
    model = net()
    function = sl.nn.value_and_grad(lambda m, x: (loss_of(m, x), m.logits(x), "note"))
    loss, logits, note, grads = function(model, inputs(model))
    assert (loss.backend, logits.backend, note) == (model.backend, model.backend, "note")
    assert len(grads) == len(model.parameters())


def test_a_frozen_parameter_gets_no_gradient():
    model = net()
    model.scale.trainable = False
    _, grads = sl.nn.value_and_grad(loss_of)(model, inputs(model))
    with pytest.raises(GradientError):
        grads.wrt(model.scale)


def test_a_parameter_written_inside_the_loss_is_an_error_that_names_it():
    def meddling(model, x):
        loss = loss_of(model, x)
        model.scale.assign([1.0])
        return loss

    model = net()
    with pytest.raises(GradientError, match="scale was changed"):
        sl.nn.value_and_grad(meddling)(model, inputs(model))


def test_a_loss_without_parameters_is_an_error():
    model = net()
    with pytest.raises(GradientError, match="does not depend"):
        sl.nn.value_and_grad(lambda _, x: x.sum())(model, inputs(model))


def test_a_tensor_taken_before_a_step_keeps_its_values():
    model = net()
    _, grads = sl.nn.value_and_grad(loss_of)(model, inputs(model))
    taken = model.first.weight.value
    row, before = taken[0], taken.numpy().copy()
    sl.optim.AdamW().step(0.1, model, grads)
    assert np.array_equal(taken.numpy(), before)
    assert np.array_equal(row.numpy(), before[0])
    assert not np.array_equal(model.first.weight.numpy(), before)


def test_a_record_keeps_its_values_after_a_step():
    model = net()
    record = model.to_record()
    before = np.array(record["first.weight"])
    _, grads = sl.nn.value_and_grad(loss_of)(model, inputs(model))
    sl.optim.AdamW().step(0.1, model, grads)
    assert np.array_equal(record["first.weight"], before)


def test_a_record_that_does_not_fit_lists_every_mismatch():
    arrays = dict(net().to_record())
    arrays["other"] = arrays.pop("scale")
    arrays["first.bias"] = np.zeros(3)
    with pytest.raises(
        RecordError, match=r"first\.bias has shape.*scale is missing.*other is not"
    ):
        net().load_record(arrays)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])  # noqa: S301  # our own bytes
def test_a_copy_of_a_model_has_equal_and_independent_parameters(copied):
    model = net()
    sl.nn.value_and_grad(loss_of)(model, inputs(model))
    other = copied(model)
    ids = {param.id for each in (model, other) for _, param in each.parameters()}
    assert len(ids) == 2 * len(model.parameters())
    assert np.array_equal(other.first.weight.numpy(), model.first.weight.numpy())
    assert other.backend is model.backend


def test_train_and_eval_apply_to_all_submodules_and_return_the_module():
    model = net()
    assert model.eval() is model
    assert not any(part.training for _, part in model.named(sl.nn.Module))
    assert model.train().blocks[0].training


def test_a_config_survives_a_round_trip_through_json():
    assert sl.nn.Config.from_json(WidthConfig(width=9).to_json()) == WidthConfig(width=9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"class": "Nobody"}', "unknown settings class 'Nobody'"),
        ('{"class": "WidthConfig", "version": 9}', "newer"),
        ('{"class": "WidthConfig", "depth": 1}', "no field 'depth'"),
        ('{"class": "WidthConfig", "width": "x"}', "WidthConfig.width"),
    ],
)
def test_the_error_names_settings_that_do_not_fit_the_module(text, message):
    with pytest.raises(ConfigError, match=message):
        sl.nn.Config.from_json(text)


def test_a_parameter_of_an_earlier_version_is_restored():
    layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
    weight = layer.weight
    state = dict(vars(weight))
    state["lent"] = state.pop("is_shared")
    restored = type(weight).__new__(type(weight))
    restored.__setstate__(state)
    assert not restored.is_shared
    assert not hasattr(restored, "lent")
    assert restored.numpy().tolist() == weight.numpy().tolist()


class Halved(sl.nn.Module):
    """Layer whose records contain half of its weight."""

    weight: sl.nn.Param

    def to_record(self):
        return sl.record.Record({"half": self.weight.numpy() / 2})

    def load_record(self, record, *, strict=True, keys=None):
        del strict, keys
        self.weight.assign(np.asarray(record["half"]) * 2)
        return self


def test_a_submodule_may_define_its_part_of_a_record():
    def make():
        halved = Halved(sl.nn.Param((1,), sl.nn.Fill(4.0)))
        return sl.nn.Sequential(halved, sl.nn.Linear(1, 1))

    one, other = make().bind("numpy", 0), make().bind("numpy", 1)
    other.layers[0].weight.assign([0.0])
    record = one.to_record()
    assert list(record) == ["layers.1.weight", "layers.1.bias", "layers.0.half"]
    assert np.asarray(record["layers.0.half"]).tolist() == [2.0]
    assert other.load_record(record).layers[0].weight.numpy().tolist() == [4.0]
    with pytest.raises(sl.errors.RecordError, match=r"layers\.1\.bias is missing"):
        other.load_record({"layers.0.half": [2.0], "layers.1.weight": [[1.0]]})


class Child(sl.nn.Module):
    head: sl.nn.Linear
    parent: Any

    def __call__(self, x):
        return self.head(x) * self.parent().scale.value


class Parent(sl.nn.Module):
    scale: sl.nn.Param
    child: Child

    def __init__(self, refer):
        self.scale = sl.nn.Param((1,), sl.nn.Fill(3.0))
        self.child = Child(sl.nn.Linear(2, 1), None)
        self.child.parent = refer(self)

    def __call__(self, x):
        return self.child(x)


def test_a_weak_reference_to_a_module_is_not_a_submodule():
    model = Parent(weakref.ref).bind("numpy", sl.Key(0))
    assert list(model.to_record()) == ["scale", "child.head.weight", "child.head.bias"]
    x = model.backend.tensor([[1.0, 2.0]])
    _, grads = sl.nn.value_and_grad(lambda model: model(x).sum())(model)
    np.testing.assert_allclose(
        grads.wrt(model.scale).numpy(), model.child.head(x).numpy()[0], rtol=1e-6
    )


def test_a_module_that_contains_itself_is_an_error_that_names_the_field():
    with pytest.raises(
        sl.errors.ArgumentError, match=r"Parent: child\.parent .*weakref\.ref"
    ):
        Parent(lambda parent: parent).bind("numpy", sl.Key(0))
