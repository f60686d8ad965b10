"""Module: what a network is made of, registered by its annotations."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, dataclass_transform

import numpy as np

from seqloom._arguments import as_seed
from seqloom._key import Key
from seqloom.errors import ArgumentError, DTypeError, RecordError
from seqloom.nn._parts import (
    Found,
    called_within,
    field_names,
    overlooked,
    parts_of,
    read_once,
    walk,
)
from seqloom.nn._static import static_of
from seqloom.nn._stored import Param, Stored
from seqloom.nn._visitor import tour
from seqloom.record import Record
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from seqloom.nn._visitor import Visitor
    from seqloom.tensor import Tensor
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._leaves import Leaf


@dataclass_transform(eq_default=False)
class Module:
    """Base of layers and networks.

    A subclass annotates its fields: modules, `Param`, `Buffer`, lists, tuples and dicts of
    those are its parts; anything else is plain data. The constructor is made from the
    annotations unless it writes one. Methods may have any name and signature.

    Attributes:
        training: Whether dropout and batch norm behave as in training.

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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in vars(cls).get("__annotations__", {}):
            if hasattr(Module, name) and name != "training":
                raise ArgumentError(
                    f"{cls.__name__}.{name} hides Module.{name}; choose another name"
                )
        dataclass(eq=False, repr=False, init="__init__" not in vars(cls))(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in field_names(type(self)) and parts_of(value):
            raise ArgumentError(
                f"{type(self).__name__}.{name} holds parameters but is not annotated, so "
                "they would be neither trained nor saved; "
                f"add `{name}: {type(value).__name__}` to the class"
            )
        if name in field_names(type(self)) and (kind := overlooked(value)):
            raise ArgumentError(
                f"{type(self).__name__}.{name} holds parameters within a {kind}, so they "
                "would be neither trained nor saved; hold them in a list, a tuple or a "
                "dict, or make the class that holds them a Module"
            )
        self._check_calls(name, value)
        object.__setattr__(self, name, value)

    def _check_calls(self, name: str, value: Any) -> None:
        """Refuses what calls parameters that nobody would find, or can be read once."""
        if kind := called_within(value, self):
            raise ArgumentError(
                f"{type(self).__name__}.{name} holds {kind} that calls a module's "
                "parameters, which would be neither trained nor saved; give the module "
                "itself, or write a Module that holds it in a field and calls it"
            )
        if kind := read_once(value):
            raise ArgumentError(
                f"{type(self).__name__}.{name} holds a {kind}, in which parameters are "
                "not found, so they would be neither trained nor saved; make a list of it: "
                "list(...)"
            )

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Calls ``forward``, where a class writes that instead of ``__call__``.

        Args:
            *args: What it takes.
            **options: What it takes by name.

        Returns:
            What it gives.

        Raises:
            ArgumentError: The class writes neither.

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
                f"{type(self).__name__} defines neither __call__ nor forward, so it cannot "
                "be called; write one of them, or call one of its own methods"
            )
        return forward(*args, **options)

    # What it is made of -------------------------------------------------------------------

    def named(self, kind: type[Any] = object) -> Iterator[tuple[str, Any]]:
        """Its modules, parameters and buffers with their paths, itself excluded.

        Args:
            kind: Only parts of this class.

        Yields:
            Pairs of path and part, parents first, each part once.

        Examples:
            >>> import seqloom as sl
            >>> [path for path, _ in sl.nn.Linear(2, 1).named()]
            ['weight', 'bias']
        """
        seen: set[int] = set()
        found: Found = []
        walk(self, "", found)
        for path, part in found:
            if id(part) not in seen and isinstance(part, kind):
                seen.add(id(part))
                yield path, part

    def parameters(self, pattern: str = "*") -> list[tuple[str, Param]]:
        """Its parameters with their paths.

        Args:
            pattern: Only paths that match, such as ``"conv.*"``.

        Returns:
            Pairs of path and parameter; a shared one once, under its first path.

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
        """How many numbers are learned."""
        return sum(_count(param.shape) for _, param in self.parameters())

    @property
    def backend(self) -> Backend:
        """The backend that it is bound to."""
        for _, part in self.named(Stored):
            return part.bound_backend
        raise RecordError(
            f"{type(self).__name__} has no parameters, so it is on no backend"
        )

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """What of it decides the program of a step, and its arrays.

        Returns:
            Classes, modes and plain fields, hashable; the parameters and buffers.

        Examples:
            >>> import seqloom as sl
            >>> len(sl.nn.Linear(2, 1).leaves()[1])
            2
        """
        found: list[Leaf] = []
        return static_of(self, found), found

    # Its state ----------------------------------------------------------------------------

    def bind(self, backend: Backend | str, key: Key | int) -> Self:
        """Says where its numbers live and from which key they are made.

        Args:
            backend: A backend or its name.
            key: Each parameter is made from ``key.fold(its path)``, so the order of first
                use does not matter. A whole number n is ``sl.Key(n)``.

        Returns:
            This module.

        Raises:
            ArgumentError: The key is neither.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).backend
            numpy
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        root = Key(as_seed(key, "key")) if not hasattr(key, "fold") else cast("Key", key)
        for path, part in _by_path(self).items():
            part.bind(path, found, root.fold(path))
        return self

    def train(self, mode: bool = True) -> Self:
        """Puts it and all below it into training mode.

        Args:
            mode: False for evaluation mode.

        Returns:
            This module.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Dropout(0.5).train().training
            True
        """
        for module in (self, *(part for _, part in self.named(Module))):
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Self:
        """Puts it and all below it into evaluation mode.

        Returns:
            This module.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Dropout(0.5).eval().training
            False
        """
        return self.train(mode=False)

    def to(self, backend: Backend | str, dtype: str | None = None) -> Self:
        """Moves its numbers to another backend, or to another element type.

        Args:
            backend: A backend or its name, such as ``"torch:cuda"``.
            dtype: The name of the element type; default: as it is.

        Returns:
            This module.

        Raises:
            DTypeError: The element type is one of whole numbers or truths, which would cut
                the parameters.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).to("numpy", "float64")
            >>> layer.weight.value.dtype
            dtype('float64')
        """
        found = find_backend(backend) if isinstance(backend, str) else backend
        if dtype is not None and found.dtype(found.zeros((), dtype=dtype)).kind in "iub":
            raise DTypeError(
                f"parameters are floats; dtype={dtype!r} would cut them: name a type of "
                'floats, such as "float32"'
            )
        for _, part in self.named(Stored):
            part.move(found, dtype)
        return self

    def freeze(self, pattern: str = "*") -> Self:
        """Keeps parameters as they are: `value_and_grad` does not follow them.

        Args:
            pattern: Only paths that match, such as ``"conv.*"``.

        Returns:
            This module.

        Raises:
            ArgumentError: No path of a parameter matches.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(2, 1).freeze("weight")
            >>> layer.weight.trainable, layer.bias.trainable
            (False, True)
        """
        for _, param in _matching(self, pattern):
            param.trainable = False
        return self

    def unfreeze(self, pattern: str = "*") -> Self:
        """Lets parameters be trained again.

        Args:
            pattern: Only paths that match, such as ``"head.*"``.

        Returns:
            This module.

        Raises:
            ArgumentError: No path of a parameter matches.

        Examples:
            >>> import seqloom as sl
            >>> sl.nn.Linear(2, 1).freeze().unfreeze("bias").bias.trainable
            True
        """
        for _, param in _matching(self, pattern):
            param.trainable = True
        return self

    def map(self, change: Callable[[str, Tensor], Any]) -> Self:
        """Makes a new module with other numbers.

        Args:
            change: Takes the path and the values of each parameter and buffer; gives new
                values of the same shape.

        Returns:
            A new module; this one stays as it is.

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

    def visit(self, visitor: Visitor) -> None:
        """Shows all parts to a visitor, each module before what is in it.

        Args:
            visitor: Is told of each.

        Examples:
            >>> import seqloom as sl
            >>> class Shapes(sl.nn.Visitor):
            ...     def parameter(self, path, param):
            ...         print(path, param.shape)
            >>> sl.nn.Linear(2, 1).visit(Shapes())
            weight (1, 2)
            bias (1,)
        """
        visitor.enter("", self)
        found: Found = []
        walk(self, "", found)
        tour(visitor, found)
        visitor.leave("", self)

    def to_record(self) -> Record:
        """Its parameters and buffers by path, as they are now.

        Returns:
            A record; later steps do not change it.

        Examples:
            >>> import seqloom as sl
            >>> list(sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).to_record())
            ['weight', 'bias']
        """
        return Record({path: each.value.numpy() for path, each in _by_path(self).items()})

    def load_record(self, record: Mapping[str, Any]) -> Self:
        """Takes its numbers from a record, which must fit exactly.

        Args:
            record: What `to_record` gave, or arrays or lists of numbers by path.

        Returns:
            This module.

        Raises:
            ArgumentError: It is no mapping, such as a path of a file.
            RecordError: A path is missing, left over, of another shape, or holds numbers
                that the element type cannot hold; all are named, and nothing is changed.

        Examples:
            >>> import seqloom as sl
            >>> one = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
            >>> other = (
            ...     sl.nn.Linear(2, 1).bind("numpy", sl.Key(1)).load_record(one.to_record())
            ... )
            >>> bool((one.weight.numpy() == other.weight.numpy()).all())
            True
        """
        mine = _by_path(self)
        _require_mapping(record)
        values = {path: _plain(path, record[path]) for path in record if path in mine}
        if problems := list(_misfits(mine, record, values)):
            raise RecordError(
                f"the record does not fit {type(self).__name__}: " + "; ".join(problems)
            )
        for path, part in mine.items():
            part.assign(values[path])
        return self

    def state_dict(self) -> dict[str, Any]:
        """Its parameters and buffers by path, as NumPy arrays, as torch gives them.

        Returns:
            A dict of copies; later steps do not change them.

        Examples:
            >>> import seqloom as sl
            >>> state = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0)).state_dict()
            >>> {path: values.shape for path, values in state.items()}
            {'weight': (1, 2), 'bias': (1,)}
        """
        return {path: np.array(values) for path, values in self.to_record().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> Self:
        """Takes its numbers from what `state_dict` gave: torch's name for `load_record`.

        Args:
            state: Arrays by path; every path, and no other.

        Returns:
            This module.

        Raises:
            RecordError: As `load_record`: the state does not fit, and nothing is changed.

        Examples:
            >>> import seqloom as sl
            >>> one = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
            >>> other = sl.nn.Linear(2, 1).bind("numpy", sl.Key(1))
            >>> other.load_state_dict(one.state_dict()).weight.numpy().tolist() == (
            ...     one.weight.numpy().tolist()
            ... )
            True
        """
        _require_mapping(state)
        return self.load_record({path: _plain(path, state[path]) for path in state})

    def named_parameters(self) -> Iterator[tuple[str, Param]]:
        """Its parameters with their paths: torch's name for `parameters`.

        Yields:
            Pairs of path and parameter.

        Examples:
            >>> import seqloom as sl
            >>> [path for path, _ in sl.nn.Linear(2, 1).named_parameters()]
            ['weight', 'bias']
        """
        yield from self.parameters()

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in field_names(type(self))}
        inside = ", ".join(f"{name}={value!r}" for name, value in values.items())
        return f"{type(self).__name__}({inside})"


def _matching(module: Module, pattern: str) -> list[tuple[str, Param]]:
    """The parameters that a pattern names, which are some unless it names all."""
    found = module.parameters(pattern)
    if found or pattern == "*":
        return found
    paths = [path for path, _ in module.parameters()]
    below = (
        [f"{pattern}.*"] if any(each.startswith(f"{pattern}.") for each in paths) else []
    )
    near = [*below, *get_close_matches(pattern, paths)] or paths[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "it has no parameters"
    raise ArgumentError(
        f"no parameter of {type(module).__name__} matches {pattern!r}; {hint}"
    )


def _by_path(module: Module) -> dict[str, Stored]:
    """Its parameters and buffers; two under one path would be one in a record."""
    found: dict[str, Stored] = {}
    for path, part in module.named(Stored):
        if path in found:
            raise ArgumentError(
                f"{type(module).__name__} holds two parts under the path {path!r}, of "
                "which a record would keep one; give them other names (a key 1 beside a "
                "key '1', or a dot in a key, makes equal paths)"
            )
        found[path] = part
    return found


def _require_mapping(record: Any) -> None:
    """Refuses what holds no arrays by path; a text would be taken letter by letter."""
    if isinstance(record, (str, bytes, PathLike)):
        raise ArgumentError(
            f"a record holds arrays by path, and {record!r} is the path of a file; read it "
            "first: load_record(sl.record.load(path))"
        )
    if not hasattr(record, "keys"):
        raise ArgumentError(
            "a record is a mapping of arrays by path, such as what to_record gave; got a "
            f"{type(record).__name__}"
        )


def _plain(path: str, values: Any) -> np.ndarray[Any, Any]:
    """Numbers as NumPy's; those of a torch parameter without its gradient."""
    detach = getattr(values, "detach", None)
    try:
        return np.asarray(detach() if callable(detach) else values)
    except ValueError as error:  # rows of lists that are not of one length
        raise RecordError(f"{path} is no array of numbers: {error}") from None


def _misfits(
    mine: Mapping[str, Stored], record: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[str]:
    """What keeps a record from fitting, one sentence each."""
    for path, part in mine.items():
        if path not in record:
            yield f"{path} is missing"
        elif values[path].shape != part.shape:
            yield f"{path} has shape {values[path].shape}, expected {part.shape}"
        elif problem := part.misfit(values[path]):
            yield f"{path} {problem}"
    for path in record:
        if path not in mine:
            yield f"{path} is not in the module"


def _count(shape: tuple[int, ...]) -> int:
    """How many numbers a shape holds."""
    total = 1
    for size in shape:
        total *= size
    return total
