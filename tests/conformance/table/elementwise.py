"""PyTorch samples for elementwise functions of one or two arrays."""

from typing import Any

import torch

from conformance.call import Call, Operation, Skip, alone, same

INTEGER_DTYPES = ("int64",)


def _plain_round(x: Any, *, decimals: int = 0) -> Call | Skip:
    return Call((x,)) if decimals == 0 else Skip("decimals")


def _scaled(x: Any, other: Any, *, alpha: float = 1) -> Call | Skip:
    return Call((x, other)) if alpha == 1 else Skip("alpha")


def _clamp(x: Any, low: Any = None, high: Any = None, **named: Any) -> Call | Skip:
    low, high = named.get("min", low), named.get("max", high)
    if low is not None and high is not None and bool((low > high).any()):
        return Skip("low-above-high")
    if any(
        isinstance(each, torch.Tensor) and each.dtype != x.dtype for each in (low, high)
    ):
        return Skip("mixed-kinds")
    return Call((x, low, high))


def _softplus(x: Any, *, beta: float = 1, threshold: float = 20) -> Call | Skip:
    scaled = torch.nn.functional.softplus
    return Call((x,), theirs=scaled) if (beta, threshold) != (1, 20) else Call((x,))


def _gelu(x: Any, *, approximate: str = "none") -> Call | Skip:
    return Call((x,)) if approximate == "none" else Skip("tanh-gelu")


def _where(x: Any, condition: Any, y: Any) -> Call:
    return Call((condition, x, y))


def _gradient(forward: Any, *, of: str) -> Any:
    """Test the gradient of an elementwise function against torch.autograd."""

    def adapt(x: Any, **named: Any) -> Call | Skip:
        if named.get("approximate", "none") != "none":
            return Skip("tanh-gelu")
        x = x.detach()
        grad = torch.linspace(-1, 1, x.numel(), dtype=x.dtype).reshape(x.shape)
        kept = forward(x) if of == "output" else x
        return Call((grad, kept), theirs=pull, followed=())

    def pull(grad: Any, kept: Any) -> Any:
        # seqloom computes the gradients of relu and sigmoid from their output.
        if of == "output" and forward is torch.sigmoid:
            return grad * kept * (1 - kept)
        leaf = kept.clone().requires_grad_()
        return torch.autograd.grad(forward(leaf), leaf, grad)[0]

    return adapt


def _accumulate(x: Any, y: Any, *, alpha: float = 1) -> Call | Skip:
    """Skip samples whose sum has another shape, because `accumulate` adds in place."""
    if alpha != 1:
        return Skip("alpha")
    fits = isinstance(y, torch.Tensor) and x.shape == y.shape
    return Call((x, y)) if fits else Skip("total-of-the-sums-shape")


def _named(names: str, adapt: Any, **options: Any) -> dict[str, Operation]:
    """Return the operations for functions that have the same name in PyTorch."""
    return {name: Operation(name, adapt, **options) for name in names.split()}


ELEMENTWISE_OPERATIONS: dict[str, Operation] = {
    **_named("abs exp expm1 log log1p sqrt square reciprocal sin cos tanh", alone),
    **_named(
        "tan sinh cosh floor ceil isfinite isnan isinf erf erfc rsqrt positive", alone
    ),
    **_named("sign signbit trunc conj", alone),
    **_named("acos acosh asin asinh atan atanh log2 log10", alone),
    **_named("hypot copysign", same),
    "nextafter": Operation("nextafter", lambda x, y: Call((x, y), followed=())),
    "real": Operation("clone", lambda x, **_: Call((x,), theirs=torch.real)),
    "imag": Operation("clone", lambda x, **_: Call((x,), theirs=lambda x: x * 0)),
    **_named("logical_not", alone, dtypes=("bool",)),
    **_named("atan2 logaddexp maximum minimum remainder pow", same),
    **_named("logical_and logical_or logical_xor", same, dtypes=("bool",)),
    **_named("bitwise_and bitwise_or bitwise_xor", same, dtypes=("bool", *INTEGER_DTYPES)),
    **_named("bitwise_left_shift bitwise_right_shift", same, dtypes=INTEGER_DTYPES),
    "bitwise_invert": Operation("bitwise_not", alone, INTEGER_DTYPES),
    "negative": Operation("neg", alone),
    "round": Operation("round", _plain_round),
    "add": Operation("add", _scaled),
    "accumulate": Operation("add", _accumulate),
    "subtract": Operation("sub", _scaled),
    "multiply": Operation("mul", same),
    # PyTorch defines no derivative for floor_divide.
    "floor_divide": Operation("floor_divide", lambda x, y: Call((x, y), followed=())),
    "divide": Operation("div/no_rounding_mode", same),
    "equal": Operation("eq", same),
    "not_equal": Operation("ne", same),
    "less": Operation("lt", same),
    "less_equal": Operation("le", same),
    "greater": Operation("gt", same),
    "greater_equal": Operation("ge", same),
    "clip": Operation("clamp", _clamp),
    "where": Operation("where", _where),
    "relu": Operation("nn.functional.relu", alone),
    "sigmoid": Operation("sigmoid", alone),
    "silu": Operation("nn.functional.silu", alone),
    "gelu": Operation("nn.functional.gelu", _gelu),
    "softplus": Operation("nn.functional.softplus", _softplus),
    "relu_grad": Operation("nn.functional.relu", _gradient(torch.relu, of="output")),
    "sigmoid_grad": Operation("sigmoid", _gradient(torch.sigmoid, of="output")),
    "gelu_grad": Operation(
        "nn.functional.gelu", _gradient(torch.nn.functional.gelu, of="input")
    ),
    "stop_gradient": Operation("clone", lambda x, **_: Call((x,), theirs=torch.detach)),
}
