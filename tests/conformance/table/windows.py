"""Operations tested with PyTorch samples: convolution, unfolding and pooling."""

from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from conformance.call import Call, Late, Operation, Skip


def sizes(value: Any, axes: int) -> Any:
    """Return a number for one axis, or a tuple with one number for each axis."""
    if isinstance(value, int):
        return value if axes == 1 else (value,) * axes
    value = tuple(value) if len(value) == axes else tuple(value) * axes
    return value[0] if axes == 1 else value


def batched(x: Any, axes: int) -> Any:
    """Return the array with a batch axis, which PyTorch does not require."""
    return x if x.ndim == axes + 2 else x[None]


def _padding(padding: Any, kernel: Any, dilation: Any) -> Any:
    """Return the padding as numbers, or None if the two ends of an axis differ."""
    if padding == "valid":
        return (0,) * len(kernel)
    if padding != "same":
        return padding
    steps = (dilation,) * len(kernel) if isinstance(dilation, int) else dilation
    totals = [(k - 1) * d for k, d in zip(kernel, steps, strict=True)]
    return None if any(each % 2 for each in totals) else tuple(t // 2 for t in totals)


def _options(axes: int, **named: Any) -> dict[str, Any]:
    geometry = {key: sizes(named.pop(key), axes) for key in list(named) if key != "groups"}
    return {**geometry, **named}


def _conv(axes: int, pull: str | None = None) -> Any:
    """Test conv1d or conv2d, or its gradient function with the name `pull`."""
    theirs = F.conv1d if axes == 1 else F.conv2d

    def adapt(
        x: Any, weight: Any, bias: Any = None, *rest: Any, **named: Any
    ) -> Call | Late | Skip:
        names = ("stride", "padding", "dilation", "groups")
        named = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1} | named
        named |= dict(zip(names, rest, strict=False))
        named["padding"] = _padding(named["padding"], weight.shape[2:], named["dilation"])
        if named["padding"] is None:
            return Skip("uneven-padding")
        x, options = batched(x, axes), _options(axes, **named)
        run = partial(theirs, **options)
        if pull is None:
            return Call((x, weight, bias), options, theirs=run)
        return partial(_conv_gradient, pull, run, x, weight, options)

    return adapt


def _conv_gradient(pull: str, run: Any, x: Any, weight: Any, options: Any) -> Call:
    """Test a gradient function of a convolution against torch.autograd."""
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    out = run(x, weight)
    grad = torch.linspace(-1, 1, out.numel(), dtype=x.dtype).reshape(out.shape)
    by_x, by_weight = torch.autograd.grad(out, (x, weight), grad)
    x, weight = x.detach(), weight.detach()
    if pull == "input":
        args = (grad, weight, tuple(x.shape))
        return Call(args, options, theirs=lambda *_: by_x, followed=())
    args = (x, grad, tuple(weight.shape))
    by_bias = grad.sum(tuple(each for each in range(grad.ndim) if each != 1))
    return Call(args, options, theirs=lambda *_: (by_weight, by_bias), followed=())


def _conv_transpose(axes: int) -> Any:
    theirs = F.conv_transpose1d if axes == 1 else F.conv_transpose2d

    def adapt(x: Any, weight: Any, bias: Any = None, **named: Any) -> Call:
        start = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "groups": 1}
        options = _options(axes, **(start | named))
        args = (batched(x, axes), weight, bias)
        return Call(args, options, theirs=partial(theirs, **options))

    return adapt


def _unfold(
    x: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1, **named: Any
) -> Call | Skip:
    kernel = named.get("kernel_size", kernel)
    options = _options(2, kernel=kernel, dilation=dilation, padding=padding, stride=stride)
    theirs = partial(F.unfold, **_renamed(options))
    return Call((batched(x, 2),), options, theirs=theirs)


def _renamed(options: dict[str, Any]) -> dict[str, Any]:
    return {("kernel_size" if k == "kernel" else k): each for k, each in options.items()}


def _fold(x: Any, kernel: Any, *rest: Any, **named: Any) -> Call | Skip:
    """Test `fold` on the results of `unfold` for the samples of `unfold`."""
    call = _unfold(x, kernel, *rest, **named)
    assert isinstance(call, Call)
    (x,), shape = call.args, tuple(call.args[0].shape[2:])
    options = {"shape": shape, **call.options}
    columns = F.unfold(x, **_renamed(call.options)).detach().requires_grad_()
    theirs = partial(F.fold, output_size=shape, **_renamed(call.options))
    return Call((columns,), options, theirs=theirs)


def _pool(axes: int, pull: bool = False) -> Any:
    theirs = F.max_pool1d if axes == 1 else F.max_pool2d

    def adapt(
        x: Any, kernel_size: Any = None, stride: Any = None, **named: Any
    ) -> Call | Late:
        x, ceil = batched(x, axes), named.get("ceil_mode", False)
        options = {"kernel": sizes(kernel_size, axes)}
        options["stride"] = sizes(stride or kernel_size, axes)
        options["padding"] = sizes(named.get("padding", 0), axes)
        dilation = sizes(named.get("dilation", 1), axes)
        run = partial(theirs, ceil_mode=ceil, dilation=dilation, **_renamed(options))
        if pull:
            return partial(_pool_pulled, run, x)
        options |= {"dilation": dilation, "ceil_mode": ceil}
        return Call((x,), options, theirs=partial(run, return_indices=True))

    return adapt


def _pool_pulled(run: Any, x: Any) -> Call:
    x = x.detach().requires_grad_()
    out, places = run(x, return_indices=True)
    grad = torch.linspace(-1, 1, out.numel(), dtype=x.dtype).reshape(out.shape)
    by_x = torch.autograd.grad(out, x, grad)[0]
    args = (grad, places, tuple(x.shape))
    return Call(args, theirs=lambda *_: by_x, followed=())


def _mean_pool(axes: int, pull: bool = False) -> Any:
    theirs = F.avg_pool1d if axes == 1 else F.avg_pool2d

    def adapt(
        x: Any,
        kernel: Any = None,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
        **named: Any,
    ) -> Call | Late:
        kernel = named.get("kernel_size", kernel)
        options = {"kernel": sizes(kernel, axes), "padding": sizes(padding, axes)}
        options["stride"] = sizes(stride or kernel, axes)
        options["ceil_mode"] = named.get("ceil_mode", ceil_mode)
        options["count_include_pad"] = named.get("count_include_pad", count_include_pad)
        if divisor_override:
            options["divisor_override"] = divisor_override
        x, run = batched(x, axes), partial(theirs, **_renamed(options))
        if pull:
            return partial(_mean_pulled, run, x, options)
        return Call((x,), options, theirs=run)

    return adapt


def _mean_pulled(run: Any, x: Any, options: Any) -> Call:
    x = x.detach().requires_grad_()
    out = run(x)
    grad = torch.linspace(-1, 1, out.numel(), dtype=x.dtype).reshape(out.shape)
    by_x = torch.autograd.grad(out, x, grad)[0]
    return Call((grad, tuple(x.shape)), options, theirs=lambda *_: by_x, followed=())


WINDOW_OPERATIONS: dict[str, Operation] = {
    "conv1d": Operation("nn.functional.conv1d", _conv(1)),
    "conv2d": Operation("nn.functional.conv2d", _conv(2)),
    "conv1d_input_grad": Operation("nn.functional.conv1d", _conv(1, "input")),
    "conv2d_input_grad": Operation("nn.functional.conv2d", _conv(2, "input")),
    "conv1d_weight_grad": Operation("nn.functional.conv1d", _conv(1, "weight")),
    "conv2d_weight_grad": Operation("nn.functional.conv2d", _conv(2, "weight")),
    "conv_transpose1d": Operation("nn.functional.conv_transpose1d", _conv_transpose(1)),
    "conv_transpose2d": Operation("nn.functional.conv_transpose2d", _conv_transpose(2)),
    "unfold": Operation("nn.functional.unfold", _unfold),
    "fold": Operation("nn.functional.unfold", _fold),
    "max_pool1d": Operation("nn.functional.max_pool1d", _pool(1)),
    "max_pool2d": Operation("nn.functional.max_pool2d", _pool(2)),
    "max_pool1d_grad": Operation("nn.functional.max_pool1d", _pool(1, pull=True)),
    "max_pool2d_grad": Operation("nn.functional.max_pool2d", _pool(2, pull=True)),
    "avg_pool1d": Operation("nn.functional.avg_pool1d", _mean_pool(1)),
    "avg_pool2d": Operation("nn.functional.avg_pool2d", _mean_pool(2)),
    "avg_pool1d_grad": Operation("nn.functional.avg_pool1d", _mean_pool(1, pull=True)),
    "avg_pool2d_grad": Operation("nn.functional.avg_pool2d", _mean_pool(2, pull=True)),
}
