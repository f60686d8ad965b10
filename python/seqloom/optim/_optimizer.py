"""What every optimiser is: a rule, and a state for each parameter."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

from seqloom.errors import ArgumentError, DTypeError
from seqloom.optim._counts import Counts
from seqloom.optim._state import States
from seqloom.record import Record
from seqloom.tensor import Tensor
from seqloom.tensor._leaves import hashable

if TYPE_CHECKING:
    from seqloom.nn import Module
    from seqloom.nn._stored import Param
    from seqloom.tensor import Gradients
    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Counter, Leaf


@dataclass(slots=True, eq=False)
class Move:
    """What an optimiser's rule needs to know of one parameter.

    Attributes:
        path: Where it stands in the model.
        param: Its array; the rule puts the new one here, and may write into this one.
        grad: Its gradient.
        state: Its state arrays by name; as `param`.
        step: How many steps this parameter has made, this one included: a number, or an
            array of one. Parameters that always moved together share it.

    Examples:
        >>> import numpy as np
        >>> Move("head.bias", np.zeros(1), np.ones(1), {}).path
        'head.bias'
    """

    path: str
    param: Array
    grad: Array
    state: dict[str, Array]
    step: Any = 1


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
        self._counts = Counts()
        self._states = States()

    @property
    def step_count(self) -> int:
        """How many steps were made."""
        return self._counts.total.number

    def step(self, lr: float | Tensor, model: Module, grads: Gradients) -> Any:
        """Moves the parameters that have a gradient.

        Args:
            lr: The learning rate of this step; a tensor of one number too.
            model: Whose parameters; they are written.
            grads: What `value_and_grad` returned for this model.

        Returns:
            The model.

        Raises:
            ArgumentError: None of the gradients is by a parameter of this model, the rate
                is negative or no number, or the optimiser keeps the state of another
                model's parameters.
            DTypeError: A gradient has another type than its parameter, which the
                backend's update does not take.

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
        rate = lr.raw if isinstance(lr, Tensor) else _checked(lr)
        moved = [
            (p, g) for _, p in model.parameters() if (g := grads.get(p.id)) is not None
        ]
        if not moved:
            raise ArgumentError("no gradient belongs to a parameter of this model")
        raised = self._begin([param for param, _ in moved], grads.backend)
        moves = [self._move(param, grad, grads.backend) for param, grad in moved]
        for move in moves:
            move.step = raised[self._counts.of(move.path)]
        try:
            self.update(grads.backend, rate, moves)
        except Exception as error:
            _refuse_other_types(moves, grads.backend, error)
            raise
        for (param, _), move in zip(moved, moves, strict=True):
            param.put(move.param)
            self._states.put(move.path, move.state)
        for counter, number in raised.items():
            counter.put(number)
        return model

    def _begin(self, params: list[Param], backend: Backend) -> dict[Counter, Array]:
        """The numbers of this step, which count once it is done."""
        self._states.claim(params)
        paths = [param.path for param in params]
        if self.states:  # a rule that keeps nothing does not care who came late
            self._counts.begin(self._states.paths(), paths, backend)
        return self._counts.raised(paths, backend)

    def _move(self, param: Param, grad: Array, backend: Backend) -> Move:
        """What the rule is given for one parameter."""
        shapes = {
            name: self._shape_of(name, param.path, param.shape) for name in self.states
        }
        state = self._states.of(param, shapes, backend)
        return Move(param.path, param.own(), grad, state)

    @abstractmethod
    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """The rule: gives each move its new parameter and state.

        Args:
            backend: Whose arrays they are.
            lr: The learning rate: a number, or an array of one.
            moves: Each parameter with its gradient and state.

        Examples:
            >>> import seqloom as sl
            >>> class Descent(sl.optim.Optimizer):
            ...     def update(self, backend, lr, moves):
            ...         for move in moves:
            ...             change = backend.multiply(move.grad, lr)
            ...             move.param = backend.subtract(move.param, change)
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
        return Record(self._states.to_numpy(), metadata=self._counts.facts())

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
        counts = Counts()
        counts.take(record.metadata)
        self._states.take(record, self.states)
        self._counts = counts
        return self

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """What decides the program of a step, and the arrays that a step writes.

        Returns:
            The class with its settings and the states' names; the states and the count.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.optim.AdamW().leaves()[1])
            1
        """
        static, leaves = self._states.leaves()
        shared, counters = self._counts.leaves()
        mine = [each for name, each in vars(self).items() if name not in _STATE]
        return (type(self), hashable(mine), static, shared), [*counters, *leaves]

    def _shape_of(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one state of a parameter; a rule may need fewer numbers."""
        del name, path  # for rules that do
        return shape


# The fields of an optimiser that change as it steps.
_STATE = frozenset({"_counts", "_states"})


def _refuse_other_types(moves: list[Move], backend: Backend, error: Exception) -> None:
    """Raises where a gradient of another type than its parameter is why a step failed."""
    for move in moves:
        param, grad = backend.dtype(move.param), backend.dtype(move.grad)
        if param != grad:
            raise DTypeError(
                f"the parameter {move.path} is of {param}, its gradient of {grad}; "
                f'.astype("{param}") the data or the weights that made the loss wider'
            ) from error


def as_patterns(name: str, given: Any) -> tuple[str, ...]:
    """Paths of parameters; a text would be taken as one pattern for each letter."""
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise ArgumentError(
            f'{name} takes a tuple of paths, such as ("*.bias",); got {given!r}'
        )
    return tuple(given)


def is_number(value: Any, least: float = 0, below: float = math.inf) -> bool:
    """Whether a value is a number from the least up and below the other; NaN is none."""
    return isinstance(value, Real) and least <= float(value) < below


def _checked(lr: Any) -> Any:
    """A learning rate that makes sense."""
    if not is_number(lr) and not (
        getattr(lr, "shape", None) == () and is_number(lr.item())
    ):
        raise ArgumentError(f"the learning rate must be a number from 0 up, got {lr!r}")
    return lr if isinstance(lr, Real) else lr.item()
