"""Tests of the fused operations of ESM-2, with replaced layers and within autocast."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from seqloom.models import ESM2Config

ESM2_NETWORK = ESM2Config(layers=2, width=48, heads=4).init("numpy", sl.Key(1)).eval()


@settings(deadline=None, max_examples=20)
@given(
    lengths=st.lists(st.integers(1, 90), min_size=1, max_size=6),
    seed=st.integers(0, 99),
    threads=st.sampled_from([1, 2]),
)
def test_a_protein_is_bitwise_equal_alone_and_packed(lengths, seed, threads):
    rng = np.random.default_rng(seed)
    proteins = [rng.integers(4, 33, length) for length in lengths]
    model = ESM2_NETWORK.to(sl.tensor.backend("numpy", num_threads=threads))
    bounds = np.cumsum([0, *lengths])
    packed = model(np.concatenate(proteins), bounds, layers=(0, 1, 2))
    scores = np.split(model.logits(packed[-1]).numpy(), bounds[1:-1])
    for number, protein in enumerate(proteins):
        alone = ESM2_NETWORK(protein, layers=(0, 1, 2))
        rows = slice(*bounds[number : number + 2])
        for one, whole in zip(alone, packed, strict=True):
            np.testing.assert_array_equal(one.numpy(), whole.numpy()[rows])
        np.testing.assert_array_equal(
            ESM2_NETWORK.logits(alone[-1]).numpy(), scores[number]
        )


class Doubled(sl.nn.Linear):
    """A layer that doubles the output of another layer."""

    def __call__(self, x):
        """Return twice the output of the layer."""
        return 2.0 * super().__call__(x)


@pytest.mark.parametrize("name", ["qkv", "out", "fc1", "fc2"])
def test_a_replaced_submodule_of_esm2_is_called(name):
    ids = np.array([0, 5, 6, 7, 2])
    plain = ESM2Config(layers=1, width=48, heads=4).init("numpy", sl.Key(1)).eval()
    changed = ESM2Config(layers=1, width=48, heads=4).init("numpy", sl.Key(1)).eval()
    old = getattr(plain.layers[0], name)
    new = Doubled(old.weight.shape[1], old.weight.shape[0]).bind("numpy", sl.Key(2))
    setattr(changed.layers[0], name, new.load_state_dict(old.state_dict()))
    for values in (old.weight, old.bias):
        values.assign(2.0 * values.value)
    np.testing.assert_allclose(
        changed(ids).numpy(), plain(ids).numpy(), rtol=1e-5, atol=1e-6
    )


def test_esm2_products_use_half_precision_within_autocast():
    ids = np.array([0, 5, 6, 7, 2])
    full = ESM2_NETWORK(ids).numpy()
    with sl.tensor.autocast("bfloat16", allow_slow=True):
        half = ESM2_NETWORK(ids).numpy()
    assert 0 < np.abs(half.astype("float32") - full).max() < 0.1
