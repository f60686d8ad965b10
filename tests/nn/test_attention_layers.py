"""With equal weights, MultiHeadAttention and TransformerEncoder match PyTorch."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, DTypeError, ShapeError

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
Q, K = (RNG.normal(size=(3, size, 8)).astype("float32") for size in (5, 6))
PADDING_MASK = np.arange(6) >= np.array([6, 4, 5])[:, None]
MASK_OF_LATER_KEYS = np.triu(np.ones((5, 6), bool), 2)
ADDITIVE_MASK = RNG.normal(size=(6, 5, 6)).astype("float32")
MASK_ARGUMENTS: dict[str, Any] = {
    "none": {},
    "padding": {"key_padding_mask": PADDING_MASK},
    "pairs": {"attn_mask": MASK_OF_LATER_KEYS},
    "numbers": {"attn_mask": ADDITIVE_MASK},
    "both": {"key_padding_mask": PADDING_MASK, "attn_mask": MASK_OF_LATER_KEYS},
}
JAX_PARAMETER = pytest.param("jax", marks=pytest.mark.soak)


def make_backend(name):
    if name != "numpy":
        pytest.importorskip(name)
    return sl.tensor.backend(name, num_threads=1)


def make_attention(backend, **options):
    """Return a PyTorch layer with non-zero biases and a seqloom layer with its weights."""
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True, **options)
    torch.nn.init.normal_(theirs.in_proj_bias)
    ours = sl.nn.MultiHeadAttention(8, 2, **options).bind(backend, 0)
    return theirs, ours.load_state_dict(theirs.state_dict())


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masks", MASK_ARGUMENTS)
@pytest.mark.parametrize("name", ["numpy", "torch", JAX_PARAMETER])
def test_attention_matches_pytorch(name, masks, need_weights):
    theirs, ours = make_attention(make_backend(name))
    given = {key: torch.tensor(mask) for key, mask in MASK_ARGUMENTS[masks].items()}
    x, y = torch.tensor(Q, requires_grad=True), torch.tensor(K)
    expected, weights = theirs(x, y, y, need_weights=need_weights, **given)
    (expected**2).sum().backward()

    def loss(model, x, y):
        return (
            model(x, y, need_weights=need_weights, **MASK_ARGUMENTS[masks])[0] ** 2
        ).sum()

    x, y = ours.backend.tensor(Q), ours.backend.tensor(K)
    found, found_weights = ours(x, y, need_weights=need_weights, **MASK_ARGUMENTS[masks])
    _, grads = sl.nn.value_and_grad(loss)(ours, x, y)
    np.testing.assert_allclose(
        found.numpy(), expected.detach().numpy(), rtol=1e-5, atol=2e-6
    )
    if need_weights:
        np.testing.assert_allclose(
            found_weights.numpy(), weights.detach().numpy(), rtol=1e-5, atol=1e-6
        )
    for path, param in ours.parameters():
        wanted = theirs.get_parameter(path).grad.numpy()
        least = 1e-5 * abs(wanted).max()
        np.testing.assert_allclose(
            np.asarray(grads.wrt(param)), wanted, rtol=1e-5, atol=least, err_msg=path
        )


def test_keys_and_values_with_other_widths_match_pytorch():
    theirs, ours = make_attention("numpy", kdim=3, vdim=4)
    inputs = Q, K[..., :3].copy(), K[..., :4].copy()
    expected, _ = theirs(*map(torch.tensor, inputs))
    q, k, v = map(ours.backend.tensor, inputs)
    found, _ = ours(q, k, v)
    np.testing.assert_allclose(
        found.numpy(), expected.detach().numpy(), rtol=1e-5, atol=2e-6
    )


def test_attention_weights_of_each_head_match_pytorch():
    theirs, ours = make_attention("numpy")
    x, y = torch.tensor(Q[0]), torch.tensor(K[0])
    _, expected = theirs(x, y, y, average_attn_weights=False)
    x, y = ours.backend.tensor(Q[0]), ours.backend.tensor(K[0])
    _, found = ours(x, y, average_attn_weights=False)
    np.testing.assert_allclose(
        found.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-7
    )


def test_initial_attention_weights_match_pytorch():
    theirs = torch.nn.MultiheadAttention(64, 4)
    ours = sl.nn.MultiHeadAttention(64, 4).bind("numpy", 0)
    for path, param in ours.parameters():
        wanted = theirs.get_parameter(path).detach().numpy()
        assert param.numpy().std() == pytest.approx(wanted.std(), rel=0.05)
        assert abs(param.numpy()).max() == pytest.approx(abs(wanted).max(), rel=0.05)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_query_that_ignores_all_keys_has_no_weights(name):
    layer = sl.nn.MultiHeadAttention(8, 2).bind(make_backend(name), 0)
    nothing = np.ones((3, 6), bool)
    x = layer.backend.tensor(K)
    for need_weights in (False, True):
        out, _ = layer(x, key_padding_mask=nothing, need_weights=need_weights)
        assert np.isfinite(out.numpy()).all()
        assert (out.numpy() == layer.out_proj.bias.numpy()).all()


def rotate(x, base):
    """Rotate each pair of features as a complex number (Su et al., 2021)."""
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[-2])[:, None] * base ** (-np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag], -1)


@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_rotary_embedding_rotates_pairs_of_features(base):
    x = RNG.normal(size=(2, 3, 7, 8))
    found = sl.nn.functional.rotary_embedding(
        sl.tensor.backend("numpy").tensor(x), base=base
    )
    np.testing.assert_allclose(found.numpy(), rotate(x, base), rtol=1e-10, atol=1e-12)


def test_scores_of_rotated_vectors_depend_on_the_distance_only():
    rotary = sl.nn.functional.rotary_embedding
    x = sl.tensor.backend("numpy").tensor(RNG.normal(size=(7, 8)))
    near = (rotary(x) @ rotary(x).T).numpy()
    far = (rotary(x, np.arange(7) + 50) @ rotary(x, np.arange(7) + 50).T).numpy()
    np.testing.assert_allclose(near, far, rtol=1e-9)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", ["numpy", "torch", JAX_PARAMETER])
def test_packed_sequences_give_the_outputs_of_padded_sequences(name, is_causal):
    layer = sl.nn.TransformerEncoderLayer(8, 2, 16, rotary=10000.0)
    model = sl.nn.TransformerEncoder(layer, 2).bind(make_backend(name), 0).eval()
    padded = model(
        model.backend.tensor(K), src_key_padding_mask=PADDING_MASK, is_causal=is_causal
    )
    packed = model(
        model.backend.tensor(K[~PADDING_MASK]),
        cu_seqlens=[0, 6, 10, 15],
        is_causal=is_causal,
    )
    np.testing.assert_allclose(
        packed.numpy(), padded.numpy()[~PADDING_MASK], rtol=1e-5, atol=2e-6
    )


def make_encoders(backend, **options):
    """Return PyTorch's encoder and a seqloom encoder with its weights, for evaluation."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
    norm = torch.nn.LayerNorm(8)
    theirs = torch.nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
    ours = sl.nn.TransformerEncoderLayer(8, 2, 16, **options)
    ours = sl.nn.TransformerEncoder(ours, 2, sl.nn.LayerNorm(8)).bind(backend, 0)
    return theirs.eval(), ours.load_state_dict(theirs.state_dict()).eval()


def real_squares(model, x):
    """Return the sum of squares of a causal encoder's output at unmasked positions."""
    out = model(x, src_key_padding_mask=PADDING_MASK, is_causal=True)
    real = model.backend.tensor(~PADDING_MASK)[:, :, None]
    return (sl.tensor.apply("where", real, out, 0.0) ** 2).sum()


def step(model, x):
    value, grads = sl.nn.value_and_grad(real_squares)(model, x)
    return value, [grads.wrt(param) for _, param in model.parameters()]


ENCODER_SETTINGS = [
    ("numpy", "gelu", True, False),
    ("numpy", "relu", False, False),
    ("numpy", "relu", False, True),
    ("torch", "gelu", True, False),
    pytest.param("torch", "relu", False, True, marks=pytest.mark.soak),
    pytest.param("jax", "relu", False, False, marks=pytest.mark.soak),
    pytest.param("jax", "gelu", True, True, marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("name", "activation", "norm_first", "compiled"), ENCODER_SETTINGS)
def test_the_transformer_encoder_matches_pytorch(name, activation, norm_first, compiled):
    options = {"activation": activation, "norm_first": norm_first}
    theirs, ours = make_encoders(make_backend(name), **options)
    pairs = torch.tensor(np.triu(np.ones((6, 6), bool), 1))
    expected = theirs(torch.tensor(K), pairs, torch.tensor(PADDING_MASK))
    wanted = (expected[~torch.tensor(PADDING_MASK)] ** 2).sum()
    wanted.backward()
    run = sl.tensor.compile(step) if compiled else step
    value, grads = run(ours, ours.backend.tensor(K))
    assert value.item() == pytest.approx(wanted.item(), rel=1e-5)
    for (path, _), grad in zip(ours.parameters(), grads, strict=True):
        other = theirs.get_parameter(path).grad.numpy()
        least = 1e-5 * max(abs(other).max(), 1.0)
        values = np.asarray(grad.numpy() if hasattr(grad, "numpy") else grad)
        np.testing.assert_allclose(values, other, rtol=1e-4, atol=least, err_msg=path)


@pytest.mark.parametrize("name", ["numpy", "torch", JAX_PARAMETER])
def test_the_output_of_the_transformer_encoder_matches_pytorch(name):
    theirs, ours = make_encoders(make_backend(name))
    expected = theirs(torch.tensor(K), src_key_padding_mask=torch.tensor(PADDING_MASK))
    found = ours(ours.backend.tensor(K), src_key_padding_mask=PADDING_MASK)
    np.testing.assert_allclose(
        found.numpy()[~PADDING_MASK],
        expected.detach().numpy()[~PADDING_MASK],
        rtol=1e-5,
        atol=2e-6,
    )


def test_a_transformer_encoder_without_biases_has_the_parameters_of_pytorch():
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, bias=False)
    ours = sl.nn.TransformerEncoderLayer(8, 2, 16, bias=False)
    expected = {name: tuple(values.shape) for name, values in theirs.state_dict().items()}
    assert {path: param.shape for path, param in ours.parameters()} == expected


def test_dropout_needs_a_key_and_depends_on_it():
    layer = sl.nn.TransformerEncoderLayer(8, 2, 16)
    model = sl.nn.TransformerEncoder(layer, 2).bind("numpy", 0)
    x = model.backend.tensor(K)
    with pytest.raises(ArgumentError, match="needs a key"):
        model(x)
    one = model(x, key=sl.Key(1)).numpy()
    np.testing.assert_array_equal(one, model(x, key=sl.Key(1)).numpy())
    assert (one != model(x, key=sl.Key(2)).numpy()).any()


def test_a_float_padding_mask_is_rejected():
    layer = sl.nn.MultiHeadAttention(8, 2).bind("numpy", 0)
    with pytest.raises(DTypeError, match="pass mask == 0"):
        layer(layer.backend.tensor(K), key_padding_mask=(~PADDING_MASK).astype("float32"))


def test_a_mask_of_another_shape_is_rejected():
    layer = sl.nn.MultiHeadAttention(8, 2).bind("numpy", 0)
    with pytest.raises(ShapeError, match=r"attn_mask must have shape \(6, 6\)"):
        layer(layer.backend.tensor(K), attn_mask=MASK_OF_LATER_KEYS[:, :4])


def test_packed_sequences_reject_masks_dropout_and_cross_attention():
    layer = sl.nn.MultiHeadAttention(8, 2, dropout=0.5).bind("numpy", 0)
    x = layer.backend.tensor(K[0])
    with pytest.raises(ArgumentError, match="supports no dropout"):
        layer(x, cu_seqlens=[0, 6], rng=sl.Key(0))
    with pytest.raises(ArgumentError, match="pass query alone"):
        layer.eval()(x, cu_seqlens=[0, 6], attn_mask=MASK_OF_LATER_KEYS)
