"""A killed or failed save leaves the old or the new export."""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from seqloom.errors import FileError
from seqloom.export import _write

# Audit events of Python that change files; `ctypes` is used to exchange two folders.
FILE_SYSTEM_CALLS = {
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "open",
    "ctypes.dlopen",
}
OLD_EXPORT_FILES = {
    "export.json": b"",
    "graph.json": b"old",
    "model.safetensors": b"old weights",
}
NEW_EXPORT_FILES = {
    "export.json": b"",
    "graph.json": b"new",
    "encoder.json": b"new encoder",
}


def sealed(files):
    """Return the files, with a manifest that lists all of them."""
    hashes = {name: hashlib.sha256(it).hexdigest() for name, it in files.items()}
    del hashes["export.json"]
    facts = {"format": "seqloom-export", "files": hashes}
    return {**files, "export.json": json.dumps(facts).encode()}


def kill_at(number, change):
    """Return whether a process was killed at call `number` while it ran `change`."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or not os.WEXITSTATUS(status)
        return os.WIFSIGNALED(status)
    calls = iter(range(number))

    def watch(event, _):
        if event in FILE_SYSTEM_CALLS and next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    try:
        change()
        os._exit(0)
    finally:
        os._exit(1)


def read(place):
    """Return the contents of a folder."""
    return {it.name: it.read_bytes() for it in Path(place).iterdir()}


def test_a_killed_export_leaves_a_complete_folder_or_none(tmp_path):
    place, number, seen = tmp_path / "model", 0, set()
    while kill_at(
        number,
        lambda: _write.write_export(place, sealed(NEW_EXPORT_FILES), overwrite=False),
    ):
        seen.add(place.exists())
        if place.exists():
            assert read(place) == sealed(NEW_EXPORT_FILES)
            for file in place.iterdir():
                file.unlink()
            place.rmdir()
        number += 1
    assert number > 5
    assert seen == {False, True}


def test_a_killed_overwrite_leaves_the_old_or_the_new_export(tmp_path):
    place, number, seen = tmp_path / "model", 0, set()
    _write.write_export(place, sealed(OLD_EXPORT_FILES), overwrite=False)
    while kill_at(
        number, lambda: _write.write_export(place, sealed(NEW_EXPORT_FILES), overwrite=True)
    ):
        found = read(place)
        assert found in (sealed(OLD_EXPORT_FILES), sealed(NEW_EXPORT_FILES))
        seen.add(found["graph.json"])
        _write.write_export(place, sealed(OLD_EXPORT_FILES), overwrite=True)
        number += 1
    assert number > 5
    assert seen == {b"old", b"new"}
    assert read(place) == sealed(NEW_EXPORT_FILES)


def test_the_next_export_removes_temporary_folders_of_killed_exports(tmp_path):
    place, number = tmp_path / "model", 0
    while kill_at(
        number, lambda: _write.write_export(place, sealed(NEW_EXPORT_FILES), overwrite=True)
    ):
        number += 1
    _write.write_export(place, sealed(OLD_EXPORT_FILES), overwrite=True)
    assert [it.name for it in tmp_path.iterdir()] == ["model"]


def test_the_temporary_folder_of_a_running_export_is_not_removed(tmp_path):
    place = tmp_path / "model"
    with _write.create_temporary_folder(place) as part:
        (part / "graph.json").write_bytes(b"half")
        _write.write_export(place, sealed(NEW_EXPORT_FILES), overwrite=False)
        assert (part / "graph.json").read_bytes() == b"half"
    assert read(place) == sealed(NEW_EXPORT_FILES)


def test_export_works_without_atomic_exchange_of_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(_write, "exchange_files", lambda *_: False)
    place = tmp_path / "model"
    _write.write_export(place, sealed(OLD_EXPORT_FILES), overwrite=False)
    _write.write_export(place, sealed(NEW_EXPORT_FILES), overwrite=True)
    assert read(place) == sealed(NEW_EXPORT_FILES)
    assert [it.name for it in tmp_path.iterdir()] == ["model"]


def test_an_error_during_an_export_keeps_the_old_export(tmp_path):
    place = tmp_path / "model"
    _write.write_export(place, sealed(OLD_EXPORT_FILES), overwrite=False)
    name = "x" * 300  # longer than any file name
    with pytest.raises(FileError, match="cannot be written: File name too long"):
        _write.write_export(place, {**sealed(NEW_EXPORT_FILES), name: b""}, overwrite=True)
    assert read(place) == sealed(OLD_EXPORT_FILES)
    assert [it.name for it in tmp_path.iterdir()] == ["model"]
