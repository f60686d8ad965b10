"""``seqloom embed``: embeddings of sequences by a published model."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from seqloom.cli._console import announce, open_console
from seqloom.cli._options import (
    MACHINE,
    OUTPUT,
    PATHS,
    SEQUENCES,
    Count,
    Flag,
    MachineOptions,
    takes_options,
)
from seqloom.errors import ArgumentError

DType = Literal["float32", "float16", "bfloat16", "int8"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOptions:
    """Says which tokens letters become.

    Args:
        symbols: The symbols * and - and a point; one * at the end is left out.
        unknown: An ambiguity code such as B: its own token, the mask, or an error.
        case: A lower-case letter: as upper case, the mask, or an error.
    """

    symbols: Literal["strip_terminal_stop", "error", "zeros", "keep"] = (
        "strip_terminal_stop"
    )
    unknown: Literal["token", "mask", "error"] = "token"
    case: Literal["fold", "mask", "error"] = "fold"


@takes_options()
def embed(
    files: Annotated[list[str], PATHS],
    /,
    *,
    model: Path,
    out: str,
    pool: Literal["mean", "cls", "none"] = "mean",
    layers: Annotated[tuple[int, ...], Parameter(consume_multiple=1, show_default="-1")] = (
        -1,
    ),
    save_as: Literal["float32", "float16"] = "float32",
    format: Literal["safetensors", "parquet"] = "safetensors",  # noqa: A002 - what users call it
    max_tokens: Count = 4096,
    max_length: Annotated[Count | None, Parameter(show_default=False)] = None,
    overlap: int = 0,
    shard_size: Annotated[
        Count | None, Parameter(show_default=lambda _: "256 MiB of embeddings")
    ] = None,
    resume: Annotated[bool, Parameter(negative="--no-resume")] = True,
    dtype: Annotated[DType, MACHINE] = "float32",
    part: Annotated[str | None, MACHINE] = None,
    devices: Annotated[Count | None, MACHINE] = None,
    engine: Annotated[Literal["processes", "ray"], MACHINE] = "processes",
    letters: Annotated[TokenOptions, SEQUENCES],
    machine: Annotated[MachineOptions, MACHINE],
    quiet: Annotated[Flag, OUTPUT] = False,
) -> None:
    """Compute embeddings of sequences with ESM-2, each record exactly once.

    The folder gets shards that appear whole. A command that was stopped or killed is typed
    again: it computes the shards that are missing. To share the work among machines, give
    each process its --part; torchrun and SLURM arrays do that themselves.

    Example: seqloom embed proteins.fa --model esm2_t6_8M_UR50D --out embeddings

    Args:
        files: FASTA or FASTQ files of proteins: plain, gzip or bgzip.
        model: A folder of ESM-2 as Hugging Face writes it: config.json and safetensors.
        out: The folder of the embeddings, or a URL: s3://bucket/prefix.
        pool: The mean of the residues; the first token, cls; or none: each residue.
        layers: The layers to keep: 0 for the embedding of tokens, -1 for the last.
        save_as: The type in which embeddings are written.
        format: The files' format.
        max_tokens: Tokens in a batch at most; halved where memory is full.
        max_length: Cut longer sequences into windows of this length, and join these.
        overlap: Residues that neighbouring windows share.
        shard_size: Records in a file.
        resume: Go on where the folder holds a part of this job; otherwise that is an error.
        dtype: The type in which the model computes; bfloat16 and float16 need --backend
            torch or jax.
        part: Compute one part of the shards only: 2/8 is the second of eight. By default
            the part of the process in torchrun or in a SLURM array, otherwise all.
        devices: Start this number of processes, with a part each: one for each GPU
            (--backend torch:cuda), or with a share of the threads each.
        engine: What starts them: this machine, or a cluster of Ray.
        letters: Which tokens letters become.
        machine: What computes.
        quiet: Print warnings and errors alone.
    """
    from seqloom.encode import Tokens
    from seqloom.infer import embed as run
    from seqloom.infer.embedding._summary import embed_bar, summary_table
    from seqloom.io._settings import replace_remedies
    from seqloom.models import ESM2
    from seqloom.tensor import backend as find_backend
    from seqloom.train._ranks import choose_device

    console = open_console(quiet=quiet)
    # Each process that torchrun has started computes on the GPU of its number.
    backend = choose_device(machine.backend)
    announce(console, backend, machine.threads)
    # Several processes load the network each.
    network: Any = partial(ESM2.load, model.absolute(), dtype=dtype)
    if devices is None:
        network = network(backend=find_backend(backend, num_threads=machine.threads))
    with embed_bar(console) as tell, replace_remedies("seqloom convert {shell}"):
        summary = run(
            network,
            files,
            out=out,
            pool=pool,
            layers=layers,
            dtype=save_as,
            tokens=Tokens("esm2", **asdict(letters)),
            max_tokens=max_tokens,
            num_threads=machine.threads,
            progress=tell,
            max_length=max_length,
            overlap=overlap,
            shard_size=shard_size,
            resume=resume,
            format=format,
            part=part,
            engine=engine,
            devices=list_devices(backend, devices) if devices else None,
        )
    console.print(summary_table(summary))
    console.print(summary.verdict)
    for note in summary.notes:
        console.print(f"note: {note}")
    if summary.missing:
        shards = f"{summary.missing:,} of {summary.shards:,} shards"
        console.print(f"this part is finished; {shards} are left to other parts: {out}")
    else:
        console.print(f"embeddings of {summary.records:,} records: {out}")


def list_devices(backend: str, count: int) -> list[str]:
    """Name the device of each process: GPUs by number, or a processor repeatedly."""
    from seqloom.train._ranks import are_started

    if are_started():
        raise ArgumentError(
            "--devices starts processes, and torchrun has started some already: give one "
            "of the two"
        )
    if backend == "torch:cuda":
        return [f"{backend}:{number}" for number in range(count)]
    return [backend] * count
