"""Optimizer: the base class of optimisers, which stores the states of all parameters."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import is_list
from seqloom.errors import ArgumentError, DTypeError
from seqloom.optim._settings import (
    Move,
    as_patterns,
    is_number,
    matches_any,
    require_learning_rate,
    require_matches,
)
from seqloom.optim._state import OptimizerStates, pair_gradients
from seqloom.tensor import Tensor
from seqloom.tensor._dispatch import notify_observers, observers
from seqloom.tensor._leaves import make_hashable

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.nn import Module
    from seqloom.nn._parameters import Param
    from seqloom.record import Record
    from seqloom.record._keys import KeyMap
    from seqloom.tensor import Gradients
    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Counter, Leaf


class Optimizer(ABC):
    """Base class of optimisers: stores the states; a subclass defines the update rule.

    The learning rate is an argument of `step`, so a schedule can be a plain function. A
    subclass lists its state arrays in ``states`` and defines ``update``, which updates
    many parameters at once. `SimpleOptimizer` is easier to subclass, because its rule
    updates one parameter.

    Examples:
        >>> import seqloom as sl
        >>> sl.optim.AdamW().step_count
        0
    """

    states: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._states = OptimizerStates()
        self._groups: tuple[ParameterGroup, ...] = ()
        self._group_of: dict[str, ParameterGroup | None] = {}

    @property
    def step_count(self) -> int:
        """Number of steps that the optimiser has made."""
        return self._states.counts.total.number

    def group(
        self, pattern: str | tuple[str, ...], *, lr_factor: float = 1.0, **settings: Any
    ) -> Self:
        """Set different settings for the parameters whose path matches a pattern.

        If several groups match a path, the last matching group applies. A setting that
        a group does not specify has the value from the constructor.

        Args:
            pattern: Glob pattern of the paths, such as ``"*.bias"`` or ``"head.*"``, or a
                tuple of patterns.
            lr_factor: Factor by which this group's learning rate is multiplied, 0 or
                more.
            **settings: Arguments of the constructor with their values for this group.

        Returns:
            This optimiser.

        Raises:
            ArgumentError: A setting is not an argument of the constructor or is invalid.
                If a pattern matches no parameter, `step` raises this error.

        Examples:
            >>> import seqloom as sl
            >>> opt = sl.optim.AdamW(weight_decay=0.1)
            >>> opt = opt.group("*.bias", weight_decay=0.0).group("head.*", lr_factor=10.0)
            >>> opt.step_count
            0
        """
        if not is_number(lr_factor):
            raise ArgumentError(f"lr_factor must be a number from 0 up, got {lr_factor!r}")
        given = (pattern,) if isinstance(pattern, str) else pattern
        patterns, variant = (as_patterns("pattern", given), _make_variant(self, settings))
        found = ParameterGroup(patterns, lr_factor, variant)
        self._groups, self._group_of = (*self._groups, found), {}
        self._states.request_shape_check()
        return self

    def step(self, lr: float | Tensor, model: Module, grads: Gradients) -> Any:
        """Update the parameters that have a gradient.

        Args:
            lr: Learning rate of this step: a number or a tensor without axes.
            model: Model whose parameters are updated in place.
            grads: Gradients that `value_and_grad` returned for this model.

        Returns:
            The model.

        Raises:
            ArgumentError: No gradient belongs to a parameter of `model`, or a group
                matches no parameter. ArgumentError is also raised if `lr` is negative
                or not a number, or if the optimiser has the states of a different
                model.
            DTypeError: A gradient does not have the dtype of its parameter, and the
                backend cannot combine them.

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
        rate = lr.raw if isinstance(lr, Tensor) else require_learning_rate(lr)
        params = [param for _, param in model.parameters()]
        if self._groups and not self._group_of:
            require_matches([group.patterns for group in self._groups], params)
        pairs, backend = pair_gradients(params, grads), grads.backend
        steps = self._begin_step([param for param, _ in pairs], params, backend)
        moves: list[Move] = []
        for param, grad in pairs:
            values = param.make_writable()  # the method `start` may copy the values
            state = self._states.prepare(param, self._find_rule(param.path).start, backend)
            step = steps[self._states.counts.get_counter(param.path)]
            moves.append(Move(param.path, values, grad, state, step))
        self._update_groups(backend, rate, moves)
        for move in moves if observers else ():
            name = f"{type(self).__name__}.step of {move.path}"
            notify_observers(name, (move.param, *move.state.values()), backend)
        for (param, _), move in zip(pairs, moves, strict=True):
            param.put(move.param)
            self._states.set_arrays(move.path, move.state)
        for counter, number in steps.items():
            counter.put(number)
        return model

    def _begin_step(
        self, params: list[Param], model: list[Param], backend: Backend
    ) -> dict[Counter, Array]:
        """Check the states, and return the number of the current step for each counter."""
        self._states.update_paths()
        self._states.set_owner_params(params, model)
        paths = [param.path for param in params]
        counts = self._states.counts
        if self.states:  # optimisers without state do not need step counts
            counts.split(self._states.paths(), paths, backend)
        return counts.get_next_steps(paths, backend)

    def _find_group(self, path: str) -> ParameterGroup | None:
        """Return the last group that matches a path, if any."""
        if path not in self._group_of:
            groups = (it for it in self._groups[::-1] if matches_any(path, it.patterns))
            self._group_of[path] = next(groups, None)
        return self._group_of[path]

    def _find_rule(self, path: str) -> Optimizer:
        """Return the optimiser whose settings apply to a parameter."""
        group = self._find_group(path) if self._groups else None
        return group.rule if group else self

    def _update_groups(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Call the update rule once for each group of parameters."""
        parts: dict[ParameterGroup | None, list[Move]] = {}
        for move in moves:
            group = self._find_group(move.path) if self._groups else None
            parts.setdefault(group, []).append(move)
        try:
            for group, part in parts.items():
                if group is None:
                    self.update(backend, lr, part)
                else:
                    group.rule.update(backend, group.scale_lr(lr, backend), part)
        except Exception as error:
            _explain_dtype_mismatch(moves, backend, error)
            raise

    @abstractmethod
    def update(self, backend: Backend, lr: Any, moves: list[Move]) -> None:
        """Update all parameters: set the new parameter and state of each `Move`.

        Args:
            backend: Backend of the arrays.
            lr: Learning rate: a number, or an array without axes.
            moves: One `Move` per parameter, with its gradient and state.

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
        """Return the states by path, with the number of steps as metadata.

        Returns:
            A record of read-only arrays; later steps do not change it.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.AdamW().to_record().metadata
            {'step_count': 0}
        """
        return self._states.to_record()

    def load_record(self, record: Record, *, keys: KeyMap | None = None) -> Self:
        """Load states and number of steps from a record.

        Args:
            record: Record that `to_record` returned.
            keys: Dict from parameter paths in the record to paths in the model, as in
                `Module.load_record`, for renamed parameters.

        Returns:
            This optimiser.

        Raises:
            ArgumentError: A pattern of `keys` matches no path.
            RecordError: `record` does not come from an optimiser of this class. The
                next `step` also raises if the record has states for unknown paths, and
                lacks the states of some parameters of the model.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.AdamW().load_record(sl.optim.AdamW().to_record()).step_count
            0
            >>> layer = sl.nn.Linear(1, 1).bind("numpy", sl.Key(0))
            >>> x = layer.backend.tensor([[1.0]])
            >>> _, grads = sl.nn.value_and_grad(lambda layer: layer(x).sum())(layer)
            >>> optimizer = sl.optim.SGD(momentum=0.9)
            >>> layer = optimizer.step(0.1, layer, grads)
            >>> record = optimizer.to_record()
            >>> other = sl.optim.SGD(momentum=0.9).load_record(record, keys={"*": "head.*"})
            >>> list(other.to_record())
            ['head.weight.momentum', 'head.bias.momentum']
        """
        self._states.load_record(record, keys, lambda path: self._find_rule(path).states)
        return self

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return the cache key of this optimiser for compiled steps, and its state arrays.

        Returns:
            A pair of the key and the list of arrays, including the step counters.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.optim.AdamW().leaves()[1])
            1
        """
        self._states.update_paths()  # not allowed during a capture
        static, leaves = self._states.leaves()
        groups = tuple(group.describe_settings() for group in self._groups)
        kind = (type(self), make_hashable(self.list_settings()), groups)
        return (*kind, *static), leaves

    def list_settings(self) -> list[Any]:
        """Return the values of all settings, for the cache key of a compiled step.

        Returns:
            The values of all fields that `step` does not change.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.SGD(momentum=0.9).list_settings()
            [0.9, False, 0.0, ('momentum',)]
        """
        return [value for name, value in vars(self).items() if name not in _NON_SETTINGS]

    def to_dict(self) -> dict[str, Any]:
        """Return the class, the settings and the groups as plain values.

        Optimisers with equal dicts make equal steps if no setting is a function or
        another object, because the dict contains only the names of objects.

        Returns:
            A new dict that ``json.dumps`` accepts.

        Examples:
            >>> import seqloom as sl
            >>> sl.optim.SGD(momentum=0.9).to_dict()["momentum"]
            0.9
        """
        found = {
            name: _to_json_value(value)
            for name, value in vars(self).items()
            if name not in _NON_SETTINGS and not name.startswith("_")
        }
        groups = [
            {
                "pattern": list(group.patterns),
                "lr_factor": group.lr_factor,
                **group.rule.to_dict(),
            }
            for group in self._groups
        ]
        named = {"class": type(self).__name__, **found}
        return named | ({"groups": groups} if groups else {})

    def start(self, param: Param, backend: Backend) -> dict[str, Array]:
        """Create the initial state of a parameter: zeros.

        Args:
            param: The parameter.
            backend: Backend of the new arrays.

        Returns:
            An array for each name in ``states``.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
            >>> sorted(sl.optim.AdamW().start(layer.bias, layer.backend))
            ['first', 'second']
        """
        shapes = {n: self._find_shape(n, param.path, param.shape) for n in self.states}
        return {n: backend.zeros(shape, dtype=param.dtype) for n, shape in shapes.items()}

    def _find_shape(self, name: str, path: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a state array: by default that of the parameter."""
        del name, path  # only subclasses use these arguments
        return shape


# Attributes that change in each step; all other attributes are settings.
_NON_SETTINGS = frozenset({"_states", "_groups", "_group_of"})


def _to_json_value(value: Any) -> Any:
    """Convert a setting to a JSON value; replace functions and objects by their names."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_list(value):
        return [_to_json_value(item) for item in value]
    return getattr(value, "__qualname__", type(value).__qualname__)


def _explain_dtype_mismatch(moves: list[Move], backend: Backend, error: Exception) -> None:
    """Raise a clear error if an update failed because dtypes differ."""
    for move in moves:
        param, grad = backend.dtype(move.param), backend.dtype(move.grad)
        if param != grad:
            raise DTypeError(
                f"the parameter {move.path} has dtype {param}, but its gradient has "
                f'{grad}; convert the data or weights of the loss with .astype("{param}")'
            ) from error


@dataclass(frozen=True, eq=False)
class ParameterGroup:
    """Path patterns of a parameter group, and an optimiser with the group's settings."""

    patterns: tuple[str, ...]
    lr_factor: float
    rule: Optimizer  # an optimiser that only provides the settings

    def scale_lr(self, lr: Any, backend: Backend) -> Any:
        """Return the learning rate of the group: a number or an array without axes."""
        if isinstance(lr, (int, float)):
            return lr * self.lr_factor
        return backend.multiply(lr, self.lr_factor)

    def describe_settings(self) -> tuple[Any, ...]:
        """Return the settings of the group, for the cache key of a compiled step."""
        return self.patterns, self.lr_factor, make_hashable(self.rule.list_settings())


def _make_variant(optimizer: Optimizer, settings: dict[str, Any]) -> Optimizer:
    """Create an optimiser of the same class with some settings replaced."""
    make: Callable[..., Optimizer] = type(optimizer)
    names = [
        name for name in inspect.signature(make).parameters if hasattr(optimizer, name)
    ]
    if unknown := sorted(settings.keys() - names):
        raise ArgumentError(
            f"{type(optimizer).__name__} has no setting {unknown[0]!r} for a group; "
            f"expected one of {', '.join(['lr_factor', *names])}"
        )
    return make(**{name: getattr(optimizer, name) for name in names} | settings)
