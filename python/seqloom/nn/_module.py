"""Module: the base class of layers and networks."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, dataclass_transform

import numpy as np

from seqloom._arguments import as_seed
from seqloom._key import Key
from seqloom.errors import ArgumentError, DTypeError, RecordError
from seqloom.nn._hidden_fields import (
    recheck_hidden_params,
    require_no_class_params,
    require_no_hidden_params,
    require_param_not_replaced,
)
from seqloom.nn._initialisers import to_dtype_name
from seqloom.nn._parameters import ModuleArray, Param
from seqloom.nn._state import (
    LoadReport,
    collect_arrays,
    find_report,
    load_state,
    make_record,
)
from seqloom.nn._submodules import (
    copy_fields,
    describe_fields,
    list_fields,
    list_modules,
    list_parts,
    move_constants,
)
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from seqloom.nn._summary import Summary
    from seqloom.record import Record
    from seqloom.record._keys import KeyMap
    from seqloom.tensor import Tensor
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._leaves import Leaf


@dataclass_transform(eq_default=False)
class Module:
    """Base class of layers and networks.

    A subclass annotates its fields. Annotated submodules, `Param` and `Buffer` objects
    are part of the module's state, also in lists, tuples and dicts; any other field is
    plain data. The constructor is generated from the annotations, unless the subclass
    defines a constructor, or inherits a constructor and has no new fields. Calling a
    module calls its method ``forward``, unless the subclass defines ``__call__``.

    A field that is a `seqloom.tensor.Tensor` is a constant: it is neither trained nor
    saved, but `to` moves it. All copies of a module share its plain data.
    Parameters in any other object, such as a set or an object that is not a module, raise
    an error. To refer to a module that is not a submodule, such as the parent, store a
    ``weakref.ref``. A submodule whose class defines `to_record` or `load_record` saves
    and loads its own section of the model's record.

    Attributes:
        training: True in training mode, which dropout and batch norm depend on.

    Examples:
        >>> import seqloom as sl
        >>> class Net(sl.nn.Module):
        ...     hidden: sl.nn.Linear
        ...     head: sl.nn.Linear
        ...
        ...     def forward(self, x):
        ...         return self.head(sl.nn.functional.relu(self.hidden(x)))
        >>> net = Net(sl.nn.Linear(4, 8), sl.nn.Linear(8, 2)).bind("numpy", sl.Key(0))
        >>> net(net.backend.zeros((3, 4))).shape, net.number_of_parameters
        ((3, 2), 58)
    """

    training: ClassVar[bool] = True
    # True if the constructor is generated from the fields. A class without new fields
    # inherits the constructor of its base class.
    _has_generated_init: ClassVar[bool] = True

    def __init_subclass__(cls, *, init: bool = True, **options: Any) -> None:
        del init  # for type checkers: the constructor is inherited
        super().__init_subclass__(**options)
        for name in vars(cls).get("__annotations__", {}):
            if hasattr(Module, name) and name != "training":
                raise ArgumentError(
                    f"the field {cls.__name__}.{name} hides Module.{name}; choose another "
                    "name for the field"
                )
        require_no_class_params(cls)
        if "__init__" in vars(cls) or vars(cls).get("__annotations__"):
            cls._has_generated_init = "__init__" not in vars(cls)
        dataclass(eq=False, repr=False, init=cls._has_generated_init)(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        require_param_not_replaced(self, name, value)
        require_no_hidden_params(self, name, value)
        object.__setattr__(self, name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy submodules, arrays, lists, tuples and dicts; share all other fields."""
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        copy_fields(self, twin, memo)
        return twin

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call ``forward`` with the same arguments, and return its result."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise ArgumentError(
                f"{type(self).__name__} cannot be called, because it defines neither "
                "__call__ nor forward; define one of them, or call another method"
            )
        return forward(*args, **options)

    def named(self, kind: type[Any] = object) -> Iterator[tuple[str, Any]]:
        """Yield the submodules, parameters and buffers, with their paths.

        Args:
            kind: Class of the objects to yield; default: all classes.

        Yields:
            Pairs of path and object. A module precedes its contents; a shared object is
            yielded once.
        """
        seen: set[int] = set()
        for path, part in list_parts(self):
            if id(part) not in seen and isinstance(part, kind):
                seen.add(id(part))
                yield path, part

    def parameters(self, pattern: str = "*") -> list[tuple[str, Param]]:
        """Return pairs of path and parameter; a shared parameter is listed once.

        Args:
            pattern: Glob pattern of the paths, such as ``"conv.*"``; default: all.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Linear(2, 1).parameters("b*")
            [('bias', Param(1,))]
        """
        pairs: list[tuple[str, Param]] = list(self.named(Param))
        if pattern == "*":
            return pairs
        return [(path, param) for path, param in pairs if fnmatchcase(path, pattern)]

    @property
    def number_of_parameters(self) -> int:
        """Number of scalar parameters."""
        return sum(prod(param.shape) for _, param in self.parameters())

    @property
    def backend(self) -> Backend:
        """Backend to which the module is bound."""
        for _, part in self.named(ModuleArray):
            return part.bound_backend
        raise RecordError(
            f"{type(self).__name__} has no parameters or buffers, so it has no backend"
        )

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return the module's structure as a hashable value, and all its arrays."""
        leaves: list[Leaf] = []
        fields = describe_fields(vars(self), leaves)
        return (type(self), self.training, *fields), leaves

    def bind(self, backend: Backend | str, key: Key | int) -> Self:
        """Bind the parameters to a backend, and set the key that initialises them.

        Args:
            backend: A backend or its name.
            key: Random key, or an integer n for ``sl.Key(n)``. Each parameter is
                initialised with ``key.fold(path)``, so the values do not depend on the
                order of use.

        Returns:
            This module.

        Raises:
            ArgumentError: `key` is not a key or an integer.
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        root = Key(as_seed(key, "key")) if not hasattr(key, "fold") else cast("Key", key)
        modules = list_modules(self)
        recheck_hidden_params(modules)
        for path, part in collect_arrays(self).items():
            part.bind(path, found, root.fold(path))
        move_constants(modules, found)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode (evaluation mode if `mode` is False), also for submodules."""
        for module in list_modules(self):
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode for this module and all its submodules."""
        return self.train(mode=False)

    def to(self, backend: Backend | str, dtype: str | None = None) -> Self:
        """Move parameters and buffers to another backend or element type.

        Args:
            backend: A backend or its name, such as ``"torch:cuda"``.
            dtype: Name of a float type; default: the current type. Only floats are
                converted, and never to a narrower type than their `least_dtype`.
                Integers and booleans, such as a count of batches, are not converted.

        Returns:
            This module.

        Raises:
            DTypeError: `dtype` is an integer or boolean type.
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        if dtype is not None and found.dtype(found.zeros((), dtype=dtype)).kind in "iub":
            raise DTypeError(
                f'dtype must be a float type, such as "float32", got {dtype!r}, which '
                "cannot hold the parameters"
            )
        name = dtype if dtype is None else to_dtype_name("dtype", dtype)
        for _, part in self.named(ModuleArray):
            part.move(found, name)
        move_constants(list_modules(self), found, name)
        return self

    def freeze(self, pattern: str = "*") -> Self:
        """Exclude parameters from training: `value_and_grad` omits their gradients.

        Args:
            pattern: Glob pattern of the paths, such as ``"conv.*"``; default: all.

        Returns:
            This module.

        Raises:
            ArgumentError: No path of a parameter matches `pattern`.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).freeze("weight")
            >>> layer.weight.trainable, layer.bias.trainable
            (False, True)
        """
        for _, param in _match_parameters(self, pattern):
            param.trainable = False
        return self

    def unfreeze(self, pattern: str = "*") -> Self:
        """Include parameters in training again; see `freeze`."""
        for _, param in _match_parameters(self, pattern):
            param.trainable = True
        return self

    def map(self, change: Callable[[str, Tensor], Any]) -> Self:
        """Return a copy of the module, with new values for its parameters and buffers.

        Args:
            change: Function of the path and the values of a parameter or buffer that
                returns new values of the same shape.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
            >>> layer.map(lambda path, x: x * 0.0).weight.numpy().tolist()
            [[0.0, 0.0]]
        """
        twin = deepcopy(self)
        for path, part in twin.named(ModuleArray):
            part.assign(change(path, part.value))
        return twin

    def visit(self, function: Callable[[str, Param], None]) -> None:
        """Call ``function(path, parameter)`` for each parameter, once if it is shared."""
        for path, param in self.parameters():
            function(path, param)

    def summary(self, *args: Any, method: str = "__call__", **options: Any) -> Summary:
        """Return a summary of the layers, which ``print`` shows as a table.

        The summary lists output shapes, numbers of parameters and their memory, and the
        multiply-adds of matrix products, convolutions, attention and recurrent layers.
        The number of flops that PyTorch reports is twice the number of multiply-adds.
        Evaluation mode is set during the call; the module does not change.

        Args:
            *args: Arguments of the method; NumPy arrays become tensors.
            method: Name of the method to call.
            **options: Keyword arguments of the method.

        Raises:
            ArgumentError: The module does not have the method.
            RecordError: The module is not bound to a backend.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
            >>> summary = layer.summary(layer.backend.zeros((3, 4)))
            >>> summary.layers[0].output_shape, summary.layers[0].multiply_adds
            ((3, 2), 24)
        """
        from seqloom.nn._summary import summarise

        return summarise(self, args, method, options)

    def to_record(self) -> Record:
        """Return the values of parameters and buffers by path, as read-only arrays.

        Later steps do not change the record: they copy an array before overwriting it.
        """
        return make_record(self)

    def load_record(
        self, record: Mapping[str, Any], *, strict: bool = True, keys: KeyMap | None = None
    ) -> Self:
        """Set parameters and buffers from a record with exactly the same paths.

        Values are converted to the element types of the module. The attribute
        `load_report` lists the paths that were set and the conversions.

        Args:
            record: Record that `to_record` returned, or arrays or lists of numbers by path.
            strict: If False, load only the arrays whose path and shape fit.
            keys: Dict from paths in the record to paths in the module. A ``*`` in both
                paths matches the same text; the last matching pattern applies, and
                paths without a match do not change. In place of a path, a pair ``(path,
                function)`` also transforms the array, and None skips the array. `keys`
                may also be a function that returns a path, a pair or None.

        Returns:
            This module.

        Raises:
            ArgumentError: `record` is not a mapping, or a pattern in `keys` has no match.
            RecordError: The record lacks a path, has an unknown path, or has an array
                with a wrong shape. RecordError is also raised, even if `strict` is
                False, if the module's type cannot represent the values (complex or too
                large). The message lists all problems, and the module does not change.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
            >>> keras = {"dense/kernel": np.ones((2, 1)), "dense/bias": np.ones(1)}
            >>> keys = {"dense/*": "*", "dense/kernel": ("weight", np.transpose)}
            >>> layer.load_record(keras, keys=keys).weight.numpy().tolist()
            [[1.0, 1.0]]
        """
        load_state(self, record, strict=strict, keys=keys)
        return self

    @property
    def load_report(self) -> LoadReport | None:
        """Report of the last `load_record`; None if no record was loaded."""
        return find_report(self)

    def state_dict(self) -> dict[str, Any]:
        """Return copies of parameters and buffers by path, as NumPy arrays."""
        return {path: np.array(values) for path, values in self.to_record().items()}

    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> Self:
        """Load the result of `state_dict`, as `load_record` does."""
        return self.load_record(state, strict=strict)

    def named_parameters(self) -> Iterator[tuple[str, Param]]:
        """Yield pairs of path and parameter, like `parameters`."""
        yield from self.parameters()

    def __repr__(self) -> str:
        names = [name for name in list_fields(type(self)) if hasattr(self, name)]
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({inside})"


def _match_parameters(module: Module, pattern: str) -> list[tuple[str, Param]]:
    """Return the parameters whose paths match; raise if no path matches."""
    matches = module.parameters(pattern)
    if matches or pattern == "*":
        return matches
    paths = [path for path, _ in module.parameters()]
    is_module = any(path.startswith(f"{pattern}.") for path in paths)
    below = [f"{pattern}.*"] if is_module else []
    near = [*below, *get_close_matches(pattern, paths)] or paths[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "it has no parameters"
    raise ArgumentError(
        f"no parameter of {type(module).__name__} matches pattern={pattern!r}; {hint}"
    )
