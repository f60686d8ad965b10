"""AdamW."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.optim._optimizer import Move, Optimizer, as_patterns, is_number

if TYPE_CHECKING:
    from seqloom.tensor._backend import Array, Backend


class AdamW(Optimizer):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter 2019).

    Args:
        betas: How much of the old averages of the gradient and of its square stays.
        eps: Added to the root of the second average.
        weight_decay: The share of ``lr`` by which weights shrink at each step.
        no_decay: Paths of parameters that do not shrink, such as ``"*.bias"``.
        one_scale: Paths of parameters whose numbers share one average of the square: their
            steps keep the gradient's direction (Zhang et al. 2024, Adam-mini).

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
        given: Any = betas
        both = type(given) in (tuple, list) and len(given) == 2  # noqa: PLR2004
        both = both and all(is_number(each, below=1) for each in given)
        if not both or not is_number(eps) or eps == 0 or not is_number(weight_decay):
            raise ArgumentError(
                "AdamW needs two betas in [0, 1), eps > 0 and weight_decay >= 0; "
                f"got {betas}, {eps}, {weight_decay}"
            )
        self.betas, self.eps = betas, eps
        self.weight_decay = weight_decay
        self.no_decay = as_patterns("no_decay", no_decay)
        self.one_scale = as_patterns("one_scale", one_scale)

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """One fused pass over all parameters but those of one scale."""
        alone = [move for move in moves if _matches(move.path, self.one_scale)]
        for move in alone:
            self._update_as_one(backend, lr, move)
        together: dict[Any, list[Move]] = {}  # by their steps, which most of them share
        for move in moves:
            if move not in alone:
                kept = move.step if isinstance(move.step, int) else id(move.step)
                together.setdefault(kept, []).append(move)
        for each in together.values():
            self._update_together(backend, lr, each)

    def _update_together(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """The backend's own function, over all of them at once."""
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

    def _update_as_one(self, b: Backend, lr: Any, move: Move) -> None:
        """The same rule with one second average for all numbers of a parameter."""
        keep, keep_square = self.betas
        square = b.mean(b.multiply(move.grad, move.grad))
        first = _blend(b, move.state["first"], move.grad, share=keep)
        second = _blend(b, move.state["second"], square, share=keep_square)
        step = move.step
        spread = b.add(
            b.sqrt(b.divide(second, _seen(b, keep_square, step=step, like=second))),
            self.eps,
        )
        unbiased = b.divide(first, _seen(b, keep, step=step, like=first))
        change = b.multiply(b.divide(unbiased, spread), lr)
        decay = self._decay(move.path)
        lost = lr * decay if isinstance(lr, (int, float)) else b.multiply(lr, decay)
        kept = b.subtract(move.param, b.multiply(move.param, lost))
        move.param = b.subtract(kept, change)
        move.state = {"first": first, "second": second}

    def _shape_of(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """One number for the second average of what has one scale."""
        return () if name == "second" and _matches(path, self.one_scale) else shape

    def _decay(self, path: str) -> float:
        """The decay of one parameter."""
        return 0.0 if _matches(path, self.no_decay) else self.weight_decay

    def __repr__(self) -> str:
        return (
            f"AdamW(betas={self.betas}, eps={self.eps}, weight_decay={self.weight_decay})"
        )


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a path is one of those that are meant."""
    return any(fnmatchcase(path, each) for each in patterns)


def _blend(b: Backend, old: Array, new: Array, *, share: float) -> Array:
    """A running mean."""
    return b.add(b.multiply(old, share), b.multiply(new, 1 - share))


def _seen(b: Backend, beta: float, *, step: Any, like: Array) -> Any:
    """The share that a running mean has seen since it began at 0."""
    if isinstance(step, int):
        return 1 - beta**step
    power = b.exp(b.multiply(b.astype(step, b.dtype(like)), math.log(beta)))
    return b.subtract(1.0, power)
