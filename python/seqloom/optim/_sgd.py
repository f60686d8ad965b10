"""SGD: gradient descent with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.optim._optimizer import Move, Optimizer, is_number

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
