"""The error for an argument of a wrong type contains the argument's name."""

import inspect
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom import data as d, io
from seqloom.data import Labels, SequenceDataset
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, SeqloomError

FASTA_TEXT = "".join(f">s{i}\nACGTACGT\n" for i in range(12))
FASTQ_TEXT = "".join(f"@s{i}\nACGT\n+\nIIII\n" for i in range(12))
LABEL_OF_ID = {f"s{i}": "xy"[i % 2] for i in range(12)}
INTERVAL_COLUMNS = {"chrom": ["s0", "s1"], "start": [1, 2], "stop": [5, 6]}


def dataset(**options):
    """Twelve short sequences of two classes."""
    return SequenceDataset("a.fa", encoder=OneHot("dna"), labels=LABEL_OF_ID, **options)


def items():
    """A custom dataset with rows of unequal length."""
    return [{"id": str(i), "inputs": np.ones(3 + i)} for i in range(3)]


def first(batches):
    """Return the first batch; None if there are no batches."""
    return next(iter(batches), None)


# (function, required arguments, function that uses the result)
CONSTRUCTOR_CALLS: dict[str, tuple[Any, Any, Any]] = {
    "SequenceDataset": (SequenceDataset, lambda: {"paths": "a.fa"}, lambda it: it[0]),
    "SequenceStream": (d.SequenceStream, lambda: {"paths": "a.fa"}, first),
    "IntervalDataset": (
        d.IntervalDataset,
        lambda: {"genome": "a.fa", "intervals": INTERVAL_COLUMNS},
        lambda it: it[0],
    ),
    "filter_intervals": (
        d.filter_intervals,
        lambda: {"intervals": INTERVAL_COLUMNS, "genome": "a.fa"},
        None,
    ),
    "negatives": (
        d.negatives,
        lambda: {"peaks": INTERVAL_COLUMNS, "genome": "a.fa"},
        None,
    ),
    "check_leakage": (
        d.check_leakage,
        lambda: {"train": INTERVAL_COLUMNS, "valid": INTERVAL_COLUMNS, "genome": "a.fa"},
        None,
    ),
    "windows": (d.windows, lambda: {"path": "a.fa", "width": 4}, lambda it: it[0]),
    "GenotypeDataset": (
        d.GenotypeDataset,
        lambda: {"bed": "g.bed", "labels": np.arange(4) * 1.5},
        lambda it: it[0],
    ),
    "GenotypeEncoder": (d.GenotypeEncoder, dict, None),
    "Subset": (d.Subset, lambda: {"dataset": dataset(), "indices": [0]}, None),
    "split": (d.split, lambda: {"dataset": dataset(), "shares": (0.5, 0.5)}, None),
    "folds": (d.folds, lambda: {"dataset": dataset(), "k": 3}, None),
    "cached": (d.cached, lambda: {"dataset": dataset(), "directory": "c"}, None),
    "default_collate": (d.default_collate, lambda: {"items": items()[:1]}, None),
    "PadCollator": (d.PadCollator, dict, lambda it: it(items())),
    "VarlenCollator": (d.VarlenCollator, dict, lambda it: it(items())),
    "DataLoader": (d.DataLoader, lambda: {"dataset": dataset()}, first),
    "EpochSampler": (d.EpochSampler, lambda: {"dataset": dataset()}, first),
    "LengthBucketSampler": (
        d.LengthBucketSampler,
        lambda: {"lengths": dataset(), "batch_size": 2},
        first,
    ),
    "TokenBudgetSampler": (
        d.TokenBudgetSampler,
        lambda: {"lengths": dataset(), "max_tokens": 40},
        first,
    ),
    "WeightedSampler": (
        d.WeightedSampler,
        lambda: {"dataset": dataset(), "seed": 0},
        first,
    ),
    "Ids": (d.Ids, lambda: {"names": ["a"]}, list),
    "batch": (lambda **options: dataset().batch(**options), lambda: {"indices": [0]}, None),
    "SequenceIndex": (io.SequenceIndex, lambda: {"path": "a.fa"}, None),
    "build_index": (io.build_index, lambda: {"path": "a.fa"}, None),
    "open_sequences": (io.open_sequences, lambda: {"path": "a.fq"}, list),
    "inspect": (io.inspect, lambda: {"path": "a.fq"}, None),
    "write_sequences": (
        io.write_sequences,
        lambda: {"path": "o.fa", "records": [("a", "AC")]},
        None,
    ),
    "open_bed": (io.open_bed, lambda: {"location": "g.bed"}, lambda it: it.read()),
    "to_bed": (io.to_bed, lambda: {"filepath": "o.bed", "val": [[0, 1]]}, None),
    "genotype_stats": (io.genotype_stats, lambda: {"bed": "g.bed"}, None),
}
WRONG_VALUES = (None, "4", 1.5, -1, [], {}, lambda *_: None, object(), float("nan"), b"x")


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(FASTA_TEXT)
    Path("a.fq").write_text(FASTQ_TEXT)
    io.to_bed("g.bed", [[0, 1], [1, 2], [2, 0], [0, 2]])


def names_of(call, needed):
    """Return the names of a function's keyword arguments."""
    is_option = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    listed = inspect.signature(call).parameters.values()
    return {*needed, *(each.name for each in listed if each.kind in is_option)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CONSTRUCTOR_CALLS)
def test_arguments_of_wrong_type_raise_only_seqloom_errors(name):
    call, needed, use = CONSTRUCTOR_CALLS[name]
    use = use or (lambda made: made)
    arguments = sorted(names_of(call, needed()) - {"memory", "properties"})
    raw = []
    for argument, value in itertools.product(arguments, WRONG_VALUES):
        try:
            use(call(**(needed() | {argument: value})))
        except SeqloomError:
            pass
        except Exception as error:  # noqa: BLE001 - any other one is what is looked for
            raw.append(f"{name}({argument}={value!r}): {error!r}")
    assert raw == []


CALLS_WITH_SEED = {
    "SequenceDataset": lambda seed: dataset(seed=seed),
    "SequenceStream": lambda seed: d.SequenceStream("a.fa", seed=seed),
    "IntervalDataset": lambda seed: d.IntervalDataset("a.fa", INTERVAL_COLUMNS, seed=seed),
    "windows": lambda seed: d.windows("a.fa", 4, seed=seed),
    "split": lambda seed: d.split(dataset(), (0.5, 0.5), seed=seed),
    "folds": lambda seed: d.folds(dataset(), 3, seed=seed),
    "DataLoader": lambda seed: d.DataLoader(dataset(), seed=seed),
    "EpochSampler": lambda seed: d.EpochSampler(dataset(), seed=seed),
    "LengthBucketSampler": lambda seed: d.LengthBucketSampler([1, 2], 2, seed=seed),
    "TokenBudgetSampler": lambda seed: d.TokenBudgetSampler([1, 2], 4, seed=seed),
    "WeightedSampler": lambda seed: d.WeightedSampler(range(2), [1, 1], seed=seed),
    "fit": lambda seed: sl.train.fit(
        sl.models.SequenceCNNConfig.for_data(dataset()), dataset(), epochs=1, seed=seed
    ),
}


@pytest.mark.parametrize("seed", [1.5, "3", -1, True, None, 1 << 64, float("nan"), []])
@pytest.mark.parametrize("name", CALLS_WITH_SEED)
def test_every_seed_argument_must_be_an_integer(name, seed):
    with pytest.raises(ArgumentError, match="seed"):
        CALLS_WITH_SEED[name](seed)


@pytest.mark.parametrize("name", sorted(CALLS_WITH_SEED.keys() - {"fit"}))
def test_a_seed_may_be_a_numpy_integer(name):
    assert type(CALLS_WITH_SEED[name](np.int64(3))) is type(CALLS_WITH_SEED[name](3))


AMBIGUOUS_CALLS = {
    "shuffle": lambda: d.DataLoader(dataset(), shuffle="no"),  # pyright: ignore[reportArgumentType]
    "drop_last": lambda: d.DataLoader(dataset(), drop_last="no"),  # pyright: ignore[reportArgumentType]
    "dataset": lambda: d.DataLoader("a.fa"),
    "sampler": lambda: d.DataLoader(dataset(), sampler="012"),
    "stratify": lambda: d.split(dataset(), (0.5, 0.5), stratify="no"),  # pyright: ignore[reportArgumentType]
    "strand": lambda: d.IntervalDataset("a.fa", INTERVAL_COLUMNS, strand="+"),  # pyright: ignore[reportArgumentType]
    "in_memory": lambda: dataset(in_memory="no"),
    "weights": lambda: d.WeightedSampler(range(2), ["1", "2"]),
    "count_A1": lambda: d.GenotypeEncoder(count_A1="no"),  # pyright: ignore[reportArgumentType]
    "nonfounders": lambda: io.genotype_stats("g.bed", nonfounders="no"),  # pyright: ignore[reportArgumentType]
    "build": lambda: io.SequenceIndex("a.fa", build="no"),  # pyright: ignore[reportArgumentType]
    "size_limit": lambda: d.cached(dataset(), "c", size_limit="4"),  # pyright: ignore[reportArgumentType]
    "names": lambda: d.Ids("abc"),
    "task": lambda: SequenceDataset("a.fa", labels=Labels(task="clasify")),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("name", AMBIGUOUS_CALLS)
def test_ambiguous_argument_types_are_rejected(name):
    with pytest.raises(ArgumentError, match=re.escape(name)):
        AMBIGUOUS_CALLS[name]()


@pytest.mark.parametrize("weights", [[1, float("nan")], [1, -1], [1, float("inf")], [0, 0]])
def test_weights_must_be_finite_and_not_negative(weights):
    with pytest.raises(ArgumentError, match="weights must be 0 or more and finite"):
        d.WeightedSampler(range(2), weights)


@pytest.mark.parametrize("given", [None, "ACGT", 5, (b"AC", b"II")])
def test_an_augmentation_that_does_not_return_bytes_is_an_error(given):
    data = SequenceDataset("a.fa", augment=lambda letters, key: given)  # noqa: ARG005 - what it is given
    with pytest.raises(ArgumentError, match="augment must return bytes"):
        data[0]


@pytest.mark.parametrize("given", [None, b"AC", (b"AC", None), (b"AC", b"I")])
def test_an_augmentation_must_return_one_quality_per_residue(given):
    data = SequenceDataset("a.fq", augment=lambda letters, key, quality=None: given)  # noqa: ARG005 - what it is given
    with pytest.raises(ArgumentError, match="augment must return"):
        data[0]
