"""Gradient descent with momentum."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.optim._optimizer import Move, Optimizer, as_patterns, is_number

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend


class SGD(Optimizer):
    """Gradient descent, with momentum where it is given (Sutskever et al. 2013).

    Args:
        momentum: How much of the step before stays.
        nesterov: Look ahead along the momentum.
        weight_decay: What is added to the gradient for each unit of a weight.
        no_decay: Paths of parameters that do not shrink, such as ``"*.bias"``.

    Raises:
        ArgumentError: A number makes no sense.

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
        no_decay: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        numbers = is_number(momentum, below=1) and is_number(weight_decay)
        if not numbers or (nesterov and not momentum):
            raise ArgumentError(
                "SGD needs a momentum in [0, 1), a weight_decay from 0 up, and a momentum "
                f"for nesterov; got {momentum}, {weight_decay}, {nesterov}"
            )
        self.momentum, self.nesterov = momentum, nesterov
        self.weight_decay = weight_decay
        self.no_decay = as_patterns("no_decay", no_decay)
        self.states = ("momentum",) if momentum else ()

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """One fused pass over all parameters."""
        params, momenta = backend.sgd(
            [move.param for move in moves],
            [move.grad for move in moves],
            # Without momentum nothing is read of these.
            [move.state.get("momentum", move.grad) for move in moves],
            lr,
            momentum=self.momentum,
            nesterov=self.nesterov,
            decays=[self._decay(move.path) for move in moves],
        )
        for move, param, momentum in zip(moves, params, momenta, strict=True):
            move.param = param
            move.state = {"momentum": momentum} if self.momentum else {}

    def _decay(self, path: str) -> float:
        """The decay of one parameter."""
        kept = any(fnmatchcase(path, each) for each in self.no_decay)
        return 0.0 if kept else self.weight_decay

    def __repr__(self) -> str:
        return (
            f"SGD(momentum={self.momentum}, nesterov={self.nesterov}, "
            f"weight_decay={self.weight_decay})"
        )
