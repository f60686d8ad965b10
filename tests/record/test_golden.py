"""Files of every format version must be readable by every later version.

`golden/version_0.safetensors` has no format version. The command ``python
tests/record/test_golden.py`` wrote the files of the current version. Never write these
files again; add files for a new version.
"""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import seqloom as sl
from seqloom.record import BFloat16, Double, Full, Half, Record, _facts

GOLDEN_FOLDER = Path(__file__).parent / "golden"
PRECISION_OF_NAME: dict[str, Any] = {
    "own": None,
    "full": Full(),
    "half": Half(),
    "bfloat16": BFloat16(),
    "double": Double(),
}
DTYPE_OF_PRECISION_NAME = {
    "full": "f4",
    "half": "f2",
    "bfloat16": ml_dtypes.bfloat16,
    "double": "f8",
}
RECORDER_CLASSES = {
    "safetensors": sl.record.Safetensors,
    "json.gz": sl.record.JsonGz,
}
RECORD_METADATA = {"epoch": 3, "note": "ä", "nested": {"lr": 0.1, "name": None}}
RECORD_ARRAYS: dict[str, Any] = {
    "weight": np.arange(6, dtype="f4").reshape(2, 3) / np.float32(7),
    "scale": np.float32(2.5),
    "half": np.array([1.5, -2.25, 65504.0], "f2"),
    "brain": np.array([1.5, -2.25, 3e38]).astype(ml_dtypes.bfloat16),
    "wide": np.array([1 / 3, 1e300]),
    "count": np.array([7, -8]),
    "mask": np.array([True, False]),
    "empty": np.zeros((0, 4), "f4"),
    "turned": np.array([1 + 2j], "c8"),
}
# Numbers that every precision can represent; the variance is never converted.
REPRESENTABLE_ARRAYS = {
    **RECORD_ARRAYS,
    "brain": RECORD_ARRAYS["brain"][:2],
    "wide": RECORD_ARRAYS["wide"][:1],
}
REPRESENTABLE_ARRAYS["variance"] = np.array([0.1], "f4")


def a_record():
    return Record(
        REPRESENTABLE_ARRAYS, metadata=RECORD_METADATA, least_dtypes={"variance": "float32"}
    )


def converted(name, path):
    array = np.asarray(REPRESENTABLE_ARRAYS[path])
    is_float = array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16
    if name == "own" or not is_float:
        return array
    is_narrow = path == "variance" and np.dtype(DTYPE_OF_PRECISION_NAME[name]).itemsize < 4
    return array.astype("f4" if is_narrow else DTYPE_OF_PRECISION_NAME[name])


def same(found, expected):
    assert list(found) == list(expected)
    for path, array in expected.items():
        value, wanted = np.asarray(found[path]), np.asarray(array)
        assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
        assert value.tobytes() == wanted.tobytes()


def test_a_file_without_a_format_version_is_read():
    found = sl.record.load(GOLDEN_FOLDER / "version_0.safetensors")
    same(found, RECORD_ARRAYS)
    assert found.metadata == RECORD_METADATA


@pytest.mark.parametrize("suffix", RECORDER_CLASSES)
@pytest.mark.parametrize("name", PRECISION_OF_NAME)
def test_a_file_of_every_recorder_and_precision_is_read(suffix, name):
    path = GOLDEN_FOLDER / f"version_1_{name}.{suffix}"
    found = sl.record.load(path)
    same(found, {path: converted(name, path) for path in REPRESENTABLE_ARRAYS})
    assert found.metadata == RECORD_METADATA
    assert found.least_dtypes == {"variance": "float32"}


@pytest.mark.parametrize("name", PRECISION_OF_NAME)
def test_the_current_version_writes_the_same_bytes(name):
    path = GOLDEN_FOLDER / f"version_{_facts.FORMAT_VERSION}_{name}.safetensors"
    written = sl.record.Safetensors(precision=PRECISION_OF_NAME[name]).to_bytes(a_record())
    assert written == path.read_bytes()


def test_a_corrupt_file_without_a_format_version_is_an_error(tmp_path):
    data = bytearray((GOLDEN_FOLDER / "version_0.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(sl.errors.RecordError, match="damaged"):
        sl.record.load(tmp_path / "x.safetensors").verify()


if __name__ == "__main__":
    for ending, recorder in RECORDER_CLASSES.items():
        for label, precision in PRECISION_OF_NAME.items():
            new = GOLDEN_FOLDER / f"version_{_facts.FORMAT_VERSION}_{label}.{ending}"
            if not new.exists():
                a_record().save(new, recorder(precision=precision))
