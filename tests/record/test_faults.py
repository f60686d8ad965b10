"""Saves that meet an error or a kill at each call that changes files."""

import errno
import time

import numpy as np
import pytest

import save_faults
import seqloom as sl
from save_faults import ERRORS, KILLS, NEEDED
from seqloom import _files
from seqloom.errors import FileError


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = save_faults.build(tmp_path_factory.mktemp("library"))
    if found is None:
        pytest.skip("needs a C compiler and Linux")
    return found


RECORDERS = [
    "Safetensors",
    pytest.param("MsgPack", marks=pytest.mark.soak),
    pytest.param("JsonGz", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("recorder", RECORDERS)
def test_an_error_leaves_a_whole_file_and_is_raised_by_its_name(
    library, tmp_path, recorder
):
    rows = save_faults.run_faults(library, tmp_path, recorder, ERRORS)
    assert {row["call"] for row in rows} >= NEEDED
    for row in rows:
        assert not row["is_killed"], row
        if row["said"]:
            assert row["said"].startswith(f"FileError: {tmp_path}/model: cannot be"), row
        else:
            assert row["call"] not in NEEDED, row
            assert row["left"] == "new", row
        assert row["parts"] == 0 or row["call"] == "unlink", row
        assert (row["next"], row["names"]) == ("new", 1), row


@pytest.mark.parametrize("recorder", RECORDERS)
def test_a_kill_leaves_the_old_or_the_new_file_whole(library, tmp_path, recorder):
    rows = save_faults.run_faults(library, tmp_path, recorder, KILLS)
    assert {row["left"] for row in rows} == {"old", "new"}
    for row in rows:
        assert row["is_killed"], row
        assert (row["next"], row["names"]) == ("new", 1), row
    # Once the new file is there it stays; before, the old one is.
    lefts = [row["left"] for row in rows if row["fault"] == "after"]
    assert lefts == sorted(lefts, reverse=True)


class Slow(sl.record.Recorder):
    """Takes so long that the disk begins before it ends."""

    def encode(self, record, file):
        file.write(b"begin" * len(record))
        file.flush()
        time.sleep(0.1)

    def decode(self, source):
        raise NotImplementedError


def test_an_error_of_the_disk_while_a_file_is_still_written_is_raised(
    tmp_path, monkeypatch
):
    def fail(_):
        raise OSError(errno.EIO, "Input/output error")

    record = sl.record.Record({"x": np.ones(2)})
    record.save(tmp_path / "x")
    before = (tmp_path / "x").read_bytes()
    monkeypatch.setattr(_files, "_EARLY", 0.001)
    monkeypatch.setattr("os.fdatasync", fail)
    with pytest.raises(FileError, match="x: cannot be written: Input/output error"):
        record.save(tmp_path / "x", Slow())
    assert (tmp_path / "x").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
