"""Truncating a mapped file is an error, and does not end the process."""

import os

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import FileError

TRUNCATION_MESSAGE_PATTERN = (
    "was truncated since it was opened, from .* bytes to 100; open it again"
)
EMBEDDING_TABLE = np.random.default_rng(0).normal(size=(33, 256)).astype(np.float32)


def cut(folder, pattern="*"):
    """Truncate the large files of a folder."""
    for path in folder.rglob(pattern):
        if path.is_file() and path.stat().st_size > 4096:
            os.truncate(path, 100)


def test_truncating_a_memory_mapped_weights_file_is_an_error(tmp_path):
    sl.record.Record({"a": np.ones(100_000)}).save(tmp_path / "m.safetensors")
    record = sl.record.load(tmp_path / "m.safetensors", mapped=True)
    cut(tmp_path)
    with pytest.raises(FileError, match=TRUNCATION_MESSAGE_PATTERN):
        np.asarray(record["a"])


@pytest.mark.parametrize("augment", [None, sl.augment.ReverseComplement()])
def test_truncating_a_memory_mapped_cache_is_an_error(tmp_path, augment):
    (tmp_path / "x.fa").write_text("".join(f">{row}\n{'ACGT' * 500}\n" for row in range(9)))
    encoder = sl.encode.OneHot("dna")
    data = sl.data.SequenceDataset(tmp_path / "x.fa", encoder=encoder, augment=augment)
    kept = sl.data.cached(data, tmp_path / "cache")
    expected = kept[8]["inputs"].copy()
    cut(tmp_path / "cache")
    with pytest.raises(FileError, match=TRUNCATION_MESSAGE_PATTERN):
        _ = kept[8]
    again = sl.data.cached(data, tmp_path / "cache")
    np.testing.assert_array_equal(again[8]["inputs"], expected)


def test_truncating_a_memory_mapped_embedding_file_is_an_error(tmp_path):
    (tmp_path / "x.fa").write_text("".join(f">r{row}\nMKTAY\n" for row in range(50)))
    sl.infer.embed(
        lambda batch: EMBEDDING_TABLE[batch["input_ids"]],
        tmp_path / "x.fa",
        out=tmp_path / "out",
        tokens=sl.encode.Tokens("esm2"),
        identity="table",
    )
    found = sl.infer.load(tmp_path / "out")
    found.get("r0")
    cut(tmp_path / "out", "*.safetensors")
    with pytest.raises(FileError, match=TRUNCATION_MESSAGE_PATTERN):
        found.get("r49")


def test_a_memory_mapped_array_of_a_removed_file_stays_valid(tmp_path):
    sl.record.Record({"a": np.ones(100_000)}).save(tmp_path / "m.safetensors")
    record = sl.record.load(tmp_path / "m.safetensors", mapped=True)
    (tmp_path / "m.safetensors").unlink()
    assert np.asarray(record["a"]).sum() == 100_000
