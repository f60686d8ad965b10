"""Losses for numbers, counts and distributions."""

from __future__ import annotations

import math

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._operands import as_operand, require_floats
from seqloom.tensor import Tensor, apply


def mse_loss(x: Tensor, target: object, reduction: str = "mean") -> Tensor:
    """Compute the mean squared error, ``(x - target) ** 2``.

    Args:
        x: Predictions, of any shape.
        target: True values with the shape of `x`; a tensor, array or list.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> mse_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        4.0
    """
    require_floats("mse_loss", x)
    return reduce_losses(apply("square", x - convert_target(x, target)), reduction)


def l1_loss(x: Tensor, target: object, reduction: str = "mean") -> Tensor:
    """Compute the mean absolute error, ``|x - target|``.

    Args:
        x: Predictions, of any shape.
        target: True values with the shape of `x`; a tensor, array or list.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> l1_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        2.0
    """
    require_floats("l1_loss", x)
    return reduce_losses(abs(x - convert_target(x, target)), reduction)


def smooth_l1_loss(
    x: Tensor, target: object, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Compute the smooth L1 loss: squared for small and absolute for large differences.

    With ``d = |x - target|``, the loss is ``d ** 2 / (2 * beta)`` if ``d < beta``, and
    ``d - beta / 2`` otherwise (Girshick 2015).

    Args:
        x: Predictions, of any shape.
        target: True values with the shape of `x`; a tensor, array or list.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: Difference at which the loss changes from squared to absolute.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ArgumentError: `beta` is below 0.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> smooth_l1_loss(sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]]).item()
        1.5
    """
    if beta < 0:
        raise ArgumentError(f"beta must be 0 or more, got {beta}")
    require_floats("smooth_l1_loss", x)
    distance = abs(x - convert_target(x, target))
    if beta == 0:
        return reduce_losses(distance, reduction)
    near = apply("square", distance) * (0.5 / beta)
    far = distance - 0.5 * beta
    return reduce_losses(apply("where", distance < beta, near, far), reduction)


def huber_loss(
    x: Tensor, target: object, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """Compute the Huber loss: `smooth_l1_loss` times `delta`.

    Args:
        x: Predictions, of any shape.
        target: True values with the shape of `x`; a tensor, array or list.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: Difference at which the loss changes from squared to absolute.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ArgumentError: `delta` is not above 0.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> huber_loss(
        ...     sl.tensor.backend("numpy").tensor([[3.0]]), [[1.0]], delta=0.5
        ... ).item()
        0.875
    """
    if not delta > 0:
        raise ArgumentError(f"delta must be above 0, got {delta}")
    return smooth_l1_loss(x, target, reduction, delta) * delta


def poisson_nll_loss(
    x: Tensor,
    target: object,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log-likelihood of counts under a Poisson distribution.

    Args:
        x: Logarithm of the expected count; the expected count if `log_input` is False.
        target: Counts with the shape of `x`; a tensor, array or list.
        log_input: If True, `x` is a logarithm, and the loss is ``exp(x) - target * x``.
        full: If True, add Stirling's approximation of the constant term for counts above 1.
        eps: Number added to the expected count before taking the logarithm, if
            `log_input` is False.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> poisson_nll_loss(x, [3.0]).item()
        1.0
    """
    require_floats("poisson_nll_loss", x)
    target = convert_target(x, target)
    if log_input:
        losses = apply("exp", x) - target * x
    else:
        losses = x - target * apply("log", x + eps)
    if full:
        some = target > 1
        safe = apply("where", some, target, 1.0)
        spread = apply("log", safe * (2 * math.pi)) * 0.5
        stirling = safe * apply("log", safe) - safe + spread
        losses = losses + apply("where", some, stirling, 0.0)
    return reduce_losses(losses, reduction)


def kl_div(
    x: Tensor, target: object, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Compute the Kullback-Leibler divergence from a target distribution.

    The loss is ``target * (log(target) - x)`` (Kullback and Leibler 1951).

    Args:
        x: Log-probabilities.
        target: Probabilities with the shape of `x`; a tensor, array or list.
        reduction: Reduction of the losses: ``"mean"`` over all elements,
            ``"batchmean"`` (the sum divided by the length of the first axis), ``"sum"``
            or ``"none"``.
        log_target: If True, `target` contains log-probabilities.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[-0.6931472, -0.6931472]])
        >>> abs(kl_div(x, [[0.5, 0.5]], "batchmean").item()) < 1e-6
        True
    """
    require_floats("kl_div", x)
    target = convert_target(x, target)
    if log_target:
        losses = apply("exp", target) * (target - x)
    else:
        some = target > 0
        logarithm = apply("log", apply("where", some, target, 1.0))
        losses = apply("where", some, target * logarithm, 0.0) - target * x
    if reduction == "batchmean":
        return losses.sum() / x.shape[0]
    return reduce_losses(losses, reduction)


REDUCTIONS = ("mean", "sum", "none")


def convert_target(x: Tensor, target: object) -> Tensor:
    """Return the target of a loss as a tensor; raise if its shape is not that of `x`."""
    result = as_operand(x, target, x.dtype)
    if result.shape != x.shape:
        # Shapes such as (n, 1) and (n,) would broadcast to (n, n).
        same = result.size == x.size
        hint = f"; pass target.reshape({x.shape})" if same else ""
        raise ShapeError(
            f"target must have the shape of x, {x.shape}, got {result.shape}{hint}"
        )
    return result


def reduce_losses(losses: Tensor, reduction: str) -> Tensor:
    """Return the mean or the sum of losses, or the losses themselves."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of {REDUCTIONS}, got {reduction!r}")
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


_MASK_LOGIT = -3.0e4  # Logit of masked positions; its exp is 0 in all float types.
# For arguments of at least 8, three terms of Stirling's series are exact in single
# precision.
_MIN_STIRLING_INPUT = 8.0


def multinomial_nll(
    x: Tensor, target: object, mask: object = None, *, reduction: str = "mean"
) -> Tensor:
    """Compute the negative log-likelihood of counts under a multinomial distribution.

    The loss is the profile loss of BPNet (Avsec et al. 2021) with the constant terms,
    as in ``MNLLLoss`` of bpnet-lite. If k_i of N reads are at position i, and p =
    softmax(x), the loss is ``-log N! + sum(log k_i!) - sum(k_i log p_i)``. The
    factorials do not depend on `x`, but make losses comparable with published losses.
    If several strands share one distribution, as in bpnet-lite, flatten them first:
    ``x.reshape(n, -1)``.

    Args:
        x: Logits ``(..., l)``.
        target: Counts with the shape of `x`, 0 or more; a tensor, array or list.
        mask: Mask, 1 or true at real positions; broadcasts to the shape of `x`. Masked
            positions have probability 0, and their counts are ignored.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x` without the last axis.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[0.0, 0.0]])
        >>> round(multinomial_nll(x, [[1.0, 1.0]]).item(), 4)
        0.6931
    """
    require_floats("multinomial_nll", x)
    counts = apply("stop_gradient", convert_target(x, target))
    if mask is not None:
        real = as_operand(x, mask)
        real = real if real.dtype.kind == "b" else apply("not_equal", real, 0)
        counts = apply("where", real, counts, 0.0)
        x = apply("where", real, x, _MASK_LOGIT)
    log_product = (counts * apply("log_softmax", x)).sum(axis=-1)
    ways = _log_factorial(counts.sum(axis=-1)) - _log_factorial(counts).sum(axis=-1)
    return reduce_losses(-ways - log_product, reduction)


def log1p_mse_loss(x: Tensor, target: object, reduction: str = "mean") -> Tensor:
    """Compute the mean squared error of log(1 + count): ``(x - log(1 + target)) ** 2``.

    The loss is the count loss of BPNet, ``log1pMSELoss`` of bpnet-lite.

    Args:
        x: Predicted log(1 + count), of any shape.
        target: Counts with the shape of `x`, 0 or more; a tensor, array or list.
        reduction: Reduction of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar; for ``"none"``, a tensor in the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `target` does not have the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> log1p_mse_loss(sl.tensor.backend("numpy").tensor([[2.0]]), [[0.0]]).item()
        4.0
    """
    require_floats("log1p_mse_loss", x)
    counts = apply("stop_gradient", convert_target(x, target))
    return reduce_losses(apply("square", x - apply("log1p", counts)), reduction)


def profile_loss(x: Tensor, target: object, count_weight: float = 1.0) -> Tensor:
    """Compute the loss of BPNet: the profile loss plus the weighted count loss.

    All tracks, such as both strands, share one distribution and one count, as in
    bpnet-lite. The profile loss is `multinomial_nll` of the flattened tracks. The count
    loss is `log1p_mse_loss` of the sum of the target.

    Args:
        x: Log-probabilities plus log counts ``(n, tracks, positions)``, the outputs of
            `seqloom.models.BPNet`. The logsumexp is the predicted log(1 + count).
        target: Counts with the shape of `x`, 0 or more; a tensor, array or list.
        count_weight: Weight of the count loss.

    Returns:
        A scalar: the mean over the regions.

    Raises:
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` does not have three axes, or `target` has another shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[0.0, 0.0]]])
        >>> round(profile_loss(x, [[[1.0, 0.0]]], 0.0).item(), 4)
        0.6931
    """
    require_floats("profile_loss", x)
    if x.ndim != 3:  # noqa: PLR2004 - regions, tracks and positions
        raise ShapeError(f"profile_loss needs x (n, tracks, positions), got {x.shape}")
    counts = convert_target(x, target)
    profile = multinomial_nll(
        x.reshape(-1, x.shape[1] * x.shape[2]), counts.reshape(-1, x.shape[1] * x.shape[2])
    )
    logs = apply("logsumexp", x, axis=(1, 2))
    return profile + log1p_mse_loss(logs, counts.sum(axis=(1, 2))) * count_weight


def _log_factorial(counts: Tensor) -> Tensor:
    """Compute log(k!) for counts of 0 or more by Stirling's series."""
    z = counts + 1.0
    # For small z: log Gamma(z) = log Gamma(z + 7) - log(z (z + 1) ... (z + 6)).
    is_small = z < _MIN_STIRLING_INPUT
    small = apply("where", is_small, z, 1.0)
    product = small
    for step in range(1, 7):
        product = product * (small + float(step))
    large = apply("where", is_small, z + 7.0, z)
    inverse = 1.0 / large
    series = inverse * (1 / 12 - apply("square", inverse) * (1 / 360))
    result = (large - 0.5) * apply("log", large) - large + 0.5 * math.log(2 * math.pi)
    result = result + series - apply("where", is_small, apply("log", product), 0.0)
    # Set the logarithms of 0! and 1! to exactly 0, because most counts are 0 or 1.
    return apply("where", counts * (counts - 1.0) == 0.0, 0.0, result)
