"""Optimisers with momentum: SGD and Muon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError
from seqloom.optim._adam import AdamW
from seqloom.optim._optimizer import Optimizer
from seqloom.optim._settings import (
    Move,
    as_learning_rate,
    as_patterns,
    as_tensor,
    is_number,
    matches_any,
    put_results,
    require_setting,
)
from seqloom.tensor import Tensor, apply, sqrt

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum (Sutskever et al. 2013).

    Args:
        momentum: Fraction of the previous step that is added to the new step, in [0,
            1).
        nesterov: If True, use Nesterov momentum.
        weight_decay: L2 penalty: ``weight_decay * weight`` is added to the gradient of
            each weight.

    Raises:
        ArgumentError: A number is out of range, or `nesterov` is set without momentum.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.SGD(momentum=0.9)
        SGD(momentum=0.9, nesterov=False, weight_decay=0.0)
    """

    def __init__(
        self, *, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0
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
        """Update all parameters in one call."""
        params, momenta = backend.sgd(
            [move.param for move in moves],
            [move.grad for move in moves],
            # without momentum, the state is not read
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


# Coefficients of the polynomial x (a + b x^2 + c x^4), which quickly moves singular
# values close to 1 (Jordan 2024).
_NEWTON_SCHULZ_COEFFICIENTS = (3.4445, -4.775, 2.0315)
_SCALE_MODES = ("original", "match_rms_adamw")


class Muon(AdamW):
    """Muon: orthogonalised momentum for matrices, AdamW for other weights (Jordan 2024).

    A parameter with two or more axes is treated as a matrix, by flattening all axes
    after the first. AdamW updates parameters with one axis and those listed in `adamw`.

    Args:
        momentum: Decay rate of the average of the gradient, in [0, 1).
        nesterov: If True, use Nesterov momentum.
        steps: Number of Newton-Schulz iterations, 1 or more.
        scale: ``"original"`` multiplies a step by ``sqrt(rows / columns)`` if that is
            above 1. ``"match_rms_adamw"`` makes steps about as large as those of AdamW,
            so one learning rate fits both (Liu et al. 2025).
        weight_decay: Weight decay of Muon and AdamW; in each step it is multiplied by
            the learning rate.
        adamw: Paths of matrices for AdamW, such as ``("embedding.*", "head.*")``.
        betas: Decay rates of AdamW, in [0, 1).
        eps: Number that AdamW adds to the root of the average of the squared gradient.

    Raises:
        ArgumentError: A number is out of range, or `scale` is unknown.

    Examples:
        >>> import seqloom as sl
        >>> opt = sl.optim.Muon(scale="match_rms_adamw", adamw=("head.*",))
        >>> opt.momentum
        0.95
    """

    def __init__(  # noqa: PLR0913 - the settings of two optimisers
        self,
        *,
        momentum: float = 0.95,
        nesterov: bool = True,
        steps: int = 5,
        scale: str = "original",
        weight_decay: float = 0.1,
        adamw: tuple[str, ...] = (),
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(betas=betas, eps=eps, weight_decay=weight_decay)
        if scale not in _SCALE_MODES:
            raise ArgumentError(f"scale must be one of {_SCALE_MODES}, got {scale!r}")
        self.momentum = require_setting("momentum", momentum, below=1)
        self.steps = as_integer("steps", steps, least=1)
        self.nesterov, self.scale = nesterov, scale
        self.adamw = as_patterns("adamw", adamw)

    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Update matrices one by one, and all other parameters in one call."""
        rest: list[Move] = []
        for move in moves:
            if self._is_matrix(move.path, move.param.shape):
                self._update_matrix(backend, lr, move)
            else:
                rest.append(move)
        super().update(backend, lr, rest)

    def _update_matrix(self, backend: Backend, lr: Any, move: Move) -> None:
        """Update one matrix with orthogonalised momentum."""
        rate = as_learning_rate(lr, backend)
        grad, param = as_tensor(move.grad, backend), as_tensor(move.param, backend)
        added = grad * (1 - self.momentum)
        first = as_tensor(move.state["first"], backend) * self.momentum + added
        wanted = first * self.momentum + added if self.nesterov else first
        rows = param.shape[0]
        direction = _orthogonalize(wanted.reshape(rows, -1), self.steps)
        change = direction.reshape(param.shape) * (rate * self._find_scale(param.shape))
        kept = param * (1 - rate * self.weight_decay)
        second = Tensor(move.state["second"], backend)  # unused for matrices
        put_results(move, kept - change, {"first": first, "second": second})

    def _find_scale(self, shape: tuple[int, ...]) -> float:
        """Return the factor by which the update of a matrix is multiplied."""
        rows, columns = shape[0], math.prod(shape[1:])
        if self.scale == "original":
            return math.sqrt(max(1, rows / columns))
        return 0.2 * math.sqrt(max(rows, columns))

    def _is_matrix(self, path: str, shape: tuple[int, ...]) -> bool:
        """Return whether a parameter is updated with orthogonalised momentum."""
        return len(shape) > 1 and not matches_any(path, self.adamw)

    def _find_shape(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a state array; () if a matrix does not use the array."""
        return () if name == "second" and self._is_matrix(path, shape) else shape


def _orthogonalize(matrix: Tensor, steps: int) -> Tensor:
    """Return an approximately orthogonal matrix with the same singular vectors."""
    # Newton-Schulz iterations (Jordan 2024) only need matrix products. The iterations
    # move the singular values to between about 0.7 and 1.2.
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / apply("maximum", sqrt((x * x).sum()), 1e-7)
    a, b, c = _NEWTON_SCHULZ_COEFFICIENTS
    # Compute a x + (b s + c s^2) x as one product, where s = x x^T is the smaller
    # matrix.
    ones = x.backend.eye(x.shape[0], dtype=x.dtype)
    linear = Tensor(ones, x.backend) * a
    for _ in range(steps):
        square = x @ x.T
        x = (linear + square * b + square @ square * c) @ x
    return x.T if is_tall else x
