"""Adam, AdamW and ScheduleFreeAdamW."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, RecordError
from seqloom.optim._optimizer import Optimizer
from seqloom.optim._settings import (
    Move,
    as_learning_rate,
    as_step_number,
    as_tensor,
    find_bias_correction,
    is_number,
    put_results,
    require_setting,
)
from seqloom.optim._simple import SimpleOptimizer
from seqloom.tensor import apply, sqrt

if TYPE_CHECKING:
    from seqloom.nn import Module
    from seqloom.record import Record
    from seqloom.tensor import Tensor
    from seqloom.tensor._backend import Backend


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    Args:
        betas: Decay rates of the running averages of the gradient and its square, in [0,
            1).
        eps: Number added to the square root of the averaged squared gradient.
        weight_decay: Weight decay, which is multiplied by the learning rate.
        one_scale: If True, all elements of a parameter share one average of the squared
            gradient (Adam-mini, Zhang et al. 2024). With one average per parameter,
            steps have the direction of the averaged gradient. To set `one_scale` for
            some parameters only, call ``AdamW().group("embedding.*", one_scale=True)``.

    Raises:
        ArgumentError: A number is out of range.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.AdamW(weight_decay=0.1).group("*.bias", weight_decay=0.0)
        AdamW(betas=(0.9, 0.999), eps=1e-08, weight_decay=0.1)
    """

    states = ("first", "second")

    def __init__(
        self,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        one_scale: bool = False,
    ) -> None:
        super().__init__()
        pair: Any = betas
        is_pair = type(pair) in (tuple, list) and len(pair) == 2  # noqa: PLR2004
        is_pair = is_pair and all(is_number(beta, below=1) for beta in pair)
        if not is_pair or not is_number(eps) or eps == 0 or not is_number(weight_decay):
            raise ArgumentError(
                "AdamW needs two betas in [0, 1), eps > 0 and weight_decay >= 0; got "
                f"betas={betas}, eps={eps}, weight_decay={weight_decay}"
            )
        self.betas, self.eps = betas, eps
        self.weight_decay = weight_decay
        self.one_scale = one_scale

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Update all parameters in one call, or one by one if `one_scale` is True."""
        if self.one_scale:
            for move in moves:
                self._update_with_shared_scale(backend, lr, move)
            return
        together: dict[int, list[Move]] = {}  # parameter updates, by step number
        for move in moves:
            step = move.step if isinstance(move.step, int) else id(move.step)
            together.setdefault(step, []).append(move)
        for group in together.values():
            self._update_together(backend, lr, group)

    @property
    def _decoupled_decay(self) -> float:
        """Weight decay that is applied to the weights, not to the gradient."""
        return self.weight_decay

    def _update_together(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Update several parameters in one call of the backend."""
        new = backend.adamw(
            [move.param for move in moves],
            [move.grad for move in moves],
            [move.state["first"] for move in moves],
            [move.state["second"] for move in moves],
            lr,
            moves[0].step,
            betas=self.betas,
            eps=self.eps,
            decays=[self._decoupled_decay] * len(moves),
        )
        for move, param, first, second in zip(moves, *new, strict=True):
            move.param, move.state = param, {"first": first, "second": second}

    def _update_with_shared_scale(self, backend: Backend, lr: Any, move: Move) -> None:
        """Update a parameter that has a single average of the squared gradient."""
        beta1, beta2 = self.betas
        param, grad = as_tensor(move.param, backend), as_tensor(move.grad, backend)
        first, second = (as_tensor(move.state[name], backend) for name in self.states)
        rate, step = as_learning_rate(lr, backend), as_step_number(move.step, param)
        first = first * beta1 + grad * (1 - beta1)
        second = second * beta2 + (grad * grad).mean() * (1 - beta2)
        size = sqrt(second / find_bias_correction(beta2, step)) + self.eps
        change = first / find_bias_correction(beta1, step) / size
        param = param - param * (rate * self._decoupled_decay) - change * rate
        put_results(move, param, {"first": first, "second": second})

    def _find_shape(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a state array: () for squared gradients if `one_scale`."""
        del path
        return () if name == "second" and self.one_scale else shape

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(betas={self.betas}, eps={self.eps}, "
            f"weight_decay={self.weight_decay})"
        )


class Adam(AdamW):
    """Adam (Kingma and Ba 2015).

    Args:
        betas: Decay rates of the running averages of the gradient and its square, in [0,
            1).
        eps: Number added to the square root of the averaged squared gradient.
        weight_decay: L2 penalty: ``weight_decay * weight`` is added to the gradient of
            each weight. `AdamW` shrinks the weights directly, which usually works
            better.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.Adam(betas=(0.8, 0.99))
        Adam(betas=(0.8, 0.99), eps=1e-08, weight_decay=0.0)
    """

    def __init__(
        self,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(betas=betas, eps=eps, weight_decay=weight_decay)

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Update all parameters in one call."""
        if self.weight_decay:
            for move in moves:
                decay = backend.multiply(move.param, self.weight_decay)
                move.grad = backend.add(move.grad, decay)
        super().update(backend, lr, moves)

    @property
    def _decoupled_decay(self) -> float:
        """Weight decay that is applied directly to the weights, which is 0 for Adam."""
        return 0.0


@dataclass
class ScheduleFreeState:
    """State of one parameter in `ScheduleFreeAdamW`."""

    z: Tensor  # z: the weights that AdamW updates
    second: Tensor  # running average of the squared gradient
    weight_sum: Tensor  # sum of the weights of all z in the average
    highest_lr: Tensor  # highest learning rate until now


class ScheduleFreeAdamW(SimpleOptimizer):
    """AdamW without a learning rate schedule, with averaged weights (Defazio et al. 2024).

    The method uses three sets of weights. Gradients are computed at ``y``, the model's
    parameters. AdamW steps update ``z``, which is part of the state. The trained
    weights are ``x``, a weighted average of all ``z``. Train with a constant learning
    rate, and evaluate and export the model that `apply_average` returns, because its
    parameters are ``x``. A record of the trained model contains ``y``; therefore the
    metadata of the optimiser's record contains ``"model_point": "y"``.

    Args:
        betas: Weight of the average ``x`` in ``y``, and decay rate of the squared
            gradient, both in (0, 1).
        eps: Number above 0, added to the root of the average of the squared gradient.
        weight_decay: Weight decay, which is multiplied by the learning rate.

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

    State = ScheduleFreeState

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

    def start_state(self, param: Tensor) -> ScheduleFreeState:
        """Create the initial state: ``x``, ``y`` and ``z`` equal the parameter."""
        number = apply("zeros_like", param.sum())
        return ScheduleFreeState(param, apply("zeros_like", param), number, number)

    def rule(
        self, param: Tensor, grad: Tensor, state: ScheduleFreeState, *, lr: Any, step: Any
    ) -> tuple[Tensor, ScheduleFreeState]:
        """Update one parameter."""
        share, decay = self.betas
        second = state.second * decay + grad * grad * (1 - decay)
        change = grad / (sqrt(second / find_bias_correction(decay, step)) + self.eps)
        change = change + param * self.weight_decay
        highest = apply("maximum", state.highest_lr, lr)
        weight = highest * highest
        total = state.weight_sum + weight
        part = weight / apply("where", total > 0, total, 1.0)
        moved = param + (state.z - param) * part
        moved = moved + change * ((share * (1 - part) - 1) * lr)
        return moved, ScheduleFreeState(state.z - change * lr, second, total, highest)

    def apply_average(self, model: Module) -> Any:
        """Return a copy of a model whose parameters are the average ``x``.

        Args:
            model: Model that this optimiser trains.

        Returns:
            A new model; parameters without an update have the values of `model`.

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
        self._states.update_paths()
        paths = {path: param.path for path, param in model.parameters()}

        def get_average(path: str, values: Tensor) -> Tensor:
            z = self._states.find_tensor(paths.get(path, path), "z", values)
            return values if z is None else values + (z - values) * away

        return model.map(get_average)

    def to_record(self) -> Record:
        """Return the states by path, with the number of steps as metadata.

        Returns:
            A record; its metadata contains ``"model_point": "y"``.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.ScheduleFreeAdamW().to_record().metadata["model_point"]
            'y'
        """
        record = super().to_record()
        record.metadata["model_point"] = "y"
        return record
