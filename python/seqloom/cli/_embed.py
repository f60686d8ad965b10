"""``seqloom embed``: embeddings of sequences from a published model."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from seqloom.cli._console import open_console, print_setup
from seqloom.cli._options import (
    MACHINE_GROUP,
    OUTPUT_GROUP,
    PATHS,
    SEQUENCE_GROUP,
    Count,
    Flag,
    MachineOptions,
    takes_options,
)
from seqloom.errors import ArgumentError

DType = Literal["float32", "float16", "bfloat16", "int8"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOptions:
    """Tokens for special residues.

    Args:
        symbols: The token for the symbols * and - and full stop. A single * at the end of
            a sequence is removed.
        unknown: The token for an ambiguity code such as B: its token in ESM-2, the mask
            token, or an error.
        case: The token for a lower-case residue: the token of the upper-case residue,
            the mask token, or an error.
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
    format: Literal["safetensors", "parquet"] = "safetensors",  # noqa: A002
    max_tokens: Count = 4096,
    max_length: Annotated[Count | None, Parameter(show_default=False)] = None,
    overlap: int = 0,
    shard_size: Annotated[
        Count | None, Parameter(show_default=lambda _: "256 MiB of embeddings")
    ] = None,
    resume: Annotated[bool, Parameter(negative="--no-resume")] = True,
    dtype: Annotated[DType, MACHINE_GROUP] = "float32",
    part: Annotated[str | None, MACHINE_GROUP] = None,
    devices: Annotated[Count | None, MACHINE_GROUP] = None,
    engine: Annotated[Literal["processes", "ray"], MACHINE_GROUP] = "processes",
    letters: Annotated[TokenOptions, SEQUENCE_GROUP],
    machine: Annotated[MachineOptions, MACHINE_GROUP],
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
) -> None:
    """Compute embeddings of protein sequences with ESM-2.

    To continue a stopped or killed job, run the same command again, which computes only the
    missing shards. To use several machines, give each process a different --part; in
    torchrun and SLURM arrays, --part is set automatically.

    Example: seqloom embed proteins.fa --model esm2_t6_8M_UR50D --out embeddings

    Args:
        files: FASTA or FASTQ files of proteins: plain, gzip or bgzip.
        model: A folder of ESM-2 from Hugging Face, with config.json and model.safetensors.
        out: The folder of embeddings to write, or a URL such as s3://bucket/prefix.
        pool: Pooling of each sequence: the mean over residues, the first token (cls), or
            none, which stores an embedding of every residue.
        layers: Layers to store; 0 is the token embedding, and -1 is the last layer.
        save_as: The dtype of the stored embeddings.
        format: The file format of the embeddings.
        max_tokens: Maximum number of tokens in a batch, which is halved if memory runs out.
        max_length: Split sequences with more residues into windows of this length, and
            join the embeddings of the windows.
        overlap: Number of residues by which neighbouring windows overlap.
        shard_size: Number of records in each output file.
        resume: Continue the job if the folder contains some of its output. With
            --no-resume, a folder with output is an error.
        dtype: The dtype of the model's computation; bfloat16 and float16 need --backend
            torch or jax.
        part: Compute only one part of the shards; 2/8 means the second of eight parts. By
            default, the rank in torchrun or a SLURM array selects the part; without
            torchrun and SLURM, all shards are computed.
        devices: Start this number of processes. Each process computes one part of the job.
            Each process uses one GPU (--backend torch:cuda) or an equal share of the
            threads.
        engine: Start the processes on this machine, or on a Ray cluster.
        letters: Tokens for special residues.
        machine: Backend and threads.
        quiet: Print only warnings and errors.
    """
    from seqloom.encode import Tokens
    from seqloom.infer import embed as run
    from seqloom.infer.embedding._summary import embed_bar, summary_table
    from seqloom.io._settings import replace_remedies
    from seqloom.models import ESM2
    from seqloom.tensor import backend as find_backend
    from seqloom.train._ranks import choose_device

    console = open_console(quiet=quiet)
    # In torchrun, each process uses the GPU of its local rank.
    backend = choose_device(machine.backend)
    print_setup(console, backend, machine.threads)
    # With several processes, each child process loads the network.
    network: Any = partial(ESM2.load, model.absolute(), dtype=dtype)
    if devices is None:
        network = network(backend=find_backend(backend, num_threads=machine.threads))
    with embed_bar(console) as report, replace_remedies("seqloom convert {shell}"):
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
            progress=report,
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
        console.print(f"this part is complete; {shards} remain for other parts: {out}")
    else:
        console.print(f"embeddings of {summary.records:,} records: {out}")


def list_devices(backend: str, count: int) -> list[str]:
    """Return the device name of each process: numbered GPUs, or the CPU for all."""
    from seqloom.train._ranks import have_several_processes

    if have_several_processes():
        raise ArgumentError(
            "--devices starts processes, but torchrun has already started some: use only "
            "one of the two"
        )
    if backend == "torch:cuda":
        return [f"{backend}:{number}" for number in range(count)]
    return [backend] * count
