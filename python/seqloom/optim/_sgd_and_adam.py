"""SGD, AdamW and Adam, which update all parameters by one call of the backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.optim._operands import (
    as_operand,
    as_rate,
    as_tensor,
    find_seen_share,
    put_results,
)
from seqloom.optim._optimizer import Move, Optimizer
from seqloom.optim._settings import is_number
from seqloom.tensor import sqrt

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend


class SGD(Optimizer):
    """Gradient descent with optional momentum (Sutskever et al. 2013).

    Args:
        momentum: Share of the previous step to keep, in [0, 1).
        nesterov: Whether to use Nesterov momentum.
        weight_decay: Factor of the weights that is added to their gradient.

    Raises:
        ArgumentError: A number is out of range, or `nesterov` is set without momentum.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.SGD(momentum=0.9)
        SGD(momentum=0.9, nesterov=False, weight_decay=0.0)
    """

    def __init__(
        self,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__()
        is_valid = is_number(momentum, below=1) and is_number(weight_decay)
        if not is_valid or (nesterov and not momentum):
            raise ArgumentError(
                "SGD needs momentum in [0, 1), weight_decay >= 0, and momentum > 0 with "
                f"nesterov; got momentum={momentum}, weight_decay={weight_decay}, "
                f"nesterov={nesterov}"
            )
        self.momentum, self.nesterov = momentum, nesterov
        self.weight_decay = weight_decay
        self.states = ("momentum",) if momentum else ()

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Updates all parameters together."""
        params, momenta = backend.sgd(
            [move.param for move in moves],
            [move.grad for move in moves],
            # Without momentum the backend does not read these.
            [move.state.get("momentum", move.grad) for move in moves],
            lr,
            momentum=self.momentum,
            nesterov=self.nesterov,
            decays=[self.weight_decay] * len(moves),
        )
        for move, param, momentum in zip(moves, params, momenta, strict=True):
            move.param = param
            move.state = {"momentum": momentum} if self.momentum else {}

    def __repr__(self) -> str:
        return (
            f"SGD(momentum={self.momentum}, nesterov={self.nesterov}, "
            f"weight_decay={self.weight_decay})"
        )


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    Args:
        betas: Decay rates of the averages of the gradient and of its square, in [0, 1).
        eps: Number added to the root of the second average.
        weight_decay: Weight decay, relative to ``lr``.
        one_scale: Whether each parameter has a single average of the squared gradient, so
            that a step has the gradient's direction (Adam-mini, Zhang et al. 2024). Use it
            for some parameters: ``AdamW().group("embedding.*", one_scale=True)``.

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
        """Updates all parameters together; those of one scale one by one."""
        if self.one_scale:
            for move in moves:
                self._update_one_scale(backend, lr, move)
            return
        together: dict[int, list[Move]] = {}  # by step, which most parameters share
        for move in moves:
            step = move.step if isinstance(move.step, int) else id(move.step)
            together.setdefault(step, []).append(move)
        for group in together.values():
            self._update_together(backend, lr, group)

    @property
    def _decoupled_decay(self) -> float:
        """The weight decay that is not part of the gradient."""
        return self.weight_decay

    def _update_together(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Updates parameters by one call of the backend."""
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

    def _update_one_scale(self, backend: Backend, lr: Any, move: Move) -> None:
        """Updates a parameter that has a single second average."""
        beta1, beta2 = self.betas
        param, grad = as_tensor(move.param, backend), as_tensor(move.grad, backend)
        first, second = (as_tensor(move.state[name], backend) for name in self.states)
        rate, step = as_rate(lr, backend), as_operand(move.step, param)
        first = first * beta1 + grad * (1 - beta1)
        second = second * beta2 + (grad * grad).mean() * (1 - beta2)
        size = sqrt(second / find_seen_share(beta2, step)) + self.eps
        change = first / find_seen_share(beta1, step) / size
        param = param - param * (rate * self._decoupled_decay) - change * rate
        put_results(move, param, {"first": first, "second": second})

    def _shape_of(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns no axes for the second average of a parameter of one scale."""
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
        betas: Decay rates of the averages of the gradient and of its square, in [0, 1).
        eps: Number added to the root of the second average.
        weight_decay: Factor of the weights that is added to their gradient; `AdamW`
            shrinks the weights themselves, which is usually better.

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
        """Updates all parameters together."""
        if self.weight_decay:
            for move in moves:
                decay = backend.multiply(move.param, self.weight_decay)
                move.grad = backend.add(move.grad, decay)
        super().update(backend, lr, moves)

    @property
    def _decoupled_decay(self) -> float:
        """The weight decay that is not part of the gradient: none."""
        return 0.0
