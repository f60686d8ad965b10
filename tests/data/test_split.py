import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from seqloom.data import Labels, SequenceDataset, Subset, folds, split
from seqloom.errors import ArgumentError

shares_of = st.lists(st.integers(1, 9), min_size=2, max_size=4).map(
    lambda parts: [part / sum(parts) for part in parts]
)


def values(data):
    """Return the labels as Python numbers."""
    return np.asarray(data.labels).tolist()


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Create a dataset with one sequence for each given label."""
    folder = tmp_path_factory.mktemp("split")

    def make(classes):
        (folder / "a.fa").write_text("".join(f">s{i}\nAC\n" for i in range(len(classes))))
        labels = {f"s{i}": name for i, name in enumerate(classes)}
        return SequenceDataset(
            folder / "a.fa", labels=Labels(labels, classes=["a", "b", "c"])
        )

    return make


@given(st.text("abc", min_size=8, max_size=60), shares_of, st.integers(0, 99))
def test_a_split_contains_each_sequence_once_in_order(make, classes, shares, seed):
    data = make(classes)
    assume(min(shares) * len(classes) >= 1)
    parts = split(data, shares, seed=seed)
    assert sorted(name for part in parts for name in part.ids) == sorted(data.ids)
    assert all((np.diff(part.indices) > 0).all() for part in parts)


@given(st.text("abc", min_size=8, max_size=60), shares_of, st.booleans())
def test_split_sizes_are_the_rounded_fractions(make, classes, shares, stratify):
    assume(min(shares) * len(classes) >= 1)
    parts = split(make(classes), shares, stratify=stratify)
    for part, share in zip(parts, shares, strict=True):
        assert abs(len(part) - share * len(classes)) < 1


@given(st.text("abc", min_size=8, max_size=60), st.integers(1, 9), st.integers(0, 9))
def test_stratified_subsets_have_equal_fractions_of_every_class(make, classes, tenth, seed):
    assume(tenth / 10 * len(classes) >= 1 <= (10 - tenth) / 10 * len(classes))
    data = make(classes)
    first, second = split(data, (tenth / 10, 1 - tenth / 10), seed=seed)
    share = len(first) / len(data)
    for name, count in data.class_counts.items():
        assert (
            math.floor(share * count)
            <= first.class_counts[name]
            <= math.ceil(share * count)
        )
        assert first.class_counts[name] + second.class_counts[name] == count


def test_the_split_of_the_quickstart_has_exact_fractions(make):
    train, valid = split(make("a" * 464 + "b" * 485 + "c" * 1051), (0.9, 0.1))
    assert (len(train), len(valid)) == (1800, 200)
    assert valid.class_counts == {"a": 46, "b": 49, "c": 105}


def test_the_records_in_each_subset_depend_only_on_the_seed(hundred):
    first, same, other = (
        split(hundred, (0.5, 0.5), seed=seed)[0].ids for seed in (1, 1, 2)
    )
    assert first == same != other


def test_subsets_share_the_classes_of_the_whole_dataset(make):
    part, _ = split(make("a" * 9 + "c"), (0.5, 0.5))
    assert part.classes == ("a", "b", "c")


def test_stratified_and_unstratified_splits_differ(hundred):
    plain, _ = split(hundred, (0.5, 0.5), stratify=False)
    balanced, _ = split(hundred, (0.5, 0.5))
    assert balanced.class_counts == {"x": 30, "y": 15, "z": 5}
    assert plain.ids != balanced.ids


def test_datasets_for_regression_are_split_without_stratification(make):
    data = make("abcabcabca")
    data.task, data.labels = "regress", np.linspace(0, 1, 10, dtype=np.float32)
    assert [len(part) for part in split(data, (0.7, 0.3))] == [7, 3]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, 12), min_size=20, max_size=60), st.integers(0, 9))
def test_records_of_one_group_are_in_one_subset(make, groups, seed):
    assume(len(set(groups)) >= 4)
    data = Subset(make("ab" * 30), range(len(groups)))
    parts = split(data, (0.7, 0.3), groups=groups, seed=seed)
    first, second = ({groups[i] for i in part.indices} for part in parts)
    assert first.isdisjoint(second)
    assert first
    assert second


def test_splitting_by_small_groups_keeps_the_class_fractions(hundred):
    groups = {f"s{i}": f"family {i // 2}" for i in range(100)}
    train, valid = split(hundred, (0.8, 0.2), groups=groups)
    assert abs(len(valid) - 20) <= 2
    assert abs(valid.class_counts["x"] - 12) <= 2
    assert len(train) + len(valid) == 100


def test_splitting_by_a_wrong_number_of_groups_is_an_error(hundred):
    with pytest.raises(ArgumentError, match="each of 100 records, got shape"):
        split(hundred, (0.5, 0.5), groups=["a", "b"])


def test_splitting_a_dataset_with_an_id_without_a_group_is_an_error(hundred):
    with pytest.raises(ArgumentError, match="no entry for 99 of 100 ids: 's1'"):
        split(hundred, (0.5, 0.5), groups={"s0": "a"})


def test_splitting_by_fewer_groups_than_subsets_is_an_error(hundred):
    with pytest.raises(
        ArgumentError, match="at least 2 groups, one for each subset, got 1"
    ):
        split(hundred, (0.5, 0.5), groups=["a"] * 100)


@pytest.mark.parametrize("shares", [(), (0.5, 0.4), (1.5, -0.5), (1.0, 0.0)])
def test_splitting_by_invalid_shares_is_an_error(hundred, shares):
    with pytest.raises(ArgumentError, match="sum to 1"):
        split(hundred, shares)


def test_a_split_with_an_empty_subset_is_an_error(make):
    with pytest.raises(ArgumentError, match="subset 2 of 2 would be empty: 3 sequences"):
        split(make("abc"), (0.9, 0.1))


@given(st.integers(2, 10), st.integers(0, 99))
def test_each_sequence_is_in_the_validation_set_of_one_fold(hundred, k, seed):
    pairs = folds(hundred, k, seed=seed)
    assert sorted(name for _, valid in pairs for name in valid.ids) == sorted(hundred.ids)
    assert all(set(train.ids).isdisjoint(valid.ids) for train, valid in pairs)
    assert {len(train) + len(valid) for train, valid in pairs} == {100}


def test_cross_validation_with_a_single_fold_is_an_error(hundred):
    with pytest.raises(ArgumentError, match="k must be an integer of at least 2"):
        folds(hundred, 1)


def test_a_subset_of_a_subset_is_a_subset_of_the_whole_dataset(hundred):
    part = Subset(Subset(hundred, range(50, 100)), [1, -1])
    assert part.ids == ["s51", "s99"]
    assert part.whole is hundred


def test_a_sequence_subset_supports_all_methods_of_its_dataset(hundred):
    part = Subset(hundred, [3, 1])
    assert (
        [item["id"] for item in part]
        == part.ids
        == part.batch([0, 1])["id"]
        == ["s3", "s1"]
    )
    assert values(part) == [0, 0]
    assert part.lengths.tolist() == [4, 2]
    assert (part.encoder, part.paths, part.task) == (
        hundred.encoder,
        hundred.paths,
        hundred.task,
    )
    assert str(part) == "2 sequences of 2 to 4; x 2, y 0, z 0"


def test_different_subsets_have_different_fingerprints(hundred):
    prints = [Subset(hundred, rows).fingerprint() for rows in ([0, 1], [1, 0], [0, 1])]
    assert prints[0] == prints[2] != prints[1]


def test_subsets_of_one_dataset_can_be_added(hundred):
    train, valid = split(hundred, (0.8, 0.2), seed=1)
    assert (train + valid).ids == train.ids + valid.ids
    assert (hundred + valid).ids == hundred.ids + valid.ids
    assert (valid + hundred).whole is hundred


@pytest.mark.parametrize("other", [[1], "part", 3])
def test_adding_subsets_of_different_datasets_is_an_error(hundred, make, other):
    another = make("ab")[:] if other == "part" else other
    with pytest.raises(ArgumentError, match="joins subsets of one dataset, got a "):
        hundred + another


def test_groups_in_a_pandas_series_are_joined_by_id(tmp_path):
    path = tmp_path / "n.fa"
    path.write_text("".join(f">{i}\nACGT\n" for i in range(1, 13)))
    data = SequenceDataset(str(path))
    families = {i: f"f{i % 4}" for i in range(1, 13)}
    by_family = pd.Series(families).sort_values()
    cuts = [split(data, (0.5, 0.5), groups=by_family), *folds(data, 2, groups=by_family)]
    for parts in cuts:
        first, second = ({families[int(name)] for name in part.ids} for part in parts)
        assert not first & second


def test_a_data_frame_of_groups_must_have_one_column(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nA\n>b\nC\n>c\nG\n>d\nT\n")
    data = SequenceDataset(tmp_path / "a.fa")
    frame = pd.DataFrame({"f": ["y", "x", "y", "x"]}, index=["d", "c", "b", "a"])
    one, other = split(data, (0.5, 0.5), groups=frame)
    assert sorted([one.ids, other.ids]) == [["a", "c"], ["b", "d"]]
    with pytest.raises(ArgumentError, match=r"columns 'f', 'sex': pass dict\(zip"):
        split(data, (0.5, 0.5), groups=frame.assign(sex=1))


def test_group_ids_may_be_integers_and_group_names_any_type(hundred):
    by_text = {f"s{i}": str(i // 2) for i in range(100)}
    by_number = pd.Series({f"s{i}": float(i // 2) for i in range(100)})
    one, other = (split(hundred, (0.5, 0.5), groups=it) for it in (by_text, by_number))
    assert one[0].ids == other[0].ids


def test_splitting_by_missing_groups_is_an_error(hundred):
    for nothing in (None, math.nan, pd.NA, ""):
        groups: Any = ["x", nothing, *["y"] * 98]
        with pytest.raises(ArgumentError, match="no group for 1 of 100 records: 's1'"):
            split(hundred, (0.5, 0.5), groups=groups)
        with pytest.raises(ArgumentError, match="no group for 1 of 100 records: 's1'"):
            folds(hundred, 2, groups={f"s{i}": group for i, group in enumerate(groups)})


def test_groups_in_a_pandas_series_need_records_with_ids():
    frame = pd.DataFrame({"s": ["AC", "GG", "TT"], "f": ["a", "b", "a"]}).iloc[[2, 0, 1]]
    data = SequenceDataset(frame["s"].tolist())
    with pytest.raises(ArgumentError, match="no ids to join by"):
        split(data, (0.5, 0.5), groups=frame["f"])
    assert len(split(data, (0.5, 0.5), groups=frame["f"].to_numpy())) == 2


def test_a_boolean_mask_in_a_pandas_series_is_joined_by_id(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nA\n>b\nC\n>c\nG\n")
    data = SequenceDataset(tmp_path / "a.fa")
    mask = pd.Series([True, False, False], index=["c", "b", "a"])
    assert Subset(data, mask).ids == ["c"]
    assert Subset(data, mask.astype("boolean")).ids == ["c"]
    assert Subset(data, mask.to_numpy()).ids == ["a"]
    with pytest.raises(ArgumentError, match=r"no entry for 1 of 3 ids: 'a', .*to_numpy"):
        Subset(data, mask[:2])
    with pytest.raises(ArgumentError, match=r"Subset\(dataset, mask\) joins it by id"):
        data.batch(mask)
    # A boolean series with the default index selects rows by their order.
    assert Subset(data, pd.Series([True, False, False])).ids == ["a"]
