"""`from_onnx`: a file of ONNX as a module that can be trained further."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer, as_path, quote
from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.models._onnx._file import read_graph
from seqloom.models._onnx._module import OnnxModule
from seqloom.models._onnx._operators import require_known
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    import os

    from seqloom.models._onnx._graph import Graph
    from seqloom.tensor import Backend

# Any number of positions: where no length is given, one that no size of a file equals.
_RECORDS, _POSITIONS = 1, 0


def from_onnx(  # noqa: PLR0913 - what the file does not say
    path: str | os.PathLike[str],
    *,
    encoder: Any = None,
    length: int | None = None,
    pair: str | None = None,
    output: str | None = None,
    backend: str | Backend = "numpy",
    num_threads: int | None = None,
) -> OnnxModule:
    """Reads an ONNX file as a module, whose weights are parameters.

    The module computes with the operations of `seqloom.tensor` on every backend, so it can
    be trained by `seqloom.train.fit` and compiled. Nothing of the file is run as code. It
    needs the extra ``onnx``.

    Args:
        path: The file. Weights that it keeps in other files are read from its folder only.
        encoder: What makes numbers of a record, which the file does not say.
        length: The positions that the network reads: longer records are cut at their end,
            shorter ones are padded by the encoder's value for that. Default: any number,
            the same for all records of a batch.
        pair: ``"sum"`` if the outputs of two mates are added; default: single records.
        output: Name of the value to compute; default: the outputs of the file. A value
            before the last softmax is what a loss of classes wants.
        backend: What computes, and where: a name or a backend.
        num_threads: The threads it may use; default: what the machine allows.

    Returns:
        The network, bound to the backend and in evaluation mode.

    Raises:
        ArgumentError: An argument makes no sense, or the encoder makes arrays of another
            shape than the file reads.
        FileError: The file cannot be read.
        FormatError: It is no ONNX file, is cut, is of an opset below 7 or of one that is
            not known yet, or its graph is not complete.
        MissingExtraError: The package onnx is not installed.
        OperationError: A node is of an operator that is not known; the message names it.

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
        raise ArgumentError("length needs an encoder, which says what padding is")
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


def _require_shape(graph: Graph, encoder: Any, length: int | None) -> None:
    """Refuses an encoder whose arrays have another shape than the first input."""
    declared = graph.inputs[0].shape if graph.inputs else None
    if declared is None or not hasattr(encoder, "shape"):
        return
    made = encoder.shape(_RECORDS, length or _POSITIONS)
    pairs = zip(made, declared, strict=False)
    if len(made) == len(declared) and all(_may_be(*pair) for pair in pairs):
        return
    sizes = ", ".join("any" if size is None else str(size) for size in declared)
    raise ArgumentError(
        f"the file reads arrays of the shape ({sizes}), and encoder={quote(encoder)} makes "
        f'{_spell(made)}; give another encoder, such as one with channels="last", or '
        "another length"
    )


def _may_be(made: int, declared: int | None) -> bool:
    """Whether a size may be the declared one; a file of one record may read several."""
    return declared is None or made in {_POSITIONS, declared} or declared == _RECORDS


def _spell(made: tuple[int, ...]) -> str:
    """Writes the shape that an encoder makes."""
    names = [
        "records",
        *("positions" if size == _POSITIONS else str(size) for size in made[1:]),
    ]
    return f"({', '.join(names)})"
