"""Each type of path is read, or raises an error that contains the path."""

import os
import socket

import pytest

from fastx import read
from seqloom.errors import FileError, FormatError, MissingFileError
from seqloom.io import SequenceIndex, inspect, open_sequences

TEXT, ROWS = b">a\nACGT\n", [(b"a", b"ACGT", None)]


def make_nothing(path):
    assert not path.exists()


def make_folder(path):
    path.mkdir()


def make_empty(path):
    path.touch()


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def make_loop(path):
    path.symlink_to(path)


def make_link_to_nothing(path):
    path.symlink_to("nothing")


def make_sparse(path):
    with path.open("wb") as file:
        file.write(TEXT)
        file.truncate(5 << 30)


UNREADABLE_PATHS = {
    "nothing": (make_nothing, MissingFileError, "no such file"),
    "a folder": (make_folder, FileError, "is (a folder|not a regular file)"),
    "an empty file": (make_empty, FormatError, "the file is empty"),
    "a socket": (make_socket, FileError, ""),
    "a link to itself": (make_loop, FileError, "symbolic links"),
    "a link to nothing": (make_link_to_nothing, MissingFileError, "no such file"),
    "zeros up to 5 GiB": (make_sparse, FormatError, r"line 3, byte 8 of the text: .* NUL"),
}


FUNCTIONS_AND_UNREADABLE_PATHS = [
    pytest.param(look, *case, id=f"{look.__name__} {name}")
    for look in (read, inspect, SequenceIndex)
    for name, case in UNREADABLE_PATHS.items()
    if not (
        look is SequenceIndex and case[0] is make_sparse
    )  # SequenceIndex would read the whole file
]


@pytest.mark.parametrize(("look", "make", "kind", "said"), FUNCTIONS_AND_UNREADABLE_PATHS)
def test_the_error_for_an_unreadable_path_names_the_path(tmp_path, look, make, kind, said):
    make(tmp_path / "x.fa")
    with pytest.raises(kind, match=rf"x\.fa: .*{said}"):
        look(tmp_path / "x.fa")
    assert not (tmp_path / "x.fa.sli").exists()


@pytest.mark.parametrize("name", ["new\nline", "\x1b[31m", "-", "%s{0}", "ä", b"\xff\xfe"])
def test_a_sequence_file_name_may_contain_any_characters(tmp_path, name):
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(TEXT)
    assert read(path) == ROWS
    path.write_bytes(b">a\nAC GT\n")
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["", "x\0y", "x" * 300])
def test_reading_an_impossible_file_name_is_an_error(tmp_path, name):
    with pytest.raises(FileError):
        open_sequences(f"{tmp_path}/{name}" if name else name)


def test_a_symbolic_link_to_a_sequence_file_is_followed(tmp_path):
    (tmp_path / "a.fa").write_bytes(TEXT)
    (tmp_path / "link").symlink_to("a.fa")
    assert read(tmp_path / "link") == ROWS


def test_indexing_a_pipe_is_an_error_with_a_remedy(tmp_path):
    make_pipe(tmp_path / "pipe")
    with pytest.raises(FileError, match=r"pipe: .*save it to a file first"):
        SequenceIndex(tmp_path / "pipe")


def test_a_file_without_read_permission_is_an_error(tmp_path):
    path = tmp_path / "a.fa"
    path.write_bytes(TEXT)
    path.chmod(0)
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        return
    try:
        if os.geteuid() == 0:
            os.setresuid(65534, 65534, 65534)  # root can read everything
        open_sequences(path)
    except FileError as error:
        os._exit(3 if "Permission denied" in str(error) else 4)
    finally:
        os._exit(5)
