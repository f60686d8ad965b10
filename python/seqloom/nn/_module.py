"""Module: the base of layers and networks, whose parts are its annotated fields."""

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
from seqloom.nn._hidden import (
    require_all_visible,
    require_no_class_parts,
    require_part_again,
    require_visible_field,
)
from seqloom.nn._initialisers import to_name
from seqloom.nn._parts import (
    copy_fields,
    describe_fields,
    list_fields,
    list_modules,
    list_parts,
    move_constants,
)
from seqloom.nn._state import (
    LoadReport,
    collect_by_path,
    find_report,
    load_state,
    make_record,
)
from seqloom.nn._stored import Param, Stored
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
    """Base of layers and networks.

    A subclass annotates its fields. Modules, `Param` and `Buffer`, and lists, tuples and
    dicts of these, are its parts; any other field is plain data. The constructor is made
    from the annotations, unless the subclass defines one or, without fields of its own,
    takes over one. Methods may have any name and signature.

    A field that is a `seqloom.tensor.Tensor` is a constant: it is neither trained nor
    saved, and moves with the module. Copies of a module, by `map` too, share plain data.
    Parameters in other places, such as a set or an object that is no module, are an error.
    A module that only refers to another one, such as its parent, holds a ``weakref.ref``
    of it. A module that is part of others writes and reads its own part of their records
    if its class defines `to_record` or `load_record`.

    Attributes:
        training: Whether the module is in training mode, which dropout and batch norm use.

    Examples:
        >>> import seqloom as sl
        >>> class Net(sl.nn.Module):
        ...     hidden: sl.nn.Linear
        ...     head: sl.nn.Linear
        ...
        ...     def logits(self, x):
        ...         return self.head(sl.nn.functional.relu(self.hidden(x)))
        >>> net = Net(sl.nn.Linear(4, 8), sl.nn.Linear(8, 2)).bind("numpy", sl.Key(0))
        >>> net.number_of_parameters
        58
    """

    training: ClassVar[bool] = True
    # Whether the constructor is made from the fields. A class without fields of its own
    # takes over the constructor of its base.
    _has_made_init: ClassVar[bool] = True

    def __init_subclass__(cls, *, init: bool = True, **options: Any) -> None:
        del init  # `init=False` says to type checkers that a class takes over a constructor
        super().__init_subclass__(**options)
        for name in vars(cls).get("__annotations__", {}):
            if hasattr(Module, name) and name != "training":
                raise ArgumentError(
                    f"the field {cls.__name__}.{name} hides Module.{name}; choose another "
                    "name for the field"
                )
        require_no_class_parts(cls)
        if "__init__" in vars(cls) or vars(cls).get("__annotations__"):
            cls._has_made_init = "__init__" not in vars(cls)
        dataclass(eq=False, repr=False, init=cls._has_made_init)(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        require_part_again(self, name, value)
        require_visible_field(self, name, value)
        object.__setattr__(self, name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy parts, and lists, tuples and dicts; any other field is shared."""
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        copy_fields(self, twin, memo)
        return twin

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call ``forward``, if the class defines that instead of ``__call__``.

        Args:
            *args: Arguments of ``forward``.
            **options: Keyword arguments of ``forward``.

        Returns:
            The result of ``forward``.

        Raises:
            ArgumentError: The class defines neither.

        Examples:
            >>> import seqloom as sl
            >>> class Twice(sl.nn.Module):
            ...     def forward(self, x):
            ...         return x * 2
            >>> Twice()(sl.tensor.backend("numpy").tensor([1.0])).item()
            2.0
        """
        forward = getattr(self, "forward", None)
        if forward is None:
            raise ArgumentError(
                f"{type(self).__name__} cannot be called, because it defines neither "
                "__call__ nor forward; define one of them, or call another method"
            )
        return forward(*args, **options)

    # Parts --------------------------------------------------------------------------------

    def named(self, kind: type[Any] = object) -> Iterator[tuple[str, Any]]:
        """Yield the modules, parameters and buffers inside this module, with their paths.

        Args:
            kind: Class of the parts to yield; default: all.

        Yields:
            Pairs of path and part; a module comes before its parts, and each part once.

        Examples:
            >>> import seqloom as sl
            >>> [path for path, _ in sl.nn.Linear(2, 1).named()]
            ['weight', 'bias']
        """
        seen: set[int] = set()
        for path, part in list_parts(self):
            if id(part) not in seen and isinstance(part, kind):
                seen.add(id(part))
                yield path, part

    def parameters(self, pattern: str = "*") -> list[tuple[str, Param]]:
        """Return the parameters with their paths.

        Args:
            pattern: Pattern of the paths, such as ``"conv.*"``; default: all.

        Returns:
            Pairs of path and parameter; a shared parameter comes once, with its first path.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Linear(2, 1).parameters("b*")
            [('bias', Param(1,))]
        """
        found: list[tuple[str, Param]] = list(self.named(Param))
        if pattern == "*":
            return found
        return [(path, part) for path, part in found if fnmatchcase(path, pattern)]

    @property
    def number_of_parameters(self) -> int:
        """Number of scalar parameters."""
        return sum(prod(param.shape) for _, param in self.parameters())

    @property
    def backend(self) -> Backend:
        """Backend that the module is bound to."""
        for _, part in self.named(Stored):
            return part.bound_backend
        raise RecordError(
            f"{type(self).__name__} has no parameters or buffers, so it has no backend"
        )

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Return what selects the program of a compiled step, and the module's arrays.

        Returns:
            Classes, modes and plain fields as a hashable value; parameters and buffers.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.nn.Linear(2, 1).leaves()[1])
            2
        """
        leaves: list[Leaf] = []
        fields = describe_fields(vars(self), leaves)
        return (type(self), self.training, *fields), leaves

    # State --------------------------------------------------------------------------------

    def bind(self, backend: Backend | str, key: Key | int) -> Self:
        """Set the backend of the parameters, and the key that initialises them.

        Args:
            backend: A backend or its name.
            key: Random key, or an integer n for ``sl.Key(n)``. Each parameter is
                initialised with ``key.fold(path)``, so the order of first use does not
                matter.

        Returns:
            This module.

        Raises:
            ArgumentError: `key` is not a key or an integer.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).backend
            numpy
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        root = Key(as_seed(key, "key")) if not hasattr(key, "fold") else cast("Key", key)
        modules = list_modules(self)
        require_all_visible(modules)
        for path, part in collect_by_path(self).items():
            part.bind(path, found, root.fold(path))
        move_constants(modules, found)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode for this module and all modules in it.

        Args:
            mode: Whether to train; False sets evaluation mode.

        Returns:
            This module.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Dropout(0.5).train().training
            True
        """
        for module in list_modules(self):
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(mode=False)``."""
        return self.train(mode=False)

    def to(self, backend: Backend | str, dtype: str | None = None) -> Self:
        """Move parameters and buffers to another backend or element type.

        Args:
            backend: A backend or its name, such as ``"torch:cuda"``.
            dtype: Name of a float type; default: the current one. It changes floats only,
                and none to fewer bits than its `least_dtype`. Whole numbers and truths,
                such as a count of batches, keep their type.

        Returns:
            This module.

        Raises:
            DTypeError: `dtype` is an integer or boolean type.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).to("numpy", "float64")
            >>> layer.weight.value.dtype
            dtype('float64')
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        if dtype is not None and found.dtype(found.zeros((), dtype=dtype)).kind in "iub":
            raise DTypeError(
                f'dtype must be a float type, such as "float32", got {dtype!r}, which '
                "cannot hold the parameters"
            )
        name = dtype if dtype is None else to_name("dtype", dtype)
        for _, part in self.named(Stored):
            part.move(found, name)
        move_constants(list_modules(self), found, name)
        return self

    def freeze(self, pattern: str = "*") -> Self:
        """Exclude parameters from training: `value_and_grad` gives no gradients for them.

        Args:
            pattern: Pattern of the paths, such as ``"conv.*"``; default: all.

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
        """Include parameters in training again; takes and return what `freeze` does."""
        for _, param in _match_parameters(self, pattern):
            param.trainable = True
        return self

    def map(self, change: Callable[[str, Tensor], Any]) -> Self:
        """Make a copy of the module with changed parameters and buffers.

        Args:
            change: Function of the path and the values of a parameter or buffer; it returns
                new values of the same shape.

        Returns:
            A new module; this one does not change.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
            >>> layer.map(lambda path, x: x * 0.0).weight.numpy().tolist()
            [[0.0, 0.0]]
        """
        twin = deepcopy(self)
        for path, part in twin.named(Stored):
            part.assign(change(path, part.value))
        return twin

    def visit(self, function: Callable[[str, Param], None]) -> None:
        """Call a function for each parameter; a shared parameter comes once.

        Args:
            function: Function of the path and the parameter.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Linear(2, 1).visit(lambda path, param: print(path, param.shape))
            weight (1, 2)
            bias (1,)
        """
        for path, param in self.parameters():
            function(path, param)

    def summary(self, *args: Any, method: str = "__call__", **options: Any) -> Summary:
        """Call the module on a sample, and return its layers with their figures.

        Shapes of results, numbers of parameters, their memory, and multiply-adds of the
        products, convolutions, attention and recurrent layers of that call; twice these is
        what PyTorch calls flops. The call is in evaluation mode and changes nothing.

        Args:
            *args: Arguments of the method; NumPy arrays become tensors.
            method: Name of the method to call.
            **options: Keyword arguments of the method.

        Returns:
            A summary, which ``print`` writes as a table.

        Raises:
            ArgumentError: The module has no such method.
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
        """Return the current values of parameters and buffers by path.

        Nothing is copied: a later step that writes an array copies it first.

        Returns:
            A record of arrays that cannot be written; later steps do not change it.

        Examples:
            >>> import seqloom as sl
            >>> list(sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).to_record())
            ['weight', 'bias']
        """
        return make_record(self)

    def load_record(
        self, record: Mapping[str, Any], *, strict: bool = True, keys: KeyMap | None = None
    ) -> Self:
        """Set parameters and buffers from a record with exactly their paths.

        Numbers are converted to the element types of the module, array by array. The
        attribute `load_report` says what was applied and what was converted.

        Args:
            record: Record that `to_record` returned, or arrays or lists of numbers by path.
            strict: Whether every path must be in both, with equal shapes. False sets what
                fits and leaves the rest.
            keys: Paths in the module by paths in the record; a ``*`` in both stands for the
                same text, the last match decides, and other paths stay. A pair ``(path,
                function)`` changes the array too, and None leaves it out. Or a function
                that returns these for a path.

        Returns:
            This module.

        Raises:
            ArgumentError: `record` is not a mapping, for example the path of a file; or a
                pattern of `keys` matches nothing.
            RecordError: The record lacks a path, has an unknown one, or has values whose
                shape does not fit; or values that the type of the module cannot hold
                (complex ones, or too large ones), also where `strict` is False. The message
                names all of them, and the module does not change.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> one = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
            >>> other = (
            ...     sl.nn.Linear(2, 1).bind("numpy", sl.Key(1)).load_record(one.to_record())
            ... )
            >>> bool((one.weight.numpy() == other.weight.numpy()).all())
            True
            >>> keras = {
            ...     "dense/kernel": np.ones((2, 1), "f4"),
            ...     "dense/bias": np.ones(1, "f4"),
            ... }
            >>> keys = {"dense/*": "*", "dense/kernel": ("weight", np.transpose)}
            >>> print(other.load_record(keras, keys=keys).load_report)
            2 applied
        """
        load_state(self, record, strict=strict, keys=keys)
        return self

    @property
    def load_report(self) -> LoadReport | None:
        """What the last `load_record` applied, missed and converted; None before."""
        return find_report(self)

    def state_dict(self) -> dict[str, Any]:
        """Return parameters and buffers by path as NumPy arrays, like torch's method.

        Returns:
            A dict of copies; later steps do not change them.

        Examples:
            >>> import seqloom as sl
            >>> state = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).state_dict()
            >>> {path: values.shape for path, values in state.items()}
            {'weight': (1, 2), 'bias': (1,)}
        """
        return {path: np.array(values) for path, values in self.to_record().items()}

    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> Self:
        """Set parameters and buffers from `state_dict`: torch's name for `load_record`."""
        return self.load_record(state, strict=strict)

    def named_parameters(self) -> Iterator[tuple[str, Param]]:
        """Yield the parameters with their paths: torch's name for `parameters`."""
        yield from self.parameters()

    def __repr__(self) -> str:
        names = [name for name in list_fields(type(self)) if hasattr(self, name)]
        values = {name: getattr(self, name) for name in names}
        inside = ", ".join(f"{name}={value!r}" for name, value in values.items())
        return f"{type(self).__name__}({inside})"


def _match_parameters(module: Module, pattern: str) -> list[tuple[str, Param]]:
    """Return the parameters whose paths match; refuses a pattern that matches none."""
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
