"""Summary: shapes, parameters, memory and multiply-adds of a module's layers."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache, wraps
from math import isqrt, prod
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.nn._initialisers import parse_dtype
from seqloom.nn._parameters import ModuleArray, Param
from seqloom.nn._submodules import ARGUMENT_FINDERS, is_module
from seqloom.tensor import Tensor, backend as find_backend
from seqloom.tensor._inspection import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console
    from rich.table import Table

    from seqloom.tensor._backend import Backend


@dataclass(frozen=True)
class LayerSummary:
    """Sizes and costs of one module, including all its submodules."""

    path: str  # Path of the module; empty for the outermost module.
    name: str  # Name of the class.
    output_shape: Any  # Shape in the last call: a tuple, a list of tuples, or None.
    parameters: int  # Number of scalar parameters; a shared parameter is counted once.
    trainable: int
    bytes: int  # Number of bytes of all parameters and buffers.
    multiply_adds: int


@dataclass(frozen=True)
class Summary:
    """Table of a module's layers with their sizes and costs; see `Module.summary`.

    Attributes:
        layers: A dict for each module with the keys ``path``, ``name`` (the class),
            ``output_shape``, ``parameters``, ``trainable``, ``bytes`` and
            ``multiply_adds``. The output shape is that of the last call, or None
            without a call. The bytes include buffers. The numbers of a module include
            its submodules, so the first dict contains the totals.

    Examples:
        >>> import seqloom as sl
        >>> net = sl.nn.Sequential(sl.nn.Linear(4, 8), sl.nn.Linear(8, 2))
        >>> net = net.bind("numpy", sl.Key(0))
        >>> print(net.summary(net.backend.zeros((3, 4))))
        <BLANKLINE>
          layer      class        output   parameters   memory   multiply-adds
         ──────────────────────────────────────────────────────────────────────
          (all)      Sequential   (3, 2)           58    232 B             144
          layers.0   Linear       (3, 8)           40    160 B              96
          layers.1   Linear       (3, 2)           18     72 B              48
    """

    layers: tuple[LayerSummary, ...]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the table as a dict by module path; the outermost module has the path "".

        Returns:
            A new dict from module paths to dicts of sizes and costs.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
            >>> layer.summary(layer.backend.zeros((3, 4))).to_dict()[""]["multiply_adds"]
            24
        """
        rows = [asdict(layer) for layer in self.layers]
        return {row.pop("path"): row for row in rows}

    def print(self, console: Console | None = None) -> None:
        """Print the table, with colours if the terminal supports them.

        Args:
            console: Console of the rich library; default: standard output.

        Examples:
            >>> import io
            >>> from rich.console import Console
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
            >>> file = io.StringIO()
            >>> layer.summary(layer.backend.zeros((3, 4))).print(Console(file=file))
            >>> "Linear" in file.getvalue()
            True
        """
        from rich.console import Console

        (console or Console()).print(self._to_table())

    def _to_table(self) -> Table:
        """Return the summary as a table of the rich library."""
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE)
        for title in ("layer", "class", "output"):
            table.add_column(title, overflow="fold")
        for title in ("parameters", "memory", "multiply-adds"):
            table.add_column(title, justify="right")
        for layer in self.layers:
            table.add_row(
                layer.path or "(all)",
                layer.name,
                "" if layer.output_shape is None else str(layer.output_shape),
                f"{layer.parameters:,}",
                _format_bytes(layer.bytes),
                f"{layer.multiply_adds:,}",
            )
        return table

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=200, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(self._to_table())
        return "\n".join(line.rstrip() for line in capture.get().splitlines()).rstrip()


def summarise(
    module: Any, args: tuple[Any, ...], method: str, options: dict[str, Any]
) -> Summary:
    """Call a method of a module on a sample, and return a summary of its layers."""
    if not callable(getattr(module, method, None)):
        raise ArgumentError(
            f"method must name a method of {type(module).__name__}, got {method!r}"
        )
    named = [
        ("", module),
        *((path, item) for path, item in module.named() if is_module(item)),
    ]
    modules: list[Any] = [item for _, item in named]
    stored: list[ModuleArray] = [part for _, part in module.named(ModuleArray)]
    counter = _CostCounter(_find_backend(module, stored, args))
    modes = [item.training for item in modules]
    module.eval()
    try:
        with ExitStack() as stack:
            stack.enter_context(counter.move_arrays(stored))
            stack.enter_context(counter.record_calls(modules))
            call = getattr(module, method)
            result = call(*counter.move_sample(args), **counter.move_sample(options))
    finally:
        for item, mode in zip(modules, modes, strict=True):
            object.__setattr__(item, "training", mode)
    counter.shapes[id(module)] = _find_shapes(result)
    counter.counts[id(module)] = counter.total
    return Summary(tuple(_summarise_module(path, item, counter) for path, item in named))


def _find_backend(module: Any, stored: list[ModuleArray], args: tuple[Any, ...]) -> Backend:
    """Return the backend of the module; without parameters, that of the sample."""
    if stored:
        return module.backend
    methods = [item.backend for item in args if isinstance(item, Tensor)]
    return methods[0] if methods else find_backend("numpy")


def _summarise_module(path: str, module: Any, counter: _CostCounter) -> LayerSummary:
    """Return the summary of one module."""
    params: list[Param] = [param for _, param in module.named(Param)]
    return LayerSummary(
        path,
        type(module).__name__,
        counter.shapes.get(id(module)),
        sum(prod(param.shape) for param in params),
        sum(prod(param.shape) for param in params if param.trainable),
        sum(
            prod(part.shape) * parse_dtype(part.dtype).itemsize
            for _, part in module.named(ModuleArray)
        ),
        counter.counts.get(id(module), 0),
    )


def _format_bytes(count: int) -> str:
    """Format a number of bytes with three digits."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":  # noqa: PLR2004
            return f"{count} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return ""


class _CostCounter(Profile):
    """Backend wrapper that counts multiply-adds."""

    def __init__(self, inner: Backend) -> None:
        self.thread = threading.get_ident()
        self.open: list[int] = []  # ids of modules whose calls are running
        self.counts: dict[int, int] = {}  # multiply-adds by module id
        self.shapes: dict[int, Any] = {}  # shapes of the last result by module id
        self.total = 0
        super().__init__(inner)

    def _wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap an operation to count its multiply-adds, if it has any."""
        find = _MULTIPLY_ADD_COUNTERS.get(name)
        if find is None:
            return function

        def call_and_record(*args: Any, **options: Any) -> Any:
            out = function(*args, **options)
            count = find(self.inner, out, *args)
            self.total += count
            for owner in set(self.open):
                self.counts[owner] = self.counts.get(owner, 0) + count
            return out

        return call_and_record

    def __repr__(self) -> str:
        return repr(self.inner)

    @contextmanager
    def record_calls(self, modules: list[Any]) -> Generator[None]:
        """Record the calls of modules inside the block, on this thread."""
        with ExitStack() as stack:
            for module in modules:
                kind = cast("type[Any]", type(module))
                stack.callback(object.__setattr__, module, "__class__", kind)
                object.__setattr__(module, "__class__", _make_recording_class(kind))
            stack.callback(setattr, _CallRecorder, "counter", _CallRecorder.counter)
            _CallRecorder.counter = self
            yield

    @contextmanager
    def move_arrays(self, parts: list[ModuleArray]) -> Generator[None]:
        """Move arrays to this backend in the `with` block, then restore the values."""
        with ExitStack() as stack:
            for part in parts:
                stack.callback(
                    _restore_array, part, part.backend, part.share(), part.version
                )
                part.backend = self
            yield

    def move_sample(self, value: Any) -> Any:
        """Return a sample with its tensors and arrays moved to this backend."""
        if isinstance(value, (Tensor, np.ndarray)):
            inner: Any = self.inner
            moved = value.to(inner) if isinstance(value, Tensor) else inner.tensor(value)
            return Tensor(moved.raw, self)
        if isinstance(value, dict):
            return {key: self.move_sample(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if type(value) in (list, tuple):
            return type(value)(map(self.move_sample, value))
        return value


class _CallRecorder:
    """Holder of the counter that records module calls; None without a recording."""

    counter: _CostCounter | None = None


def _restore_array(
    part: ModuleArray, backend: Backend | None, array: Any, version: int
) -> None:
    """Restore the values of an array that a call may have overwritten."""
    part.backend, part.array, part.version, part.is_shared = backend, array, version, True


@cache
def _make_recording_class(kind: type[Any]) -> type[Any]:
    """Create a subclass of a module's class whose methods record the call."""
    methods: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if "named" in vars(base):  # methods of Module call no layers
            methods.clear()
            continue
        methods |= {
            name: value
            for name, value in vars(base).items()
            if isinstance(value, FunctionType) and (name == "__call__" or name[0] != "_")
        }
    members = {name: _record_calls(function) for name, function in methods.items()}
    for name in members.keys() & {"__call__"}:
        if methods[name] in ARGUMENT_FINDERS:
            ARGUMENT_FINDERS[members[name]] = ARGUMENT_FINDERS[methods[name]]
    return type(kind.__name__, (kind,), {**members, "__module__": kind.__module__})


def _record_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that the counter records the call of its module."""

    @wraps(function)
    def call_and_record(module: Any, *args: Any, **options: Any) -> Any:
        counter = _CallRecorder.counter
        if counter is None or counter.thread != threading.get_ident():
            return function(module, *args, **options)
        counter.open.append(id(module))
        try:
            result = function(module, *args, **options)
        finally:
            counter.open.pop()
        if id(module) not in counter.open:
            counter.shapes[id(module)] = _find_shapes(result)
        return result

    return call_and_record


def _find_shapes(result: Any) -> Any:
    """Return the shape of a tensor, or a list of shapes for a tuple, list or dict."""
    if hasattr(result, "shape"):
        return tuple(result.shape)
    if isinstance(result, dict):
        return [_find_shapes(item) for item in result.values()]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(result, (list, tuple)):
        return [_find_shapes(item) for item in result]  # pyright: ignore[reportUnknownVariableType]
    return None


# Multiply-adds of an operation, from its result and its arguments
# -----------------------


class Shaped(Protocol):
    """Protocol of an array with a shape, of any library."""

    shape: tuple[int, ...]


def _count_matmul(_: Backend, out: Shaped, x: Shaped, *__: Shaped) -> int:
    return prod(out.shape) * x.shape[-1]


def _count_convolution(
    _: Backend, out: Shaped, __: Shaped, weight: Shaped, *___: Shaped
) -> int:
    return prod(out.shape) * prod(weight.shape[1:])


def _count_transposed(
    _: Backend, __: Shaped, x: Shaped, weight: Shaped, *___: Shaped
) -> int:
    return prod(x.shape) * prod(weight.shape[1:])


def _count_attention(
    _: Backend, __: Shaped, q: Shaped, k: Shaped, v: Shaped, *___: Shaped
) -> int:
    return prod(q.shape) // q.shape[-1] * k.shape[-2] * (q.shape[-1] + v.shape[-1])


def _count_packed(
    b: Backend, _: Shaped, q: Shaped, __: Shaped, v: Shaped, bounds: Any, *___: Shaped
) -> int:
    lengths = np.diff(b.to_numpy(bounds)).astype(np.int64)
    heads = prod(q.shape[1:-1])
    return int((lengths**2).sum()) * heads * (q.shape[-1] + v.shape[-1])


def _make_recurrent_counter(at: int) -> Callable[..., int]:
    """Count both products of a recurrent step; `at` is the index of the first weights."""

    def multiply_adds(_: Backend, __: Shaped, x: Shaped, *rest: Shaped) -> int:
        return x.shape[0] * x.shape[1] * (prod(rest[at].shape) + prod(rest[at + 1].shape))

    return multiply_adds


def _count_tensordot(_: Backend, out: Shaped, x: Shaped, y: Shaped, *__: Shaped) -> int:
    return isqrt(prod(x.shape) * prod(y.shape) * prod(out.shape))


def _count_einsum(_: Backend, __: Shaped, text: str, *arrays: Shaped) -> int:
    """Count the multiply-adds of einsum over all axes; zero for a single array."""
    terms = text.replace(" ", "").partition("->")[0].split(",")
    if len(arrays) < 2 or "." in text:  # noqa: PLR2004  # a sum has no products
        return 0
    pairs = zip(terms, arrays, strict=True)
    sizes = {axis: n for term, x in pairs for axis, n in zip(term, x.shape, strict=True)}
    return prod(sizes.values())


_MULTIPLY_ADD_COUNTERS: dict[str, Callable[..., int]] = {
    "matmul": _count_matmul,
    "linear": _count_matmul,
    "vecdot": _count_matmul,
    "tensordot": _count_tensordot,
    "einsum": _count_einsum,
    "conv1d": _count_convolution,
    "conv2d": _count_convolution,
    "conv_transpose1d": _count_transposed,
    "conv_transpose2d": _count_transposed,
    "attention": _count_attention,
    "attention_varlen": _count_packed,
    "gru": _make_recurrent_counter(1),
    "lstm": _make_recurrent_counter(2),
}
