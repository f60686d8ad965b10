"""Score variants with gReLU or tangermeme in the environment of that package.

This program does not import seqloom: ``python variant_packages.py PACKAGE NETWORK GENOME
VARIANTS WIDTH OUT`` reads a pickled PyTorch network, a FASTA file and a table of
chromosome, 1-based position, REF and ALT. It writes the scores to a NumPy file.
"""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import torch


def score_with_grelu(network, variants, *, genome, width):
    """Return alternative minus reference; gReLU accepts alleles of equal length only."""
    lightning = import_module("grelu.lightning")
    grelu = import_module("grelu.variant")

    names = [f"output {k}" for k in range(network(torch.zeros(1, 4, width)).shape[1])]
    model = lightning.LightningModel(
        {"model_type": "ConvModel", "n_tasks": len(names), "n_conv": 0},
        {"task": "regression", "loss": "mse"},
    )
    model.model = torch.nn.Sequential(network, torch.nn.Unflatten(1, (len(names), 1)))
    model.data_params = {"tasks": {"name": names}}
    lengths = {
        name: len(record) for name, record in import_module("pyfaidx").Fasta(genome).items()
    }
    sizes = "".join(f"{name}\t{length}\n" for name, length in lengths.items())
    Path(f"{genome}.sizes").write_text(sizes)
    grelu.check_reference(variants, genome=genome)
    return grelu.predict_variant_effects(
        variants,
        model.eval(),
        seq_len=width,
        genome=genome,
        num_workers=0,
        compare_func="subtract",
        return_ad=False,
    )[:, :, 0]


def score_with_tangermeme(network, variants, *, genome, width):
    """Return alternative minus reference; windows have the same left end."""
    sequences = import_module("pyfaidx").Fasta(genome, sequence_always_upper=True)
    scores = [
        _edit_with_tangermeme(network, sequences[row.chrom], row, width=width)
        for row in variants.itertuples()
    ]
    return np.concatenate(scores)


def _edit_with_tangermeme(network, sequence, row, *, width):
    """Score one variant, whose first base is the middle of an odd window."""
    edits = import_module("tangermeme.variant_effect")

    left, removed = width // 2, max(len(row.ref) - len(row.alt), 0)
    start = row.pos - 1 - left
    bases = str(sequence[start : start + width + removed])
    x = torch.tensor([[[base == row for base in bases] for row in "ACGT"]]).float()
    options = {"device": "cpu", "dtype": torch.float32}
    if removed:
        places = [[0, left + k] for k in range(1, removed + 1)]
        result = edits.deletion_effect(network, x, np.array(places), **options)
    elif len(row.alt) > 1:
        # Bases that are inserted at one position are given in reverse order.
        added = [[0, left + 1, "ACGT".index(base)] for base in row.alt[:0:-1]]
        result = edits.insertion_effect(network, x, np.array(added), **options)
    else:
        change = torch.tensor([[0, left, "ACGT".index(row.alt)]])
        result = edits.substitution_effect(network, x, change, **options)
    return (result.y_after - result.y_before).numpy()


if __name__ == "__main__":
    package, network, genome, variants, width, out = sys.argv[1:]
    columns = ["chrom", "pos", "ref", "alt"]
    table = pd.read_csv(variants, sep="\t", names=columns, dtype=str, keep_default_na=False)
    table["pos"] = table["pos"].astype(int)
    score = {"grelu": score_with_grelu, "tangermeme": score_with_tangermeme}[package]
    with torch.no_grad():
        module = torch.load(network, weights_only=False).eval()
        np.save(out, score(module, table, genome=genome, width=int(width)))
