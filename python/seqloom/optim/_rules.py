"""Optimisers whose rule updates one parameter: AdaGrad, RMSProp, Lion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.optim._settings import require_setting
from seqloom.optim._simple import SimpleOptimizer
from seqloom.tensor import apply, sqrt

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


@dataclass
class SquareSum:
    """State of `AdaGrad`."""

    total: Tensor  # sum of the squared gradients


class AdaGrad(SimpleOptimizer):
    """Divides gradients by the root of the sum of their squares (Duchi et al. 2011).

    Args:
        initial: First value of the sum of squares, 0 or more.
        eps: Number added to the root, above 0.
        weight_decay: Factor of the weights that is added to their gradient.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.AdaGrad(weight_decay=0.1).weight_decay
        0.1
    """

    State = SquareSum

    def __init__(
        self, *, initial: float = 0.0, eps: float = 1e-10, weight_decay: float = 0.0
    ) -> None:
        super().__init__()
        self.initial = require_setting("initial", initial)
        self.eps = require_setting("eps", eps, above=0)
        self.weight_decay = require_setting("weight_decay", weight_decay)

    def start_state(self, param: Tensor) -> SquareSum:
        """Returns sums that are `initial` everywhere."""
        return SquareSum(apply("zeros_like", param) + self.initial)

    def rule(
        self, param: Tensor, grad: Tensor, state: SquareSum, *, lr: Any, step: Any
    ) -> tuple[Tensor, SquareSum]:
        """Updates one parameter."""
        del step
        grad = _decay(grad, param, self.weight_decay)
        total = state.total + grad * grad
        return param - grad / (sqrt(total) + self.eps) * lr, SquareSum(total)


@dataclass
class SquareMean:
    """State of `RMSProp`; an average that is not used is a single number."""

    square: Tensor  # running average of the squared gradient
    mean: Tensor  # running average of the gradient, for `centered`
    velocity: Tensor  # running sum of the steps, for `momentum`


class RMSProp(SimpleOptimizer):
    """Divides gradients by a running average of their size (Tieleman and Hinton 2012).

    Args:
        alpha: Decay rate of the averages, in [0, 1).
        eps: Number added to the root, above 0.
        momentum: Share of the previous step to keep, in [0, 1).
        centered: Whether to divide by the standard deviation (Graves 2013).
        weight_decay: Factor of the weights that is added to their gradient.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.RMSProp(momentum=0.9).momentum
        0.9
    """

    State = SquareMean

    def __init__(
        self,
        *,
        alpha: float = 0.99,
        eps: float = 1e-8,
        momentum: float = 0.0,
        centered: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__()
        self.alpha = require_setting("alpha", alpha, below=1)
        self.eps = require_setting("eps", eps, above=0)
        self.momentum = require_setting("momentum", momentum, below=1)
        self.centered = centered
        self.weight_decay = require_setting("weight_decay", weight_decay)

    def start_state(self, param: Tensor) -> SquareMean:
        """Returns zeros; an average that is not used is a single number."""
        zeros = apply("zeros_like", param)
        unused = apply("zeros_like", param.sum())
        mean = zeros if self.centered else unused
        return SquareMean(zeros, mean, zeros if self.momentum else unused)

    def rule(
        self, param: Tensor, grad: Tensor, state: SquareMean, *, lr: Any, step: Any
    ) -> tuple[Tensor, SquareMean]:
        """Updates one parameter."""
        del step
        grad = _decay(grad, param, self.weight_decay)
        square = _blend(state.square, grad * grad, self.alpha)
        mean, variance = state.mean, square
        if self.centered:
            mean = _blend(state.mean, grad, self.alpha)
            variance = square - mean * mean
        change, velocity = grad / (sqrt(variance) + self.eps), state.velocity
        if self.momentum:
            change = velocity = state.velocity * self.momentum + change
        return param - change * lr, SquareMean(square, mean, velocity)


@dataclass
class Momentum:
    """State of `Lion`."""

    momentum: Tensor  # running average of the gradient


class Lion(SimpleOptimizer):
    """Steps of equal size, in the direction of the sign of an average (Chen et al. 2023).

    A learning rate of a tenth to a third of `AdamW`'s is usual.

    Args:
        betas: Shares of the average in the direction of a step, and to keep, in [0, 1).
        weight_decay: Weight decay, relative to ``lr``.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.Lion(weight_decay=0.1).betas
        (0.9, 0.99)
    """

    State = Momentum

    def __init__(
        self, *, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0
    ) -> None:
        super().__init__()
        self.betas = require_setting("betas", betas, below=1, count=2)
        self.weight_decay = require_setting("weight_decay", weight_decay)

    def rule(
        self, param: Tensor, grad: Tensor, state: Momentum, *, lr: Any, step: Any
    ) -> tuple[Tensor, Momentum]:
        """Updates one parameter."""
        del step
        direction = apply("sign", _blend(state.momentum, grad, self.betas[0]))
        kept = param * (1 - lr * self.weight_decay)
        new = Momentum(_blend(state.momentum, grad, self.betas[1]))
        return kept - direction * lr, new


def _decay(grad: Tensor, param: Tensor, weight_decay: float) -> Tensor:
    """Returns a gradient with the weight decay added."""
    return grad + param * weight_decay if weight_decay else grad


def _blend(old: Tensor, new: Tensor, share: float) -> Tensor:
    """Returns the next value of a running average."""
    return old * share + new * (1 - share)
