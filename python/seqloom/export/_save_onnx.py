"""onnx: writes a network with operators of ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_flag, as_path
from seqloom._files import write_atomic
from seqloom.errors import ExportError, RunFolderError
from seqloom.export._calls import GRAPH, Reading, as_inputs, trace_padded, trace_rows
from seqloom.export._encoder import check_encoder, describe
from seqloom.export._graph_json import Weights
from seqloom.export._manifest import describe_task
from seqloom.export._onnx._builder import import_onnx
from seqloom.export._onnx._convert import PrimitiveBackend, to_model
from seqloom.export._prepare import (
    Subject,
    check_reads,
    is_packed,
    prepare,
    setting_of,
    take_embeddings,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from seqloom.export._inputs import Input
    from seqloom.export._trace import Traced
    from seqloom.infer._predict import Model
    from seqloom.models import Task
    from seqloom.nn import Module

    Shape = tuple[int | str, ...]


def onnx(
    model: Model | Module,
    path: str | os.PathLike[str],
    *,
    encoder: Any = None,
    task: Task | None = None,
    inputs: Input | Shape | Mapping[str, Input | Shape] | None = None,
    length: int | None = None,
    overwrite: bool = False,
) -> None:
    """Writes a network as one file of ONNX, by its standard operators (opset 18).

    The sizes ``batch`` and ``length`` are dynamic. The inputs are those of the graph that
    `save` writes: ``inputs``, and ``mask`` or ``lengths`` where the network asks for them,
    1 on a record and 0 after its end; of `sl.models.ESM2` padded ``input_ids`` and
    ``mask``. The first output, ``outputs``, is what the network gives; the second,
    ``scores``, what the task makes of it, where it has a function. The metadata hold, as
    JSON, ``encoder`` (as encoder.json), ``task``, ``classes``, ``length``, ``crop``,
    ``pair`` and ``version``.

    Args:
        model: A trained model, a run or its folder; or a module of `sl.nn`, also your own.
        path: The file.
        encoder: What makes numbers of records, for a module.
        task: What its outputs mean.
        inputs: For a module without encoder, the arrays that it reads, as for `save`.
        length: Positions of every record; None: those of its config, else any number.
        overwrite: Replace the file that is there.

    Raises:
        ArgumentError: Arguments that do not go together, or are of another type.
        ExportError: The network does what no graph can, as for `save`, or has an operation
            that ONNX has no form for. The message names the line.
        FileError: The file cannot be written.
        MissingExtraError: The package onnx is not installed.
        RunFolderError: The file is there already.

    Examples:
        >>> import seqloom as sl
        >>> network = sl.models.SequenceCNNConfig(channels=4, outputs=2).init("numpy")
        >>> task = sl.models.Classify(("no", "yes"))
        >>> sl.export.onnx(
        ...     network, "small.onnx", encoder=sl.encode.OneHot("dna"), task=task
        ... )
        >>> import onnx
        >>> [it.name for it in onnx.load("small.onnx").graph.input]
        ['inputs', 'mask']
    """
    target = as_path("path", path)
    if target.exists() and not as_flag("overwrite", overwrite):
        raise RunFolderError(
            f"{target}: is there already; choose another name, or replace it "
            "(overwrite=True, --overwrite)"
        )
    import_onnx()
    subject = prepare(model, encoder=encoder, task=task, batch_size=None)
    subject, inputs = take_embeddings(subject, inputs)
    length = setting_of(subject.model, "length") if length is None else length
    is_padded = setting_of(subject.model, "crop") == "pad"
    reading = Reading(subject.encoder, length, is_padded, as_inputs(inputs))
    traced = _trace(subject, reading)
    write_atomic(target, _to_bytes(subject, traced, length=length))


def _trace(subject: Subject, reading: Reading) -> Traced:
    """Traces the network's padded graph, in operations that ONNX has operators for."""
    check_encoder(subject.encoder)
    subject.model.to(PrimitiveBackend())
    if is_packed(subject.model):
        return trace_rows(subject.model)
    check_reads(subject, reading.inputs)
    return trace_padded(subject.model, reading)[GRAPH]


def _to_bytes(subject: Subject, traced: Traced, *, length: int | None) -> bytes:
    """Makes the file, and lets the library check it."""
    weights = Weights(subject.model)
    for path in traced.weights.values():
        weights.add(path)
    kept = {name: setting_of(subject.model, name) for name in ("crop", "pair")}
    about = {**_about(subject, traced), "length": length, **kept}
    model = to_model(traced, weights.arrays, task=subject.task, about=about)
    library = import_onnx()
    try:
        library.checker.check_model(model, full_check=True)
    except (library.checker.ValidationError, library.shape_inference.InferenceError) as e:
        reason = str(e).strip().splitlines()[0]
        raise ExportError(f"the graph is no valid model of ONNX: {reason}") from e
    return model.SerializeToString()


def _about(subject: Subject, traced: Traced) -> dict[str, Any]:
    """Collects the metadata."""
    facts: dict[str, Any] = {
        "version": 1,
        "task": describe_task(subject.task),
        "classes": list(subject.task.columns),
    }
    if subject.encoder is not None:
        first = next(it for it in traced.graph.inputs if it.number in traced.inputs)
        facts["encoder"] = describe(subject.encoder, str(first.dtype))
    return facts
