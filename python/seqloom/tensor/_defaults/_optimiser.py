"""Updates of parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._derived import Derived
from seqloom.tensor._defaults._standard import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

Arrays = list[Array]


class Updates(Derived):
    """One step of an optimiser over a list of parameters.

    The new arrays are returned, and may have been written into the given ones, whose
    storage the caller owns. ``decays`` has a number for each parameter; the rate and the
    step's number may be arrays, so that a compiled step takes them as inputs.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> grads, norm = B.clip_by_global_norm([B.asarray([3.0, 4.0])], 1.0)
        >>> norm.item()
        5.0
    """

    def adamw(
        self,
        params: Arrays,
        grads: Arrays,
        first: Arrays,
        second: Arrays,
        lr: Any,
        step: Any,
        *,
        betas: tuple[float, float],
        eps: float,
        decays: Sequence[float],
    ) -> tuple[Arrays, Arrays, Arrays]:
        """AdamW (Loshchilov and Hutter 2019); `step` counts from 1."""
        moved: list[tuple[Array, Array, Array]] = []
        for place, grad in enumerate(grads):
            mean = self._blend(first[place], grad, betas[0])
            power = self._blend(second[place], self.square(grad), betas[1])
            spread = self.sqrt(self._unbiased(power, betas[1], step))
            ahead = self._unbiased(mean, betas[0], step)
            change = self.divide(ahead, self.add(spread, eps))
            kept = self._decayed(params[place], lr, decays[place])
            change = self.multiply(change, self._number(lr, kept))
            moved.append((self.subtract(kept, change), mean, power))
        one, two, three = ([row[i] for row in moved] for i in range(3))
        return one, two, three

    def sgd(
        self,
        params: Arrays,
        grads: Arrays,
        momenta: Arrays,
        lr: Any,
        *,
        momentum: float,
        nesterov: bool,
        decays: Sequence[float],
    ) -> tuple[Arrays, Arrays]:
        """Gradient descent with momentum, torch's form: a decay is part of the gradient."""
        moved: list[tuple[Array, Array]] = []
        for param, grad, moment, decay in zip(params, grads, momenta, decays, strict=True):
            slope = self.add(grad, self.multiply(param, decay)) if decay else grad
            kept = self.add(self.multiply(moment, momentum), slope) if momentum else moment
            if momentum:
                ahead = self.add(slope, self.multiply(kept, momentum))
                slope = ahead if nesterov else kept
            change = self.multiply(slope, self._number(lr, param))
            moved.append((self.subtract(param, change), kept))
        return [row[0] for row in moved], [row[1] for row in moved]

    def clip_by_global_norm(self, grads: Arrays, max_norm: Any) -> tuple[Arrays, Array]:
        """Scales all gradients down so that their common norm is at most `max_norm`."""
        squares = [self.sum(self.square(grad)) for grad in grads]
        total = squares[0]
        for square in squares[1:]:
            total = self.add(total, square)
        norm = self.sqrt(total)
        share = self.minimum(self.divide(max_norm, self.add(norm, 1e-6)), 1.0)
        return [self.multiply(grad, self._number(share, grad)) for grad in grads], norm

    def _blend(self, old: Array, new: Array, share: float) -> Array:
        """A running mean."""
        return self.add(self.multiply(old, share), self.multiply(new, 1.0 - share))

    def _unbiased(self, mean: Array, beta: float, step: Any) -> Array:
        """A running mean that began at 0, divided by the share it has seen."""
        if isinstance(step, (int, float)):
            return self.multiply(mean, 1.0 / -math.expm1(step * math.log(beta)))
        seen = self.expm1(self.multiply(self._number(step, mean), math.log(beta)))
        return self.negative(self.divide(mean, seen))

    def _decayed(self, param: Array, lr: Any, decay: float) -> Array:
        """A parameter moved towards 0."""
        if not decay:
            return param
        if not _is_array(lr):
            return self.multiply(param, 1.0 - lr * decay)
        lost = self.multiply(self._number(lr, param), decay)
        return self.multiply(param, self.subtract(1.0, lost))

    def _number(self, value: Any, like: Array) -> Any:
        """A number as it is; an array of one in the type of another array."""
        return self.astype(value, self.dtype(like)) if _is_array(value) else value


def _is_array(value: Any) -> bool:
    """Whether a number came as an array."""
    return not isinstance(value, (int, float))
