"""embed: files to embeddings, each record exactly once."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from seqloom._threads import limit_blas
from seqloom.data._path import expand
from seqloom.infer.embedding._agree import agree
from seqloom.infer.embedding._claims import LEASE, Claims
from seqloom.infer.embedding._folder import OutputFolder
from seqloom.infer.embedding._job import Job
from seqloom.infer.embedding._loop import Loop
from seqloom.infer.embedding._model import LAST, Embedder
from seqloom.infer.embedding._report import write_report
from seqloom.infer.embedding._settings import Settings
from seqloom.infer.embedding._tokens import find_tokens
from seqloom.infer.monitor._monitor import watch_device

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from seqloom.infer.embedding._summary import EmbedSummary, Progress

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
    Watch = Callable[[Progress], Any]


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
    lease: float = LEASE,
    num_threads: int | None = None,
    progress: Watch | None = None,
) -> EmbedSummary:
    """Computes an embedding of each sequence of files and writes them to a folder.

    Sequences are packed end to end, so that nothing is computed for padding. The records
    are divided into shards. Each shard is a file that appears whole, with a ``.done`` file
    that names its hash: every record is there exactly once, in input order. A call that was
    killed is repeated: it goes on after the shards that are finished. Several processes, on
    several machines, may be given the same call at once; they share the shards.

    Args:
        model: `sl.models.ESM2`; another model with ``embed(batch, layers=...)``; a module
            of seqloom or torch, which is called with the arrays that it asks for by name;
            or a function of the batch, a dict of NumPy arrays: ``input_ids``,
            ``position_ids``, ``cu_seqlens``, ``max_seqlen``, or with ``packing=False``
            ``input_ids`` and ``mask``. It returns a row for each token.
        files: FASTA or FASTQ files, plain, gzip or bgzip; patterns too.
        out: The folder to write: of a disk that all processes share.
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
        overlap: Letters that neighbouring windows share: of these each residue is taken
            from the window in which it lies farther from the edge.
        packing: Whether sequences lie end to end. With False they are padded.
        shard_size: Records of a shard; default: as many as make 256 MiB.
        format: ``"safetensors"`` or ``"parquet"``.
        identity: Names a function and its version in the plan; a module is named by the
            hash of its weights.
        resume: Whether to go on in a folder that holds a part of this job.
        lease: Seconds without a sign of life after which a process's shard is taken over.
        num_threads: Threads that read, and that compute on a processor; default: all.
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
    tokens = find_tokens(model, tokens)
    settings = Settings.of(
        pool=pool,
        layers=layers,
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
        lease=lease,
        num_threads=num_threads,
    )
    paths, folder = expand(files), OutputFolder(out)
    embedder = Embedder(model, settings.layers)
    return _run_job(embedder, paths, folder, settings=settings, progress=progress)


def _run_job(
    embedder: Embedder,
    paths: Sequence[str],
    folder: OutputFolder,
    *,
    settings: Settings,
    progress: Watch | None,
) -> EmbedSummary:
    """Agrees on a plan with other processes, and computes what is left of it."""
    rules, width = settings.rules(embedder.name), embedder.width
    plan, digest = agree(folder, paths, rules=rules, settings=settings, width=width)
    monitor = watch_device(embedder.device.name)
    job = Job(plan, digest, folder, paths, embedder, settings, progress, monitor=monitor)
    on_host = embedder.device.name == "cpu"
    limit = limit_blas(settings.threads) if on_host else nullcontext()
    watch = monitor or nullcontext()
    with limit, watch, Claims(folder, settings.lease) as claims:
        summary = Loop(job, claims).run()
    write_report(job, summary)
    return summary
