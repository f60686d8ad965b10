"""In attention over packed sequences, a sequence does not affect its neighbours."""

import numpy as np
import pytest

import seqloom as sl
from backend_oracle import everywhere, found


def draw(dtype, *shapes):
    rng = np.random.default_rng(6)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


SEQUENCE_OFFSETS = [0, 3, 3, 9, 11]
MAX_SEQLEN_ARGUMENT = {"max_seqlen": 6}


def run_with_gradients(b, arrays, bounds, **options):
    """Return the attention output and its three gradients as NumPy arrays."""
    q, k, v, grad = map(b.asarray, arrays)
    ends = b.asarray(np.array(bounds, np.int32))
    out, lse = b.attention_varlen(q, k, v, ends, **options)
    parts = b.attention_varlen_grad(grad, q, k, v, ends, out, lse, **options)
    return [b.to_numpy(each) for each in (out, *parts)]


@everywhere
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_the_values_of_a_sequence_never_affect_its_neighbours(number, causal, name):
    b, rule = found(name), {**MAX_SEQLEN_ARGUMENT, "causal": causal}
    clean = draw("float32", *[(11, 2, 4)] * 4)
    expected = run_with_gradients(b, clean, SEQUENCE_OFFSETS, **rule)
    mixed = [each.copy() for each in clean]
    for each in mixed:
        each[4, :, 1] = number
    with np.errstate(all="ignore"):
        found_beside = run_with_gradients(b, mixed, SEQUENCE_OFFSETS, **rule)
    for mine, truth in zip(found_beside, expected, strict=True):
        np.testing.assert_array_equal(mine[:3], truth[:3])
        np.testing.assert_array_equal(mine[9:], truth[9:])


@everywhere
@pytest.mark.parametrize("bounds", [SEQUENCE_OFFSETS, [0, 8, 8, 9, 11, 11]], ids=str)
def test_a_packed_sequence_gives_the_same_result_alone(bounds, name):
    b, rule = found(name), {"max_seqlen": 8}
    arrays = draw("float32", *[(11, 2, 4)] * 4)
    packed = run_with_gradients(b, arrays, bounds, **rule)
    for start, end in (bounds[:2], bounds[2:4]):
        rows = [each[start:end] for each in arrays]
        alone = run_with_gradients(b, rows, [0, end - start], **rule)
        for mine, truth in zip(packed, alone, strict=True):
            error = 0 if name == "numpy" else 1e-6
            np.testing.assert_allclose(mine[start:end], truth, rtol=error, atol=error)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_compiled_step_keeps_packed_sequences_separate(name):
    b = found(name)
    clean = draw("float32", *[(11, 2, 4)] * 3)
    mixed = [each.copy() for each in clean]
    for each in mixed:
        each[4] = np.nan
    ends = b.tensor(np.array(SEQUENCE_OFFSETS, np.int32))

    @sl.tensor.compile
    def step(q, k, v, ends):
        def loss(q, k, v):
            out = sl.nn.functional.attention_varlen(q, k, v, ends, 6)
            return out[:3].sum() + out[9:].sum()

        return sl.tensor.grad(loss, argnums=(0, 1, 2))(q, k, v)

    for mine, truth in zip(
        step(*map(b.tensor, mixed), ends), step(*map(b.tensor, clean), ends), strict=True
    ):
        np.testing.assert_array_equal(mine.numpy()[:3], truth.numpy()[:3])
        np.testing.assert_array_equal(mine.numpy()[9:], truth.numpy()[9:])


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_sequence_longer_than_max_seqlen_is_an_error(name):
    b = found(name)
    x = b.asarray(draw("float32", (9, 1, 2))[0])
    with pytest.raises(
        sl.errors.ArgumentError, match="max_seqlen is 5, but a sequence has 6"
    ):
        b.attention_varlen(x, x, x, b.asarray(np.array([0, 3, 9], np.int32)), max_seqlen=5)
