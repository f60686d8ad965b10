"""Derivatives of normalisation, attention, losses and dropout."""

import numpy as np
from torch.nn import functional as TF

import rule_oracle
import seqloom as sl
from rule_oracle import Case, torch, values

X, ROW = values(3, 4), values(4)
SEQUENCE_BATCH = values(3, 4, 5)
CLASS_LABELS = np.array([2, 0, 1])
CLASS_WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5])
Q, K, V = (values(2, 2, 4, 3, seed=seed) for seed in range(3))
CAUSAL_MASK = np.tril(np.ones((4, 4), bool))
PACKED_OFFSETS = np.array([0, 3, 7], np.int32)
PACKED_QUERY_KEY_VALUE = [values(7, 2, 3, seed=seed) for seed in range(3)]


def scores(q, k, v, mask):
    return TF.scaled_dot_product_attention(q, k, v, mask)


def packed(q, k, v, _offsets):
    parts = []
    for start, stop in ((0, 3), (3, 7)):
        each = [x[start:stop].transpose(0, 1) for x in (q, k, v)]
        parts.append(TF.scaled_dot_product_attention(*each).transpose(0, 1))
    return torch.cat(parts)


def batch_norm(x, weight, bias):
    return TF.batch_norm(x, None, None, weight, bias, training=True)


def rms_norm(x, weight):
    return TF.rms_norm(x, (4,), weight, 1e-5)


RULE_CASES = [
    Case("softmax", [X], lambda x: TF.softmax(x, -1)),
    Case("softmax", [X], lambda x: TF.softmax(x, 0), {"axis": 0}),
    Case("log_softmax", [X], lambda x: TF.log_softmax(x, 0), {"axis": 0}),
    Case(
        "layer_norm",
        [X, ROW, values(4, seed=1)],
        lambda x, w, b: TF.layer_norm(x, (4,), w, b),
        {"eps": 1e-5},
        output=0,
    ),
    Case(
        "layer_norm",
        [X, None, None],
        lambda x, *_: TF.layer_norm(x, (4,)),
        {"eps": 1e-5},
        output=0,
    ),
    Case("rms_norm", [X, ROW], rms_norm, {"eps": 1e-5}, output=0),
    Case(
        "batch_norm",
        [SEQUENCE_BATCH, ROW, values(4, seed=1)],
        batch_norm,
        {"eps": 1e-5},
        output=0,
    ),
    Case(
        "scale_shift",
        [SEQUENCE_BATCH, ROW, values(4, seed=1)],
        lambda x, scale, shift: x * scale[:, None] + shift[:, None],
    ),
    Case(
        "cross_entropy",
        [X, CLASS_LABELS],
        lambda x, y: TF.cross_entropy(x, y, reduction="none"),
        output=0,
    ),
    Case("attention", [Q, K, V], TF.scaled_dot_product_attention, output=0),
    Case(
        "attention",
        [Q, K[:, :, :3], V[:, :, :3]],
        lambda q, k, v: TF.scaled_dot_product_attention(q, k, v, scale=0.3),
        {"scale": 0.3},
        output=0,
    ),
    Case(
        "attention",
        [Q, K, V],
        lambda q, k, v: TF.scaled_dot_product_attention(q, k, v, is_causal=True),
        {"causal": True},
        output=0,
    ),
    Case("attention", [Q, K, V, CAUSAL_MASK], scores, output=0),
    Case("attention", [Q, K, V, values(2, 1, 4, 4)], scores, output=0),
    Case(
        "attention_varlen",
        [*PACKED_QUERY_KEY_VALUE, PACKED_OFFSETS],
        packed,
        {"max_seqlen": 4},
        output=0,
    ),
]
each_case = rule_oracle.each_of(RULE_CASES)


@each_case
def test_gradients_equal_torch(case):
    rule_oracle.check_against_torch(case)


@each_case
def test_gradients_equal_central_differences(case):
    rule_oracle.check_central_differences(case)


@each_case
def test_second_derivatives_equal_torch(case):
    # In PyTorch, only the math kernel of attention has a second derivative.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        rule_oracle.check_second_order(case)


def test_gradients_of_a_weighted_loss_equal_torch():
    theirs = torch.tensor(X, requires_grad=True)
    weight = torch.tensor(CLASS_WEIGHTS)
    TF.cross_entropy(theirs, torch.tensor(CLASS_LABELS), weight, reduction="sum").backward()
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(X, requires_grad=True)
    losses = rule_oracle.apply("cross_entropy", x, CLASS_LABELS, CLASS_WEIGHTS)[0]
    found = losses.sum().backward().wrt(x).numpy()
    np.testing.assert_allclose(found, theirs.grad.numpy(), rtol=1e-9)


def test_dropout_gradients_use_the_same_mask():
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(values(50), requires_grad=True)
    out = rule_oracle.apply("dropout", x, sl.Key(3), 0.4)
    found = out.sum().backward().wrt(x).numpy()
    kept = out.numpy() != 0
    np.testing.assert_allclose(found, kept / 0.6)


def test_stop_gradient_blocks_the_gradient():
    x = rule_oracle.AUTODIFF_LEVEL_1.tensor(X, requires_grad=True)
    found = (rule_oracle.apply("stop_gradient", x) * x).sum().backward()
    np.testing.assert_array_equal(found.wrt(x).numpy(), X)
