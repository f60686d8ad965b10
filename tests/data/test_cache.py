import pickle
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom.data import _cache
from seqloom.data._cache_folder import CacheFolder
from seqloom.errors import ArgumentError, FileError

DNA_ENCODER = sl.encode.OneHot("dna")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGTN"), n)) for n in rng.integers(6, 40, 50)]
    fasta = tmp_path / "a.fa"
    fasta.write_text("".join(f">r{i}\n{row}\n" for i, row in enumerate(rows)))
    return fasta


def entries(folder):
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(plain(value), plain(other[name]))


def plain(value):
    """Return a bfloat16 tensor as a NumPy array."""
    return value.float() if "bfloat16" in str(getattr(value, "dtype", "")) else value


@pytest.mark.parametrize(
    "encoder",
    [
        None,
        DNA_ENCODER,
        sl.encode.OneHot("dna", channels="last", dtype="float16"),
        sl.encode.Tokens("dna", k=3),
        sl.encode.Kmer(2, counts=True),
        sl.encode.OneHot("dna", dtype="bfloat16"),
    ],
    ids=repr,
)
def test_a_cached_dataset_equals_the_original_dataset(files, tmp_path, encoder):
    data = sl.data.SequenceDataset(files, encoder=encoder)
    for _ in range(2):
        kept = sl.data.cached(data, tmp_path / "cache")
        assert_equal(kept.to_numpy(), data.to_numpy())
        assert_equal(kept.batch([3, 1], multiple=8), data.batch([3, 1], multiple=8))
        for one, other in zip(kept, data, strict=True):
            assert_equal(one, other)
    assert len(entries(tmp_path / "cache")) == 1


def test_augmentation_of_cached_sequences_differs_between_epochs(files, tmp_path):
    augment = sl.augment.Mutate(0.3)
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER, augment=augment)
    kept = sl.data.cached(data, tmp_path / "cache")
    for epoch in (0, 1):
        assert_equal(
            kept.batch(range(9), epoch=epoch, length=64),
            data.batch(range(9), epoch=epoch, length=64),
        )
    assert not np.array_equal(
        kept.batch([0], epoch=0)["inputs"], kept.batch([0], epoch=1)["inputs"]
    )


def test_an_existing_cache_entry_of_a_dataset_is_reused(files, tmp_path, monkeypatch):
    sl.data.cached(sl.data.SequenceDataset(files, encoder=DNA_ENCODER), tmp_path / "cache")
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER)
    monkeypatch.setattr(_cache, "split_batch", lambda *_: pytest.fail("made again"))
    assert sl.data.cached(data, tmp_path / "cache").batch([0, 1])["ordinal"].tolist() == [
        0,
        1,
    ]
    with pytest.raises(pytest.fail.Exception, match="made again"):
        sl.data.cached(data, tmp_path / "empty")


def test_different_content_or_settings_have_separate_cache_entries(files, tmp_path):
    cache = tmp_path / "cache"
    for alphabet in ("dna", "iupac"):
        encoder = sl.encode.OneHot(alphabet)
        sl.data.cached(sl.data.SequenceDataset(files, encoder=encoder), cache)
    files.write_text(files.read_text() + ">more\nACGT\n")
    sl.data.cached(sl.data.SequenceDataset(files, encoder=DNA_ENCODER), cache)
    assert len(entries(cache)) == 3


@pytest.mark.parametrize("damage", ["cut", "flip", "facts", "missing"])
def test_a_corrupt_cache_entry_is_computed_again(files, tmp_path, damage):
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER)
    sl.data.cached(data, tmp_path / "cache")
    entry = tmp_path / "cache" / entries(tmp_path / "cache")[0]
    path = entry / ("facts.json" if damage == "facts" else "inputs")
    path.chmod(0o644)
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "flip":
        path.write_bytes(whole[:99] + bytes([whole[99] ^ 1]) + whole[100:])
    else:
        path.write_bytes(whole[:-7])
    assert_equal(sl.data.cached(data, tmp_path / "cache").to_numpy(), data.to_numpy())


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_flipped_bit_in_the_metadata_of_a_cache_entry_is_detected(files, tmp_path, step):
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER)
    sl.data.cached(data, tmp_path / "cache")
    facts = tmp_path / "cache" / entries(tmp_path / "cache")[0] / "facts.json"
    whole, wanted = facts.read_bytes(), data.to_numpy()
    for bit in range(0, 8 * len(whole), step):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        facts.write_bytes(flipped)
        assert_equal(sl.data.cached(data, tmp_path / "cache").to_numpy(), wanted)


def test_cache_files_contain_no_pickle(files, tmp_path):
    sl.data.cached(sl.data.SequenceDataset(files), tmp_path / "cache")
    names = [p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert sorted(name for name in names if not name.endswith(".lock")) == [
        "facts.json",
        "lengths",
        "letters",
    ]


def test_the_least_recently_used_cache_entry_is_removed_first(tmp_path):
    cache = CacheFolder(tmp_path / "cache", size_limit=1000)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda: [{"x": np.zeros(50)}])
        time.sleep(0.02)
    assert entries(tmp_path / "cache") == ["a", "c"]


def test_mapped_cache_arrays_stay_valid_after_their_files_are_removed(tmp_path):
    cache = CacheFolder(tmp_path / "cache", size_limit=600)
    first = cache.get("a", lambda: [{"x": np.arange(50)}])
    cache.get("b", lambda: [{"x": np.arange(50)}])
    assert entries(tmp_path / "cache") == ["b"]
    assert first["x"].tolist() == list(range(50))


def test_caching_a_dataset_above_the_size_limit_leaves_no_files(files, tmp_path):
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER)
    with pytest.raises(ArgumentError, match=r"size_limit must be .* got 100"):
        sl.data.cached(data, tmp_path / "cache", size_limit=100)
    assert entries(tmp_path / "cache") == []


def test_an_unpickled_cached_dataset_maps_its_files_again(files, tmp_path):
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER)
    kept = sl.data.cached(data, tmp_path / "cache")
    text = pickle.dumps(kept)
    assert_equal(pickle.loads(text).to_numpy(), data.to_numpy())  # noqa: S301 - ours


def test_subsets_and_loaders_work_with_a_cached_dataset(files, tmp_path):
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER)
    kept = sl.data.cached(data, tmp_path / "cache")
    part = sl.data.cached(sl.data.Subset(data, [4, 2]), tmp_path / "cache")
    assert_equal(part.batch([0, 1]), data.batch([4, 2]))
    collate = sl.data.PadCollator()
    loaders = [
        sl.data.DataLoader(it, batch_size=7, shuffle=True, seed=3, collate_fn=collate)
        for it in (kept, data)
    ]
    for one, other in zip(*loaders, strict=True):
        assert_equal(one, other)


CACHE_SCRIPT = """
import sys
from pathlib import Path
import seqloom as sl
from seqloom.data import _cache
made = _cache.CachedSource._encoded_items
def encode_and_note(self):
    with Path(sys.argv[3]).open("a") as file:
        file.write("made\\n")
    for chunk in made(self):
        if len(sys.argv) > 4:
            print("halfway", flush=True)
            __import__("time").sleep(60)
        yield chunk
_cache.CachedSource._encoded_items = encode_and_note
data = sl.data.SequenceDataset(sys.argv[1], encoder=sl.encode.OneHot("dna"))
print(sl.data.cached(data, sys.argv[2]).to_numpy()["inputs"].sum())
"""


def start_script(files, cache, notes, *more):
    command = [sys.executable, "-c", CACHE_SCRIPT, files, cache, notes, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_concurrent_processes_write_a_cache_entry_once(files, tmp_path):
    notes = tmp_path / "notes"
    children = [start_script(files, tmp_path / "cache", notes) for _ in range(4)]
    sums = [child.communicate(timeout=60)[0] for child in children]
    expected = (
        sl.data.SequenceDataset(files, encoder=DNA_ENCODER).to_numpy()["inputs"].sum()
    )
    assert [float(text) for text in sums] == [float(expected)] * 4
    assert notes.read_text() == "made\n"


def test_a_killed_process_does_not_block_the_cache(files, tmp_path):
    cache = tmp_path / "cache"
    child = start_script(files, cache, tmp_path / "notes", "slowly")
    assert child.stdout.readline() == "halfway\n"
    waiting = start_script(files, cache, tmp_path / "notes")
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert float(waiting.communicate(timeout=60)[0]) > 0
    assert len(entries(cache)) == 1
    assert not [*Path(cache).glob(".part*")]


def test_caching_intervals_with_jitter_is_an_error(files, tmp_path):
    (tmp_path / "a.bed").write_text("r0\t2\t5\n")
    data = sl.data.IntervalDataset(files, tmp_path / "a.bed", jitter=1, edge="drop")
    with pytest.raises(ArgumentError, match="jitter"):
        sl.data.cached(data, tmp_path / "cache")


def permissions(folder):
    """Return the file modes in a folder: a set for folders and a set for files."""
    every = [folder, *folder.rglob("*")]
    folders = {stat.S_IMODE(path.stat().st_mode) for path in every if path.is_dir()}
    return folders, {stat.S_IMODE(path.stat().st_mode) for path in every if path.is_file()}


def test_only_the_owner_can_read_cached_sequences(files, tmp_path):
    data = sl.data.SequenceDataset(files, encoder=DNA_ENCODER)
    sl.data.cached(data, tmp_path / "new" / "cache", size_limit=1 << 20).to_numpy()
    assert permissions(tmp_path / "new") == ({0o700}, {0o600})


def test_only_the_owner_can_read_cached_genotypes(tmp_path):
    rng = np.random.default_rng(0)
    sl.io.to_bed(tmp_path / "x.bed", rng.integers(0, 3, (40, 300)))
    data = sl.data.GenotypeDataset(tmp_path / "x.bed", cache=tmp_path / "cache", memory=1)
    data[0]
    assert list((tmp_path / "cache").rglob("codes.bed"))
    assert permissions(tmp_path / "cache") == ({0o700}, {0o600})


def test_caching_does_not_change_permissions_of_an_existing_folder(tmp_path):
    (tmp_path / "cache").mkdir(0o755)
    CacheFolder(tmp_path / "cache").get("0a", lambda: [{"x": np.arange(2)}])
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o755


def test_a_cache_lock_that_is_a_symbolic_link_is_not_followed(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "0a.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match=r"cannot cache: .*symbolic links.*0a\.lock"):
        CacheFolder(tmp_path / "cache").get("0a", lambda: [{"x": np.arange(2)}])
    assert not (tmp_path / "elsewhere").exists()


def test_a_cache_entry_that_is_a_symbolic_link_is_computed_again(tmp_path):
    other = CacheFolder(tmp_path / "other")
    other.get("0a", lambda: [{"x": np.arange(9)}])
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "0a").symlink_to(tmp_path / "other" / "0a")
    made = CacheFolder(tmp_path / "cache").get("0a", lambda: [{"x": np.arange(2)}])
    assert made["x"].tolist() == [0, 1]
    assert other.get("0a", list)["x"].size == 9
    assert not list((tmp_path / "cache").glob(".gone*"))


def test_the_cache_folder_may_be_a_symbolic_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    CacheFolder(tmp_path / "cache").get("0a", lambda: [{"x": np.arange(2)}])
    assert (tmp_path / "disk" / "0a").is_dir()
