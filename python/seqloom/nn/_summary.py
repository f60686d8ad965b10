"""Summary: shapes, parameters, memory and multiply-adds of a module, by layer."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.nn._count import OperationCounter, find_shapes
from seqloom.nn._dtype import kind_of
from seqloom.nn._parts import is_module
from seqloom.nn._stored import Param, Stored
from seqloom.tensor import Tensor, backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table


@dataclass(frozen=True)
class LayerSummary:
    """Figures of one module, which include those of all modules in it."""

    path: str  # empty for the outermost
    name: str  # of the class
    output_shape: Any  # of the last call: a tuple, a list of these, or None
    parameters: int  # numbers; a shared parameter counts once
    trainable: int
    bytes: int  # of parameters and buffers
    multiply_adds: int


@dataclass(frozen=True)
class Summary:
    """The layers of a module with their figures, as `Module.summary` returns them.

    Attributes:
        layers: Figures of each module: ``path``, ``name`` (of its class),
            ``output_shape`` (of its last call; None if it was not called), ``parameters``,
            ``trainable``, ``bytes`` (of parameters and buffers) and ``multiply_adds``.
            Those of a module include all modules in it, so the first has the totals.

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
        """Returns the figures by the path of the module; the outermost has the path "".

        Returns:
            A new dict of dicts.

        Examples:
            >>> import seqloom as sl
            >>> layer = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
            >>> layer.summary(layer.backend.zeros((3, 4))).to_dict()[""]["multiply_adds"]
            24
        """
        rows = [asdict(layer) for layer in self.layers]
        return {row.pop("path"): row for row in rows}

    def print(self, console: Console | None = None) -> None:
        """Prints the table, with colours where the terminal has them.

        Args:
            console: Console of the library rich; default: standard output.

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
        """Returns the figures as a table of rich."""
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
    """Calls a method of a module on a sample, and returns the figures of its layers."""
    if not callable(getattr(module, method, None)):
        raise ArgumentError(
            f"method must name a method of {type(module).__name__}, got {method!r}"
        )
    named = [
        ("", module),
        *((path, each) for path, each in module.named() if is_module(each)),
    ]
    modules: list[Any] = [each for _, each in named]
    stored: list[Stored] = [part for _, part in module.named(Stored)]
    counter = OperationCounter(_find_backend(module, stored, args))
    modes = [each.training for each in modules]
    module.eval()
    try:
        with ExitStack() as stack:
            stack.enter_context(counter.under(stored))
            stack.enter_context(counter.watching(modules))
            call = getattr(module, method)
            result = call(*counter.wrap(args), **counter.wrap(options))
    finally:
        for each, mode in zip(modules, modes, strict=True):
            object.__setattr__(each, "training", mode)
    counter.shapes[id(module)] = find_shapes(result)
    counter.counts[id(module)] = counter.total
    return Summary(tuple(_describe(path, each, counter) for path, each in named))


def _find_backend(module: Any, stored: list[Stored], args: tuple[Any, ...]) -> Any:
    """Returns the backend of a module, or of the sample if the module has no parts."""
    if stored:
        return module.backend
    found = [each.backend for each in args if isinstance(each, Tensor)]
    return found[0] if found else find_backend("numpy")


def _describe(path: str, module: Any, counter: OperationCounter) -> LayerSummary:
    """Returns the figures of one module."""
    return LayerSummary(
        path,
        type(module).__name__,
        counter.shapes.get(id(module)),
        sum(prod(param.shape) for param in _list_params(module)),
        sum(prod(param.shape) for param in _list_params(module) if param.trainable),
        sum(
            prod(part.shape) * kind_of(part.dtype).itemsize
            for _, part in module.named(Stored)
        ),
        counter.counts.get(id(module), 0),
    )


def _list_params(module: Any) -> Iterator[Param]:
    """Yields the parameters of a module."""
    return (param for _, param in module.named(Param))


def _format_bytes(count: int) -> str:
    """Writes a number of bytes with three digits."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":  # noqa: PLR2004
            return f"{count} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return ""
