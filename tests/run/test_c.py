"""The header of the C interface is self-contained, and invalid calls return errors."""

import ctypes
import subprocess
from pathlib import Path

import pytest

import seqloom as sl
from seqloom import _demo

REPOSITORY = Path(__file__).parents[2]
HEADER_FOLDER = REPOSITORY / "crates" / "seqloom-c" / "include"


def test_the_header_is_self_contained_in_c_and_cpp(compiler, tmp_path):
    for name in ("a.c", "a.cpp"):
        (tmp_path / name).write_text('#include "seqloom.h"\nint main(void) { return 0; }\n')
        kind = "c++" if name.endswith("cpp") else "c"
        command = [compiler, "-x", kind, "-Wall", "-Wextra", "-Werror", "-I", HEADER_FOLDER]
        done = subprocess.run(
            [*command, "-fsyntax-only", tmp_path / name], capture_output=True, check=False
        )
        if b"cc1plus" in done.stderr:
            pytest.skip("there is no C++ compiler")
        assert done.stderr == b""


@pytest.fixture(scope="module")
def loaded(library):
    """The library, loaded into this process, with the types of its functions."""
    found = ctypes.CDLL(str(library))
    for name in ("open", "score", "run", "arrays_get", "scores_values"):
        getattr(found, f"seqloom_{name}").restype = ctypes.c_void_p
    for name in ("last_error", "last_warnings", "version", "column", "scores_id"):
        getattr(found, f"seqloom_{name}").restype = ctypes.c_char_p
    for name in ("columns", "scores_rows", "scores_columns", "arrays_count"):
        getattr(found, f"seqloom_{name}").restype = ctypes.c_size_t
    return found


def test_a_null_pointer_is_an_error_and_not_a_crash(loaded):
    zero = ctypes.c_size_t(0)
    assert loaded.seqloom_open(None, zero) is None
    assert loaded.seqloom_last_error() == b"path is null"
    assert loaded.seqloom_predict(None, None, zero, None, None) == -1
    assert loaded.seqloom_last_error() == b"row is null"
    assert loaded.seqloom_score(None, None, zero) is None
    assert loaded.seqloom_last_error() == b"model is null"
    assert loaded.seqloom_run(None, None, zero) is None
    assert loaded.seqloom_columns(None) == loaded.seqloom_scores_rows(None) == 0
    assert loaded.seqloom_column(None, zero) is None
    assert loaded.seqloom_scores_id(None, zero) is None
    assert loaded.seqloom_arrays_get(None, zero) is None
    for name in ("free", "scores_free", "arrays_free"):
        getattr(loaded, f"seqloom_{name}")(None)


def test_scores_are_returned_in_one_array(loaded, exported):
    trained, export = exported("splice")
    path = _demo.example_path("test.fa.gz")
    model = ctypes.c_void_p(loaded.seqloom_open(str(export).encode(), ctypes.c_size_t(1)))
    files = (ctypes.c_char_p * 1)(str(path).encode())
    found = ctypes.c_void_p(loaded.seqloom_score(model, files, ctypes.c_size_t(1)))
    assert loaded.seqloom_last_error() == b""
    wanted = sl.infer.predict(trained, path)
    rows, columns = loaded.seqloom_scores_rows(found), loaded.seqloom_scores_columns(found)
    assert (rows, columns) == (len(wanted), 3)
    values = ctypes.cast(
        loaded.seqloom_scores_values(found), ctypes.POINTER(ctypes.c_float)
    )
    assert values[: rows * columns] == wanted.to_numpy().reshape(-1).tolist()
    assert loaded.seqloom_scores_id(found, ctypes.c_size_t(7)).decode() == wanted.ids[7]
    assert loaded.seqloom_scores_id(found, ctypes.c_size_t(rows)) is None
    loaded.seqloom_scores_free(found)
    loaded.seqloom_free(model)


def test_warnings_about_records_are_kept_until_the_next_call(loaded, exported, tmp_path):
    _, export = exported("lstm")
    model = ctypes.c_void_p(loaded.seqloom_open(str(export).encode(), ctypes.c_size_t(1)))
    for text, expected in (
        (">x\nAC\n>x\nGT\n", b"2 sequences have the id 'x'"),
        (">x\nA\n", b""),
    ):
        (tmp_path / "a.fa").write_text(text)
        files = (ctypes.c_char_p * 1)(str(tmp_path / "a.fa").encode())
        found = ctypes.c_void_p(loaded.seqloom_score(model, files, ctypes.c_size_t(1)))
        assert loaded.seqloom_last_error() == b""
        assert loaded.seqloom_last_warnings().split(b":")[0] == expected
        loaded.seqloom_scores_free(found)
    loaded.seqloom_free(model)


def test_a_callback_that_returns_an_error_ends_the_scoring(loaded, exported):
    _, export = exported("splice")
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_float),
        ctypes.c_size_t,
    )
    seen = []
    row = kind(lambda _context, name, _scores, _columns: seen.append(name) or len(seen) - 1)
    model = ctypes.c_void_p(loaded.seqloom_open(str(export).encode(), ctypes.c_size_t(2)))
    files = (ctypes.c_char_p * 1)(str(_demo.example_path("test.fa.gz")).encode())
    assert loaded.seqloom_predict(model, files, ctypes.c_size_t(1), row, None) == -1
    assert loaded.seqloom_last_error() == b"the row function returned 1"
    assert len(seen) == 2
    loaded.seqloom_free(model)
