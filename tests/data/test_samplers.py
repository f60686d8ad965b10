from collections import Counter
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings, strategies as st
from scipy.stats import chisquare

from seqloom.augment import Mutate
from seqloom.data import (
    DataLoader,
    LengthBucketSampler,
    PadCollator,
    SequenceDataset,
    TokenBudgetSampler,
    WeightedSampler,
)
from seqloom.encode import OneHot, Tokens
from seqloom.errors import ArgumentError, ShapeError

SEQUENCE_LENGTHS = np.random.default_rng(0).integers(1, 200, 1000)
lengths = st.lists(st.integers(0, 40), max_size=80)


def samplers(**options: Any):
    """One sampler of each class, for a thousand sequences."""
    return [
        LengthBucketSampler(SEQUENCE_LENGTHS, 16, **options),
        TokenBudgetSampler(SEQUENCE_LENGTHS, 800, **options),
        WeightedSampler(
            range(1000),
            SEQUENCE_LENGTHS,
            **{k: v for k, v in options.items() if k != "shuffle"},
        ),
    ]


PARAMETRIZE_SAMPLERS = pytest.mark.parametrize(
    "kind", range(3), ids=["bucket", "budget", "weighted"]
)


@PARAMETRIZE_SAMPLERS
def test_the_order_of_a_sampler_depends_only_on_seed_and_epoch(kind):
    first, again, other = (samplers(seed=seed)[kind] for seed in (1, 1, 2))
    epochs = [list(first) for _ in range(3)]
    again.set_epoch(2)
    assert list(again) == epochs[2]
    assert epochs[0] != epochs[1] != list(other)


@PARAMETRIZE_SAMPLERS
def test_samplers_do_not_change_the_global_random_state(kind):
    np.random.seed(0)  # noqa: NPY002, TID251 - the claim
    torch.manual_seed(0)
    expected = np.random.random(), torch.rand(()).item()  # noqa: NPY002 - the claim
    np.random.seed(0)  # noqa: NPY002, TID251 - the claim
    torch.manual_seed(0)
    list(samplers()[kind])
    assert (np.random.random(), torch.rand(()).item()) == expected  # noqa: NPY002 - the claim


@PARAMETRIZE_SAMPLERS
def test_samplers_have_a_length_and_yield_indices_with_the_epoch(kind):
    sampler = samplers()[kind]
    for epoch in range(2):
        length = len(sampler)
        given_out = list(sampler)
        rows = given_out[0] if isinstance(given_out[0], list) else given_out
        assert (len(given_out), {row.epoch for row in rows}) == (length, {epoch})


@PARAMETRIZE_SAMPLERS
@pytest.mark.parametrize("even_ranks", ["pad", "drop"])
def test_distributed_ranks_split_a_sampled_epoch_evenly(kind, even_ranks):
    whole = list(samplers(seed=3)[kind])
    parts = [
        list(samplers(seed=3, rank=rank, world_size=3, even_ranks=even_ranks)[kind])
        for rank in range(3)
    ]
    dealt = [one for row in zip(*parts, strict=True) for one in row]
    if even_ranks == "drop":
        assert dealt == whole[: len(dealt)]
    else:
        assert (dealt[: len(whole)], len(dealt) - len(whole) < 3) == (whole, True)


@settings(deadline=None)
@given(lengths, st.integers(1, 9), st.integers(1, 5))
def test_length_buckets_contain_each_sequence_once(lengths, batch_size, window):
    sampler = LengthBucketSampler(lengths, batch_size, window=window)
    batches = list(sampler)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert all(1 <= len(batch) <= batch_size for batch in batches)


def test_length_buckets_reduce_padding():
    def padding(batches):
        padded = sum(len(batch) * SEQUENCE_LENGTHS[batch].max() for batch in batches)
        return padded / SEQUENCE_LENGTHS.sum() - 1

    in_order = [list(range(start, min(start + 16, 1000))) for start in range(0, 1000, 16)]
    assert padding(in_order) > 0.5
    assert padding(list(LengthBucketSampler(SEQUENCE_LENGTHS, 16))) < 0.05


def test_a_sampler_with_drop_last_drops_batches_that_are_not_full():
    sampler = LengthBucketSampler(SEQUENCE_LENGTHS, 16, drop_last=True)
    assert {len(batch) for batch in sampler} == {16}


@settings(deadline=None)
@given(lengths, st.integers(40, 200), st.booleans(), st.sampled_from([None, 3]))
def test_token_budget_batches_contain_each_sequence_once(
    lengths, most, padding, batch_size
):
    sampler = TokenBudgetSampler(
        lengths, most, include_padding=padding, batch_size=batch_size, window=20
    )
    batches = list(sampler)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        sizes = [lengths[row] for row in batch]
        assert (max(sizes) * len(sizes) if padding else sum(sizes)) <= most
        assert batch_size is None or len(batch) <= batch_size


def test_a_token_budget_counts_the_tokens_of_the_encoder(fasta):
    tokens: Any = Tokens("dna")
    data = SequenceDataset(fasta({"a": "ACGT", "b": "AC"}), encoder=tokens)
    sampler = TokenBudgetSampler(data, 10, include_padding=False, shuffle=False)
    assert list(sampler) == [[1, 0]]
    with pytest.raises(ShapeError, match="'a' has 6 tokens, more than max_tokens=5"):
        TokenBudgetSampler(data, 5)


def test_a_weighted_sampler_samples_items_in_proportion_to_weights():
    sampler = WeightedSampler(range(4), [1, 2, 0, 3], size=6000)
    counts = Counter(sampler)
    assert 2 not in counts
    assert chisquare([counts[0], counts[1], counts[3]], [1000, 2000, 3000]).pvalue > 1e-6


def test_balanced_weights_sample_all_classes_equally_often(fasta):
    records = {f"s{i}": "ACGT" for i in range(100)}
    labels = {name: "rare" if i < 5 else "often" for i, name in enumerate(records)}
    data = SequenceDataset(fasta(records), labels=labels)
    drawn = list(WeightedSampler(data, size=2000))
    rare = sum(int(data.labels[row] == data.classes.index("rare")) for row in drawn)
    assert abs(rare - 1000) < 5 * 500**0.5


INVALID_CALLS = [
    lambda: LengthBucketSampler(SEQUENCE_LENGTHS, 0),
    lambda: LengthBucketSampler(["a"], 1),
    lambda: LengthBucketSampler(SEQUENCE_LENGTHS, 1, window=0),
    lambda: LengthBucketSampler(SEQUENCE_LENGTHS, 1, seed=-1),
    lambda: LengthBucketSampler(SEQUENCE_LENGTHS, 1, rank=2, world_size=2),
    lambda: TokenBudgetSampler(SEQUENCE_LENGTHS, 0),
    lambda: TokenBudgetSampler(SEQUENCE_LENGTHS, 800, batch_size=0),
    lambda: WeightedSampler(range(2), [1]),
    lambda: WeightedSampler(range(2), [1, -1]),
    lambda: WeightedSampler(range(2), [0, 0]),
    lambda: WeightedSampler(range(2), [1, float("inf")]),
    lambda: WeightedSampler(range(2), "heavy"),
    lambda: WeightedSampler(range(2)),
]


@pytest.mark.parametrize("make", INVALID_CALLS, ids=map(str, range(len(INVALID_CALLS))))
def test_invalid_arguments_of_samplers_are_errors(make):
    with pytest.raises(ArgumentError):
        make()


@pytest.fixture
def varied(fasta):
    """A dataset of sequences of unequal lengths, mutated differently in each epoch."""
    return SequenceDataset(
        fasta({f"s{i}": "ACGTACGTAC"[: 1 + i % 10] for i in range(60)}),
        encoder=OneHot("dna"),
        augment=Mutate(0.3),
        labels={f"s{i}": i % 2 for i in range(60)},
    )


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_pytorch_loader_accepts_seqloom_samplers(varied, num_workers):
    def sampler():
        return LengthBucketSampler(varied, 8, window=2, seed=5)

    pad = PadCollator()
    ours = DataLoader(
        varied, batch_sampler=sampler(), collate_fn=pad, num_workers=num_workers
    )
    theirs = torch.utils.data.DataLoader(
        varied,
        batch_sampler=sampler(),
        collate_fn=pad,
        num_workers=num_workers,
        persistent_workers=num_workers > 0,
    )
    for _ in range(2):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_equal(dict(sorted(a.items())), dict(sorted(b.items())))


def test_a_weighted_sampler_works_in_pytorch_and_seqloom_loaders(varied):
    ours = DataLoader(varied, 8, sampler=WeightedSampler(varied), collate_fn=PadCollator())
    theirs = torch.utils.data.DataLoader(
        varied, 8, sampler=WeightedSampler(varied), collate_fn=PadCollator()
    )
    for a, b in zip(ours, theirs, strict=True):
        assert a["id"] == b["id"]
        np.testing.assert_array_equal(a["inputs"], b["inputs"])


def test_sampling_weights_in_a_pandas_series_are_joined_by_id():
    data = SequenceDataset({"1": "AC", "2": "GG", "3": "TT"})
    assert set(WeightedSampler(data, pd.Series({3: 0.0, 1: 1.0, 2: 0.0}))) == {0}
    assert set(WeightedSampler(data, cast("Any", {"3": 1, "1": 0, "2": 0}))) == {2}
    with pytest.raises(
        ArgumentError, match=r"weights has no entry .*weights\.to_numpy\(\)"
    ):
        WeightedSampler(data, pd.Series({5: 0.0, 1: 1.0, 2: 0.0}))
