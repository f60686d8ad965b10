"""embed: files to embeddings, each record exactly once."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.data._paths import expand
from seqloom.errors import ArgumentError
from seqloom.infer._input_warnings import warn_of_tokens
from seqloom.infer.embedding._model import LAST
from seqloom.infer.embedding._processes import run_on_ray, run_processes
from seqloom.infer.embedding._report import run_job
from seqloom.infer.embedding._settings import (
    Settings,
    check_layers,
    find_part,
    find_tokens,
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
    layers: Sequence[int] = LAST,
    dtype: str = "float32",
    tokens: Any = None,
    max_tokens: int = 4096,
    max_length: int | None = None,
    overlap: int = 0,
    packing: bool = True,
    shard_size: int | None = None,
    format: str = "safetensors",  # noqa: A002 - what users call it
    identity: str | None = None,
    resume: bool = True,
    cloud_options: Mapping[str, str] | None = None,
    num_threads: int | None = None,
    part: str | None = None,
    devices: Sequence[str] | None = None,
    engine: str = "processes",
    progress: Callable[[Progress], Any] | None = None,
) -> EmbedSummary:
    """Compute an embedding of each sequence of files and write them to a folder.

    Sequences are packed end to end, so that nothing is computed for padding. The records
    are divided into numbered shards. Each shard is a file that appears whole, with a
    ``.done`` file that names its hash: every record is there exactly once, in input order.
    A call that was killed is repeated: it computes the shards that are missing. To share
    the work among processes and machines, give each its `part`.

    Args:
        model: `sl.models.ESM2`; `sl.models.packed_huggingface` of a network of
            transformers; another model with ``embed(batch, layers=...)``; a module
            of seqloom or torch, which is called with the arrays that it asks for by name;
            or a function of the batch, a dict of NumPy arrays: ``input_ids``,
            ``position_ids``, ``cu_seqlens``, ``max_seqlen``, or with ``packing=False``
            ``input_ids`` and ``mask``. The model returns a row for each token; a
            module is put into evaluation mode, and stays in it.
        files: FASTA or FASTQ files, plain, gzip or bgzip; patterns too.
        out: The folder to write, of a disk that all processes share; or a URL such as
            ``"s3://bucket/embeddings"`` (extra ``cloud``).
        pool: ``"mean"`` over the residues (``<cls>`` and ``<eos>`` left out), ``"cls"``,
            ``"none"`` for a row of each residue, or ``"model"`` if the model returns a row
            for each sequence.
        layers: The layers to keep, 0 for the embedding of tokens, -1 for the last.
        dtype: ``"float32"`` or ``"float16"``, as which embeddings are written.
        tokens: Turns letters into tokens: `sl.encode.Tokens`, a tokenizer of transformers,
            or a function of one sequence; default: the model's, else ``Tokens("esm2")``.
        max_tokens: Tokens in a batch at most. If memory is full, batches are halved.
        max_length: Letters of a sequence at most: a longer one is cut into windows of so
            many letters, whose residues are joined again. None: such a sequence is an error
            if no batch holds it.
        overlap: Letters that neighbouring windows share. Each of these residues has two
            embeddings; the one of the window whose end is farther away is kept.
        packing: Whether sequences lie end to end. With False they are padded.
        shard_size: Records of a shard; default: as many as make 256 MiB, at most 65,536.
        format: ``"safetensors"`` or ``"parquet"``.
        identity: Names the model and its version in the plan. Without it a module is named
            by the hash of its weights, a function by that of its code and of the arrays and
            numbers that it brings along; what else decides its results is not seen.
        resume: Whether to go on in a folder that holds a part of this job.
        cloud_options: Options for the store of a URL, such as ``{"timeout": "10m"}``; keys
            are taken from the environment where none are given.
        num_threads: Threads that read, and that compute on a processor; default: all.
        part: ``"i/n"``, such as ``"2/8"``: computes the second of eight parts of the shards
            only. Default: the part that torchrun (``RANK``, ``WORLD_SIZE``) or a SLURM
            array (``SLURM_ARRAY_TASK_ID``) gives this process; otherwise all shards.
        devices: Names of backends, such as ``["torch:cuda:0", "torch:cuda:1"]``: a process
            is started for each, which computes a part. ``model`` is then a function
            that every process calls with ``backend=``, such as
            ``functools.partial(sl.models.ESM2.load, folder)``; the threads are divided. If
            a process dies the others finish their parts, and the call raises.
        engine: What starts the processes of ``devices``: ``"processes"`` on this machine,
            or ``"ray"`` (extra ``ray``): tasks of a cluster, each with a GPU or its share
            of the cores, all of which see ``files`` and ``out``. Ray repeats a task whose
            process or machine died.
        progress: Called with a `Progress` after each batch.

    Returns:
        What this call did.

    Raises:
        ArgumentError: An argument has a wrong type or value.
        ConfigError: The folder holds a job with another plan; the message names what
            differs.
        FileError: A file cannot be read, or the folder cannot be written.
        FormatError: A file is no sequence file, or a record has no letters.
        MemoryLimitError: A single sequence does not fit into memory.
        NotFiniteError: An embedding is not finite.
        RunFolderError: The folder holds a job, and ``resume`` is False.
        ShapeError: A sequence fits into no batch, or the model returns another shape.
        WorkerError: With ``devices``, a process died; the message names it.

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
    settings = Settings(
        files=expand(files),
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
    # With devices `model` is a function, and the tokenizer of its result is not known.
    chosen = tokens if devices else find_tokens(model, tokens)
    warn_of_tokens(chosen, settings.files)
    _check_engine(engine, has_devices=devices is not None)
    if devices is None:
        summary = run_job(model, settings, progress)
    else:
        run = run_on_ray if engine == "ray" else run_processes
        summary = run(model, devices, settings, progress=progress)
    return _with_note(summary, settings)


def _check_engine(engine: str, *, has_devices: bool) -> None:
    """Raise if the engine is unknown, or have no devices to give tasks to."""
    if engine not in ("processes", "ray"):
        raise ArgumentError(f'engine must be "processes" or "ray", got {quote(engine)}')
    if engine == "ray" and not has_devices:
        raise ArgumentError(
            'engine="ray" starts a task for each device: give devices= too, such as '
            'devices=["torch:cuda"] * 8 (--devices 8)'
        )


def _with_note(summary: EmbedSummary, settings: Settings) -> EmbedSummary:
    """Add a note if the environment chose the part, and shards are missing."""
    part = settings.part
    if not summary.missing or not part.variable:
        return summary
    note = (
        f"this call computed part {part} of the shards, because of {part.variable}; "
        f"{summary.missing:,} of {summary.shards:,} shards are left to other parts; "
        'part="1/1" (--part 1/1) computes all'
    )
    return replace(summary, notes=(*summary.notes, note))
