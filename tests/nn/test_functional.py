"""Functions match the values and gradients of the PyTorch function of the same name."""

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")
F, TF = sl.nn.functional, torch.nn.functional

AUTODIFF = sl.tensor.Autodiff(sl.tensor.backend("numpy", num_threads=1))


def values(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape)


X, Y = values(3, 4), values(3, 4, seed=1)
CLASS_PROBABILITIES = np.abs(Y) / np.abs(Y).sum(axis=1, keepdims=True)
LINE, PLANE = values(2, 4, 9), values(2, 4, 7, 6)
CAUSAL_MASK = np.tril(np.ones((5, 5), bool))
QUERY_KEY_VALUE = values(2, 2, 5, 3), values(2, 2, 5, 3, seed=1), values(2, 2, 5, 3, seed=2)

# name of the case: (seqloom function, PyTorch function, differentiated arguments)
FUNCTION_CASES = {
    "relu": (F.relu, TF.relu, [X]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), lambda x: TF.leaky_relu(x, 0.2), [X]),
    "elu": (lambda x: F.elu(x, 0.7), lambda x: TF.elu(x, 0.7), [X]),
    "gelu": (F.gelu, TF.gelu, [X]),
    "gelu by tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: TF.gelu(x, approximate="tanh"),
        [X],
    ),
    "silu": (F.silu, TF.silu, [X]),
    "sigmoid": (F.sigmoid, torch.sigmoid, [X]),
    "tanh": (F.tanh, torch.tanh, [X]),
    "softplus": (F.softplus, TF.softplus, [X]),
    "sharp softplus": (lambda x: F.softplus(x, 3.0), lambda x: TF.softplus(x, 3.0), [X]),
    "softmax": (F.softmax, lambda x: TF.softmax(x, -1), [X]),
    "softmax of columns": (lambda x: F.softmax(x, 0), lambda x: TF.softmax(x, 0), [X]),
    "log_softmax": (
        lambda x: F.log_softmax(x, dim=0),
        lambda x: TF.log_softmax(x, dim=0),
        [X],
    ),
    "linear": (F.linear, TF.linear, [X, values(5, 4), values(5)]),
    "conv1d": (
        lambda x, w, b: F.conv1d(x, w, b, 2, 1, 2),
        lambda x, w, b: TF.conv1d(x, w, b, 2, 1, 2),
        [LINE, values(3, 4, 3), values(3)],
    ),
    "grouped conv1d": (
        lambda x, w: F.conv1d(x, w, groups=2),
        lambda x, w: TF.conv1d(x, w, groups=2),
        [LINE, values(6, 2, 3)],
    ),
    "conv1d as long as its input, even kernel": (
        lambda x, w: F.conv1d(x, w, padding="same"),
        lambda x, w: TF.conv1d(x, w, padding="same"),
        [LINE, values(3, 4, 4)],
    ),
    "conv1d without padding": (
        lambda x, w: F.conv1d(x, w, padding="valid"),
        lambda x, w: TF.conv1d(x, w, padding="valid"),
        [LINE, values(3, 4, 4)],
    ),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), 1),
        lambda x, w, b: TF.conv2d(x, w, b, (2, 1), 1),
        [PLANE, values(3, 4, 3, 2), values(3)],
    ),
    "conv2d as large as its input": (
        lambda x, w: F.conv2d(x, w, padding="same"),
        lambda x, w: TF.conv2d(x, w, padding="same"),
        [PLANE, values(3, 4, 3, 2)],
    ),
    "conv_transpose1d": (
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1),
        lambda x, w, b: TF.conv_transpose1d(x, w, b, 2, 1, 1),
        [LINE, values(4, 3, 3), values(3)],
    ),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2),
        lambda x, w: TF.conv_transpose2d(x, w, stride=2, groups=2),
        [PLANE, values(4, 3, 3, 2)],
    ),
    "max_pool1d": (
        lambda x: F.max_pool1d(x, 3, 2, 1),
        lambda x: TF.max_pool1d(x, 3, 2, 1),
        [LINE],
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), lambda x: TF.max_pool2d(x, 2), [PLANE]),
    "avg_pool1d": (
        lambda x: F.avg_pool1d(x, 3, 2, 1),
        lambda x: TF.avg_pool1d(x, 3, 2, 1),
        [LINE],
    ),
    "avg_pool2d": (
        lambda x: F.avg_pool2d(x, (3, 2), 2, (1, 0)),
        lambda x: TF.avg_pool2d(x, (3, 2), 2, (1, 0)),
        [PLANE],
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4,), w, b),
        lambda x, w, b: TF.layer_norm(x, (4,), w, b),
        [X, values(4), values(4, seed=1)],
    ),
    "layer_norm over two axes": (
        lambda x, w: F.layer_norm(x, (4, 9), w),
        lambda x, w: TF.layer_norm(x, (4, 9), w),
        [LINE, values(4, 9)],
    ),
    "rms_norm": (
        lambda x, w: F.rms_norm(x, (4,), w),
        lambda x, w: TF.rms_norm(x, (4,), w),
        [X, values(4)],
    ),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, w, b)[0],
        lambda x, w, b: TF.batch_norm(x, None, None, w, b, training=True),
        [LINE, values(4), values(4, seed=1)],
    ),
    "normalize": (F.normalize, TF.normalize, [X]),
    "normalize by another norm": (
        lambda x: F.normalize(x, 3.0, 0),
        lambda x: TF.normalize(x, 3.0, 0),
        [X],
    ),
    "normalize by the sum": (
        lambda x: F.normalize(x, 1.0),
        lambda x: TF.normalize(x, 1.0),
        [X],
    ),
    "normalize by the largest": (
        lambda x: F.normalize(x, np.inf),
        lambda x: TF.normalize(x, np.inf),
        [X],
    ),
    "normalize by how many are not 0": (
        lambda x: F.normalize(x, 0.0),
        lambda x: TF.normalize(x, 0.0),
        [X],
    ),
    "cosine_similarity": (F.cosine_similarity, TF.cosine_similarity, [X, Y]),
    "embedding": (
        lambda w: F.embedding([[2, 0], [2, 1]], w),
        lambda w: TF.embedding(torch.tensor([[2, 0], [2, 1]]), w),
        [X],
    ),
    "embedding with a row of padding": (
        lambda w: F.embedding(np.array([2, 0, 1]), w, padding_idx=0),
        lambda w: TF.embedding(torch.tensor([2, 0, 1]), w, padding_idx=0),
        [X],
    ),
    "pad": (
        lambda x: F.pad(x, (1, 2), value=0.5),
        lambda x: TF.pad(x, (1, 2), value=0.5),
        [X],
    ),
    "pad two axes, cutting": (
        lambda x: F.pad(x, (1, -1, 0, 2)),
        lambda x: TF.pad(x, (1, -1, 0, 2)),
        [X],
    ),
    "pad by reflection": (
        lambda x: F.pad(x, (3, 2), mode="reflect"),
        lambda x: TF.pad(x, (3, 2), mode="reflect"),
        [LINE],
    ),
    "pad by the edge": (
        lambda x: F.pad(x, (3, 2), mode="replicate"),
        lambda x: TF.pad(x, (3, 2), mode="replicate"),
        [LINE],
    ),
    "pad in a ring": (
        lambda x: F.pad(x, (3, 2), mode="circular"),
        lambda x: TF.pad(x, (3, 2), mode="circular"),
        [LINE],
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, CAUSAL_MASK, scale=0.7),
        lambda q, k, v: TF.scaled_dot_product_attention(
            q, k, v, torch.tensor(CAUSAL_MASK), scale=0.7
        ),
        QUERY_KEY_VALUE,
    ),
    "attention of one head": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v: TF.scaled_dot_product_attention(q, k, v, is_causal=True),
        [each[0, 0] for each in QUERY_KEY_VALUE],
    ),
    "attention with scores added": (
        F.scaled_dot_product_attention,
        TF.scaled_dot_product_attention,
        [*(each[0] for each in QUERY_KEY_VALUE), values(5, 5)],
    ),
    "mse_loss": (
        lambda x: F.mse_loss(x, Y),
        lambda x: TF.mse_loss(x, torch.tensor(Y)),
        [X],
    ),
    "summed mse_loss": (
        lambda x, y: F.mse_loss(x, y, reduction="sum"),
        lambda x, y: TF.mse_loss(x, y, reduction="sum"),
        [X, Y],
    ),
    "l1_loss": (F.l1_loss, TF.l1_loss, [X, Y]),
    "smooth_l1_loss": (
        lambda x, y: F.smooth_l1_loss(x, y, "none", 0.7),
        lambda x, y: TF.smooth_l1_loss(x, y, reduction="none", beta=0.7),
        [X, Y],
    ),
    "kl_div": (
        lambda x: F.kl_div(x, CLASS_PROBABILITIES, "batchmean"),
        lambda x: TF.kl_div(x, torch.tensor(CLASS_PROBABILITIES), reduction="batchmean"),
        [X],
    ),
    "kl_div of logarithms": (
        lambda x, y: F.kl_div(x, y, "sum", log_target=True),
        lambda x, y: TF.kl_div(x, y, reduction="sum", log_target=True),
        [X, Y],
    ),
    "binary_cross_entropy": (
        lambda x: F.binary_cross_entropy(F.sigmoid(x), CLASS_PROBABILITIES),
        lambda x: TF.binary_cross_entropy(
            torch.sigmoid(x), torch.tensor(CLASS_PROBABILITIES)
        ),
        [X],
    ),
    "weighted binary_cross_entropy": (
        lambda x: F.binary_cross_entropy_with_logits(
            x, CLASS_PROBABILITIES, weight=CLASS_PROBABILITIES + 1, reduction="none"
        ),
        lambda x: TF.binary_cross_entropy_with_logits(
            x,
            torch.tensor(CLASS_PROBABILITIES),
            torch.tensor(CLASS_PROBABILITIES + 1),
            reduction="none",
        ),
        [X],
    ),
}


# PyTorch warns about a copy if the padding of both ends differs by one.
@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")
@pytest.mark.parametrize("name", FUNCTION_CASES)
def test_values_and_gradients_match_pytorch(name):
    ours, theirs, arrays = FUNCTION_CASES[name]
    leaves = [AUTODIFF.tensor(each, requires_grad=True) for each in arrays]
    points = [torch.tensor(each, requires_grad=True) for each in arrays]
    found, expected = ours(*leaves), theirs(*points)
    np.testing.assert_allclose(
        found.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12
    )
    weights = np.cos(np.arange(found.numpy().size)).reshape(found.shape) + 1.5
    grads = (found * weights).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    for leaf, point in zip(leaves, points, strict=True):
        np.testing.assert_allclose(
            grads.wrt(leaf).numpy(), point.grad.numpy(), rtol=1e-8, atol=1e-9
        )


def test_a_wrong_probability_of_0_or_1_has_loss_100_and_a_finite_gradient():
    p = AUTODIFF.tensor([0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(p, [1.0, 1.0])
    assert loss.item() == 50.0
    assert np.isfinite(loss.backward().wrt(p).numpy()).all()


def test_the_norm_of_a_zero_vector_has_zero_gradient():
    x = AUTODIFF.tensor([[0.0, 0.0]], requires_grad=True)
    assert np.isfinite(F.normalize(x).sum().backward().wrt(x).numpy()).all()


def test_one_hot_puts_a_one_at_each_class():
    found = F.one_hot(AUTODIFF.tensor([[2, 0]]), 3)
    assert found.numpy().tolist() == [[[0, 0, 1], [1, 0, 0]]]
    assert found.dtype == np.int64


def test_packed_attention_stays_within_each_sequence():
    q, k, v = (values(7, 2, 3, seed=seed) for seed in range(3))
    found = F.attention_varlen(
        *map(AUTODIFF.tensor, (q, k, v)), [0, 3, 7], 4, is_causal=True
    )
    part = [torch.tensor(each[3:]).transpose(0, 1) for each in (q, k, v)]
    theirs = TF.scaled_dot_product_attention(*part, is_causal=True).transpose(0, 1)
    np.testing.assert_allclose(found.numpy()[3:], theirs.numpy(), rtol=1e-9)


def test_dropout_does_nothing_outside_training():
    x = AUTODIFF.tensor([1.0, 2.0])
    assert F.dropout(x, 0.5, training=False) is x


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: F.dropout(x, 0.5), "needs a key"),
        (lambda x: F.dropout(x, 1.5, sl.Key(0)), r"\[0, 1\)"),
        (lambda x: F.gelu(x, approximate="fast"), "tanh"),
        (lambda x: F.mse_loss(x, x, reduction="median"), "reduction"),
        (lambda x: F.pad(x, (1,)), "two numbers for each axis"),
        (lambda x: F.pad(x, (1, 1), mode="mirror"), "reflect"),
        (lambda x: F.conv1d(x, x, stride=2, padding="same"), "stride 1"),
        (
            lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.1),
            "dropout_p needs",
        ),
    ],
)
def test_an_invalid_argument_of_a_neural_network_function_is_an_error(call, message):
    with pytest.raises(sl.errors.ArgumentError, match=message):
        call(AUTODIFF.tensor(LINE))


def test_layer_norm_over_axes_of_another_shape_is_an_error():
    with pytest.raises(sl.errors.ShapeError, match=r"normalized_shape=\(3,\)"):
        F.layer_norm(AUTODIFF.tensor(X), (3,))
