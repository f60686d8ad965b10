import errno
import os
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

import seqloom as sl
from seqloom._files import (
    atomic_path,
    atomic_paths,
    fingerprint_file,
    flush_in_background,
    write_atomic,
)
from seqloom.errors import FileError, MissingFileError


def test_a_file_has_the_complete_content_after_the_block(tmp_path):
    write_atomic(tmp_path / "a", b"ACGT")
    assert (tmp_path / "a").read_bytes() == b"ACGT"


def test_a_failed_write_leaves_only_the_old_file(tmp_path):
    write_atomic(tmp_path / "a", b"old")
    with pytest.raises(KeyError), atomic_path(tmp_path / "a") as part:
        fail_after(part.write_bytes(b"half"))
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def fail_after(_):
    raise KeyError


def test_a_new_file_does_not_exist_before_the_block_ends(tmp_path):
    with atomic_path(tmp_path / "a") as part:
        part.write_bytes(b"x")
        assert not (tmp_path / "a").exists()


def test_a_written_file_has_the_default_permissions(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomic(tmp_path / "atomic", b"")
    assert (tmp_path / "plain").stat().st_mode == (tmp_path / "atomic").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(mode)
    write_atomic(tmp_path / "a", b"new")
    assert permissions(tmp_path / "a") == mode
    assert (tmp_path / "a").read_bytes() == b"new"


def test_the_replacement_of_a_private_file_is_private_while_it_is_written(tmp_path):
    (tmp_path / "a").touch(0o600)
    with atomic_path(tmp_path / "a") as part:
        assert permissions(part) == 0o600


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "a", b"")
    finally:
        os.umask(old)
    assert permissions(tmp_path / "a") == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_replaced_by_root_keeps_its_owner(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    os.chown(tmp_path / "a", 12345, 54321)
    write_atomic(tmp_path / "a", b"new")
    kept = (tmp_path / "a").stat()
    assert (kept.st_uid, kept.st_gid) == (12345, 54321)


def write_bed(path):
    sl.io.to_bed(path, [[0, 1], [2, 0]])


def write_lines(path):
    with sl.io.create_bed(path, iid_count=1, sid_count=1) as bed:
        bed.write([0])


def write_index(path):
    with path.with_name("a.fa").open("a") as file:
        file.write(">x\nACGT\n")
    sl.io.SequenceIndex(path.with_name("a.fa"), index=path)


def write_statistics(path):
    sl.io.to_bed(path.with_name("b.bed"), [[0, 1], [2, 0]])
    sl.io.genotype_stats(path.with_name("b.bed")).to_tsv(path)


WRITER_OF_FILE = {
    "x.bed": write_bed,
    "y.bed": write_lines,
    "x.fa.gz": lambda path: sl.io.write_sequences(path, [("r", b"ACGT")]),
    "x.sli": write_index,
    "x.tsv": write_statistics,
    "x.safetensors": lambda path: sl.record.Record({"w": np.zeros(2)}).save(path),
}


@pytest.mark.filterwarnings("ignore:.*the index was rebuilt")
@pytest.mark.parametrize(("name", "write"), WRITER_OF_FILE.items(), ids=WRITER_OF_FILE)
def test_every_writer_keeps_the_permissions_of_a_replaced_file(tmp_path, name, write):
    made = []
    for _ in range(2):
        write(tmp_path / name)
        made = list(tmp_path.glob(f"{name[0]}.*"))
        for path in made:
            path.chmod(0o600)
    assert len(made) == (3 if name.endswith("bed") else 1)
    write(tmp_path / name)
    assert {permissions(path) for path in made} == {0o600}


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_folder_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(FileError, match="no/a: cannot be written: No such file"):
        write_atomic(tmp_path / "no" / "a", b"")


def test_a_pipe_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: is not a regular file"):
        write_atomic(tmp_path / "pipe", b"")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file another group")
def test_a_changed_group_gets_only_the_permissions_of_others(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    os.chown(tmp_path / "a", -1, 12345)
    (tmp_path / "a").chmod(0o674)
    monkeypatch.setattr(os, "chown", refuse)
    write_atomic(tmp_path / "a", b"new")
    assert permissions(tmp_path / "a") == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file another group")
def test_a_file_of_a_new_owner_keeps_its_group(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    os.chown(tmp_path / "a", 12345, 12345)
    change = os.chown
    monkeypatch.setattr(
        os,
        "chown",
        lambda path, user, group: (refuse if user == 12345 else change)(path, user, group),
    )
    write_atomic(tmp_path / "a", b"new")
    found = (tmp_path / "a").stat()
    assert (found.st_uid, found.st_gid) == (os.geteuid(), 12345)


def refuse(*_):
    raise PermissionError


def test_a_disk_error_during_a_flush_is_an_error_that_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("seqloom._files._SYNC_INTERVAL_SECONDS", 0.001)
    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(FileError, match="a: cannot be written: Input/output error"):
        write_slowly(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def fail(_):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def write_slowly(path):
    with atomic_path(path) as part, part.open("r+b") as file, flush_in_background(file):
        file.write(b"x")
        time.sleep(0.2)


def test_an_unreadable_file_is_an_error_with_the_reason_of_the_system(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(FileError, match="a: cannot be read: Too many levels"):
        fingerprint_file(tmp_path / "a")


def test_a_fingerprint_equals_the_hash_of_b2sum(tmp_path):
    (tmp_path / "a").write_bytes(b"ACGT")
    # b2sum --length=128 a
    assert fingerprint_file(tmp_path / "a") == "f9f322ef1b905091d65847bc9eeec665"


def test_different_contents_have_different_fingerprints(tmp_path):
    names = [tmp_path / name for name in "abc"]
    for name, content in zip(names, (b"A", b"A", b"C"), strict=True):
        name.write_bytes(content)
    first, same, other = map(fingerprint_file, names)
    assert first == same != other


def test_a_missing_file_has_no_fingerprint(tmp_path):
    with pytest.raises(MissingFileError):
        fingerprint_file(tmp_path / "a")


KILLED_WRITER_SCRIPT = """
import time
from seqloom._files import atomic_path
with atomic_path("a") as part:
    part.write_bytes(b"half")
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path):
    """A running process that has started to write the file `a`."""
    command = [sys.executable, "-c", KILLED_WRITER_SCRIPT]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        yield process
        process.kill()


def parts(folder):
    return list(folder.glob(".*.part"))


def test_the_temporary_file_of_a_killed_writer_is_removed(tmp_path, writer):
    writer.kill()
    writer.wait()
    assert len(parts(tmp_path)) == 1
    write_atomic(tmp_path / "a", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_the_temporary_file_of_a_running_writer_stays(tmp_path, writer):
    write_atomic(tmp_path / "a", b"whole")
    assert [part.read_bytes() for part in parts(tmp_path)] == [b"half"]
    assert writer.poll() is None


def test_the_temporary_file_of_another_file_stays(tmp_path, writer):
    writer.kill()
    writer.wait()
    write_atomic(tmp_path / "b", b"whole")
    assert len(parts(tmp_path)) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_link_or_pipe_named_like_a_temporary_file_stays(tmp_path):
    link, pipe = (tmp_path / f".a.seqloom{number}.part" for number in (0, 1))
    (tmp_path / "other").write_bytes(b"of another program")
    link.symlink_to(tmp_path / "other")
    os.mkfifo(pipe)
    write_atomic(tmp_path / "a", b"whole")
    assert link.is_symlink()
    assert pipe.is_fifo()
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_two_writers_of_one_file_use_different_temporary_files(tmp_path):
    with atomic_path(tmp_path / "a") as first, atomic_path(tmp_path / "a") as second:
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert parts(tmp_path) == []


def test_two_files_are_not_written_if_the_block_fails(tmp_path):
    names = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(KeyError), atomic_paths(names) as (part, _):
        fail_after(part.write_bytes(b"half"))
    assert list(tmp_path.iterdir()) == []


def test_two_files_are_removed_if_a_rename_fails(tmp_path):
    names = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(FileError, match="b: cannot be written"), atomic_paths(names):
        (tmp_path / "b").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
