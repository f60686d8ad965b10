"""Derivatives of convolution, pooling and unfolding."""

from torch.nn import functional as TF

import rule_oracle
from rule_oracle import Case, values

LINE, WIDE = values(2, 4, 9), values(2, 4, 7, 6)
CONV1D_GEOMETRY = {"stride": 2, "padding": 1, "dilation": 2}
CONV2D_GEOMETRY = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}


def conv(dimensions, weight, options, *, bias=True):
    """Return a test case of a convolution, with or without a bias."""
    x = LINE if dimensions == 1 else WIDE
    theirs = TF.conv1d if dimensions == 1 else TF.conv2d
    args = [x, weight, values(weight.shape[0])] if bias else [x, weight]
    name = f"conv{dimensions}d"
    return Case(name, args, lambda *found: theirs(*found, **options), options)


def transposed(dimensions, weight, options):
    """Return a test case of a transposed convolution."""
    x = LINE if dimensions == 1 else WIDE
    theirs = getattr(TF, f"conv_transpose{dimensions}d")
    args = [x, weight, values(weight.shape[1] * options.get("groups", 1))]
    name = f"conv_transpose{dimensions}d"
    return Case(name, args, lambda *found: theirs(*found, **options), options)


def pool(name, x, theirs, *, output=None, **options):
    kernel, stride, padding = options["kernel"], options["stride"], options["padding"]
    return Case(name, [x], lambda x: theirs(x, kernel, stride, padding), options, output)


UNFOLD_GEOMETRY = {
    "kernel": (3, 2),
    "stride": (2, 1),
    "padding": (1, 0),
    "dilation": (1, 2),
}

RULE_CASES = [
    conv(1, values(3, 4, 3), {}),
    conv(1, values(3, 4, 3), CONV1D_GEOMETRY),
    conv(1, values(3, 4, 3), CONV1D_GEOMETRY, bias=False),
    conv(1, values(6, 2, 3), {"groups": 2, "padding": 1}),
    conv(2, values(3, 4, 3, 2), CONV2D_GEOMETRY),
    conv(2, values(6, 2, 3, 2), {"groups": 2}),
    transposed(1, values(4, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    transposed(1, values(4, 3, 3), {"groups": 2}),
    transposed(2, values(4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0)}),
    pool("max_pool1d", LINE, TF.max_pool1d, kernel=3, stride=2, padding=1, output=0),
    pool("avg_pool1d", LINE, TF.avg_pool1d, kernel=3, stride=2, padding=1),
    pool(
        "max_pool2d",
        WIDE,
        TF.max_pool2d,
        kernel=(3, 2),
        stride=(2, 2),
        padding=(1, 0),
        output=0,
    ),
    pool("avg_pool2d", WIDE, TF.avg_pool2d, kernel=(3, 2), stride=(2, 1), padding=(1, 0)),
    Case(
        "unfold",
        [WIDE],
        lambda x: TF.unfold(x, (3, 2), (1, 2), (1, 0), (2, 1)),
        UNFOLD_GEOMETRY,
    ),
    Case(
        "fold",
        [values(2, 24, 20)],
        lambda x: TF.fold(x, (7, 7), (3, 2), (1, 2), (1, 0), (2, 1)),
        {"shape": (7, 7), **UNFOLD_GEOMETRY},
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
    rule_oracle.check_second_order(case)


def test_the_bias_gradient_is_the_sum_of_the_gradient():
    bias = rule_oracle.AUTODIFF_LEVEL_1.tensor(values(3), requires_grad=True)
    x, weight = rule_oracle.NUMPY.tensor(LINE), rule_oracle.NUMPY.tensor(values(3, 4, 3))
    out = rule_oracle.apply("conv1d", x, weight, bias)
    assert out.sum().backward().wrt(bias).numpy().tolist() == [14.0] * 3
