"""Records are saved in files and loaded again."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import MissingFileError, RecordError
from seqloom.record import Record
from seqloom.record._facts import joint_checksum

RECORD_ARRAYS = {
    "z.weight": np.arange(6, dtype="f4").reshape(2, 3),
    "a.scalar": np.float32(2.5),
}
EXAMPLE_RECORD = Record(
    RECORD_ARRAYS, metadata={"epoch": 3, "note": "ä", "nested": {"lr": 0.1}}
)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    EXAMPLE_RECORD.save(path)
    return path


def test_a_record_file_restores_arrays_and_metadata(saved):
    again = sl.record.load(saved)
    assert again.metadata == EXAMPLE_RECORD.metadata
    assert list(again) == list(RECORD_ARRAYS)
    for path, each in RECORD_ARRAYS.items():
        assert np.array_equal(np.asarray(again[path]), each)
        assert again[path].shape == np.shape(each)


def test_any_safetensors_reader_reads_the_arrays(saved):
    from safetensors.numpy import load_file

    assert np.array_equal(load_file(saved)["z.weight"], RECORD_ARRAYS["z.weight"])


def test_equal_records_give_equal_files(saved, tmp_path):
    EXAMPLE_RECORD.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == saved.read_bytes()


def test_a_safetensors_file_of_another_program_is_read(tmp_path):
    from safetensors.numpy import save_file

    save_file({"w": np.ones(2)}, tmp_path / "other.safetensors")
    assert np.asarray(sl.record.load(tmp_path / "other.safetensors")["w"]).tolist() == [
        1,
        1,
    ]


def test_every_flipped_bit_in_the_values_of_a_record_file_is_detected(saved):
    good = saved.read_bytes()
    start = len(good) - 28
    for byte in range(start, len(good)):
        saved.write_bytes(good[:byte] + bytes([good[byte] ^ 4]) + good[byte + 1 :])
        with pytest.raises(RecordError, match="damaged"):
            [np.asarray(each) for each in sl.record.load(saved).values()]


def test_a_flipped_bit_in_a_record_file_is_detected_or_changes_nothing(saved):
    good = saved.read_bytes()
    for place in range(8 * len(good)):
        flipped = bytearray(good)
        flipped[place // 8] ^= 1 << place % 8
        saved.write_bytes(flipped)
        try:
            again = sl.record.load(saved)
            arrays = {path: np.asarray(each) for path, each in again.items()}
        except RecordError:
            continue
        assert again.metadata == EXAMPLE_RECORD.metadata
        assert all(
            np.array_equal(arrays[path], RECORD_ARRAYS[path]) for path in RECORD_ARRAYS
        )


def test_every_truncation_of_a_record_file_is_detected(saved):
    good = saved.read_bytes()
    for length in range(len(good)):
        saved.write_bytes(good[:length])
        with pytest.raises(RecordError, match="not a complete safetensors file"):
            sl.record.load(saved)


def test_the_error_for_a_missing_record_names_the_file(tmp_path):
    with pytest.raises(MissingFileError, match=r"none\.safetensors"):
        sl.record.load(tmp_path / "none.safetensors")


def test_records_are_joined_and_split_by_path_prefixes():
    both = EXAMPLE_RECORD.with_prefix("model.") | Record({"x": np.zeros(1)}).with_prefix(
        "optim."
    )
    assert list(both.under("model.")) == list(RECORD_ARRAYS)
    assert list(both.under("optim.")) == ["x"]


def test_a_file_that_is_read_unmapped_may_be_replaced(tmp_path):
    path = tmp_path / "a.safetensors"
    recorder = sl.record.Safetensors()
    recorder.write(path, sl.record.Record({"x": np.arange(4.0)}))
    array = np.asarray(recorder.read(path)["x"])
    assert array.flags.writeable
    path.write_bytes(b"")
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_lazy_array_has_its_size_in_bytes(saved):
    assert sl.record.load(saved)["z.weight"].nbytes == RECORD_ARRAYS["z.weight"].nbytes


def test_the_checksum_covers_names_dtypes_shapes_and_values():
    weights = {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(2, np.float32)}
    changed = [
        {"c": weights["a"], "b": weights["b"]},
        weights | {"a": weights["a"].astype(np.float32)},
        weights | {"a": weights["a"].reshape(3, 2)},
        weights | {"b": np.array([1, 1.5], np.float32)},
    ]
    assert len({joint_checksum(each) for each in [weights, *changed]}) == 5
    assert joint_checksum(weights) == joint_checksum(
        {key: it.copy() for key, it in weights.items()}
    )


def test_an_array_of_several_blocks_is_restored_from_json(tmp_path):
    # The big-endian array is converted and written in blocks. The length of a block is
    # not a multiple of 3 bytes, the unit of base64.
    numbers = np.arange((2 << 20) + 5, dtype=">u4")
    recorder = sl.record.JsonGz()
    recorder.write(tmp_path / "a.json.gz", Record({"x": numbers}))
    assert np.array_equal(np.asarray(recorder.read(tmp_path / "a.json.gz")["x"]), numbers)
