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
    ) -> None:
        super().__init__()
        if not all(0 <= beta < 1 for beta in betas) or eps <= 0 or weight_decay < 0:
            raise ArgumentError(
                f"AdamW needs betas in [0, 1), eps > 0 and weight_decay >= 0; "
                f"got {betas}, {eps}, {weight_decay}"
            )
        self.betas, self.eps = betas, eps
        self.weight_decay, self.no_decay = weight_decay, no_decay

    def update(self, backend: Backend, lr: float, moves: list[Move]) -> None:
        """One fused pass over all parameters."""
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

    def _decay(self, path: str) -> float:
        """The decay of one parameter."""
        return (
            0.0
            if any(fnmatchcase(path, each) for each in self.no_decay)
            else self.weight_decay
        )

    def __repr__(self) -> str:
        return (
            f"AdamW(betas={self.betas}, eps={self.eps}, weight_decay={self.weight_decay})"
        )
