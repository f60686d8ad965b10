"""Schedule-free AdamW: an average of all points in place of a decaying learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.errors import RecordError
from seqloom.optim._operands import find_seen_share
from seqloom.optim._settings import require_setting
from seqloom.optim._simple import SimpleOptimizer
from seqloom.tensor import apply, sqrt

if TYPE_CHECKING:
    from seqloom.nn import Module
    from seqloom.record import Record
    from seqloom.tensor import Tensor


@dataclass
class Points:
    """State of `ScheduleFreeAdamW`."""

    z: Tensor  # the point that the steps of AdamW move
    second: Tensor  # running average of the squared gradient
    weight_sum: Tensor  # of the points in the average
    highest_lr: Tensor  # the highest learning rate so far


class ScheduleFreeAdamW(SimpleOptimizer):
    """AdamW without a schedule: the result is an average of points (Defazio et al. 2024).

    There are three points. The parameters of the model are ``y``, where gradients are
    computed. The state has ``z``, which the steps move. The result is ``x``, an average of
    all ``z``: `apply_average` returns the model at ``x``. Train with a constant learning
    rate, and evaluate and export the model that it returns. A record of the trained model
    holds ``y``; the metadata of the optimiser's record says so.

    Args:
        betas: Share of the average in ``y``, in (0, 1); decay rate of the squared gradient.
        eps: Number added to the root of the second average, above 0.
        weight_decay: Weight decay, relative to ``lr``.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[1.0]])
        >>> optimizer = sl.optim.ScheduleFreeAdamW()
        >>> for _ in range(200):
        ...     _, grads = sl.nn.value_and_grad(lambda m: ((m(x) - 3) ** 2).sum())(layer)
        ...     layer = optimizer.step(0.1, layer, grads)
        >>> abs(optimizer.apply_average(layer).weight.numpy().item() - 3) < 0.1
        True
    """

    State = Points

    def __init__(
        self,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__()
        self.betas = require_setting("betas", betas, above=0, below=1, count=2)
        self.eps = require_setting("eps", eps, above=0)
        self.weight_decay = require_setting("weight_decay", weight_decay)

    def start_state(self, param: Tensor) -> Points:
        """Begins all points at the parameter."""
        number = apply("zeros_like", param.sum())
        return Points(param, apply("zeros_like", param), number, number)

    def rule(
        self, param: Tensor, grad: Tensor, state: Points, *, lr: Any, step: Any
    ) -> tuple[Tensor, Points]:
        """Updates one parameter."""
        share, decay = self.betas
        second = state.second * decay + grad * grad * (1 - decay)
        change = grad / (sqrt(second / find_seen_share(decay, step)) + self.eps)
        change = change + param * self.weight_decay
        highest = apply("maximum", state.highest_lr, lr)
        weight = highest * highest
        total = state.weight_sum + weight
        part = weight / apply("where", total > 0, total, 1.0)
        moved = param + (state.z - param) * part
        moved = moved + change * ((share * (1 - part) - 1) * lr)
        return moved, Points(state.z - change * lr, second, total, highest)

    def apply_average(self, model: Module) -> Any:
        """Returns a copy of a model at the averaged point ``x``.

        Args:
            model: The model that this optimiser trains.

        Returns:
            A new model; parameters that were never updated are as in `model`.

        Raises:
            RecordError: This optimiser has made no step.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> try:
            ...     sl.optim.ScheduleFreeAdamW().apply_average(layer)
            ... except sl.errors.RecordError as error:
            ...     print(error)
            this optimiser has made no step, so it has no average
        """
        if not self.step_count:
            raise RecordError("this optimiser has made no step, so it has no average")
        away = 1 - 1 / self.betas[0]
        self._states.follow()
        paths = {path: param.path for path, param in model.parameters()}

        def average(path: str, values: Tensor) -> Tensor:
            z = self._states.find(paths.get(path, path), "z", values)
            return values if z is None else values + (z - values) * away

        return model.map(average)

    def to_record(self) -> Record:
        """Returns the states by path, the number of steps, and which point a model holds.

        Returns:
            A record; its metadata has ``"model_point": "y"``.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.ScheduleFreeAdamW().to_record().metadata["model_point"]
            'y'
        """
        record = super().to_record()
        record.metadata["model_point"] = "y"
        return record
