"""Counts the multiply-adds of a module's call, and shapes of results, by module."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from math import isqrt, prod
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.nn._parts import CONTAINERS
from seqloom.tensor import Tensor
from seqloom.tensor._profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from seqloom.nn._stored import Stored
    from seqloom.tensor._backend import Backend


class OperationCounter(Profile):
    """Counts the multiply-adds of a backend, which computes as before."""

    def __init__(self, inner: Backend) -> None:
        self.thread = threading.get_ident()
        self.open: list[int] = []  # ids of the modules that are being called
        self.counts: dict[int, int] = {}  # multiply-adds by the id of a module
        self.shapes: dict[int, Any] = {}  # shapes of the last result by the id of a module
        self.total = 0
        super().__init__(inner)

    def _time(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Makes a function that counts; most operations have no multiply-adds."""
        find = _MULTIPLY_ADDS.get(name)
        if find is None:
            return function

        def call(*args: Any, **options: Any) -> Any:
            out = function(*args, **options)
            self._add(find(self.inner, out, *args))
            return out

        return call

    def _add(self, count: int) -> None:
        """Adds a count to all modules that are being called, each once."""
        self.total += count
        for owner in set(self.open):
            self.counts[owner] = self.counts.get(owner, 0) + count

    def __repr__(self) -> str:
        return repr(self.inner)

    @contextmanager
    def watching(self, modules: list[Any]) -> Generator[None]:
        """Notes the calls of modules while the block runs, on this thread."""
        with ExitStack() as stack:
            for module in modules:
                kind = cast("type[Any]", type(module))
                stack.callback(_set_class, module, kind)
                _set_class(module, _watch(kind))
            stack.callback(setattr, _Watched, "counter", _Watched.counter)
            _Watched.counter = self
            yield

    @contextmanager
    def under(self, parts: list[Stored]) -> Generator[None]:
        """Has parts on this backend while the block runs; restores written values."""
        with ExitStack() as stack:
            for part in parts:
                stack.callback(_restore, part, part.backend, part.share(), part.version)
                part.backend = self
            yield

    def wrap(self, value: Any) -> Any:
        """Returns a sample with its tensors and arrays on this backend."""
        if isinstance(value, (Tensor, np.ndarray)):
            inner: Any = self.inner
            moved = value.to(inner) if isinstance(value, Tensor) else inner.tensor(value)
            return Tensor(moved.raw, self)
        if isinstance(value, dict):
            return {key: self.wrap(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if type(value) in (list, tuple):
            return type(value)(map(self.wrap, value))
        return value


class _Watched:
    """The counter that calls of watched modules report to."""

    counter: OperationCounter | None = None


def _set_class(module: Any, kind: type[Any]) -> None:
    """Gives a module another class, with the same fields."""
    object.__setattr__(module, "__class__", kind)


def _restore(part: Stored, backend: Backend | None, array: Any, version: int) -> None:
    """Restores a part that a call may have written."""
    part.backend, part.array, part.version, part.is_shared = backend, array, version, True


@cache
def _watch(kind: type[Any]) -> type[Any]:
    """Makes a class like that of a module, whose methods note the call."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if "named" in vars(base):  # Module itself, whose own methods call no layer
            found.clear()
            continue
        found |= {name: each for name, each in vars(base).items() if _is_method(name, each)}
    members = {name: _note(function) for name, function in found.items()}
    for name in members.keys() & {"__call__"}:
        if found[name] in CONTAINERS:
            CONTAINERS[members[name]] = CONTAINERS[found[name]]
    return type(kind.__name__, (kind,), {**members, "__module__": kind.__module__})


def _is_method(name: str, value: object) -> bool:
    """Whether an attribute of a class is a method that may compute something."""
    return isinstance(value, FunctionType) and (name == "__call__" or name[0] != "_")


def _note(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a method that tells the counter that its module is called."""

    @wraps(function)
    def call(module: Any, *args: Any, **options: Any) -> Any:
        counter = _Watched.counter
        if counter is None or counter.thread != threading.get_ident():
            return function(module, *args, **options)
        counter.open.append(id(module))
        try:
            result = function(module, *args, **options)
        finally:
            counter.open.pop()
        if id(module) not in counter.open:
            counter.shapes[id(module)] = find_shapes(result)
        return result

    return call


def find_shapes(result: Any) -> Any:
    """Returns the shape of a tensor, or a list of those in a tuple, list or dict."""
    if hasattr(result, "shape"):
        return tuple(result.shape)
    if isinstance(result, dict):
        return [find_shapes(each) for each in result.values()]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(result, (list, tuple)):
        return [find_shapes(each) for each in result]  # pyright: ignore[reportUnknownVariableType]
    return None


# Multiply-adds of an operation, from its result and its arguments -----------------------


def _size(x: Any) -> int:
    """Returns the number of elements of an array."""
    return prod(x.shape)


def _matmul(_: Backend, out: Any, x: Any, *__: Any) -> int:
    return _size(out) * x.shape[-1]


def _convolution(_: Backend, out: Any, __: Any, weight: Any, *___: Any) -> int:
    return _size(out) * prod(weight.shape[1:])


def _transposed(_: Backend, __: Any, x: Any, weight: Any, *___: Any) -> int:
    return _size(x) * prod(weight.shape[1:])


def _attention(_: Backend, __: Any, q: Any, k: Any, v: Any, *___: Any) -> int:
    return _size(q) // q.shape[-1] * k.shape[-2] * (q.shape[-1] + v.shape[-1])


def _packed_attention(
    b: Backend, _: Any, q: Any, __: Any, v: Any, bounds: Any, *___: Any
) -> int:
    lengths = np.diff(b.to_numpy(bounds)).astype(np.int64)
    heads = prod(q.shape[1:-1])
    return int((lengths**2).sum()) * heads * (q.shape[-1] + v.shape[-1])


def _recurrent(at: int) -> Callable[..., int]:
    """Counts both products of each step; the first weights are the argument `at`."""

    def count(_: Backend, __: Any, x: Any, *rest: Any) -> int:
        return x.shape[0] * x.shape[1] * (_size(rest[at]) + _size(rest[at + 1]))

    return count


def _tensordot(_: Backend, out: Any, x: Any, y: Any, *__: Any) -> int:
    return isqrt(_size(x) * _size(y) * _size(out))


def _vecdot(_: Backend, out: Any, x: Any, *__: Any) -> int:
    return _size(out) * x.shape[-1]


def _einsum(_: Backend, __: Any, text: str, *arrays: Any) -> int:
    """Counts one product over all letters; two arrays or more."""
    terms = text.replace(" ", "").partition("->")[0].split(",")
    if len(arrays) < 2 or "." in text:  # noqa: PLR2004  # a sum has no products
        return 0
    pairs = zip(terms, arrays, strict=True)
    sizes = {
        letter: n for term, x in pairs for letter, n in zip(term, x.shape, strict=True)
    }
    return prod(sizes.values())


_MULTIPLY_ADDS: dict[str, Callable[..., int]] = {
    "matmul": _matmul,
    "linear": _matmul,
    "vecdot": _vecdot,
    "tensordot": _tensordot,
    "einsum": _einsum,
    "conv1d": _convolution,
    "conv2d": _convolution,
    "conv_transpose1d": _transposed,
    "conv_transpose2d": _transposed,
    "attention": _attention,
    "attention_varlen": _packed_attention,
    "gru": _recurrent(1),
    "lstm": _recurrent(2),
}
