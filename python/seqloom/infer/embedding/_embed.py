"""embed: files to embeddings, each record exactly once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from seqloom._arguments import quote
from seqloom.data._path import expand
from seqloom.errors import ArgumentError
from seqloom.infer._doubts import warn_of_tokens
from seqloom.infer.embedding._call import Call
from seqloom.infer.embedding._claims import LEASE
from seqloom.infer.embedding._model import LAST
from seqloom.infer.embedding._ray import run_on_ray
from seqloom.infer.embedding._team import run_team
from seqloom.infer.embedding._tokens import find_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
    cloud_options: Mapping[str, str] | None = None,
    num_threads: int | None = None,
    devices: Sequence[str] | None = None,
    engine: str = "processes",
    progress: Watch | None = None,
) -> EmbedSummary:
    """Computes an embedding of each sequence of files and writes them to a folder.

    Sequences are packed end to end, so that nothing is computed for padding. The records
    are divided into shards. Each shard is a file that appears whole, with a ``.done`` file
    that names its hash: every record is there exactly once, in input order. A call that was
    killed is repeated: it goes on after the shards that are finished. Several processes, on
    several machines, may be given the same call at once; they share the shards.

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
        lease: Seconds without a sign of life after which a process's shard is taken over.
        cloud_options: Options for the store of a URL, such as ``{"timeout": "10m"}``; keys
            are taken from the environment where none are given.
        num_threads: Threads that read, and that compute on a processor; default: all.
        devices: Names of backends, such as ``["torch:cuda:0", "torch:cuda:1"]``: a process
            is started for each, and they share the shards. ``model`` is then a function
            that every process calls with ``backend=``, such as
            ``functools.partial(sl.models.ESM2.load, folder)``; the threads are divided. If
            one process dies the others take over its shards, and ``notes`` say so.
        engine: What starts the processes of ``devices``: ``"processes"`` on this machine,
            or ``"ray"`` (extra ``ray``): tasks of a cluster, each with a GPU or its share
            of the cores, all of which see ``files`` and ``out``.
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
        WorkerError: With ``devices``, no process came to the end, and none could say why.

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
    options = {
        "pool": pool,
        "layers": layers,
        "dtype": dtype,
        "tokens": tokens,
        "max_tokens": max_tokens,
        "max_length": max_length,
        "overlap": overlap,
        "packing": packing,
        "shard_size": shard_size,
        "format": format,
        "identity": identity,
        "resume": resume,
        "lease": lease,
        "num_threads": num_threads,
    }
    call = Call(model, expand(files), os.fspath(out), options, cloud_options)
    # With devices, `model` is a function, and the tokens of what it loads are not known.
    chosen = tokens if devices else find_tokens(model, tokens)
    warn_of_tokens(chosen, call.paths, stacklevel=2)
    if devices is None:
        check_engine(engine, has_devices=False)
        return call.run(progress)
    run = run_on_ray if check_engine(engine, has_devices=True) == "ray" else run_team
    return run(call, devices, progress)


ENGINES = ("processes", "ray")


def check_engine(engine: str, *, has_devices: bool) -> str:
    """Refuses a scheduler that there is not, or that has nothing to schedule."""
    if engine not in ENGINES:
        raise ArgumentError(f'engine must be "processes" or "ray", got {quote(engine)}')
    if engine == "ray" and not has_devices:
        raise ArgumentError(
            'engine="ray" starts a task for each device: give devices= too, such as '
            'devices=["torch:cuda"] * 8 (--devices 8)'
        )
    return engine
