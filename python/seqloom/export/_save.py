"""save and onnx: write a model for where there is no Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_choice, as_flag, as_integer, as_path
from seqloom._files import write_atomic
from seqloom.errors import ArgumentError, ExportError, RunFolderError
from seqloom.export._calls import (
    GRAPH,
    Reading,
    Subject,
    as_inputs,
    is_packed,
    prepare,
    setting_of,
    take_embeddings,
    trace_packed,
    trace_padded,
    trace_rows,
)
from seqloom.export._content import (
    Weights,
    check_encoder,
    describe,
    describe_task,
    describe_training,
    learned_arrays,
    seal,
    to_json,
    to_json_lines,
)
from seqloom.export._onnx._builder import import_onnx
from seqloom.export._onnx._convert import PrimitiveBackend, to_model
from seqloom.export._write import check_target, write
from seqloom.infer._exported import MANIFEST
from seqloom.models._examples import counts_words
from seqloom.record import Record, Safetensors

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from seqloom.export._trace import Input, Traced
    from seqloom.infer._predict import Model
    from seqloom.models import Task
    from seqloom.nn import Module

    Shape = tuple[int | str, ...]


_RECORDS_LIMIT = 1 << 16  # one more than a batch may have, as in seqloom-run


def save(
    model: Model | Module,
    path: str | os.PathLike[str],
    *,
    encoder: Any = None,
    task: Task | None = None,
    inputs: Input | Shape | Mapping[str, Input | Shape] | None = None,
    length: int | None = None,
    crop: str | None = None,
    pair: str | None = None,
    pool: str | None = None,
    batch_size: int | None = None,
    overwrite: bool = False,
) -> None:
    """Write a model as a folder that is read, and run, without Python.

    The folder holds the operations of the network in evaluation mode, its weights, what
    its encoder does, and the names of its outputs; nothing in it is code. The page of the
    format describes each file. The network stays as it is; on another backend than NumPy
    it is copied there.

    Args:
        model: A trained model, a run or its folder; or a module of `sl.nn`, also your own.
        path: An empty folder or one to be made; a name that ends in ``.zip`` is one file.
        encoder: What makes numbers of records, for a module.
        task: What its outputs mean: `sl.models.Classify` and others; None: as they are.
        inputs: For a module without encoder, the arrays that it reads: a shape, such as
            ``("batch", 4, "length")``, an `Input`, or several of these by name.
        length: Positions of every record; None: those of its config, else any number.
        crop: ``"pad"`` where longer records shall be cut and shorter ones padded to
            `length`.
        pair: ``"sum"`` where two files are read, and the outputs of both mates are added.
        pool: What becomes of the rows of `sl.models.ESM2`, which is exported for packed
            tokens: ``"mean"`` of each record's residues, ``"cls"``, or None, all rows.
        batch_size: Records of a batch; None: that of a trained model, else 256.
        overwrite: Replace the export that is there.

    Raises:
        ArgumentError: Arguments that do not go together, or are of another type.
        ExportError: The network does what no graph can: reads values, has another
            structure for another size, loops, calls torch, or has an encoder that only
            Python can run. The message names the line.
        FileError: The folder cannot be written.
        RunFolderError: It holds something already.

    Examples:
        >>> import seqloom as sl
        >>> network = sl.models.SequenceCNNConfig(channels=4, outputs=2).init("numpy")
        >>> task = sl.models.Classify(("no", "yes"))
        >>> sl.export.save(network, "small", encoder=sl.encode.OneHot("dna"), task=task)
        >>> from pathlib import Path
        >>> for file in sorted(Path("small").iterdir()):
        ...     print(file.name)
        encoder.json
        export.json
        graph-unpadded.json
        graph.json
        model.safetensors
    """
    target = as_path("path", path)
    check_target(target, overwrite=as_flag("overwrite", overwrite))
    subject = prepare(model, encoder=encoder, task=task, batch_size=_count(batch_size))
    subject, inputs = take_embeddings(subject, inputs)
    as_integer("batch_size", subject.batch_size, least=1, limit=_RECORDS_LIMIT)
    facts = _facts(subject, length=length, crop=crop, pair=pair, pool=pool)
    reading = Reading(
        subject.encoder, facts["length"], facts["crop"] == "pad", as_inputs(inputs)
    )
    check_encoder(subject.encoder)
    packed = is_packed(subject.model)
    graphs = trace_packed(subject.model) if packed else trace_padded(subject, reading)
    files = _make_files(subject, graphs)
    write(target, {MANIFEST: seal(facts, files), **files}, overwrite=overwrite)


def _facts(subject: Subject, **given: Any) -> dict[str, Any]:
    """Collect what export.json says beside versions and files."""
    held = subject.model
    known = {name: setting_of(held, name) for name in ("length", "crop", "pair")}
    found = {name: known.get(name) if it is None else it for name, it in given.items()}
    choices = {"crop": ["pad"], "pair": ["sum"], "pool": ["mean", "cls"]}
    for name, known_choices in choices.items():
        if found[name] is not None:
            as_choice(name, found[name], known_choices)
    if found["pool"] and not is_packed(held):
        raise ArgumentError("pool is of sl.models.ESM2, which gives a row for each token")
    if found["crop"] and found["length"] is None:
        raise ArgumentError('crop="pad" needs length=, to which records are brought')
    is_of_words = counts_words(subject.encoder)  # which have no place
    layout = "packed" if is_packed(held) else "padded"
    return {
        "task": describe_task(subject.task),
        "batch_size": subject.batch_size,
        "layout": layout,
        "length": None if is_of_words else _count(found["length"], "length"),
        **{name: found[name] for name in ("crop", "pair", "pool")},
        "training": describe_training(subject.trained, subject.encoder),
    }


def _count(number: Any, name: str = "batch_size") -> int | None:
    """Check a number that may be left out."""
    return None if number is None else as_integer(name, number, least=1)


def _make_files(subject: Subject, graphs: Mapping[str, Traced]) -> dict[str, bytes]:
    """Make the content of each file but export.json."""
    weights = Weights(subject.model)
    written = {name: to_json(traced, weights) for name, traced in graphs.items()}
    files = {name: to_json_lines(graph) for name, graph in written.items()}
    files["model.safetensors"] = Safetensors().to_bytes(Record(weights.arrays))
    if subject.encoder is None:
        return files
    dtype = next(iter(written.values()))["inputs"][0]["dtype"]
    files["encoder.json"] = to_json_lines(describe(subject.encoder, dtype))
    if learned := learned_arrays(subject.encoder, dtype):
        files["encoder.safetensors"] = Safetensors().to_bytes(Record(learned))
    return files


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
    """Write a network as one file of ONNX, by its standard operators (opset 18).

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
    check_encoder(subject.encoder)
    # The padded graph, in operations that ONNX has operators for.
    model = subject.model.to(PrimitiveBackend())
    packed = is_packed(model)
    traced = trace_rows(model) if packed else trace_padded(subject, reading)[GRAPH]
    write_atomic(target, _to_bytes(subject, traced, length=length))


def _to_bytes(subject: Subject, traced: Traced, *, length: int | None) -> bytes:
    """Make the file, and let the library check it."""
    weights = Weights(subject.model)
    for path in traced.weights.values():
        weights.add(path)
    about: dict[str, Any] = {
        "version": 1,
        "task": describe_task(subject.task),
        "classes": list(subject.task.columns),
    }
    if subject.encoder is not None:
        first = next(it for it in traced.graph.inputs if it.number in traced.inputs)
        about["encoder"] = describe(subject.encoder, str(first.dtype))
    about["length"] = length
    about |= {name: setting_of(subject.model, name) for name in ("crop", "pair")}
    model = to_model(traced, weights.arrays, task=subject.task, about=about)
    library = import_onnx()
    try:
        library.checker.check_model(model, full_check=True)
    except (library.checker.ValidationError, library.shape_inference.InferenceError) as e:
        reason = str(e).strip().splitlines()[0]
        raise ExportError(f"the graph is no valid model of ONNX: {reason}") from e
    return model.SerializeToString()
