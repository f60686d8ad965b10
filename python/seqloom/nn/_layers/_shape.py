"""Modules that change shapes only, resize, or change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn import functional
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class Identity(Module):
    """Returns its input.

    Args:
        *args: Anything; it changes nothing.
        **options: Anything; it changes nothing.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.Identity()(3)
        3
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        del args, options

    def __call__(self, x: Any) -> Any:
        """Returns `x` itself."""
        return x


class Flatten(Module):
    """Joins neighbouring axes to one.

    Args:
        start_dim: First of the axes.
        end_dim: Last of the axes.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").zeros((2, 3, 4))
        >>> sl.nn.Flatten()(sl.tensor.backend("numpy").tensor(x)).shape
        (2, 12)
    """

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def __call__(self, x: Tensor) -> Tensor:
        """Joins the axes of a tensor that has them."""
        return x.flatten(self.start_dim, self.end_dim)


class Upsample(Module):
    """Resizes rows or images, as `functional.interpolate`.

    Args:
        size: New lengths, one for each axis, or one number for all axes.
        scale_factor: Factors of the lengths, instead of `size`.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` for rows, ``"bilinear"`` or
            ``"bicubic"`` for images.
        align_corners: Whether the first and last values keep their positions.
        recompute_scale_factor: Whether to compute the factors from the rounded lengths.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0]]])
        >>> sl.nn.Upsample(scale_factor=2)(x).numpy().tolist()
        [[[1.0, 1.0, 3.0, 3.0]]]
    """

    size: int | tuple[int, ...] | None
    scale_factor: float | tuple[float, ...] | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, ...)`` to ``(n, c, ...)`` of other lengths."""
        return functional.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )
