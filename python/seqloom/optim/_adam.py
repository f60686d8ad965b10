"""Adam: AdamW's rule, with weight decay as part of the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.optim._adamw import AdamW

if TYPE_CHECKING:
    from seqloom.optim._optimizer import Move
    from seqloom.tensor._backend import Backend


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
