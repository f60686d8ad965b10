"""Content of the files graph.json, export.json and encoder.json of an export."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from itertools import accumulate, count
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import is_list
from seqloom.data._encoder import encoder_input_type, find_override
from seqloom.errors import ExportError
from seqloom.export._size import Size
from seqloom.export._trace import Traced, check_dtype
from seqloom.infer._kinds import find_encoder_kind
from seqloom.models import Classify, Multilabel, Profile, Regress
from seqloom.nn._parameters import ModuleArray
from seqloom.tensor._compile._numpy._fuse import find_fused_dtype
from seqloom.tensor._compile._numpy._groups import Aliases, Grouping, sort_groups
from seqloom.tensor._compile._symbol import KEY_OPERATIONS
from seqloom.tensor._graph import Operation, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from seqloom.models import Task, Trained
    from seqloom.nn import Module
    from seqloom.tensor._graph import Graph


class ArrayTable:
    """Arrays that graphs read: weights by path, and constants without duplicates."""

    def __init__(self, model: Module) -> None:
        # Read weights from the network, because the saved record of adapters omits the
        # weights of the base network.
        self._stored = dict(model.named(ModuleArray))
        self.arrays: dict[str, Any] = {}
        self._constants: dict[tuple[Any, ...], str] = {}

    def add(self, path: str) -> str:
        """Add a weight of the network by its path."""
        part = self._stored[path]
        self.arrays[path] = part.bound_backend.to_numpy(part.share())
        return path

    def add_constant(self, array: NDArray[Any]) -> str:
        """Add a constant, unless an equal constant exists."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            taken = {*self._stored, *self._constants.values()}
            names = (f"constants.{number}" for number in count())
            self._constants[key] = next(name for name in names if name not in taken)
        name = self._constants[key]
        self.arrays[name] = array
        return name


def graph_to_json(traced: Traced, weights: ArrayTable) -> dict[str, Any]:
    """Convert a graph to JSON, in which values are numbered in the order of operations."""
    writer = _ArgumentWriter()
    graph = traced.graph
    inputs = [
        {"name": traced.inputs[value.number], **writer.declare_value(value)}
        for value in graph.inputs
        if value.number in traced.inputs
    ]
    arrays = [
        {"name": weights.add(traced.weights[value.number]), **writer.declare_value(value)}
        for value in graph.inputs
        if value.number in traced.weights
    ]
    for number, array in graph.constants.items():
        value = Value(number, tuple(array.shape), array.dtype)
        arrays.append({"name": weights.add_constant(array), **writer.declare_value(value)})
    groups = _group_fused(graph)
    operations = [writer.operation(it) for group in groups for it in group]
    outputs = [{"name": "outputs", **writer.refer_to(it)} for it in graph.outputs]
    ends = list(accumulate(map(len, groups)))
    ranges = [
        [end - len(group), end]
        for group, end in zip(groups, ends, strict=True)
        if len(group) > 1
    ]
    return {
        "version": EXPORT_VERSION,
        "inputs": inputs,
        "weights": arrays,
        "operations": operations,
        "groups": ranges,
        "outputs": outputs,
    }


def _group_fused(graph: Graph) -> list[list[Operation]]:
    """Order the operations so that fused operations are adjacent."""
    # A reduction is not fused, because fusion would change the order of its additions.
    aliases = Aliases(graph, with_views=False)
    grouping = Grouping(aliases, _find_fused_dtype, with_reductions=False)
    for operation in graph.operations:
        grouping.add_operation(operation)
    return [it.operations for it in sort_groups(grouping.list_groups())]


def _find_fused_dtype(operation: Operation) -> str | None:
    """Return the dtype in which an operation can be fused, or None if it cannot."""
    if operation.name == "scale_shift" and len(operation.inputs()) == 3:  # noqa: PLR2004 - no mask
        return operation.outputs[0].dtype.name
    return find_fused_dtype(operation)


class _ArgumentWriter:
    """Converter of arguments to JSON that assigns a number to each value."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def declare_value(self, value: Value) -> dict[str, Any]:
        """Convert a new value, with its shape and dtype, to JSON."""
        number = self._numbers.setdefault(value.number, len(self._numbers))
        kind = check_dtype(value.dtype, "an array of the network")
        return {"value": number, "dtype": kind, "shape": list(value.shape)}

    def refer_to(self, value: Value) -> dict[str, Any]:
        """Convert a reference to an earlier value to JSON."""
        return {"value": self._numbers[value.number]}

    def operation(self, operation: Operation) -> dict[str, Any]:
        """Convert an operation to JSON; an error message contains its line of code."""
        options = operation.options
        if isinstance(options.get("dtype"), str):
            options = {**options, "dtype": np.dtype(options["dtype"])}
        try:
            return {
                "name": operation.name,
                "args": [self._to_json(arg) for arg in _normalise_arguments(operation)],
                "options": {name: self._to_json(it) for name, it in options.items()},
                "outputs": [self.declare_value(value) for value in operation.outputs],
                "line": PurePath(operation.where).name,
            }
        except ExportError as error:
            raise ExportError(f"{operation.where}, {operation.name}: {error}") from None

    def _to_json(self, arg: Any) -> Any:
        """Convert an argument to JSON, as docs/reference/exported-model.md defines it."""
        if isinstance(arg, Value):
            return self.refer_to(arg)
        if is_list(arg):
            return [self._to_json(part) for part in arg]
        if isinstance(arg, slice):
            key = cast("Any", arg)
            return {"slice": self._to_json([key.start, key.stop, key.step])}
        return arg.to_json() if isinstance(arg, Size) else _to_json_value(arg)


def _normalise_arguments(operation: Operation) -> tuple[Any, ...]:
    """Return the arguments of an operation, with an index key converted to a list."""
    args: tuple[Any, ...] = operation.args
    if operation.name == "astype":
        return (args[0], np.dtype(args[1]), *args[2:])
    if operation.name not in KEY_OPERATIONS:
        return args
    parts = cast("tuple[Any, ...]", args[1] if isinstance(args[1], tuple) else args[1:2])
    key = [_NamedKey("newaxis") if part is None else part for part in parts]
    return (args[0], key, *args[2:])


@dataclass(frozen=True, slots=True)
class _NamedKey:
    """An element of an index key that is written as a string."""

    name: str


def _to_json_value(arg: Any) -> Any:
    """Convert an argument that is not a container to JSON."""
    if arg is Ellipsis:
        arg = _NamedKey("ellipsis")
    if isinstance(arg, _NamedKey):
        return {arg.name: True}
    if isinstance(arg, (np.dtype, type)):
        return {"dtype": check_dtype(np.dtype(cast("Any", arg)), "an argument")}
    if isinstance(arg, np.generic):
        arg = cast("Any", arg.item())
    if isinstance(arg, float) and not math.isfinite(arg):
        return {"float": str(arg)}
    if arg is None or isinstance(arg, (bool, int, float, str)):
        return arg
    raise ExportError(
        f"an argument is a {type(arg).__name__}, which an exported graph cannot contain; "
        "pass numbers, strings and tensors"
    )


EXPORT_FORMAT, EXPORT_VERSION = "seqloom-export", 2
_HASH_PLACEHOLDER = "0" * 64


def to_json_lines(table: Mapping[str, Any]) -> bytes:
    """Format JSON as text, with one line for each entry and each list element."""
    entries: list[str] = []
    for name, value in table.items():
        elements = value if is_list(value) else ()
        lines = ",\n ".join(json.dumps(it, allow_nan=False) for it in elements)
        text = f"[\n {lines}\n]" if lines else json.dumps(value, allow_nan=False)
        entries.append(f"{json.dumps(name)}: {text}")
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def write_manifest(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Write export.json, with the hashes of the other files and of itself."""
    table = {
        "checksum": _HASH_PLACEHOLDER,
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "written_by": f"seqloom {version('seqloom')}",
        **facts,
        "files": {name: sha256(data).hexdigest() for name, data in files.items()},
    }
    text = to_json_lines(table)
    return text.replace(_HASH_PLACEHOLDER.encode(), sha256(text).hexdigest().encode(), 1)


def describe_task(task: Task) -> dict[str, Any]:
    """Return the task's output function, such as softmax, and the names of the outputs."""
    known = {"name": task.name, "columns": list(task.columns)}
    if isinstance(task, Regress):
        return known | {"mean": list(task.mean), "deviation": list(task.deviation)}
    if isinstance(task, (Classify, Multilabel)):
        return known
    # The outputs of tracks have a value for each position, so they have no names.
    columns = () if isinstance(task, Profile) else task.columns
    return {"name": "custom", "columns": list(columns)}


def describe_training(trained: Trained | None, encoder: Any) -> dict[str, Any]:
    """Return the training summary, with which the exported model checks inputs."""
    known = None if trained is None else trained.trained_on
    lengths = None if known is None else known.lengths
    return {
        "alphabet": getattr(encoder, "alphabet", None),
        "lengths": None if lengths is None else list(lengths),
        "finished": trained is None or trained.is_finished,
    }


def check_encoder(encoder: object) -> None:
    """Raise if only Python can run the encoder."""
    is_ours = bool(encoder_input_type(encoder)) and find_override(type(encoder)) is None
    if encoder is None or is_ours:
        return
    kind = getattr(encoder, "__qualname__", type(encoder).__name__)
    raise ExportError(
        f"the encoder {kind} is not from sl.encode, so only Python can run it; "
        "export the network on arrays: sl.export.save(trained.model, path, "
        'inputs=("batch", 4, "length"))'
    )


def describe_encoder(encoder: Any, dtype: str) -> dict[str, Any]:
    """Return the content of encoder.json."""
    kernel = {**encoder.kernel_settings, "dtype": dtype}
    return {"settings": encoder.to_dict(), "kernel": kernel}


def learned_arrays(encoder: Any, dtype: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of encoder.safetensors; empty if the encoder has no arrays."""
    list_arrays = find_encoder_kind(encoder).list_arrays
    return {} if list_arrays is None else list_arrays(encoder, dtype)
