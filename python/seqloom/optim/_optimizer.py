"""What every optimiser is: a rule, and a state for each parameter."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import ArgumentError, RecordError
from seqloom.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.nn import Module
    from seqloom.nn._stored import Param
    from seqloom.tensor import Gradients
    from seqloom.tensor._backend import Array, Backend


@dataclass(slots=True)
class Move:
    """What an optimiser's rule needs to know of one parameter.

    Attributes:
        path: Where it stands in the model.
        param: Its storage, to be written in place.
        grad: Its gradient.
        state: Its state arrays by name, to be written in place.

    Examples:
        >>> import numpy as np
        >>> Move("head.bias", np.zeros(1), np.ones(1), {}).path
        'head.bias'
    """

    path: str
    param: Array
    grad: Array
    state: dict[str, Array]


class Optimizer(ABC):
    """Base of optimisers: keeps the states, leaves the rule to the subclass.

    The learning rate is an argument of `step`, so that a schedule is a plain function. A
    subclass names its state arrays in ``states`` and writes ``update``.

    Attributes:
        step_count: How many steps were made.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.AdamW().step_count
        0
    """

    states: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.step_count = 0
        self._state: dict[str, dict[str, Array]] = {}

    def step(self, lr: float, model: Module, grads: Gradients) -> Any:
        """Moves the parameters that have a gradient.

        Args:
            lr: The learning rate of this step.
            model: Whose parameters; they are written in place.
            grads: What `value_and_grad` returned for this model.

        Returns:
            The model.

        Raises:
            ArgumentError: None of the gradients is by a parameter of this model, or the
                rate is negative or no number.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> x = layer.backend.tensor([[1.0]])
            >>> loss, grads = sl.nn.value_and_grad(lambda layer: layer(x).sum())(layer)
            >>> opt = sl.optim.AdamW()
            >>> layer = opt.step(1e-3, layer, grads)
            >>> opt.step_count
            1
        """
        if not (math.isfinite(lr) and lr >= 0):
            raise ArgumentError(f"the learning rate must be a number from 0 up, got {lr}")
        moved = [(path, p, grads.get(p.id)) for path, p in model.parameters()]
        moved = [(path, param, grad) for path, param, grad in moved if grad is not None]
        if not moved:
            raise ArgumentError("no gradient belongs to a parameter of this model")
        self.step_count += 1
        moves = [
            Move(path, param.writable(), grad, self._state_of(path, param, grads.backend))
            for path, param, grad in moved
        ]
        self.update(grads.backend, lr, moves)
        return model

    @abstractmethod
    def update(self, backend: Backend, lr: float, moves: list[Move]) -> None:
        """The rule: changes parameters and states in place.

        Args:
            backend: Whose arrays they are.
            lr: The learning rate.
            moves: Each parameter with its gradient and state.

        Examples:
            >>> import seqloom as sl
            >>> class Descent(sl.optim.Optimizer):
            ...     def update(self, backend, lr, moves):
            ...         for move in moves:
            ...             move.param -= lr * move.grad
            >>> Descent().step_count
            0
        """

    def to_record(self) -> Record:
        """The states by the parameters' paths, and the number of steps.

        Returns:
            A record; later steps do not change it.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.AdamW().to_record().metadata
            {'step_count': 0}
        """
        arrays = {
            f"{path}.{name}": each.copy()
            for path, state in self._state.items()
            for name, each in state.items()
        }
        return Record(arrays, metadata={"step_count": self.step_count})

    def load_record(self, record: Record) -> Self:
        """Takes up where `to_record` was called.

        Args:
            record: What it gave.

        Returns:
            This optimiser.

        Raises:
            RecordError: It is not the record of such an optimiser.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.AdamW().load_record(sl.optim.AdamW().to_record()).step_count
            0
        """
        if "step_count" not in record.metadata:
            raise RecordError(
                "this is not the record of an optimiser: step_count is missing"
            )
        self.step_count = record.metadata["step_count"]
        self._state = _by_parameter(record, self.states)
        return self

    def _state_of(self, path: str, param: Param, backend: Backend) -> dict[str, Array]:
        """The state of one parameter; zeros at its first step."""
        if path not in self._state:
            self._state[path] = {
                name: backend.zeros(self._shape_of(name, path, param.shape))
                for name in self.states
            }
        found = self._state[path]
        for name, each in found.items():
            wanted = self._shape_of(name, path, param.shape)
            if tuple(each.shape) != wanted:
                raise RecordError(
                    f"the optimiser's {name} of {path} has shape {tuple(each.shape)}, "
                    f"expected {wanted} for a parameter of {param.shape}"
                )
        return found

    def _shape_of(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one state of a parameter; a rule may need fewer numbers."""
        del name, path  # for rules that do
        return shape


def _by_parameter(
    record: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """The arrays of a record, grouped by the parameter that they belong to."""
    import numpy as np

    found: dict[str, dict[str, Any]] = {}
    for full, each in record.items():
        path, _, name = full.rpartition(".")
        if name not in names:
            raise RecordError(
                f"this optimiser keeps {', '.join(names)}, the record has {full}"
            )
        found.setdefault(path, {})[name] = np.array(each)
    for path, state in found.items():
        if missing := [name for name in names if name not in state]:
            raise RecordError(f"the optimiser's {missing[0]} of {path} is missing")
    return found
