"""The C interface: its example is compiled and run; odd calls are errors, not crashes."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo

HOME = Path(__file__).parents[2]
HEADER = HOME / "crates" / "seqloom-c" / "include"


@pytest.fixture(scope="module")
def library():
    """The shared library, as cargo builds it."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("the Rust toolchain is not installed")
    command = [cargo, "build", "--quiet", "--package", "seqloom-c", "--message-format=json"]
    built = subprocess.run(command, cwd=HOME, capture_output=True, check=True)
    names = [word for word in built.stdout.decode().split('"') if "libseqloom." in word]
    return Path(next(name for name in names if name.endswith((".so", ".dylib"))))


@pytest.fixture(scope="module")
def compiler():
    """A C compiler."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("there is no C compiler")
    return found


@pytest.fixture(scope="module")
def score(library, compiler, tmp_path_factory):
    """The example in C."""
    target = tmp_path_factory.mktemp("c") / "score"
    source = HOME / "examples" / "c" / "score.c"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", HEADER]
    link = ["-L", library.parent, "-lseqloom", f"-Wl,-rpath,{library.parent}"]
    subprocess.run([compiler, *flags, source, *link, "-o", target], check=True)
    return target


def test_the_program_gives_the_scores_of_predict(score, exported):
    trained, export = exported("splice")
    path = _demo.path("test.fa.gz")
    found = subprocess.run([score, export, path], capture_output=True, check=True)
    head, *rows = [line.split("\t") for line in found.stdout.decode().splitlines()]
    scores = sl.infer.predict(trained, path)
    assert head == ["id", *scores.classes]
    assert [row[0] for row in rows] == scores.ids
    values = [[float(it) for it in row[1:]] for row in rows]
    assert np.array_equal(scores, np.array(values, np.float32))


def test_what_is_wrong_is_said(score, exported):
    _, export = exported("splice")
    found = subprocess.run([score, export, "none.fa"], capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (2, b"error: none.fa: no such file\n")


def test_the_header_stands_alone_in_c_and_in_cpp(compiler, tmp_path):
    for name in ("a.c", "a.cpp"):
        (tmp_path / name).write_text('#include "seqloom.h"\nint main(void) { return 0; }\n')
        kind = "c++" if name.endswith("cpp") else "c"
        command = [compiler, "-x", kind, "-Wall", "-Wextra", "-Werror", "-I", HEADER]
        done = subprocess.run(
            [*command, "-fsyntax-only", tmp_path / name], capture_output=True, check=False
        )
        if b"cc1plus" in done.stderr:
            pytest.skip("there is no C++ compiler")
        assert done.stderr == b""


@pytest.fixture(scope="module")
def loaded(library):
    """The library, loaded into this process; what it returns are pointers and texts."""
    found = ctypes.CDLL(str(library))
    for name in ("open", "score", "run", "arrays_get", "scores_values"):
        getattr(found, f"seqloom_{name}").restype = ctypes.c_void_p
    for name in ("last_error", "version", "column", "scores_id"):
        getattr(found, f"seqloom_{name}").restype = ctypes.c_char_p
    for name in ("columns", "scores_rows", "scores_columns", "arrays_count"):
        getattr(found, f"seqloom_{name}").restype = ctypes.c_size_t
    return found


def test_null_is_an_error_and_no_crash(loaded):
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


def test_scores_come_in_one_array(loaded, exported):
    trained, export = exported("splice")
    path = _demo.path("test.fa.gz")
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


def test_a_row_that_refuses_ends_the_work(loaded, exported):
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
    files = (ctypes.c_char_p * 1)(str(_demo.path("test.fa.gz")).encode())
    assert loaded.seqloom_predict(model, files, ctypes.c_size_t(1), row, None) == -1
    assert loaded.seqloom_last_error() == b"the row function returned 1"
    assert len(seen) == 2
    loaded.seqloom_free(model)
