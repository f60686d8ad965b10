"""Disk errors while a record is being saved."""

import errno
import time

import numpy as np
import pytest

import seqloom as sl
from seqloom import _files
from seqloom.errors import FileError


class Slow(sl.record.Recorder):
    """Recorder that is so slow that writing begins before the encoding ends."""

    def encode(self, record, file):
        file.write(b"begin" * len(record))
        file.flush()
        time.sleep(0.1)

    def decode(self, source):
        raise NotImplementedError


def test_a_disk_error_during_a_save_is_raised(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(errno.EIO, "Input/output error")

    record = sl.record.Record({"x": np.ones(2)})
    record.save(tmp_path / "x")
    before = (tmp_path / "x").read_bytes()
    monkeypatch.setattr(_files, "_SYNC_INTERVAL_SECONDS", 0.001)
    monkeypatch.setattr("os.fdatasync", fail)
    with pytest.raises(FileError, match="x: cannot be written: Input/output error"):
        record.save(tmp_path / "x", Slow())
    assert (tmp_path / "x").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
