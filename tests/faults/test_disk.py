"""Simulated power failures: the possible states of a disk after a writer's calls."""

import pytest
from faults._disk import Disk
from faults._shim import Call

PART, FINAL = ".x.part", "x"


class Writer:
    """A disk with a synced file of old content, to which a test applies calls."""

    def __init__(self, place):
        (place / FINAL).write_bytes(b"old")
        self.place, self.disk = place, Disk.of(place, place)

    def call(self, name, path="", other=None, data=b""):
        other = "" if other is None else str(self.place / other)
        call = Call(name, str(self.place / path), other, 0, len(data), data)
        self.disk.follow(call)

    def after_crash(self):
        return self.disk.after_crash()


@pytest.fixture
def disk(tmp_path):
    return Writer(tmp_path)


def left(disk):
    """Return the possible contents of the file after a crash; None means no file."""
    return {tree.get(FINAL) for tree in disk.after_crash()}


def replace(disk, *, sync_file, sync_folder):
    """Replace the file by renaming a temporary file."""
    disk.call("create", PART)
    disk.call("write", PART, data=b"newer")
    if sync_file:
        disk.call("fsync", PART)
    disk.call("rename", PART, FINAL)
    if sync_folder:
        disk.call("fsync")


def test_a_synced_and_renamed_file_is_old_or_new_after_a_crash(disk):
    replace(disk, sync_file=True, sync_folder=False)
    assert left(disk) == {b"old", b"newer"}


def test_a_renamed_file_in_a_synced_folder_survives_a_crash(disk):
    replace(disk, sync_file=True, sync_folder=True)
    assert left(disk) == {b"newer"}


def test_an_unsynced_file_may_be_empty_or_partial_after_a_crash(disk):
    replace(disk, sync_file=False, sync_folder=False)
    assert left(disk) == {b"old", b"", b"ne", b"\0" * 5, b"newer"}


def test_a_file_overwritten_in_place_may_be_mixed_after_a_crash(disk):
    disk.call("truncate", FINAL)
    disk.call("write", FINAL, data=b"newer")
    assert b"ne" in left(disk) or b"newe" in left(disk)
    assert left(disk) >= {b"old", b"newer"}


def test_any_subset_of_unsynced_new_files_may_survive_a_crash(disk):
    disk.call("create", "a")
    disk.call("create", "b")
    kept = {frozenset(tree) for tree in disk.after_crash()}
    assert kept == {frozenset({FINAL, *more}) for more in ("", "a", "b", "ab")}


def test_a_file_rename_is_atomic_in_a_crash(disk):
    disk.call("rename", FINAL, "y")
    assert {frozenset(tree) for tree in disk.after_crash()} == {
        frozenset({FINAL}),
        frozenset({"y"}),
    }


def test_removing_a_folder_removes_its_files_from_the_disk_model(disk):
    disk.call("mkdir", "d")
    disk.call("create", "d/f")
    disk.call("fsync", "d")
    assert {frozenset(tree) for tree in disk.after_crash()} == {
        frozenset({FINAL}),
        frozenset({FINAL, "d", "d/f"}),
    }
