"""The loss of counts along positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seqloom.nn.functional._dtypes import require_floats
from seqloom.nn.functional._operands import as_operand, reduce_losses, to_target
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

_LOWEST = -3.0e4  # of a logit: its exponential is 0, also in half precision
# From here on Stirling's series of three terms is exact to single precision.
_LARGE = 8.0


def multinomial_nll(
    x: Tensor, target: object, mask: object = None, *, reduction: str = "mean"
) -> Tensor:
    """Computes the negative log likelihood of counts under a multinomial distribution.

    It is the loss of BPNet's profiles (Avsec et al. 2021), with all terms, as ``MNLLLoss``
    of bpnet-lite computes it: of N reads, k_i fall on position i with the probability p_i
    of softmax(x), so the loss is ``-log N! + sum(log k_i!) - sum(k_i log p_i)``. The
    factorials do not depend on `x`, but make losses comparable to published ones. Where
    several strands share one distribution, as in bpnet-lite, flatten them first:
    ``x.reshape(n, -1)``.

    Args:
        x: Logits ``(..., l)``.
        target: Counts of the same shape, of 0 or more; a tensor, array or list.
        mask: Which positions are real, 1 or true; broadcasts to the shape of `x`. Others
            have no probability, and their counts do not matter.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` of the losses.

    Returns:
        A scalar; a tensor of the shape of `x` without the last axis for ``"none"``.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[0.0, 0.0]])
        >>> round(multinomial_nll(x, [[1.0, 1.0]]).item(), 4)
        0.6931
    """
    require_floats("multinomial_nll", x)
    counts = apply("stop_gradient", to_target(x, target))
    if mask is not None:
        real = as_operand(x, mask)
        real = real if real.dtype.kind == "b" else apply("not_equal", real, 0)
        counts, x = apply("where", real, counts, 0.0), apply("where", real, x, _LOWEST)
    log_product = (counts * apply("log_softmax", x)).sum(axis=-1)
    ways = _log_factorial(counts.sum(axis=-1)) - _log_factorial(counts).sum(axis=-1)
    return reduce_losses(-ways - log_product, reduction)


def _log_factorial(counts: Tensor) -> Tensor:
    """Computes log(k!) for numbers of 0 or more, by Stirling's series."""
    z = counts + 1.0
    # log Gamma(z) = log Gamma(z + 7) - log(z (z + 1) ... (z + 6)), for small ones.
    is_small = z < _LARGE
    small = apply("where", is_small, z, 1.0)
    product = small
    for step in range(1, 7):
        product = product * (small + float(step))
    large = apply("where", is_small, z + 7.0, z)
    inverse = 1.0 / large
    series = inverse * (1 / 12 - apply("square", inverse) * (1 / 360))
    found = (large - 0.5) * apply("log", large) - large + 0.5 * math.log(2 * math.pi)
    found = found + series - apply("where", is_small, apply("log", product), 0.0)
    # 0! and 1! are exact, as most positions have none or one.
    return apply("where", counts * (counts - 1.0) == 0.0, 0.0, found)
