"""Attention with empty arrays, unequal shapes, and different memory layouts."""

import numpy as np
import pytest
import torch

import seqloom as sl
from backend_oracle import everywhere, found
from seqloom.errors import ShapeError

# Sizes (n, h, l, s, d, e) of attention arrays; one size is 0.
EMPTY_SHAPES = [
    (1, 1, 3, 0, 2, 2),
    (1, 1, 0, 3, 2, 2),
    (1, 0, 3, 3, 2, 2),
    (0, 1, 3, 3, 2, 2),
    (1, 1, 3, 4, 0, 2),
    (1, 1, 3, 0, 2, 3),
]
RNG = np.random.default_rng(3)
RANDOM_ARRAYS = [RNG.standard_normal((2, 3, 5, 4)).astype("f4") for _ in range(4)]


def draw(*shape):
    return RNG.standard_normal(shape).astype("f4")


def run_with_gradients(b, arrays, mask=None, *, causal=False):
    """Return the attention output, and the gradients of queries, keys and values."""
    q, k, v, grad = arrays
    out, lse = b.attention(q, k, v, mask, causal=causal)
    parts = b.attention_grad(grad, q, k, v, mask, None, out, lse, causal=causal)
    return [np.asarray(b.to_numpy(each)) for each in (out, *parts)]


@pytest.mark.sample(5)
@everywhere
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sizes", EMPTY_SHAPES, ids=str)
def test_attention_without_keys_gives_zeros(sizes, masked, causal, name):
    n, h, rows, columns, d, e = sizes
    b = found(name)
    shapes = (n, h, rows, d), (n, h, columns, d), (n, h, columns, e), (n, h, rows, e)
    arrays = [b.asarray(draw(*shape)) for shape in shapes]
    mask = b.asarray(np.ones((rows, columns), bool)) if masked else None
    out, *parts = run_with_gradients(b, arrays, mask, causal=causal)
    assert out.shape == shapes[3]
    assert columns or not out.any()
    for part, shape in zip(parts, shapes, strict=False):
        assert part.shape == shape
        assert np.isfinite(part).all()


@everywhere
@pytest.mark.parametrize("sizes", [(0, 1, 2), (0, 0, 2), (3, 0, 2)], ids=str)
def test_empty_packed_sequences_give_empty_results(sizes, name):
    b = found(name)
    x, ends = b.asarray(draw(*sizes)), b.asarray(np.array([0, sizes[0]], np.int32))
    assert tuple(b.attention_varlen(x, x, x, ends, max_seqlen=3)[0].shape) == sizes


MEMORY_LAYOUTS = {
    "strided last axis": lambda x: x.mT.contiguous().mT,
    "transposed axes": lambda x: x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
    "every other number": lambda x: torch.stack([x, x * 7], -1)[..., 0],
}


@pytest.mark.parametrize("layout", MEMORY_LAYOUTS.values(), ids=MEMORY_LAYOUTS)
def test_the_memory_order_does_not_change_attention(layout):
    b = found("torch")
    expected = run_with_gradients(found("numpy"), RANDOM_ARRAYS)
    got = run_with_gradients(b, [layout(torch.from_numpy(each)) for each in RANDOM_ARRAYS])
    for mine, truth in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, truth, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [bool, "f4"], ids=str)
def test_the_memory_order_of_a_mask_does_not_change_attention(kind):
    mask = (draw(5, 5) < 0.7).astype(kind).T
    expected = run_with_gradients(found("numpy"), RANDOM_ARRAYS, np.ascontiguousarray(mask))
    tensors = [torch.from_numpy(each) for each in RANDOM_ARRAYS]
    got = run_with_gradients(found("torch"), tensors, torch.from_numpy(mask.T).mT)
    for mine, truth in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, truth, rtol=1e-4, atol=1e-5)


def test_a_broadcast_gradient_is_read_correctly():
    b, tensors = found("torch"), [torch.from_numpy(each) for each in RANDOM_ARRAYS]
    one = torch.ones(()).expand(2, 3, 5, 4)
    expected = run_with_gradients(b, [*tensors[:3], one.contiguous()])
    for mine, truth in zip(
        run_with_gradients(b, [*tensors[:3], one]), expected, strict=True
    ):
        np.testing.assert_allclose(mine, truth, rtol=1e-5, atol=1e-6)


MISMATCHED_SHAPES = {
    "another batch": ((5, 1, 3, 2), (2, 1, 3, 2), (2, 1, 3, 2)),
    "fewer heads": ((1, 8, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2)),
    "fewer values": ((1, 1, 3, 2), (1, 1, 4, 2), (1, 1, 3, 2)),
    "narrower keys": ((1, 1, 3, 4), (1, 1, 3, 2), (1, 1, 3, 4)),
    "no batch": ((1, 3, 2), (1, 3, 2), (1, 3, 2)),
}


@pytest.mark.parametrize("shapes", MISMATCHED_SHAPES.values(), ids=MISMATCHED_SHAPES)
def test_mismatched_shapes_raise_before_the_torch_kernel_is_called(shapes):
    with pytest.raises(ShapeError, match="attention: expected"):
        found("torch").attention(*(torch.ones(shape) for shape in shapes))


def test_mismatched_gradient_shapes_raise_before_the_torch_kernel_is_called():
    b, x = found("torch"), torch.ones(1, 1, 3, 2)
    out, lse = b.attention(x, x, x)
    for grad, values in ((x, x[:, :, :2]), (x[:, :, :2], x)):
        with pytest.raises(ShapeError, match="attention: expected"):
            b.attention_grad(grad, x, x, values, None, None, out, lse)


def test_attention_dropout_with_a_mask_can_be_compiled():
    b, x = found("torch"), torch.from_numpy(RANDOM_ARRAYS[0])
    mask, key = torch.ones(5, 5, dtype=torch.bool).tril(), b.key_words(sl.Key(2))

    def attend(x, mask, key):
        return b.attention(x, x, x, mask, key, dropout=0.3)[0]

    traced = torch.compile(attend, backend="eager", fullgraph=True)
    torch.testing.assert_close(traced(x, mask, key), attend(x, mask, key))


MASKS_BY_NAME = {
    "keys": np.array([True, True, False, True, False])[None],
    "pairs": np.tril(np.ones((5, 5), bool)) & (np.arange(5) != 2),
}


def run_padded(name, mask, value, *, clean):
    """Return attention output and gradients, with the number `value` at masked keys."""
    b, hidden = found(name), ~mask.any(0)
    q, k, v, _ = (each.copy() for each in RANDOM_ARRAYS)
    k[:, :, hidden], v[:, :, hidden] = value, value
    real = b.asarray(~hidden[:, None])

    def attend(q, k, v):
        if clean:
            k, v = (sl.tensor.where(sl.tensor.Tensor(real, b), x, 0.0) for x in (k, v))
        return sl.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    level = sl.tensor.Autodiff(b)
    leaves = [level.tensor(each, requires_grad=True) for each in (q, k, v)]
    out = attend(*leaves)
    grads = (out * out).sum().backward()
    return [out.numpy(), *(grads.wrt(each).numpy() for each in leaves)]


@everywhere
@pytest.mark.parametrize("mask", MASKS_BY_NAME)
def test_values_at_masked_keys_do_not_change_attention(mask, name):
    expected = run_padded(name, MASKS_BY_NAME[mask], 0.0, clean=False)
    got = run_padded(name, MASKS_BY_NAME[mask], 1e9, clean=False)
    for mine, truth in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, truth, rtol=1e-5, atol=1e-6)


@everywhere
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("mask", MASKS_BY_NAME)
def test_setting_padding_to_0_does_not_change_attention(mask, value, name):
    expected = run_padded(name, MASKS_BY_NAME[mask], 0.0, clean=True)
    got = run_padded(name, MASKS_BY_NAME[mask], value, clean=True)
    for mine, truth in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, truth)


@pytest.mark.parametrize("axis", range(4))
def test_an_axis_of_length_1_may_have_a_negative_stride(axis):
    shape = [2, 2, 2, 2]
    shape[axis] = 1
    b, x = found("numpy"), draw(*shape)
    backwards = np.flip(x, axis)
    for turned, plain in zip(
        run_with_gradients(b, [backwards] * 3 + [x]),
        run_with_gradients(b, [x] * 4),
        strict=True,
    ):
        np.testing.assert_array_equal(turned, plain)


def test_attention_of_empty_arrays_has_a_compiled_gradient():
    b = sl.tensor.backend("numpy")

    def loss(x):
        return (sl.nn.functional.scaled_dot_product_attention(x, x, x) ** 2).sum()

    x = b.tensor(np.zeros((2, 1, 0, 4), np.float32))
    assert sl.tensor.compile(sl.tensor.grad(loss))(x).shape == (2, 1, 0, 4)


def test_attention_of_width_0_has_a_gradient():
    b = sl.tensor.backend("numpy")

    def loss(x):
        return (sl.nn.functional.scaled_dot_product_attention(x, x, x) ** 2).sum()

    x = b.tensor(np.ones((1, 1, 3, 0), np.float32))
    assert sl.tensor.grad(loss)(x).shape == (1, 1, 3, 0)
