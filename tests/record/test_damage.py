"""Every flipped bit and every cut of a small file of each format."""

import numpy as np
import pytest

from seqloom.errors import RecordError
from seqloom.record import JsonGz, MsgPack, Record, Safetensors

RECORD = Record(
    {"w": np.arange(4, dtype="f4"), "n": np.array([3], "i8")}, metadata={"epoch": 3}
)
# Bits of gzip's header that no reader uses: what kind of text it is (bit 0 of the flags, and
# three that are reserved), the time, the level of compression, and the system. Behind the
# last code, before the checksum, there are up to seven more.
UNUSED = {3 * 8 + bit for bit in (0, 5, 6, 7)} | set(range(4 * 8, 10 * 8))
HARMLESS = {Safetensors: set[int](), MsgPack: set[int](), JsonGz: UNUSED}


def reads_as_before(recorder, data):
    """Reads everything; an error says that the damage was found."""
    try:
        found = recorder().from_bytes(data).copy()
    except RecordError:
        return False
    assert found.metadata == RECORD.metadata
    assert list(found) == list(RECORD)
    for path, array in RECORD.items():
        assert (found[path].dtype, found[path].shape) == (array.dtype, array.shape)
        assert found[path].tobytes() == array.tobytes()
    return True


@pytest.mark.parametrize("recorder", HARMLESS)
def test_a_flipped_bit_is_an_error_but_for_those_that_mean_nothing(recorder):
    good = recorder().to_bytes(RECORD)
    harmless = set()
    for place in range(8 * len(good)):
        flipped = bytearray(good)
        flipped[place // 8] ^= 1 << place % 8
        if reads_as_before(recorder, flipped):
            harmless.add(place)
    padding = {8 * (len(good) - 9) + bit for bit in range(1, 8)}
    assert harmless - padding == HARMLESS[recorder]
    assert recorder is JsonGz or not harmless


@pytest.mark.parametrize("recorder", HARMLESS)
def test_a_file_that_is_cut_anywhere_or_longer_is_an_error(recorder):
    good = recorder().to_bytes(RECORD)
    for length in range(len(good)):
        with pytest.raises(RecordError):
            recorder().from_bytes(good[:length]).copy()
    with pytest.raises(RecordError):
        recorder().from_bytes(good + b"x").copy()
