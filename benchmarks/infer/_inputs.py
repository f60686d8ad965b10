"""Create proteins as token ids, and networks with random weights."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


class InferenceTask(NamedTuple):
    """Task for one inference library: the network, the records and the folder."""

    size: str  # folder of the network
    folder: Path  # folder of the results
    records: list[Ids]


# ESM-2 size -> layers, width and heads; feed-forward layers are four times as wide.
NETWORK_SHAPES = {
    "8M": (6, 320, 20),
    "35M": (12, 480, 20),
    "150M": (30, 640, 20),
    "650M": (33, 1280, 20),
}
MAX_RESIDUES = 1022  # Longest protein that ESM-2 was trained on.
CLS, EOS, RESIDUES, MASK = 0, 2, range(4, 24), 32


def sample_proteins(count: int) -> list[Ids]:
    """Sample random proteins with the length distribution of UniProt."""
    rng = np.random.default_rng(0)
    lengths = (
        np.exp(rng.normal(np.log(290), 0.70, count)).clip(20, MAX_RESIDUES).astype(int)
    )
    return [
        np.array([CLS, *rng.integers(RESIDUES.start, RESIDUES.stop, length), EOS])
        for length in lengths
    ]


def read_query_proteins(count: int) -> list[Ids]:
    """Return the first proteins of QUERY.fasta with at most `MAX_RESIDUES` residues."""
    import seqloom as sl

    path = Path(os.environ.get("SEQLOOM_DATA", "none"), "protein", "QUERY.fasta")
    if not path.exists():
        return []
    records = sl.io.open_sequences(path)
    sequences = [
        record.sequence for record in records if len(record.sequence) <= MAX_RESIDUES
    ]
    tokens, offsets = sl.encode.Tokens("esm2").flat(sequences[:count])
    return [ids.astype(np.int64) for ids in np.split(tokens, offsets[1:-1])]


def write_fasta(records: Sequence[Ids], path: Path, copies: int = 1) -> None:
    """Write proteins as FASTA, each `copies` times with different names."""
    import seqloom as sl

    tokens = sl.encode.Tokens("esm2").vocabulary.items()
    residues = {number: residue for residue, number in tokens}
    rows = ["".join(residues[each] for each in ids[1:-1].tolist()) for ids in records]
    with path.open("w") as file:
        for copy in range(copies):
            start = copy * len(rows)
            file.writelines(f">s{start + n}\n{row}\n" for n, row in enumerate(rows))


PROTEIN_SETS = {"UniProt-like mix": sample_proteins, "QUERY.fasta": read_query_proteins}


def write_network(
    size: str, folder: Path, *, device: str = "cpu", dtype: str = "float32"
) -> None:
    """Write a Hugging Face network with random weights that are sampled on `device`."""
    import torch
    from transformers import EsmConfig, EsmModel

    layers, width, heads = NETWORK_SHAPES[size]
    torch.manual_seed(0)
    config = EsmConfig(
        vocab_size=33,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=MAX_RESIDUES + 4,
        layer_norm_eps=1e-5,
        position_embedding_type="rotary",
        emb_layer_norm_before=False,
        token_dropout=True,
        mask_token_id=MASK,
        pad_token_id=1,
    )
    with torch.device(device):
        network: Any = EsmModel(config, add_pooling_layer=False)
    for name, values in network.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(values, std=0.05)
    network.to(getattr(torch, dtype)).save_pretrained(folder)


def split_by_tokens(
    lengths: Sequence[int], budget: int, *, padded: bool
) -> list[list[int]]:
    """Split records in order into batches with a limit on tokens."""
    batches: list[list[int]] = [[]]
    for number in range(len(lengths)):
        batch = [*batches[-1], number]
        longest = max(lengths[each] for each in batch)
        tokens = longest * len(batch) if padded else sum(lengths[each] for each in batch)
        if tokens <= budget or not batches[-1]:
            batches[-1] = batch
        else:
            batches.append([number])
    return batches
