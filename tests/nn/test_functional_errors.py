"""Functions reject invalid arguments with the same error on every backend."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, OutOfRangeError, ShapeError

F, KEY = sl.nn.functional, sl.Key(1)
LINE, PLANE, SCORES = (1, 1, 4), (1, 2, 5, 5), (3, 4)


@pytest.fixture(params=["numpy", "torch"])
def make(request):
    """Return a function that makes tensors of ones or of given values on each backend."""
    pytest.importorskip(request.param)
    b = sl.tensor.backend(request.param)

    def made(*shape, data=None):
        return b.tensor(np.ones(shape, "f4") if data is None else np.asarray(data))

    return made


def error_cases(cases):
    """Parametrize a test by the rows of a table: name, call and expected message."""
    return pytest.mark.parametrize(("call", "message"), cases.values(), ids=cases)


INVALID_ARGUMENTS = {
    "a stride of 0 in pooling": (
        lambda t: F.max_pool1d(t(*LINE), 2, stride=0),
        "stride must be at least 1, got 0",
    ),
    "a negative stride in pooling": (
        lambda t: F.avg_pool1d(t(*LINE), 2, stride=-1),
        "stride must be at least 1, got -1",
    ),
    "a negative padding in pooling": (
        lambda t: F.avg_pool2d(t(*PLANE), 2, padding=(0, -1)),
        "padding must be at least 0",
    ),
    "pooling of more padding than half a window": (
        lambda t: F.avg_pool1d(t(*LINE), 2, padding=2),
        "padding must be at most half of kernel_size 2",
    ),
    "a window of no positions": (
        lambda t: F.max_pool2d(t(*PLANE), 0),
        "kernel_size must be at least 1",
    ),
    "a window of 2.0 positions": (
        lambda t: F.max_pool1d(t(*LINE), 2.0),
        "kernel_size must be an integer, got 2.0",
    ),
    "a stride of 1.5": (
        lambda t: F.conv2d(t(*PLANE), t(1, 2, 2, 2), stride=1.5),
        "stride must be an integer or a pair of integers, got 1.5",
    ),
    "a negative padding of a convolution": (
        lambda t: F.conv1d(t(*LINE), t(1, 1, 2), padding=-1),
        "padding must be at least 0",
    ),
    "a dilation of 0": (
        lambda t: F.conv1d(t(*LINE), t(1, 1, 2), dilation=0),
        "dilation must be at least 1",
    ),
    "no groups": (
        lambda t: F.conv2d(t(*PLANE), t(1, 2, 2, 2), groups=0),
        "groups must be at least 1",
    ),
    "output padding longer than a stride": (
        lambda t: F.conv_transpose1d(t(*LINE), t(1, 1, 2), output_padding=1),
        "output_padding 1 must be below the stride 1",
    ),
    "one_hot of fewer than one class": (
        lambda t: F.one_hot(t(data=[0]), -2),
        "num_classes must be at least 1",
    ),
    "a share of labels beyond 1": (
        lambda t: F.cross_entropy(t(*SCORES), [0, 1, 2], label_smoothing=1.5),
        r"label_smoothing must be in \[0, 1\]",
    ),
    "a bend below 0": (
        lambda t: F.smooth_l1_loss(t(2), t(2), beta=-1.0),
        "beta must be 0 or more",
    ),
    "a share of attention of 1": (
        lambda t: F.scaled_dot_product_attention(*[t(3, 2)] * 3, dropout_p=1.0, rng=KEY),
        r"dropout_p must be in \[0, 1\), got 1.0",
    ),
    "a negative share of attention": (
        lambda t: F.scaled_dot_product_attention(*[t(3, 2)] * 3, dropout_p=-0.5, rng=KEY),
        r"dropout_p must be in \[0, 1\)",
    ),
    "a longest sequence below 0": (
        lambda t: F.attention_varlen(*[t(8, 1, 2)] * 3, [0, 8], -1),
        "max_seqlen must be at least 0",
    ),
    "a longest sequence that is not": (
        lambda t: F.attention_varlen(*[t(8, 1, 2)] * 3, [0, 3, 8], 4),
        "max_seqlen must be at least 5, the longest sequence, got 4",
    ),
}
MISMATCHED_SHAPES = {
    "a window longer than its row": (
        lambda t: F.avg_pool1d(t(*LINE), 9),
        r"a window of \[9\] positions does not fit into an input of \[4\]",
    ),
    "pooling without channels": (lambda t: F.max_pool1d(t(4), 2), r"3 axes.*\(n, c, l\)"),
    "a convolution without channels": (
        lambda t: F.conv2d(t(5, 5), t(1, 2, 2, 2)),
        r"4 axes.*\(n, c, h, w\)",
    ),
    "a filter longer than its row": (
        lambda t: F.conv1d(t(1, 1, 2), t(1, 1, 3)),
        r"conv1d: a window of \[3\] positions does not fit into an input of \[2\]",
    ),
    "a filter spread over more than the image": (
        lambda t: F.conv2d(t(1, 1, 9, 4), t(1, 1, 3, 3), dilation=2),
        r"conv2d: a window of \[3, 3\] positions",
    ),
    "a mirror wider than the axis": (
        lambda t: F.pad(t(1, 3), (3, 0), mode="reflect"),
        r"an axis of length 3 is too short for the widths \(3, 0\)",
    ),
    "a ring of nothing": (
        lambda t: F.pad(t(1, 0), (1, 1), mode="circular"),
        "an axis of length 0 is too short",
    ),
    "an axis cut to less than nothing": (
        lambda t: F.pad(t(1, 3), (-2, -2)),
        "an axis of length 3 is too short",
    ),
    "more pairs than axes": (
        lambda t: F.pad(t(3), (1, 1, 1, 1)),
        r"has 2 pairs, but x of shape \(3,\) has 1 axes",
    ),
    "too few labels": (
        lambda t: F.cross_entropy(t(*SCORES), [0, 1]),
        r"must have shape \(3,\).*got \(2,\)",
    ),
    "one label for several rows": (
        lambda t: F.cross_entropy(t(*SCORES), 1),
        r"must have shape \(3,\).*got \(\)",
    ),
    "labels in a column": (
        lambda t: F.nll_loss(t(*SCORES), t(data=[[0], [1], [2]])),
        r"got \(3, 1\)",
    ),
    "weights of fewer classes": (
        lambda t: F.nll_loss(t(*SCORES), [0, 1, 2], [1.0, 2.0]),
        r"weight must have shape \(4,\)",
    ),
    "answers that would be repeated": (
        lambda t: F.binary_cross_entropy_with_logits(t(*SCORES), t(4)),
        r"target must have the shape of x, \(3, 4\), got \(4,\)",
    ),
    "probabilities that would be repeated": (
        lambda t: F.binary_cross_entropy(t(*SCORES), t(3, 1)),
        r"got \(3, 1\)",
    ),
    "keys of another batch": (
        lambda t: F.scaled_dot_product_attention(t(5, 1, 3, 2), *[t(2, 1, 3, 2)] * 2),
        r"attention: expected .*\(5, 1, 3, 2\), \(2, 1, 3, 2\)",
    ),
    "keys of fewer heads": (
        lambda t: F.scaled_dot_product_attention(t(1, 8, 3, 2), *[t(1, 2, 3, 2)] * 2),
        "attention: expected",
    ),
    "fewer values than keys": (
        lambda t: F.scaled_dot_product_attention(t(3, 2), t(4, 2), t(3, 2)),
        "attention: expected",
    ),
    "a mask of other pairs": (
        lambda t: F.scaled_dot_product_attention(*[t(1, 3, 2)] * 3, attn_mask=t(2, 3, 3)),
        r"attn_mask must broadcast to \(1, 1, 3, 3\)",
    ),
    "packed keys of fewer heads": (
        lambda t: F.attention_varlen(t(8, 2, 2), *[t(8, 1, 2)] * 2, [0, 8], 8),
        "attention_varlen: expected",
    ),
}
INVALID_INDICES = {
    "a label beyond the classes": (
        lambda t: F.nll_loss(t(*SCORES), t(data=[0, 1, 4])),
        r"from 0 to 3, got 4",
    ),
    "a label far beyond": (
        lambda t: F.nll_loss(t(*SCORES), t(data=[0, 1, 2**40])),
        "got 1",
    ),
    "a label below 0": (lambda t: F.nll_loss(t(*SCORES), t(data=[0, 1, -1])), "got -1"),
    "a number beyond the classes": (lambda t: F.one_hot(t(data=[0, 3]), 3), "got 3"),
    "a number below 0": (lambda t: F.one_hot(t(data=[-1]), 3), "got -1"),
    "a row of padding that is none": (
        lambda t: F.embedding(t(data=[0]), t(3, 2), padding_idx=7),
        "padding_idx must be from -3 to 2, the rows of the table, got 7",
    ),
    "an axis beyond the last": (lambda t: F.softmax(t(2, 2), 5), "axis 5|got 5"),
    "an axis before the first": (lambda t: F.log_softmax(t(2, 2), -3), "axis -3|got -3"),
}


@error_cases(INVALID_ARGUMENTS)
def test_invalid_arguments_of_neural_network_functions_are_rejected(call, message, make):
    with pytest.raises(ArgumentError, match=message):
        call(make)


@error_cases(MISMATCHED_SHAPES)
def test_mismatched_shapes_in_neural_network_functions_are_rejected(call, message, make):
    with pytest.raises(ShapeError, match=message):
        call(make)


@error_cases(INVALID_INDICES)
def test_out_of_range_indices_are_rejected(call, message, make):
    with pytest.raises(OutOfRangeError, match=message):
        call(make)


@pytest.mark.parametrize(
    "ends", [[0, 1_000_000], [0, -5], [], [5, 0], [0, 3, 2, 8], [0.0, 8.0], [0, 7]], ids=str
)
def test_cu_seqlens_must_increase_from_zero_to_the_total(ends, make):
    with pytest.raises(
        ArgumentError, match="increasing integers from 0 to the total length 8"
    ):
        F.attention_varlen(*[make(8, 1, 2)] * 3, ends, 8)


def test_an_out_of_range_label_is_rejected_while_gradients_are_recorded():
    level = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
    x = level.tensor(np.ones(SCORES, "f4"), requires_grad=True)
    with pytest.raises(OutOfRangeError, match="labels"):
        F.nll_loss(x, level.tensor([0, 1, 4]))


def test_an_ignored_label_may_be_out_of_range(make):
    loss = F.nll_loss(make(*SCORES), make(data=[0, -100, 2]))
    assert loss.item() == -1.0


@pytest.mark.parametrize("stride", [(2,), [2], np.int64(2), (np.int32(2), 2)], ids=str)
def test_sizes_may_be_numpy_integers_and_sequences(stride, make):
    assert F.conv2d(make(*PLANE), make(1, 2, 2, 2), stride=stride).shape == (1, 1, 2, 2)


def test_padding_may_be_a_numpy_integer(make):
    assert F.conv1d(make(*LINE), make(1, 1, 2), padding=np.int64(1)).shape == (1, 1, 5)


LOSS_FUNCTIONS = [
    F.mse_loss,
    F.l1_loss,
    F.smooth_l1_loss,
    F.huber_loss,
    F.poisson_nll_loss,
    F.kl_div,
    F.binary_cross_entropy_with_logits,
    F.sigmoid_focal_loss,
]


@pytest.mark.parametrize("loss", LOSS_FUNCTIONS, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize(
    "shapes", [((3, 1), (3,)), ((3,), (3, 1)), ((3, 2), (3, 1))], ids=str
)
def test_a_target_of_another_shape_is_rejected_instead_of_broadcast(loss, shapes, make):
    with pytest.raises(ShapeError, match=r"target must have the shape of x"):
        loss(make(*shapes[0]), make(*shapes[1]))


@pytest.mark.parametrize(
    "name", ["binary_cross_entropy", "binary_cross_entropy_with_logits"]
)
def test_weights_that_would_broadcast_the_losses_are_rejected(name, make):
    x = make(data=np.full((3, 1), 0.5, "f4"))
    with pytest.raises(ShapeError, match=r"weight must broadcast to the shape of x"):
        getattr(F, name)(x, make(3, 1), weight=make(3))
