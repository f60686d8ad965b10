"""Layers with arguments and an input shape; PyTorch layers have the same names."""

from typing import Any

Case = tuple[str, dict[str, Any], tuple[int, ...]]
Cases = dict[str, Case]
LINE, PLANE = (3, 4, 13), (3, 4, 6, 7)


def conv(rank, *, transposed=False, **options):
    """Return a case of a convolution, by default from 4 channels to 6."""
    name = f"Conv{'Transpose' * transposed}{rank}d"
    sizes = {"in_channels": 4, "out_channels": 6, "kernel_size": 3}
    return name, {**sizes, **options}, LINE if rank == 1 else PLANE


_CONVOLUTION_CASES: Cases = {
    "conv1d": conv(1),
    "conv2d": conv(2),
    "conv1d of one record": (*conv(1)[:2], LINE[1:]),
    "conv1d in strides": conv(1, stride=2, padding=1, dilation=2, bias=False),
    "conv1d in groups": conv(1, groups=2, padding="valid"),
    "conv1d depthwise": conv(1, groups=4, out_channels=4, kernel_size=7, padding=3),
    "conv1d as long": conv(1, kernel_size=5, padding="same", dilation=2),
    "conv1d as long, even": conv(1, kernel_size=4, padding="same", dilation=3),
    "conv1d reflected": conv(1, kernel_size=4, padding="same", padding_mode="reflect"),
    "conv1d replicated": conv(1, stride=2, padding=2, padding_mode="replicate"),
    "conv1d circular": conv(1, padding=2, padding_mode="circular"),
    "conv2d in strides": conv(2, kernel_size=(3, 2), stride=(2, 1), padding=(1, 2)),
    "conv2d in groups": conv(2, groups=2, dilation=(1, 2), bias=False),
    "conv2d depthwise": conv(2, groups=4, out_channels=8, padding=1),
    "conv2d as large, even": conv(2, kernel_size=(2, 4), padding="same"),
    "conv2d circular": conv(2, padding=(1, 2), padding_mode="circular"),
    "conv2d reflected": conv(2, kernel_size=(4, 3), padding="same", padding_mode="reflect"),
    "transposed 1d": conv(1, transposed=True),
    "transposed 1d in strides": conv(
        1, transposed=True, stride=3, padding=2, output_padding=2, groups=2
    ),
    "transposed 1d dilated": conv(
        1, transposed=True, dilation=3, stride=2, output_padding=2, bias=False
    ),
}


def norm(name, shape, *sizes, **options):
    """Return a case of a norm, by default of 4 channels."""
    first = {"GroupNorm": "num_groups", "LayerNorm": "normalized_shape"}
    first["RMSNorm"] = "normalized_shape"
    names = (first.get(name, "num_features"), "num_channels")
    return name, {**dict(zip(names, sizes or (4,), strict=False)), **options}, shape


_NORM_CASES: Cases = {
    "batch norm of rows": norm("BatchNorm1d", (7, 4)),
    "batch norm 1d": norm("BatchNorm1d", LINE, eps=1e-3, momentum=0.3),
    "batch norm 2d": norm("BatchNorm2d", PLANE),
    "batch norm, mean of all": norm("BatchNorm1d", LINE, momentum=None),
    "batch norm, not affine": norm("BatchNorm2d", PLANE, affine=False),
    "batch norm, not tracking": norm("BatchNorm1d", LINE, track_running_stats=False),
    "group norm": norm("GroupNorm", LINE, 2, 4),
    "group norm of images": norm("GroupNorm", PLANE, 2, 4, eps=1e-2),
    "group norm by channel": norm("GroupNorm", PLANE, 4, 4),
    "group norm, not affine": norm("GroupNorm", LINE, 1, 4, affine=False),
    "layer norm": norm("LayerNorm", PLANE, (6, 7)),
    "layer norm without bias": norm("LayerNorm", LINE, 13, bias=False),
    "layer norm, plain": norm("LayerNorm", LINE, 13, elementwise_affine=False),
    "rms norm": norm("RMSNorm", LINE, 13),
    "rms norm, plain": norm("RMSNorm", LINE, 13, elementwise_affine=False),
}

POOL_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "MaxPool": [{"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}],
    "AvgPool": [{"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}],
    "AdaptiveAvgPool": [{"output_size": n} for n in (1, 5, 9)],
    "AdaptiveMaxPool": [{"output_size": n} for n in (1, 5, 9)],
}
_POOL_CASES: Cases = {
    f"{name} {rank}d {number}": (f"{name}{rank}d", options, shape)
    for name, several in POOL_OPTIONS.items()
    for number, options in enumerate(several)
    for rank, shape in ((1, LINE), (2, PLANE))
    if rank == 1 or "Adaptive" not in name
}
_OTHER_LAYER_CASES: Cases = {
    "adaptive of one record": ("AdaptiveMaxPool1d", {"output_size": 4}, LINE[1:]),
    "means by a divisor": (
        "AvgPool2d",
        {"kernel_size": (2, 3), "divisor_override": 5},
        PLANE,
    ),
    "flatten": ("Flatten", {}, PLANE),
    "flatten the middle": ("Flatten", {"start_dim": 1, "end_dim": -2}, PLANE),
    "identity": ("Identity", {}, LINE),
    "upsample": ("Upsample", {"scale_factor": 2, "mode": "linear"}, LINE),
    "linear": ("Linear", {"in_features": 13, "out_features": 3}, LINE),
}

ACTIVATION_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "ELU": [{}, {"alpha": 0.5}],
    "GELU": [{}, {"approximate": "tanh"}],
    "GLU": [{"dim": 1}],
    "LeakyReLU": [{}, {"negative_slope": 0.3, "inplace": False}],
    "LogSigmoid": [{}],
    "LogSoftmax": [{"dim": 1}],
    "PReLU": [{}, {"num_parameters": 4, "init": 0.1}],
    "ReLU": [{}],
    "SiLU": [{}],
    "Sigmoid": [{}],
    "Softmax": [{"dim": 1}],
    "Softplus": [{}, {"beta": 2.0, "threshold": 3.0}],
    "Tanh": [{}],
}
_ACTIVATION_CASES: Cases = {
    f"{name} {number}": (name, options, LINE)
    for name, several in ACTIVATION_OPTIONS.items()
    for number, options in enumerate(several)
}

LAYER_CASES: Cases = {
    **_CONVOLUTION_CASES,
    **_NORM_CASES,
    **_POOL_CASES,
    **_OTHER_LAYER_CASES,
    **_ACTIVATION_CASES,
}
