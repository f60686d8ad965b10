"""Tests of low-rank adapters of frozen linear layers."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError

torch = pytest.importorskip("torch")
LORA_TARGETS = ["*.qkv", "*.out", "*.fc1", "*.fc2"]
TOKEN_IDS = np.array([[0, 20, 15, 11, 2], [0, 4, 5, 2, 1]])


def esm2():
    config = sl.models.ESM2Config(layers=2, width=16, heads=4)
    return config.init("numpy", sl.Key(1)).eval()


def fill_adapters(model, key=5):
    """Set non-zero values in every adapter, as after training."""
    rng = np.random.default_rng(key)
    for _, param in model.parameters("*.up"):
        param.assign(rng.normal(0, 0.3, param.shape).astype("float32"))
    return model


def test_untrained_adapters_do_not_change_the_output():
    plain, adapted = esm2(), sl.nn.add_lora(esm2(), rank=3)
    np.testing.assert_allclose(
        adapted(TOKEN_IDS).numpy(), plain(TOKEN_IDS).numpy(), atol=1e-5
    )


@pytest.mark.parametrize("target", LORA_TARGETS)
def test_an_adapter_of_each_layer_changes_the_output(target):
    adapted = fill_adapters(sl.nn.add_lora(esm2(), rank=3, targets=[target]))
    assert np.abs(adapted(TOKEN_IDS).numpy() - esm2()(TOKEN_IDS).numpy()).max() > 1e-3


@pytest.mark.parametrize("target", LORA_TARGETS)
def test_a_merged_module_computes_the_same_as_the_adapted_one(target):
    model = fill_adapters(sl.nn.add_lora(esm2(), rank=3, targets=[target]))
    before = model(TOKEN_IDS).numpy()
    merged = sl.nn.merge_lora(model)
    assert not any(merged.named(sl.nn.LoRALinear))
    np.testing.assert_allclose(merged(TOKEN_IDS).numpy(), before, atol=2e-5)


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_lora_output_and_gradients_match_the_formula_in_pytorch(backend):
    layer = sl.nn.LoRALinear(sl.nn.Linear(5, 3), 2, 7.0).bind(backend, sl.Key(0))
    layer.freeze().unfreeze("down").unfreeze("up")
    rng = np.random.default_rng(0)
    layer.up.assign(rng.normal(size=(3, 2)).astype("float32"))
    x = rng.normal(size=(4, 5)).astype("float32")
    tensor = layer.backend.tensor(x)
    loss, grads = sl.nn.value_and_grad(lambda m: (m(tensor) ** 2).sum())(layer)
    weight, bias, down, up = (
        torch.tensor(it.numpy(), requires_grad=True)
        for it in (layer.weight, layer.bias, layer.down, layer.up)
    )
    x = torch.tensor(x)
    right = x @ weight.T + bias + 7.0 / 2 * (x @ down.T) @ up.T
    (right**2).sum().backward()
    assert float(loss.item()) == pytest.approx((right.detach() ** 2).sum().item(), rel=1e-5)
    for part, expected in ((layer.down, down.grad), (layer.up, up.grad)):
        np.testing.assert_allclose(grads.wrt(part).numpy(), expected, rtol=1e-4, atol=1e-4)


def test_a_record_contains_only_the_adapters_and_restores_them():
    model = fill_adapters(sl.nn.add_lora(esm2(), rank=3))
    record = model.to_record()
    assert {path.rsplit(".", 1)[1] for path in record} == {"down", "up"}
    other = sl.nn.add_lora(esm2(), rank=3).load_record(record)
    np.testing.assert_array_equal(other(TOKEN_IDS).numpy(), model(TOKEN_IDS).numpy())


def test_a_record_without_an_adapter_is_rejected():
    model = sl.nn.add_lora(esm2(), rank=3)
    record = dict(model.to_record())
    record.pop("layers.0.qkv.up")
    with pytest.raises(sl.errors.RecordError, match=r"layers\.0\.qkv\.up is missing"):
        model.load_record(record)


def test_a_merged_module_is_saved_and_trained_completely():
    model = sl.nn.merge_lora(sl.nn.add_lora(esm2(), rank=3))
    assert list(model.to_record()) == list(esm2().to_record())
    assert all(param.trainable for _, param in model.parameters())


def test_only_adapters_are_trained():
    model = sl.nn.add_lora(esm2(), rank=3, targets=["*.fc1"])
    trained = [path for path, param in model.parameters() if param.trainable]
    assert trained == [f"layers.{i}.fc1.{it}" for i in (0, 1) for it in ("down", "up")]


def test_layers_in_lists_and_dicts_get_adapters():
    net = sl.nn.Sequential({"a": sl.nn.Linear(4, 8), "b": sl.nn.Linear(8, 2)})
    net = sl.nn.Sequential(net, sl.nn.Linear(2, 2)).bind("numpy", sl.Key(0))
    adapted = sl.nn.add_lora(net, rank=1)
    assert len(list(adapted.named(sl.nn.LoRALinear))) == 3


def test_saving_a_network_with_adapters_as_a_full_network_raises(tmp_path):
    model = sl.nn.add_lora(esm2(), rank=3)
    with pytest.raises(sl.errors.ArgumentError, match="merge_lora"):
        model.save(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"targets": ["*.value"]}, r"no linear layer .*'\*\.value'.*layers\.0\.qkv"),
        ({"rank": 0}, "rank"),
        ({"alpha": "much"}, "alpha"),
    ],
)
def test_layers_that_cannot_be_adapted_are_rejected(options, said):
    with pytest.raises(sl.errors.ArgumentError, match=said):
        sl.nn.add_lora(esm2(), **options)


def test_adding_or_merging_adapters_twice_is_an_error():
    model = sl.nn.add_lora(esm2(), rank=3)
    with pytest.raises(sl.errors.ArgumentError, match="already has adapters"):
        sl.nn.add_lora(model)
    with pytest.raises(sl.errors.ArgumentError, match="no adapters to merge"):
        sl.nn.merge_lora(sl.nn.merge_lora(model))


def test_a_layer_computes_the_same_after_merging_its_adapter():
    layer = sl.nn.LoRALinear(sl.nn.Linear(4, 3), rank=2, alpha=2.0).bind("numpy", 0)
    layer.up.assign(layer.up.value + 0.5)
    x = sl.tensor.backend("numpy").asarray(np.ones((2, 4), np.float32))
    x = sl.tensor.Tensor(x, layer.backend)
    before = layer(x).numpy()
    plain = layer.merge()
    np.testing.assert_allclose(plain(x).numpy(), before, rtol=1e-6)
    np.testing.assert_allclose(layer(x).numpy(), before, rtol=1e-6)


def test_a_lora_rank_below_one_is_rejected():
    with pytest.raises(ArgumentError, match="rank must be an integer of at least 1"):
        sl.nn.LoRALinear(sl.nn.Linear(4, 3), rank=0, alpha=2.0)
