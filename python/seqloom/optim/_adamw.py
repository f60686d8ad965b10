"""AdamW."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError
from seqloom.optim._optimizer import Move, Optimizer

if TYPE_CHECKING:
    from seqloom.tensor import Backend


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
        if not all(0 <= beta < 1 for beta in betas) or eps <= 0 or weight_decay < 0:
            raise ArgumentError(
                f"AdamW needs betas in [0, 1), eps > 0 and weight_decay >= 0; "
                f"got {betas}, {eps}, {weight_decay}"
            )
        self.betas, self.eps = betas, eps
        self.weight_decay, self.no_decay = weight_decay, no_decay
        self.one_scale = one_scale

    def update(self, backend: Backend, lr: float, moves: list[Move]) -> None:
        """One fused pass over all parameters but those of one scale."""
        for move in moves:
            if _matches(move.path, self.one_scale):
                self._update_as_one(backend, lr, move)
        moves = [move for move in moves if not _matches(move.path, self.one_scale)]
        backend.adamw(
            [move.param for move in moves],
            [move.grad for move in moves],
            [move.state["first"] for move in moves],
            [move.state["second"] for move in moves],
            [self._decay(move.path) for move in moves],
            lr=lr,
            betas=self.betas,
            eps=self.eps,
            step=self.step_count,
        )

    def _update_as_one(self, backend: Backend, lr: float, move: Move) -> None:
        """The same rule with one second average for all numbers of a parameter."""
        (keep, keep_square), first, second = self.betas, *move.state.values()
        square = backend.mean(backend.multiply(move.grad, move.grad))
        first *= keep
        first += (1 - keep) * move.grad
        second *= keep_square
        second += (1 - keep_square) * square
        scale = (second / (1 - keep_square**self.step_count)) ** 0.5 + self.eps
        rate = lr / (1 - keep**self.step_count)
        move.param *= 1 - lr * self._decay(move.path)
        move.param -= rate / scale * first

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
