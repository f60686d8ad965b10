"""Functions `save` and `onnx`, which write a model for use without Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_bool, as_choice, as_integer, as_path
from seqloom._files import write_atomic
from seqloom.errors import ArgumentError, ExportError, RunFolderError
from seqloom.export._calls import (
    GRAPH_FILE,
    ExportSubject,
    NetworkInput,
    find_setting,
    prepare_export,
    read_embeddings,
    reads_packed,
    to_named_inputs,
    trace_packed,
    trace_padded,
    trace_tokens,
)
from seqloom.export._content import (
    ArrayTable,
    check_encoder,
    describe_encoder,
    describe_task,
    describe_training,
    graph_to_json,
    learned_arrays,
    to_json_lines,
    write_manifest,
)
from seqloom.export._onnx._builder import import_onnx
from seqloom.export._onnx._convert import PrimitiveBackend, build_model
from seqloom.export._write import check_target, write_export
from seqloom.infer._exported import MANIFEST
from seqloom.models._examples import counts_kmers
from seqloom.record import Record, Safetensors

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from seqloom.export._trace import Input, Traced
    from seqloom.infer._predict import Model
    from seqloom.models import Task
    from seqloom.nn import Module

    Shape = tuple[int | str, ...]


_BATCH_SIZE_LIMIT = 1 << 16  # exclusive maximum of a batch size, as in seqloom-run


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
    """Write a model as a folder that can be read and run without Python.

    The folder contains the operations of the network in evaluation mode, its weights, the
    rules of its encoder, and the names of its outputs. The folder contains no executable
    code. The page "The format of an exported model" describes each file. The network is not
    changed, and may be on any backend.

    Args:
        model: A trained model, a run or its folder; or a module of `sl.nn`, including
            custom modules.
        path: A new or empty folder, or the path of a zip file, which ends in ``.zip``.
        encoder: The encoder of the records, if the model is a module.
        task: The task of the outputs, such as `sl.models.Classify`; if None, raw
            outputs are exported.
        inputs: The arrays that a module without encoder reads: a shape, such as ``("batch",
            4, "length")``, an `Input`, or several of these by name.
        length: Number of positions in every record; None uses the length in the config, or
            allows any length.
        crop: ``"pad"`` crops longer records and pads shorter records to ``length``.
        pair: ``"sum"`` reads two files, and adds the outputs of both reads of a pair.
        pool: Pooling of the output of `sl.models.ESM2`: ``"mean"`` over the residues of
            each record, ``"cls"`` for the first token, or None for no pooling.
        batch_size: Number of records in a batch; None uses the batch size of a trained
            model, or 256.
        overwrite: If True, replace an existing export.

    Raises:
        ArgumentError: Arguments contradict each other, or have a wrong type.
        ExportError: The network cannot be exported, because it reads values of tensors,
            depends on sizes in its structure, contains a loop, or calls PyTorch. An encoder
            that only Python can run is also an error. The message contains the line of
            code.
        FileError: The folder cannot be written.
        RunFolderError: The folder is not empty.

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
    check_target(target, overwrite=as_bool("overwrite", overwrite))
    subject = prepare_export(
        model, encoder=encoder, task=task, batch_size=_to_count(batch_size)
    )
    subject, inputs = read_embeddings(subject, inputs)
    as_integer("batch_size", subject.batch_size, least=1, limit=_BATCH_SIZE_LIMIT)
    facts = _manifest_facts(subject, length=length, crop=crop, pair=pair, pool=pool)
    reading = NetworkInput(
        subject.encoder, facts["length"], facts["crop"] == "pad", to_named_inputs(inputs)
    )
    check_encoder(subject.encoder)
    packed = reads_packed(subject.model)
    graphs = trace_packed(subject.model) if packed else trace_padded(subject, reading)
    files = _make_files(subject, graphs)
    write_export(
        target, {MANIFEST: write_manifest(facts, files), **files}, overwrite=overwrite
    )


def _manifest_facts(subject: ExportSubject, **given: Any) -> dict[str, Any]:
    """Return the entries of export.json, except versions and files."""
    held = subject.model
    known = {name: find_setting(held, name) for name in ("crop", "pair")}
    known["length"] = subject.length
    found = {name: known.get(name) if it is None else it for name, it in given.items()}
    choices = {"crop": ["pad"], "pair": ["sum"], "pool": ["mean", "cls"]}
    for name, known_choices in choices.items():
        if found[name] is not None:
            as_choice(name, found[name], known_choices)
    if found["pool"] and not reads_packed(held):
        raise ArgumentError(
            "pool is for sl.models.ESM2, which returns a row for each token"
        )
    if found["crop"] and found["length"] is None:
        raise ArgumentError('crop="pad" needs length=, the length of all records')
    is_of_words = counts_kmers(subject.encoder)  # genotypes have no length
    layout = "packed" if reads_packed(held) else "padded"
    return {
        "task": describe_task(subject.task),
        "batch_size": subject.batch_size,
        "layout": layout,
        "length": None if is_of_words else _to_count(found["length"], "length"),
        **{name: found[name] for name in ("crop", "pair", "pool")},
        "training": describe_training(subject.trained, subject.encoder),
    }


def _to_count(number: Any, name: str = "batch_size") -> int | None:
    """Validate an optional number."""
    return None if number is None else as_integer(name, number, least=1)


def _make_files(subject: ExportSubject, graphs: Mapping[str, Traced]) -> dict[str, bytes]:
    """Return the content of all files except export.json."""
    weights = ArrayTable(subject.model)
    written = {name: graph_to_json(traced, weights) for name, traced in graphs.items()}
    files = {name: to_json_lines(graph) for name, graph in written.items()}
    files["model.safetensors"] = Safetensors().to_bytes(Record(weights.arrays))
    if subject.encoder is None:
        return files
    dtype = next(iter(written.values()))["inputs"][0]["dtype"]
    files["encoder.json"] = to_json_lines(describe_encoder(subject.encoder, dtype))
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
    """Write a network as one ONNX file with standard operators (opset 18).

    The axes ``batch`` and ``length`` are dynamic. The model reads the same inputs as the
    graph that `save` writes: ``inputs``, and also ``mask`` or ``lengths`` if the network
    accepts this argument. The mask is 1 at real positions and 0 at padding.
    `sl.models.ESM2` reads padded ``input_ids`` and ``mask``. The first result, ``outputs``,
    is the output of the network. If the task has a function such as softmax, the second
    result, ``scores``, is this function of ``outputs``. The metadata contains, as JSON,
    ``encoder`` (as encoder.json), ``task``, ``classes``, ``length``, ``crop``, ``pair`` and
    ``version``.

    Args:
        model: A trained model, a run or its folder; or a module of `sl.nn`, including
            custom modules.
        path: The path of the file.
        encoder: The encoder of the records, if the model is a module.
        task: The task of the outputs, as in `save`.
        inputs: The arrays that a module without encoder reads, as in `save`.
        length: Number of positions in every record; None uses the length in the config, or
            allows any length.
        overwrite: If True, replace an existing file.

    Raises:
        ArgumentError: Arguments contradict each other, or have a wrong type.
        ExportError: The network cannot be exported, as in `save`, or ONNX has no equivalent
            of an operation. The message contains the line of code.
        FileError: The file cannot be written.
        MissingExtraError: The package onnx is not installed.
        RunFolderError: The file exists.

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
    if target.exists() and not as_bool("overwrite", overwrite):
        raise RunFolderError(
            f"{target}: already exists; choose another name, or replace it "
            "(overwrite=True, --overwrite)"
        )
    import_onnx()
    subject = prepare_export(model, encoder=encoder, task=task, batch_size=None)
    subject, inputs = read_embeddings(subject, inputs)
    length = subject.length if length is None else length
    is_padded = find_setting(subject.model, "crop") == "pad"
    reading = NetworkInput(subject.encoder, length, is_padded, to_named_inputs(inputs))
    check_encoder(subject.encoder)
    # Export the padded graph, because ONNX has no operators for packed tokens.
    model = subject.model.to(PrimitiveBackend())
    packed = reads_packed(model)
    traced = trace_tokens(model) if packed else trace_padded(subject, reading)[GRAPH_FILE]
    write_atomic(target, _make_bytes(subject, traced, length=length))


def _make_bytes(subject: ExportSubject, traced: Traced, *, length: int | None) -> bytes:
    """Create the content of the file, and validate the content with onnx."""
    weights = ArrayTable(subject.model)
    for path in traced.weights.values():
        weights.add(path)
    about: dict[str, Any] = {
        "version": 1,
        "task": describe_task(subject.task),
        "classes": list(subject.task.columns),
    }
    if subject.encoder is not None:
        first = next(it for it in traced.graph.inputs if it.number in traced.inputs)
        about["encoder"] = describe_encoder(subject.encoder, str(first.dtype))
    about["length"] = length
    about |= {name: find_setting(subject.model, name) for name in ("crop", "pair")}
    model = build_model(traced, weights.arrays, task=subject.task, about=about)
    library = import_onnx()
    try:
        library.checker.check_model(model, full_check=True)
    except (library.checker.ValidationError, library.shape_inference.InferenceError) as e:
        reason = str(e).strip().splitlines()[0]
        raise ExportError(f"the graph is not a valid ONNX model: {reason}") from e
    return model.SerializeToString()
