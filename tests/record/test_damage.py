"""Every flipped bit and every truncation of a small file is detected, in each format."""

import gzip

import numpy as np
import pytest

from seqloom.errors import RecordError
from seqloom.record import JsonGz, Record, Safetensors

EXAMPLE_RECORD = Record(
    {"w": np.arange(4, dtype="f4"), "n": np.array([3], "i8")}, metadata={"epoch": 3}
)
RECORDER_CLASSES = [Safetensors, JsonGz]


def reads_as_before(recorder, data):
    """Return whether a file is read without an error and all values are equal."""
    try:
        found = recorder().from_bytes(data).copy()
    except RecordError:
        return False
    assert found.metadata == EXAMPLE_RECORD.metadata
    assert list(found) == list(EXAMPLE_RECORD)
    for path, array in EXAMPLE_RECORD.items():
        assert (found[path].dtype, found[path].shape) == (array.dtype, array.shape)
        assert found[path].tobytes() == array.tobytes()
    return True


@pytest.mark.parametrize("recorder", RECORDER_CLASSES)
def test_a_flipped_bit_is_an_error_or_changes_nothing(recorder):
    good = recorder().to_bytes(EXAMPLE_RECORD)
    for place in range(8 * len(good)):
        flipped = bytearray(good)
        flipped[place // 8] ^= 1 << place % 8
        if reads_as_before(recorder, flipped):
            # Only gzip has bits that do not change the data: the time, the system,
            # unused bits at the end, and alternative encodings.
            assert recorder is JsonGz
            assert gzip.decompress(flipped) == gzip.decompress(good)


@pytest.mark.parametrize("recorder", RECORDER_CLASSES)
def test_a_truncated_or_longer_file_is_an_error(recorder):
    good = recorder().to_bytes(EXAMPLE_RECORD)
    for length in range(len(good)):
        with pytest.raises(RecordError):
            recorder().from_bytes(good[:length]).copy()
    with pytest.raises(RecordError):
        recorder().from_bytes(good + b"x").copy()
