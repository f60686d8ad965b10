"""Genotypes are bitwise equal in loaders, subsets, samplers and other processes."""

import multiprocessing
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.data import DataLoader
from seqloom.io.plink import _file_set

MEMORY_OPTIONS = [pytest.param({}, id="held"), pytest.param({"memory": 0}, id="copy")]


@pytest.fixture
def data(write_bed, cache):
    """Sixty samples with labels and covariates."""

    def make(**options):
        path = write_bed(60, 45).path
        values = np.random.default_rng(0).normal(size=(60, 2))
        every: dict[str, Any] = {
            "labels": np.arange(60) % 3 + 0.5,
            "covariates": values,
            **options,
        }
        return sl.data.GenotypeDataset(path, cache=cache, **every)

    return make


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("way", MEMORY_OPTIONS)
@pytest.mark.parametrize("num_workers", [0, 1, 2])
def test_genotype_batches_do_not_depend_on_the_number_of_threads(data, way, num_workers):
    whole = data(**way)
    expected = list(DataLoader(whole, 7, shuffle=True, seed=3))
    found = list(DataLoader(whole, 7, shuffle=True, seed=3, num_workers=num_workers))
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other)
        assert_equal(one, whole.batch(rows_of_ids(whole, one["id"]), num_threads=2))


def rows_of_ids(whole, ids):
    place = {name: at for at, name in enumerate(whole.ids)}
    return [place[name] for name in ids]


@pytest.mark.parametrize("way", MEMORY_OPTIONS)
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_worker_processes_return_the_genotypes_of_threads(data, way, start):
    from loader_user import plain

    whole = data(**way)
    loader = DataLoader(
        whole, 20, collate_fn=plain, num_workers=2, multiprocessing_context=start
    )
    found = [item for batch in loader for item in batch]
    for item, expected in zip(found, whole, strict=True):
        assert_equal(item, expected)


@pytest.mark.parametrize("way", MEMORY_OPTIONS)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_pytorch_loader_reads_a_genotype_dataset(data, way, num_workers):
    torch = pytest.importorskip("torch")
    whole = data(**way)
    loader = torch.utils.data.DataLoader(whole, 16, num_workers=num_workers)
    found = torch.cat([batch["inputs"] for batch in loader])
    np.testing.assert_array_equal(found.numpy(), whole.to_numpy()["inputs"])


def test_a_loader_returns_genotypes_as_tensors(data):
    torch = pytest.importorskip("torch")
    batch = next(iter(DataLoader(data(), 8, output="torch")))
    assert isinstance(batch["inputs"], torch.Tensor)
    assert batch["inputs"].shape == (8, 45)


def test_a_loader_returns_genotype_codes(data):
    whole = data(output="codes")
    batch = next(iter(DataLoader(whole, 8, num_workers=1)))
    assert batch["codes"].shape == (8, 12)
    assert "inputs" not in batch


def test_a_loader_can_return_variants_as_items(write_bed):
    whole = sl.data.GenotypeDataset(write_bed(30, 20).path, by="variant")
    batches = list(DataLoader(whole, 8, num_workers=2))
    found = np.concatenate([batch["inputs"] for batch in batches])
    np.testing.assert_array_equal(found, whole.to_numpy()["inputs"])
    assert batches[0]["chromosome"] == ["0"] * 8


def test_a_pad_collator_does_not_change_genotypes(data):
    whole = data()
    batch = next(iter(DataLoader(whole, 8, collate_fn=sl.data.PadCollator())))
    np.testing.assert_array_equal(batch["inputs"], whole.batch(range(8))["inputs"])


@pytest.mark.parametrize("way", MEMORY_OPTIONS)
def test_a_pickled_genotype_dataset_is_equal(data, way):
    whole = data(**way)
    again = pickle.loads(pickle.dumps(whole))  # noqa: S301 - its own
    assert_equal(again.to_numpy(), whole.to_numpy())
    assert again.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_another_process_reads_equal_genotypes_from_a_pickled_dataset(data, start):
    whole = data(memory=0)
    with multiprocessing.get_context(start).Pool(1) as pool:
        found = pool.apply_async(whole.batch, ([3, 4],)).get(timeout=60)
    assert_equal(found, whole.batch([3, 4]))


def test_a_genotype_subset_supports_the_methods_of_the_whole_dataset(data):
    whole = data()
    part = whole[10:40:3]
    assert part.ids == whole.ids[10:40:3]
    assert part.covariate_names == whole.covariate_names
    assert (part.noun, str(part)[:10]) == ("samples", "10 samples")
    assert_equal(part.batch([2]), whole.batch([16]))
    assert part.fingerprint() != whole.fingerprint()


def test_splits_of_genotypes_keep_class_fractions(write_bed):
    path = write_bed(60, 5).path
    whole = sl.data.GenotypeDataset(path, np.arange(60) % 4 // 3 + 1)
    for part in sl.data.split(whole, (0.8, 0.2)):
        assert part.class_counts["case"] * 4 == len(part)


def test_a_split_by_family_keeps_families_together(write_bed):
    fids = [f"f{i // 4}" for i in range(60)]
    whole = sl.data.GenotypeDataset(write_bed(60, 5, fid=fids).path)
    parts = sl.data.split(whole, (0.7, 0.3), groups="fid")
    families = [{fids[row] for row in part.indices} for part in parts]
    assert not families[0] & families[1]


def test_samplers_accept_genotype_datasets(write_bed):
    whole = sl.data.GenotypeDataset(write_bed(60, 5).path, np.arange(60) % 4 // 3)
    sampler = sl.data.WeightedSampler(whole, seed=0)
    loader = DataLoader(whole, 20, sampler=sampler)
    assert 20 <= sum(int(batch["label"].sum()) for batch in loader) <= 40


def test_the_fingerprint_of_genotypes_depends_on_the_selected_data(write_bed, cache):
    path = write_bed(30, 20).path
    others: list[dict[str, Any]] = [
        {},
        {"variants": slice(10)},
        {"labels": np.arange(30) / 2},
        {"covariates": np.arange(30)},
        {"by": "variant"},
        {"count_A1": False},
    ]
    prints = [
        sl.data.GenotypeDataset(path, cache=cache, **options).fingerprint()
        for options in others
    ]
    assert len(set(prints)) == len(prints)
    assert_equal: list[dict[str, Any]] = [{"memory": 0}, {"standardize": None}]
    for options in assert_equal:
        data = sl.data.GenotypeDataset(path, cache=cache, **options)
        assert data.fingerprint() == prints[0]


def test_the_function_cached_rejects_genotypes(data, tmp_path):
    with pytest.raises(ValueError, match="only datasets of sequences"):
        sl.data.cached(data(), tmp_path)


def test_a_genotype_dataset_waits_for_a_bed_that_is_being_replaced(write_bed, cache):
    bed, found = Path(write_bed(5, 7).path), []
    away = bed.with_name("away")

    def count():
        found.append(len(sl.data.GenotypeDataset(bed, cache=cache)))

    reader = threading.Thread(target=count)
    with _file_set.block_set_writers(bed):
        bed.rename(away)
        reader.start()
        time.sleep(0.1)
        away.rename(bed)
    reader.join()
    assert found == [5]
