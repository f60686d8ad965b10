"""`from_onnx`: an ONNX file as a module that can be trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer, as_path, quote
from seqloom._key import Key
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._onnx._evaluate import evaluate, require_known
from seqloom.models._onnx._file import read_graph
from seqloom.models._onnx._graph import find_weights
from seqloom.models._onnx._values import as_tensor, pad_axis, slice_axis
from seqloom.nn import Buffer, Module, Param
from seqloom.nn._operands import read_host_array
from seqloom.tensor import Tensor, backend as find_backend

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from seqloom.models._onnx._graph import OnnxGraph
    from seqloom.tensor import Backend


# Placeholders in a shape: the batch axis with one record, and an axis of unknown
# length.
_RECORDS, _POSITIONS = 1, 0


def from_onnx(  # noqa: PLR0913 - settings that the file lacks
    path: str | os.PathLike[str],
    *,
    encoder: Any = None,
    length: int | None = None,
    pair: str | None = None,
    output: str | None = None,
    backend: str | Backend = "numpy",
    num_threads: int | None = None,
) -> OnnxModule:
    """Load an ONNX file as a module whose weights are parameters.

    The module computes with the operations of `seqloom.tensor` on every backend, so it
    can be trained by `seqloom.train.fit` and compiled. No code in the file is executed.
    Requires the extra ``onnx``.

    Args:
        path: Path of the file. External weight files are only read from the folder of
            this file.
        encoder: Encoder of the records, which the file does not contain.
        length: Number of positions that the network reads: longer records are truncated
            at their end, and shorter records are padded with the encoder's padding value.
            By default, the network reads any length, but all records of a batch must
            have the same length.
        pair: ``"sum"`` if records are read pairs whose outputs are added; default:
            single records.
        output: Name of the value to compute; default: the outputs of the file. For a
            classification loss, pass the name of the last softmax's input.
        backend: A backend or its name.
        num_threads: Number of threads; default: all that the machine allows.

    Returns:
        The network, bound to the backend and in evaluation mode.

    Raises:
        ArgumentError: An argument is invalid, or the encoder's arrays do not have the
            shape that the file expects.
        FileError: The file cannot be read.
        FormatError: The file is not ONNX or is truncated, has an opset below 7 or an
            unknown newer opset, or contains an incomplete graph.
        MissingExtraError: The package onnx is not installed.
        OperationError: A node has an unsupported operator; the message names the node.

    Examples:
        >>> import onnx.helper as h, onnx, numpy as np, seqloom as sl
        >>> weight = onnx.numpy_helper.from_array(np.ones((1, 4, 3), "float32"), "motif")
        >>> x = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4, "length"])
        >>> y = h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 1, 1])
        >>> nodes = [
        ...     h.make_node("Conv", ["x", "motif"], ["found"]),
        ...     h.make_node("GlobalMaxPool", ["found"], ["y"]),
        ... ]
        >>> graph = h.make_graph(nodes, "net", [x], [y], [weight])
        >>> onnx.save(h.make_model(graph), "motif.onnx")
        >>> dna = sl.encode.OneHot("dna")
        >>> net = sl.models.from_onnx("motif.onnx", encoder=dna, length=5)
        >>> net.logits(dna.batch(["ACGTA", "NNNNC"])).numpy().ravel().tolist()
        [3.0, 1.0]
        >>> net.crop
        'pad'
    """
    if pair not in {None, "sum"}:
        raise ArgumentError(f'pair must be "sum" or None, got {quote(pair)}')
    length = None if length is None else as_integer("length", length, least=1)
    if length is not None and encoder is None:
        raise ArgumentError("length needs an encoder, which defines the padding value")
    file = as_path("path", path, expected="the path of an ONNX file")
    graph = read_graph(file)
    if output is not None:
        graph = graph.with_outputs([output])
    require_known(file, graph)
    if encoder is not None:
        _require_shape(graph, encoder, length)
    module = OnnxModule(graph, encoder=encoder, length=length, pair=pair)
    found = find_backend(backend, num_threads=num_threads)
    return module.bind(found, Key(0)).eval()


def _require_shape(graph: OnnxGraph, encoder: Any, length: int | None) -> None:
    """Raise if the encoder's arrays do not have the shape of the first input."""
    declared = graph.inputs[0].shape if graph.inputs else None
    if declared is None or not hasattr(encoder, "shape"):
        return
    made = encoder.shape(_RECORDS, length or _POSITIONS)
    fits = (
        wanted is None or size in {_POSITIONS, wanted} or wanted == _RECORDS
        for size, wanted in zip(made, declared, strict=False)
    )
    if len(made) == len(declared) and all(fits):  # a batch size of 1 means any size
        return
    sizes = ", ".join("any" if size is None else str(size) for size in declared)
    others = ("positions" if size == _POSITIONS else str(size) for size in made[1:])
    raise ArgumentError(
        f"the file reads arrays of shape ({sizes}), and encoder={quote(encoder)} returns "
        f"({', '.join(['records', *others])}); use another encoder, such as one with "
        'channels="last", or another length'
    )


_SEQUENCE_AXES = 3


class OnnxModule(Module):
    """Network of an ONNX file; created by `seqloom.models.from_onnx`.

    The weights in the file become parameters. In parameter names, dots replace ``/``
    and ``:``. The weights of a recurrent node are split by direction, with the gates in
    PyTorch's order. Running averages of batch norms are buffers. The module always
    computes as in evaluation: dropout has no effect, and batch norms use the averages
    of the file.

    Attributes:
        encoder: Encoder of the records; None if not specified.
        length: Number of positions that the network reads; None for any length.
        crop: ``"pad"`` if `length` is set: longer records are truncated at their end, and
            shorter records are padded.
        pair: ``"sum"`` if records are read pairs whose outputs are added; None for
            single records.

    Examples:
        >>> import onnx.helper as h, onnx, numpy as np, seqloom as sl
        >>> weight = onnx.numpy_helper.from_array(np.ones((4, 2), "float32"), "head/weight")
        >>> x = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])
        >>> y = h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 2])
        >>> node = h.make_node("MatMul", ["x", "head/weight"], ["y"])
        >>> graph = h.make_graph([node], "net", [x], [y], [weight])
        >>> onnx.save(h.make_model(graph), "net.onnx")
        >>> net = sl.models.from_onnx("net.onnx")
        >>> [path for path, _ in net.parameters()]
        ['head.weight']
        >>> net(np.ones((1, 4), "float32")).tolist()
        [[4.0, 4.0]]
    """

    param_names: tuple[str, ...]
    names: dict[str, str]  # parameter path -> name of the value in the graph
    graph: OnnxGraph
    encoder: Any
    length: int | None
    crop: str | None
    pair: str | None

    def __init__(
        self,
        graph: OnnxGraph,
        *,
        encoder: Any = None,
        length: int | None = None,
        pair: str | None = None,
    ) -> None:
        taken = {*dir(type(self)), *type(self).__dataclass_fields__}
        graph, weights = find_weights(graph, taken)
        self.graph, self.encoder, self.length, self.pair = graph, encoder, length, pair
        self.crop = None if length is None else "pad"
        self.param_names = tuple(it.path for it in weights)
        self.names = {it.path: it.value for it in weights}
        for weight in weights:
            kind = Param if weight.is_learned else Buffer
            array, dtype = weight.array, weight.array.dtype.name
            setattr(self, weight.path, kind(array.shape, FileValues(array), dtype=dtype))

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the outputs of the network.

        Args:
            *inputs: Inputs as tensors or arrays, in the order of the file.
            **named: Inputs as tensors or arrays, by name.

        Returns:
            A tensor; a tuple of tensors if the file has several outputs.

        Raises:
            ArgumentError: An input is missing or unknown.
            OperationError: A node cannot be computed; the message names the node.

        Examples:
            >>> import onnx.helper as h, onnx, numpy as np, seqloom as sl
            >>> x = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])
            >>> y = h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 4])
            >>> nodes = [h.make_node("Relu", ["x"], ["y"])]
            >>> onnx.save(h.make_model(h.make_graph(nodes, "net", [x], [y])), "relu.onnx")
            >>> net = sl.models.from_onnx("relu.onnx")
            >>> net(x=np.array([[-1.0, 0.0, 1.0, 2.0]], "float32")).tolist()
            [[0.0, 0.0, 1.0, 2.0]]
        """
        given = self._name_inputs(inputs, named)
        like = next(iter(given.values()))
        weights = {value: getattr(self, path).value for path, value in self.names.items()}
        outputs = evaluate(self.graph, {**weights, **given})
        found = tuple(as_tensor(it, like) for it in outputs)
        return found[0] if len(found) == 1 else found

    def logits(self, x: Any, mask: Any = None) -> Any:
        """Compute the first output for encoded records, as used by `fit` and `predict`.

        Args:
            x: Encoded records, padded to one length.
            mask: Mask ``(record, position)``, true at the positions of a record, false
                at padding. If the name of an input contains "mask", the mask is passed
                to this input.

        Returns:
            A tensor with one row for each record.

        Raises:
            ArgumentError: The file has inputs other than records and a mask.
            ShapeError: Records differ in length, but the file has no mask input, and
                ``length`` was not passed to `from_onnx`.
            OperationError: A node cannot be computed; the message names the node.

        Examples:
            >>> import onnx.helper as h, onnx, numpy as np, seqloom as sl
            >>> x = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4, 3])
            >>> y = h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 12])
            >>> nodes = [h.make_node("Flatten", ["x"], ["y"])]
            >>> onnx.save(h.make_model(h.make_graph(nodes, "net", [x], [y])), "flat.onnx")
            >>> dna = sl.encode.OneHot("dna")
            >>> net = sl.models.from_onnx("flat.onnx", encoder=dna, length=3)
            >>> net.logits(dna.batch(["ACGT", "GGTA"])).shape
            (2, 12)
        """
        given = self._name_records(self._to_tensor(x), mask)
        outputs = self.forward(**given)
        return outputs if len(self.graph.outputs) == 1 else outputs[0]

    def _name_records(self, x: Tensor, mask: Any) -> dict[str, Any]:
        """Return the records and the mask in a dict with the names of the file's inputs."""
        names = [it.name for it in self.graph.inputs]
        masks = [name for name in names if "mask" in name.lower()]
        others = [name for name in names if name not in masks]
        if len(others) != 1 or len(masks) > 1:
            raise ArgumentError(
                f"this file has the inputs {', '.join(names)}, but logits only accepts "
                "records and a mask. Call the module with all inputs; in fit, pass "
                "step=function(model, batch, key)"
            )
        if not masks:
            self._require_one_length(mask)
            return {others[0]: self._fit_length(x)}
        return {others[0]: x, masks[0]: self._make_mask(masks[0], x, mask)}

    def _require_one_length(self, mask: Any) -> None:
        """Raise if the network would read padding as part of a record."""
        known = None if mask is None or self.length is not None else read_host_array(mask)
        if known is not None and not known.all():
            raise ShapeError(
                "records differ in length, but this file has no mask and would read the "
                "padding as data; pass length= to from_onnx, or records of one length"
            )

    def _fit_length(self, x: Tensor) -> Tensor:
        """Truncate or pad records to the length that the network reads."""
        if self.length is None:
            return x
        axis = position_axis(self.encoder)
        missing = self.length - x.shape[axis]
        if missing < 0:
            return slice_axis(x, axis, slice(0, self.length))
        if not missing:
            return x
        return pad_axis(x, axis, (0, missing), value=self.encoder.pad_value)

    def _make_mask(self, name: str, x: Tensor, mask: Any) -> Tensor:
        """Return the mask in the declared element type; default: all true."""
        axis = position_axis(self.encoder)
        shape = (x.shape[0], x.shape[axis])
        mask = np.ones(shape, bool) if mask is None else mask
        dtype = next(it.dtype for it in self.graph.inputs if it.name == name)
        mask = self._to_tensor(mask)
        return mask if mask.dtype.name == dtype else mask.astype(dtype)

    def _name_inputs(
        self, inputs: tuple[Any, ...], named: dict[str, Any]
    ) -> dict[str, Tensor]:
        """Return the arguments by input name; raise if there are too many or too few."""
        names = [it.name for it in self.graph.inputs]
        given = dict(zip(names, inputs, strict=False)) | named
        if len(inputs) > len(names) or given.keys() != {*names}:
            raise ArgumentError(
                f"this file has the inputs {', '.join(names) or 'none'}; got "
                f"{len(inputs)} by position and {', '.join(named) or 'none'} by name"
            )
        return {name: self._to_tensor(value) for name, value in given.items()}

    def _to_tensor(self, value: Any) -> Tensor:
        """Convert an array to a tensor on the network's backend."""
        if isinstance(value, Tensor):
            return value
        # A network without weights has no backend.
        found = self.backend if self.param_names else find_backend("numpy")
        return Tensor(found.asarray(np.asarray(value)), found)

    def __repr__(self) -> str:
        counts = f"{len(self.graph.nodes)} nodes, {self.number_of_parameters:,} parameters"
        return f"OnnxModule({counts})"


def position_axis(encoder: Any) -> int:
    """Return the axis of positions in an encoder's arrays."""
    is_first = getattr(encoder, "channels", None) == "first"
    return _SEQUENCE_AXES - 1 if is_first else 1


class FileValues:
    """Initialiser that returns the values in a file."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __call__(self, backend: Backend, key: Key, shape: tuple[int, ...]) -> Any:
        """Return a copy of the values."""
        del key, shape
        return backend.asarray(self.array, copy=True)
