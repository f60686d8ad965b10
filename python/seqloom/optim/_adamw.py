"""AdamW."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.optim._groups import matches_any
from seqloom.optim._optimizer import Move, Optimizer, as_patterns, is_number

if TYPE_CHECKING:
    from seqloom.tensor._backend import Array, Backend


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    Args:
        betas: Decay rates of the averages of the gradient and of its square, in [0, 1).
        eps: Number added to the root of the second average.
        weight_decay: Weight decay, relative to ``lr``.
        no_decay: Paths of parameters without weight decay, such as ``"*.bias"``.
        one_scale: Paths of parameters that each have a single average of the squared
            gradient, so that a step has the gradient's direction (Adam-mini, Zhang et al.
            2024).

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.AdamW(weight_decay=0.1, no_decay=("*.bias",))
        AdamW(betas=(0.9, 0.999), eps=1e-08, weight_decay=0.1)
    """

    states = ("first", "second")

    def __init__(
        self,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        no_decay: tuple[str, ...] = (),
        one_scale: tuple[str, ...] = (),
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
        self.no_decay = as_patterns("no_decay", no_decay)
        self.one_scale = as_patterns("one_scale", one_scale)

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Updates all parameters together, but those of one scale alone."""
        alone = [move for move in moves if matches_any(move.path, self.one_scale)]
        for move in alone:
            self._update_one_scale(backend, lr, move)
        together: dict[int, list[Move]] = {}  # by step, which most parameters share
        for move in moves:
            if move not in alone:
                step = move.step if isinstance(move.step, int) else id(move.step)
                together.setdefault(step, []).append(move)
        for group in together.values():
            self._update_together(backend, lr, group)

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
            decays=[self._decay(move.path) for move in moves],
        )
        for move, param, first, second in zip(moves, *new, strict=True):
            move.param, move.state = param, {"first": first, "second": second}

    def _update_one_scale(self, b: Backend, lr: Any, move: Move) -> None:
        """Updates a parameter that has a single second average."""
        beta1, beta2 = self.betas
        square = b.mean(b.multiply(move.grad, move.grad))
        first = _blend(b, move.state["first"], move.grad, share=beta1)
        second = _blend(b, move.state["second"], square, share=beta2)
        unbiased = b.divide(first, _correct_bias(b, beta1, step=move.step, like=first))
        variance = b.divide(second, _correct_bias(b, beta2, step=move.step, like=second))
        ratio = b.divide(unbiased, b.add(b.sqrt(variance), self.eps))
        change = b.multiply(ratio, lr)
        decay = self._decay(move.path)
        rate = lr * decay if isinstance(lr, (int, float)) else b.multiply(lr, decay)
        decayed = b.subtract(move.param, b.multiply(move.param, rate))
        move.param = b.subtract(decayed, change)
        move.state = {"first": first, "second": second}

    def _shape_of(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns no axes for the second average of a parameter of one scale."""
        return () if name == "second" and matches_any(path, self.one_scale) else shape

    def _decay(self, path: str) -> float:
        """Returns the weight decay of a parameter."""
        return 0.0 if matches_any(path, self.no_decay) else self.weight_decay

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(betas={self.betas}, eps={self.eps}, "
            f"weight_decay={self.weight_decay})"
        )


def _blend(b: Backend, old: Array, new: Array, *, share: float) -> Array:
    """Returns the next value of a running average."""
    return b.add(b.multiply(old, share), b.multiply(new, 1 - share))


def _correct_bias(b: Backend, beta: float, *, step: Any, like: Array) -> Any:
    """Returns the divisor that corrects the start of a running average at 0."""
    if isinstance(step, int):
        return 1 - beta**step
    power = b.exp(b.multiply(b.astype(step, b.dtype(like)), math.log(beta)))
    return b.subtract(1.0, power)
