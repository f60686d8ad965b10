"""Read and validate an ONNX file; no code in it is executed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import reading
from seqloom.errors import FormatError, MissingExtraError, MissingFileError
from seqloom.models._onnx._graph import OnnxGraph, OnnxInput, OnnxNode
from seqloom.models._onnx._values import is_known

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray


OLDEST_OPSET = 7
NEWEST_OPSET = 28
# Domains of the standard ONNX operators.
_STANDARD_DOMAINS = frozenset({"", "ai.onnx"})


def read_graph(path: Path) -> OnnxGraph:
    """Read the graph of a file, with all constants in memory."""
    model = _parse(path)
    opset = _find_opset(path, model)
    if len(model.functions):
        model = _inline(path, model)
    reader = _Reader(path, opset)
    graph = reader.read(model.graph, set())
    if not (graph.outputs and graph.inputs):
        raise FormatError(f"{path}: the graph lacks inputs or outputs; is it truncated?")
    return graph.with_outputs(graph.outputs)


def _parse(path: Path) -> Any:
    """Parse the file as a protobuf message."""
    onnx = import_onnx()
    with reading(path):
        text = path.read_bytes()
    model = onnx.ModelProto()
    try:
        model.ParseFromString(text)
    except Exception as error:  # noqa: BLE001 - protobuf's own, which has no public name
        raise FormatError(f"{path}: not an ONNX file, or truncated: {error}") from None
    if not model.HasField("graph"):
        raise FormatError(f"{path}: not an ONNX file: it contains no graph")
    return model


def import_onnx() -> Any:
    """Import the onnx package."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError(
            "from_onnx needs the package onnx: pip install onnx"
        ) from None
    return onnx


def _find_opset(path: Path, model: Any) -> int:
    """Return the opset version of the file."""
    found = [it.version for it in model.opset_import if it.domain in _STANDARD_DOMAINS]
    if not found:
        raise FormatError(f"{path}: declares no ONNX opset; is the file truncated?")
    if not OLDEST_OPSET <= found[0] <= NEWEST_OPSET:
        raise FormatError(
            f"{path}: uses opset {found[0]}, but only {OLDEST_OPSET} to {NEWEST_OPSET} are "
            "supported; convert it with onnx.version_converter"
        )
    return int(found[0])


def _inline(path: Path, model: Any) -> Any:
    """Replace calls of functions that a file defines by the operators in the functions."""
    from onnx import inliner

    try:
        return inliner.inline_local_functions(model)
    except Exception as error:  # noqa: BLE001 - the library raises its own kinds
        raise FormatError(f"{path}: its functions cannot be read: {error}") from None


class _Reader:
    """Reader of the graphs in one file, including inner graphs."""

    def __init__(self, path: Path, opset: int) -> None:
        self.path = path
        self.opset = opset

    def read(self, proto: Any, outer: set[str]) -> OnnxGraph:
        """Read a graph; `outer` contains the names defined in the surrounding graphs."""
        if len(proto.sparse_initializer):
            raise FormatError(
                f"{self.path}: has sparse weights, which are not supported; use dense ones"
            )
        self._check_names(proto)
        constants = {it.name: self._array(it, it.name) for it in proto.initializer}
        inputs = tuple(self._input(it) for it in proto.input if it.name not in constants)
        initialisers = frozenset(constants)
        known = {*outer, *constants, *(it.name for it in inputs)}
        nodes: list[OnnxNode] = []
        for place, it in enumerate(proto.node):
            node = self._node(it, place, known)
            if it.op_type == "Constant" and it.domain in _STANDARD_DOMAINS:
                constants[node.outputs[0]] = self._constant(node)
            else:
                nodes.append(node)
        outputs = tuple(it.name for it in proto.output)
        self._require_defined("the graph's outputs", outputs, known)
        return OnnxGraph(tuple(nodes), constants, inputs, outputs, self.opset, initialisers)

    def _check_names(self, proto: Any) -> None:
        """Raise if a name is not UTF-8; protobuf returns such names as bytes."""
        values = [*proto.input, *proto.output, *proto.initializer, *proto.node]
        names = [it.name for it in values]
        for node in proto.node:
            names += [node.op_type, node.domain, *node.input, *node.output]
        bad = next((name for name in names if not isinstance(name, str)), None)
        if bad is not None:
            raise FormatError(f"{self.path}: the name {bad!r} is not UTF-8; is it damaged?")

    def _node(self, proto: Any, place: int, known: set[str]) -> OnnxNode:
        """Read a node; add its outputs to the defined names."""
        outputs = tuple(map(str, proto.output))
        name = proto.name or next(filter(None, outputs), f"number {place}")
        operator = proto.op_type
        if proto.domain not in _STANDARD_DOMAINS:
            operator = f"{proto.domain}.{operator}"
        label = f"node {name!r} ({operator})"
        inputs = tuple(map(str, proto.input))
        self._require_defined(label, filter(None, inputs), known)
        attributes = {it.name: self._attribute(it, label, known) for it in proto.attribute}
        for made in filter(None, outputs):
            if made in known:
                raise FormatError(f"{self.path}: {label} defines {made!r} a second time")
            known.add(made)
        if not any(outputs):
            raise FormatError(f"{self.path}: {label} has no outputs")
        return OnnxNode(operator, name, inputs, outputs, attributes)

    def _require_defined(self, label: str, names: Any, known: set[str]) -> None:
        """Raise if a name is not defined by an earlier node, as in a cycle."""
        for name in names:
            if name not in known:
                raise FormatError(
                    f"{self.path}: {label} reads {name!r}, which no earlier node computes: "
                    "the graph has a cycle, or is incomplete"
                )

    def _input(self, proto: Any) -> OnnxInput:
        """Read the declaration of an input."""
        if not proto.type.HasField("tensor_type"):
            raise FormatError(
                f"{self.path}: the input {proto.name!r} is not a tensor, which is not "
                "supported"
            )
        kind = proto.type.tensor_type
        sizes = [
            int(it.dim_value) if it.HasField("dim_value") and it.dim_value > 0 else None
            for it in kind.shape.dim
        ]
        shape = tuple(sizes) if kind.HasField("shape") else None
        return OnnxInput(proto.name, self._dtype(kind.elem_type, proto.name), shape)

    def _dtype(self, number: int, name: str) -> str:
        """Return the name of the element type with an ONNX number."""
        helper = import_onnx().helper
        try:
            return str(helper.tensor_dtype_to_np_dtype(number))
        except (KeyError, ValueError, TypeError):
            raise FormatError(
                f"{self.path}: {name!r} has the unknown element type {number}"
            ) from None

    def _array(self, proto: Any, name: str) -> NDArray[Any]:
        """Read a constant tensor."""
        return read_array(self.path, proto, name)

    def _attribute(self, proto: Any, label: str, known: set[str]) -> Any:
        """Read an attribute as a plain value, an array or a graph."""
        kinds: Any = import_onnx().AttributeProto
        read: dict[int, Callable[[], Any]] = {
            kinds.FLOAT: lambda: float(proto.f),
            kinds.FLOATS: lambda: list(proto.floats),
            kinds.GRAPH: lambda: self.read(proto.g, known),
            kinds.INT: lambda: int(proto.i),
            kinds.INTS: lambda: list(proto.ints),
            kinds.STRING: lambda: self._text(proto.s, label),
            kinds.STRINGS: lambda: [self._text(it, label) for it in proto.strings],
            kinds.TENSOR: lambda: self._array(proto.t, f"{label}, {proto.name}"),
        }
        if proto.type not in read:
            raise FormatError(
                f"{self.path}: {label}: its attribute {proto.name!r} has a type that "
                "cannot be read"
            )
        return read[proto.type]()

    def _text(self, text: bytes, label: str) -> str:
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise FormatError(f"{self.path}: {label}: a string is not UTF-8") from None

    def _constant(self, node: OnnxNode) -> NDArray[Any]:
        """Return the value of a Constant node."""
        kinds = {"value_int": "i8", "value_ints": "i8"}
        kinds |= {"value_float": "f4", "value_floats": "f4"}
        for name, value in node.attributes.items():
            if name == "value" and is_known(value):
                return value
            if name in kinds:
                return np.array(value, kinds[name])
        raise FormatError(
            f"{self.path}: {node.label} has no numbers; strings and sparse arrays are not "
            "supported"
        )


_NUMBER_KINDS = "biuf"  # NumPy's codes for booleans, integers and floats


def read_array(path: Path, proto: Any, name: str) -> NDArray[Any]:
    """Read one constant; `path` is the model file."""
    import onnx

    if any(size < 0 for size in proto.dims):
        raise FormatError(f"{path}: {name!r} has a negative size: {list(proto.dims)}")
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        return _read_external(path, proto, name)
    try:
        array = np.asarray(onnx.numpy_helper.to_array(proto))
    except Exception as error:  # noqa: BLE001 - a damaged array may raise anything
        raise FormatError(f"{path}: {name!r} cannot be read: {error}") from None
    return _require_numbers(path, array, name)


def _require_numbers(path: Path, array: NDArray[Any], name: str) -> NDArray[Any]:
    """Raise for strings, complex numbers, and floats of 8 bits or fewer."""
    if array.dtype.kind in _NUMBER_KINDS or array.dtype.name == "bfloat16":
        return array
    raise FormatError(
        f"{path}: {name!r} has the type {array.dtype}; only booleans, integers and floats "
        "with at least 16 bits are supported"
    )


def _read_external(path: Path, proto: Any, name: str) -> NDArray[Any]:
    """Read a constant from an external file in the folder of the model."""
    import onnx

    facts = {it.key: it.value for it in proto.external_data}
    file = _find_external(path, facts.get("location", ""), name)
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(proto.data_type))
        start = int(facts.get("offset", "0"))
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{path}: {name!r} does not declare how it is stored") from None
    shape = tuple(map(int, proto.dims))
    size = math.prod(shape) * dtype.itemsize
    most = file.stat().st_size
    if not 0 <= start <= start + size <= most:
        raise FormatError(
            f"{path}: {name!r} needs the bytes {start} to {start + size} of {file.name}, "
            f"which has {most} bytes"
        )
    with file.open("rb") as stream:
        stream.seek(start)
        text = stream.read(size)
    if len(text) != size:
        raise FormatError(f"{file}: ends before the end of {name!r}")
    array = np.frombuffer(text, dtype.newbyteorder("<")).reshape(shape)
    return _require_numbers(path, array.astype(dtype), name)


def _find_external(path: Path, location: str, name: str) -> Path:
    """Return the path of an external file; raise if it is outside the model's folder."""
    home = path.parent.resolve()
    try:
        file = (home / location).resolve()
        is_inside = bool(location) and file != home and file.is_relative_to(home)
    except (OSError, ValueError):
        is_inside, file = False, home
    if not is_inside:
        raise FormatError(
            f"{path}: {name!r} is stored in {location!r}, which is outside the model's "
            "folder and is not read"
        )
    if not file.is_file():
        raise MissingFileError(f"{file}: no such file; {path.name} stores {name!r} in it")
    return file
