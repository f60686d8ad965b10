"""Capture: a backend that computes nothing and writes down what it is asked."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._backend import REQUIRED, Backend
from seqloom.tensor._compile._context import capturing
from seqloom.tensor._compile._impure import unwatched
from seqloom.tensor._compile._key import SymbolKey
from seqloom.tensor._compile._recorded import (
    ARITHMETIC,
    NUMBERS_ALONE,
    grouped,
    has_symbol,
    is_array,
    is_float,
)
from seqloom.tensor._compile._scan import capture_scan
from seqloom.tensor._compile._shapes import kinds
from seqloom.tensor._compile._standing import stand_in
from seqloom.tensor._compile._symbol import Symbol, refuse
from seqloom.tensor._compile._unsized import INDEXING, UNSIZED, check_sized, without_masks
from seqloom.tensor._graph import Graph, Operation, Value, values_in
from seqloom.tensor._memory._origin import here
from seqloom.tensor._memory._scope import unscoped
from seqloom.tensor._native_error import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from seqloom.tensor._backend import Array
    from seqloom.tensor._leaves import Leaf


class Capture(Backend):
    """Writes every call down as an operation of a graph.

    A function that the target backend overrides is written down whole; of another one the
    default body runs here, and its pieces are. Calls without any symbol are computed at
    once: what they give is the same at every call of the program.

    Args:
        target: The backend that the graph is for.
    """

    records = True

    def __init__(self, target: Backend) -> None:
        self.inner = self.target = target
        self.name = f"capture({target.name})"
        self.threads = target.threads
        self.graph = Graph()
        self._root = self.graph
        self._count = 0
        self._constants: dict[int, tuple[Value, Array]] = {}
        self.admitted: dict[int, tuple[Leaf, Value]] = {}
        self._undo: list[Callable[[], None]] = []
        self._of_numbers: set[int] = set()  # values that eagerly are Python's numbers still
        for name in _whole(target):
            setattr(self, name, partial(self.record, name))

    def __getattr__(self, name: str) -> Any:
        """What the target has beyond the table: an attribute, or a function to record."""
        if name.startswith("_") or name in ("target", "differentiable"):
            raise AttributeError(name)
        found = getattr(self.target, name)
        return partial(self.record, name) if callable(found) else found

    # Writing down -------------------------------------------------------------------------

    def new_value(self, shape: tuple[int, ...], dtype: Any, *, weak: bool = False) -> Value:
        """A value that no other is."""
        self._count += 1
        return Value(self._count - 1, tuple(shape), np.dtype(dtype), weak)

    def new_input(
        self, shape: tuple[int, ...], dtype: Any, *, weak: bool = False
    ) -> Symbol:
        """A further input of the graph."""
        self.graph.inputs.append(self.new_value(shape, dtype, weak=weak))
        return Symbol(self.graph.inputs[-1])

    def admit(self, leaf: Leaf) -> Leaf:
        """A symbol stands for a leaf until `restore`: it is an input from now on."""
        array = leaf.on(self.target)
        value = self.new_value(array.shape, self.target.dtype(array))
        self._root.inputs.append(value)
        self.admitted[id(leaf)] = (leaf, value)
        self._undo.append(stand_in(leaf, Symbol(value), self))
        return leaf

    @contextmanager
    def running(self) -> Generator[None]:
        """While a step runs on the symbols on this thread."""
        token = capturing.set(self)
        try:
            with unscoped():  # symbols are no memory
                yield
        finally:
            capturing.reset(token)

    def restore(self) -> None:
        """Gives all leaves their arrays back."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def record(self, name: str, *args: Any, **options: Any) -> Any:
        """Writes one call down; computes it where none of its arguments is a symbol."""
        if options and has_symbol(options.values()):
            raise CaptureError(f"{here()}: {name} takes its tensors by position")
        if not has_symbol(args):
            return getattr(self.target, name)(*args, **options)
        with unwatched():  # no code of the user's runs from here on
            return self._recorded(name, args, options)

    def _recorded(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Writes down one call that has a symbol among its arguments."""
        check_sized(name, args)
        if name in INDEXING:
            args = (args[0], without_masks(self.target, args[1]), *args[2:])
        given = tuple(self.plain(each) for each in args)
        is_number = name in ARITHMETIC and all(map(self._is_number, values_in(given)))
        if name not in NUMBERS_ALONE:
            given = self._beside_arrays(given)
        found, several = self._kinds(name, given, options)
        outputs = self.write(name, given, options, found)
        if is_number:
            self._of_numbers.update(each.value.number for each in outputs)
        return grouped(name, given, outputs) if several else outputs[0]

    def _is_number(self, value: Value) -> bool:
        """Whether a value is a number of the call, or made of such alone."""
        return value.weak or value.number in self._of_numbers

    def _beside_arrays(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments among which no number made of numbers widens the arrays it meets."""
        arrays = [each for each in values_in(given) if not self._is_number(each)]
        if not arrays and all(each.weak for each in values_in(given)):
            return tuple(self._strong(each) for each in given)
        kinds_met = {each.dtype for each in arrays if is_float(each.dtype)}
        if len(kinds_met) != 1 or self._of_numbers.isdisjoint(
            each.number for each in values_in(given)
        ):
            return given
        return tuple(self._narrowed(each, *kinds_met) for each in given)

    def _narrowed(self, arg: Any, dtype: np.dtype[Any]) -> Any:
        """A number made of numbers in the type of the arrays it meets; others as is."""
        is_made = isinstance(arg, Value) and arg.number in self._of_numbers
        if not is_made or arg.dtype == dtype:
            return arg
        return self.write("astype", (arg, dtype), {}, [((), dtype)])[0].value

    def _kinds(self, name: str, given: Any, options: Any) -> tuple[list[Any], bool]:
        """What a call will give; a fault that shows already here names its line."""
        try:
            return kinds(self.target, name, given, options)
        except Exception as error:
            ours = translated(error, name, given, self.target)
            if ours is error:
                raise
            raise type(ours)(f"{here()}: {ours}") from error

    def write(
        self,
        name: str,
        args: tuple[Any, ...],
        options: dict[str, Any],
        found: list[tuple[tuple[int, ...], Any]],
    ) -> list[Symbol]:
        """Adds one operation whose results are of the kinds found."""
        outputs = tuple(self.new_value(*kind) for kind in found)
        operation = Operation(name, args, options, outputs, here())
        self.graph.operations.append(operation)
        return [Symbol(each) for each in outputs]

    def plain(self, arg: Any) -> Any:
        """An argument with a value for each array in it."""
        if isinstance(arg, Symbol):
            return arg.value
        if isinstance(arg, SymbolKey):
            return arg.symbol.value
        if type(arg) in (list, tuple):
            return type(arg)(self.plain(each) for each in arg)
        return self.constant(arg) if is_array(arg) else arg

    def constant(self, array: Array) -> Value:
        """The value of an array that is the same at every call."""
        known = self._constants.get(id(array))
        if known is None:
            kept = self.target.asarray(array)
            value = self.new_value(kept.shape, self.target.dtype(kept))
            self._root.constants[value.number] = kept
            # The array is held, or another one could come to have its id.
            known = self._constants[id(array)] = (value, array)
        return known[0]

    def _strong(self, arg: Any) -> Any:
        """A number that meets no array, as one of the backend's float type."""
        if not isinstance(arg, Value):
            return arg
        wanted = self.target.dtype(self.target.asarray(1.0))
        return self.write("asarray", (arg,), {"dtype": wanted}, [((), wanted)])[0].value

    # Functions that are not written down as they are called -----------------------------

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Array:
        """A symbol as it is, or as the type that is asked for; data as a constant."""
        if not isinstance(data, Symbol):
            # A program is kept for long: what it holds is its own.
            own = True if isinstance(data, np.ndarray) else copy
            return self.target.asarray(data, dtype=dtype, copy=own)
        if (
            dtype is None
            or self.target.dtype(self.target.zeros((), dtype=dtype)) == data.dtype
        ):
            return data
        return self.astype(data, dtype)

    def accumulate(self, total: Array, more: Array) -> Array:
        """A sum: who runs the graph knows whose memory it may take."""
        return self.add(total, more)

    def key_words(self, key: Any) -> Array:
        """The words of a key, whose symbol it may be."""
        if isinstance(key, SymbolKey):
            return key.symbol
        return key if isinstance(key, Symbol) else self.target.key_words(key)

    def to_numpy(self, x: Array) -> Any:
        """Only constants have values."""
        if isinstance(x, Symbol):
            refuse("its values")
        return self.target.to_numpy(x)

    def dtype(self, x: Array) -> np.dtype[Any]:
        """The element type."""
        return x.dtype if isinstance(x, Symbol) else self.target.dtype(x)

    def nbytes(self, x: Array) -> int:
        """How many bytes it will take."""
        return x.value.nbytes if isinstance(x, Symbol) else self.target.nbytes(x)

    def result_type(self, *args: Any) -> Any:
        """The type to which the target promotes these."""
        stands = [each.dtype if isinstance(each, Symbol) else each for each in args]
        return self.target.result_type(*stands)

    def sync(self) -> None:
        """Nothing runs."""

    def scan(
        self,
        body: Callable[..., Any],
        init: Sequence[Array],
        xs: Sequence[Array],
        *,
        length: int,
        reverse: bool = False,
    ) -> tuple[list[Array], list[Array]]:
        """A loop stays one operation; its body is a graph of its own."""
        return capture_scan(self, body, init, xs, length=length, reverse=reverse)


# What only asks, and computes nothing.
_QUESTIONS = frozenset({"finfo", "iinfo", "isdtype", "from_dlpack", "tensor", "program"})


def _whole(target: Backend) -> Iterator[str]:
    """The functions that are written down whole: required, or the target's own."""
    for name in dir(Backend):
        public = not name.startswith("_") and name not in vars(Capture)
        own = getattr(type(target), name, None) is not getattr(Backend, name)
        if (
            public
            and own
            and name not in _QUESTIONS
            and callable(getattr(target, name, None))
        ):
            yield name
    yield from (name for name in REQUIRED - _QUESTIONS if name not in vars(Capture))
    yield from (name for name in UNSIZED if hasattr(Backend, name))
