"""The loss of pairs that are alike or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ShapeError
from seqloom.nn.functional._dtypes import require_floats
from seqloom.nn.functional._operands import as_operand, reduce_losses
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

_EPS = 1e-12  # added to each squared norm, as torch does


def cosine_embedding_loss(
    x1: Tensor,
    x2: Tensor,
    target: object,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """Computes a loss that draws alike pairs of vectors together, and others apart.

    The loss is ``1 - cos`` for a pair that is alike, and ``max(0, cos - margin)`` for one
    that is not, as torch's.

    Args:
        x1: Vectors ``(n, d)``, or one ``(d,)``.
        x2: Their partners, of the same shape.
        target: 1 for a pair that is alike, -1 for one that is not; ``(n,)``, or one number.
        margin: Cosine up to which vectors that are not alike have no loss.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.

    Returns:
        A scalar; a tensor ``(n,)`` for ``"none"``.

    Raises:
        DTypeError: `x1` has an integer or boolean type.
        ShapeError: The shapes do not fit.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> cosine_embedding_loss(x, x, [1, -1], reduction="none").numpy().tolist()
        [0.0, 1.0]
    """
    require_floats("cosine_embedding_loss", x1, "x1")
    x2, target = as_operand(x1, x2, x1.dtype), as_operand(x1, target)
    if x1.shape != x2.shape or target.shape != x1.shape[:-1]:
        raise ShapeError(
            "cosine_embedding_loss: expected x1 and x2 (n, d) and target (n,), got "
            f"{x1.shape}, {x2.shape} and {target.shape}"
        )
    squares = [apply("square", x).sum(axis=-1) + _EPS for x in (x1, x2)]
    cosine = (x1 * x2).sum(axis=-1) / apply("sqrt", squares[0] * squares[1])
    apart = apply("maximum", cosine - margin, 0.0)
    losses = apply("where", apply("equal", target, 1), 1.0 - cosine, 0.0)
    losses = losses + apply("where", apply("equal", target, -1), apart, 0.0)
    return reduce_losses(losses, reduction)
