"""The function `embed`, which computes the embeddings of all records in files."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.data._paths import expand_paths
from seqloom.errors import ArgumentError
from seqloom.infer._input_warnings import warn_of_tokens
from seqloom.infer.embedding._model import LAST_LAYER
from seqloom.infer.embedding._processes import run_on_ray, run_processes
from seqloom.infer.embedding._report import run_job
from seqloom.infer.embedding._settings import (
    EmbedSettings,
    check_layers,
    find_part,
    find_tokenizer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from seqloom.infer.embedding._summary import EmbedSummary, Progress

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def embed(
    model: Any,
    files: Paths,
    *,
    out: str | os.PathLike[str],
    pool: str = "mean",
    layers: Sequence[int] = LAST_LAYER,
    dtype: str = "float32",
    tokens: Any = None,
    max_tokens: int = 4096,
    max_length: int | None = None,
    overlap: int = 0,
    packing: bool = True,
    shard_size: int | None = None,
    format: str = "safetensors",  # noqa: A002 - the usual name
    identity: str | None = None,
    resume: bool = True,
    cloud_options: Mapping[str, str] | None = None,
    num_threads: int | None = None,
    part: str | None = None,
    devices: Sequence[str] | None = None,
    engine: str = "processes",
    progress: Callable[[Progress], Any] | None = None,
) -> EmbedSummary:
    """Compute the embeddings of all sequences in files, and write them to a folder.

    Sequences are packed end to end, so no time is spent on padding. The records are divided
    into numbered shards. Each shard is a file that is written atomically, next to a
    ``.done`` file with the hash of the shard. Each record is written exactly once, in input
    order. To continue a job that was killed, repeat the call; the new call computes
    only the missing shards. To divide the work among processes and machines, set
    `part`.

    Args:
        model: A `sl.models.ESM2`, a network of the transformers library wrapped by
            `sl.models.packed_huggingface`, or another model with a method ``embed(batch,
            layers=...)``. A seqloom or PyTorch module is also accepted; its parameters
            receive the arrays of the same names. A function is called with the batch, a
            dict of NumPy arrays: ``input_ids``, ``position_ids``, ``cu_seqlens`` and
            ``max_seqlen``, or with ``packing=False`` ``input_ids`` and ``mask``. The model
            must return a row for each token. A module is switched to evaluation mode and
            remains in this mode.
        files: FASTA or FASTQ files (plain, gzip or bgzip), or glob patterns.
        out: The output folder, on a disk that all processes share; or a URL such as
            ``"s3://bucket/embeddings"`` (extra ``cloud``).
        pool: The reduction of the rows of a sequence to its embedding. ``"mean"``
            averages over the residues (without ``<cls>`` and ``<eos>``), ``"cls"``
            selects the row of ``<cls>``, and ``"none"`` saves a row for each residue. Use
            ``"model"`` if the model returns a row for each sequence.
        layers: The indices of the layers to save: 0 is the token embedding, -1 the last
            layer.
        dtype: The dtype of the saved embeddings, ``"float32"`` or ``"float16"``.
        tokens: The tokenizer: `sl.encode.Tokens`, a tokenizer of the transformers library,
            or a function of one sequence. By default the tokenizer of the model, or
            ``Tokens("esm2")`` if the model has none.
        max_tokens: The maximum number of tokens in a batch. If GPU memory is full, batches
            are halved.
        max_length: The maximum number of residues of a sequence. A sequence with more
            residues is divided into windows of this length, and the rows of all windows
            are joined again. If `max_length` is None, a sequence that does not fit into a
            batch raises an error.
        overlap: The number of residues that neighbouring windows share. The row of a shared
            residue is taken from the window in which the residue is farther from the end.
        packing: If True, sequences are packed end to end; if False, sequences are padded.
        shard_size: The number of records in a shard; by default 256 MiB of embeddings, but
            at most 65,536 records.
        format: ``"safetensors"`` or ``"parquet"``.
        identity: The name and version of the model, by which the plan of the job
            identifies the model. By default, a module is identified by the hash of its
            weights. A function is identified by the hash of its code and of the arrays
            and numbers in its closure. Changes of other objects that the function uses
            are not detected.
        resume: If True, continue a job whose folder already contains some of the shards.
        cloud_options: Options for the object store of a URL, such as
            ``{"timeout": "10m"}``. Options that are missing here are read from environment
            variables.
        num_threads: The number of threads for reading, and for computing on a CPU; by
            default the number of available CPU cores.
        part: The part of the shards that this call computes, as ``"i/n"``: ``"2/8"`` is the
            second of eight parts. The default is the part that torchrun (``RANK``,
            ``WORLD_SIZE``) or a SLURM array (``SLURM_ARRAY_TASK_ID``) assigns to this
            process. Without torchrun and SLURM, all shards are computed.
        devices: Names of backends, such as ``["torch:cuda:0", "torch:cuda:1"]``. A process
            is started for each device, and each process computes a part of the shards. With
            ``devices``, ``model`` must be a function that returns the model; every process
            calls it with ``backend=``. For example, pass
            ``functools.partial(sl.models.ESM2.load, folder)``. The threads are divided
            among the processes. If a process dies, the other processes finish their parts,
            and then the call raises an error.
        engine: The way to start the processes of ``devices``. ``"processes"`` starts the
            processes on this machine. ``"ray"`` (extra ``ray``) starts tasks in a Ray
            cluster, each with a GPU or an equal number of CPU cores. All tasks need access
            to ``files`` and ``out``. Ray repeats a task if its process or machine dies.
        progress: A function that is called with a `Progress` after each batch.

    Returns:
        A summary of this call: counts of records and shards, and the use of time.

    Raises:
        ArgumentError: An argument has the wrong type or value.
        ConfigError: The folder contains a job with another plan; the message lists the
            differences.
        FileError: A file cannot be read, or the folder cannot be written.
        FormatError: A file is not a sequence file, or a record is empty.
        MemoryLimitError: A batch with a single sequence does not fit into memory.
        NotFiniteError: An embedding is not finite.
        RunFolderError: The folder contains a job, and ``resume`` is False.
        ShapeError: A sequence does not fit into a batch, or an output has the wrong shape.
        WorkerError: A process of ``devices`` died; the message names the process.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> import seqloom as sl
        >>> _ = Path("two.fa").write_text(">x\\nMKTA\\n>y\\nMK\\n")
        >>> def one_hot(batch):
        ...     return np.eye(33, dtype=np.float32)[batch["input_ids"]]
        >>> sl.infer.embed(one_hot, "two.fa", out="embeddings").records
        2
        >>> found = sl.infer.load("embeddings")
        >>> found["x"].shape, found["x"][20]
        ((33,), np.float32(0.25))
    """
    settings = EmbedSettings(
        files=expand_paths(files),
        out=os.fspath(out),
        cloud_options=cloud_options,
        pool=pool,
        layers=check_layers(layers),
        dtype=dtype,
        tokens=tokens,
        max_tokens=max_tokens,
        max_length=max_length,
        overlap=overlap,
        packing=packing,
        shard_size=shard_size,
        format=format,
        identity=identity,
        resume=resume,
        threads=count_threads(num_threads),
        part=find_part(part),
    )
    # With devices, `model` is a function, so the tokenizer of the model is not known
    # here.
    chosen = tokens if devices else find_tokenizer(model, tokens)
    warn_of_tokens(chosen, settings.files)
    _check_engine(engine, has_devices=devices is not None)
    if devices is None:
        summary = run_job(model, settings, progress)
    else:
        run = run_on_ray if engine == "ray" else run_processes
        summary = run(model, devices, settings, progress=progress)
    return _add_part_note(summary, settings)


def _check_engine(engine: str, *, has_devices: bool) -> None:
    """Raise if the engine is unknown, or if engine="ray" is used without devices."""
    if engine not in ("processes", "ray"):
        raise ArgumentError(f'engine must be "processes" or "ray", got {quote(engine)}')
    if engine == "ray" and not has_devices:
        raise ArgumentError(
            'engine="ray" starts a task for each device: also pass devices=, such as '
            'devices=["torch:cuda"] * 8 (--devices 8)'
        )


def _add_part_note(summary: EmbedSummary, settings: EmbedSettings) -> EmbedSummary:
    """Add a note if the environment selects a part, and other shards are missing."""
    part = settings.part
    if not summary.missing or not part.variable:
        return summary
    note = (
        f"this call computed only part {part} of the shards, set by {part.variable}; "
        f"{summary.missing:,} of {summary.shards:,} shards of other parts are missing. "
        'part="1/1" (--part 1/1) computes all shards'
    )
    return replace(summary, notes=(*summary.notes, note))
