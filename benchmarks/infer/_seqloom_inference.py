"""Run seqloom's `ESM2` on packed batches."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks._measure import REPOSITORY_ROOT
from benchmarks.infer._inputs import (
    Ids,
    InferenceTask,
    sample_proteins,
    split_by_tokens,
    write_network,
)

MAX_TOKENS = 4096
# Network and number of proteins for comparisons with an older commit.
OWN_SIZE, OWN_PROTEINS = "8M", 4


def prepare_seqloom(
    task: InferenceTask, backend: str, dtype: str
) -> Callable[[], list[Any]]:
    """Load the network; return a function that computes all hidden states."""
    import seqloom as sl

    on = sl.tensor.backend(backend, num_threads=1)
    network = sl.models.ESM2.load(task.folder, on, dtype).eval()
    batches = [_pack_records(batch) for batch in _split_by_tokens(task.records)]

    def run_inference() -> list[Any]:
        found: list[Any] = []
        for batch in batches:
            states = network.embed(batch)[-1].astype("float32").numpy()
            found += np.split(states, batch["cu_seqlens"][1:-1])
        return found

    return run_inference


def _split_by_tokens(records: list[Ids]) -> list[list[Ids]]:
    """Split records in order into batches with a limit on tokens."""
    batches = split_by_tokens([len(ids) for ids in records], MAX_TOKENS, padded=False)
    return [[records[number] for number in batch] for batch in batches]


def _pack_records(records: list[Ids]) -> dict[str, Any]:
    """Concatenate records into one packed batch."""
    lengths = [len(ids) for ids in records]
    return {
        "input_ids": np.concatenate(records).astype("int32"),
        "cu_seqlens": np.cumsum([0, *lengths], dtype="int32"),
        "max_seqlen": max(lengths),
    }


def seqloom_cases() -> Iterator[tuple[str, Callable[[], Callable[[], object]]]]:
    """Yield functions to time: hidden states in two dtypes, and the complete `embed`."""
    folder = REPOSITORY_ROOT / f"target/against/esm2-{OWN_SIZE}"
    if not (folder / "model.safetensors").exists():
        write_network(OWN_SIZE, folder)
    task = InferenceTask(OWN_SIZE, folder, sample_proteins(OWN_PROTEINS))
    for dtype in ("float32", "int8"):
        yield f"{OWN_SIZE}, {dtype}", partial(prepare_seqloom, task, "numpy", dtype)
    yield f"{OWN_SIZE}, embed", partial(_prepare_embed, task)


def _prepare_embed(task: InferenceTask) -> Callable[[], object]:
    """Load the network; return a function that embeds a file of proteins."""
    import seqloom as sl
    from benchmarks.infer._embedding_job import embed_proteins

    network = sl.models.ESM2.load(task.folder, sl.tensor.backend("numpy", num_threads=1))

    def run_inference() -> None:
        with TemporaryDirectory() as folder:
            embed_proteins(network, task.records, Path(folder), num_threads=1)

    return run_inference
