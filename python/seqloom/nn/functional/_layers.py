"""The layers' arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from seqloom._key import Key


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``.

    Args:
        x: ``(..., in)``.
        weight: ``(out, in)``.
        bias: ``(out,)``.

    Returns:
        ``(..., out)``.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> linear(B.tensor([[1.0, 2.0]]), B.tensor([[3.0, 4.0]])).item()
        11.0
    """
    return apply("linear", x, weight, bias)


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int | str = 0,
    dilation: int = 1,
) -> Tensor:
    """Cross-correlation along the last axis.

    Args:
        x: ``(n, c, l)``.
        weight: ``(o, c, k)``.
        bias: ``(o,)``.
        stride: Places from one window to the next.
        padding: Zeros before and after, or ``"same"`` for an output as long as the input
            (stride 1, odd kernel).
        dilation: Places from one weight to the next.

    Returns:
        ``(n, o, l')``.

    Raises:
        ArgumentError: ``"same"`` with a stride or an even width.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[1.0, 2.0, 3.0]]]), B.tensor([[[1.0, 1.0]]])
        >>> conv1d(x, weight).numpy().tolist()
        [[[3.0, 5.0]]]
    """
    if isinstance(padding, str):
        padding = same_padding(weight.shape[2], stride, padding, dilation)
    return apply(
        "conv1d", x, weight, bias, stride=stride, padding=padding, dilation=dilation
    )


def same_padding(kernel_size: int, stride: int, padding: str, dilation: int) -> int:
    """The padding on each side that keeps the length."""
    span = dilation * (kernel_size - 1)
    if padding != "same" or stride != 1 or span % 2:
        raise ArgumentError(
            f'padding={padding!r} with stride {stride} and kernel {kernel_size}: "same" '
            "needs stride 1 and an odd kernel; give the padding as a number"
        )
    return span // 2


def max_pool1d(
    x: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0
) -> Tensor:
    """The largest value of each window.

    Args:
        x: ``(n, c, l)``.
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Places before and after that never win.

    Returns:
        ``(n, c, l')``.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> max_pool1d(x, 2).numpy().tolist()
        [[[5.0, 3.0]]]
    """
    return apply(
        "max_pool1d", x, kernel=kernel_size, stride=stride or kernel_size, padding=padding
    )[0]


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    mask: Tensor | None = None,
    *,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises each channel by the batch's own statistics (Ioffe and Szegedy 2015).

    Args:
        x: ``(n, c, l)``.
        weight: ``(c,)``, the deviation after.
        bias: ``(c,)``, the mean after.
        mask: ``(n, l)``, 1 for real places and 0 for padding, which does not count.
        eps: Added to the variance.

    Returns:
        The output ``(n, c, l)``, 0 at padding; the means ``(c,)``; the biased variances.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x = B.tensor([[[1.0, 3.0]]])
        >>> batch_norm(x, B.tensor([1.0]), B.tensor([0.0]))[1].item()
        2.0
    """
    return apply("batch_norm", x, weight, bias, mask, eps=eps)


def dropout(x: Tensor, p: float, key: Key) -> Tensor:
    """Zeros a share of the values and scales up the others (Srivastava et al. 2014).

    Args:
        x: A tensor of any shape.
        p: The share, in [0, 1).
        key: Decides which; the same key gives the same mask on every machine.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0] * 1000)
        >>> 400 < int((dropout(x, 0.5, sl.Key(0)).numpy() == 2).sum()) < 600
        True
    """
    return apply("dropout", x, key, p)
