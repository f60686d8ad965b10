import os
import subprocess
import sys

import pytest

from seqloom._files import atomic_path, atomic_paths, fingerprint, write_atomic
from seqloom.errors import FileError, MissingFileError


def test_a_file_is_written_whole(tmp_path):
    write_atomic(tmp_path / "a", b"ACGT")
    assert (tmp_path / "a").read_bytes() == b"ACGT"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    write_atomic(tmp_path / "a", b"old")
    with pytest.raises(KeyError), atomic_path(tmp_path / "a") as part:
        fail_after(part.write_bytes(b"half"))
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def fail_after(_):
    raise KeyError


def test_the_final_name_does_not_exist_before_the_block_ends(tmp_path):
    with atomic_path(tmp_path / "a") as part:
        part.write_bytes(b"x")
        assert not (tmp_path / "a").exists()


def test_a_written_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomic(tmp_path / "atomic", b"")
    assert (tmp_path / "plain").stat().st_mode == (tmp_path / "atomic").stat().st_mode


def test_a_missing_folder_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(FileError, match="no/a: cannot be written: No such file"):
        write_atomic(tmp_path / "no" / "a", b"")


def test_a_pipe_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: is no regular file"):
        write_atomic(tmp_path / "pipe", b"")
    assert (tmp_path / "pipe").is_fifo()


def test_a_fingerprint_tells_contents_apart(tmp_path):
    names = [tmp_path / name for name in "abc"]
    for name, content in zip(names, (b"A", b"A", b"C"), strict=True):
        name.write_bytes(content)
    first, same, other = map(fingerprint, names)
    assert first == same != other


def test_a_missing_file_has_no_fingerprint(tmp_path):
    with pytest.raises(MissingFileError):
        fingerprint(tmp_path / "a")


KILLED = """
import time
from seqloom._files import atomic_path
with atomic_path("a") as part:
    part.write_bytes(b"half")
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path):
    """Another process that has begun to write the file `a`."""
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        yield process
        process.kill()


def parts(folder):
    return list(folder.glob(".*.part"))


def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path, writer):
    writer.kill()
    writer.wait()
    assert len(parts(tmp_path)) == 1
    write_atomic(tmp_path / "a", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_the_part_of_a_live_writer_stays(tmp_path, writer):
    write_atomic(tmp_path / "a", b"whole")
    assert [part.read_bytes() for part in parts(tmp_path)] == [b"half"]
    assert writer.poll() is None


def test_what_was_left_of_another_file_stays(tmp_path, writer):
    writer.kill()
    writer.wait()
    write_atomic(tmp_path / "b", b"whole")
    assert len(parts(tmp_path)) == 1


def test_two_writers_of_one_file_do_not_meet(tmp_path):
    with atomic_path(tmp_path / "a") as first, atomic_path(tmp_path / "a") as second:
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert parts(tmp_path) == []


def test_of_two_files_neither_is_made_if_the_block_fails(tmp_path):
    names = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(KeyError), atomic_paths(names) as (part, _):
        fail_after(part.write_bytes(b"half"))
    assert list(tmp_path.iterdir()) == []


def test_of_two_files_neither_stays_if_one_cannot_have_its_name(tmp_path):
    names = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(FileError, match="b: cannot be written"), atomic_paths(names):
        (tmp_path / "b").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
