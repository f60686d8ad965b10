"""The Go example through cgo, where a Go toolchain is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo

HOME = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def score(tmp_path_factory):
    """The example in Go, linked with the library that cargo builds."""
    go, cargo = shutil.which("go"), shutil.which("cargo")
    if go is None or cargo is None:
        pytest.skip("no Go toolchain is installed" if go is None else "cargo is missing")
    command = [cargo, "build", "--quiet", "--package", "seqloom-c", "--message-format=json"]
    built = subprocess.run(command, cwd=HOME, capture_output=True, check=True)
    names = [word for word in built.stdout.decode().split('"') if "libseqloom." in word]
    folder = Path(next(name for name in names if name.endswith((".so", ".dylib")))).parent
    target = tmp_path_factory.mktemp("go") / "score"
    flags = {"CGO_LDFLAGS": f"-L{folder} -Wl,-rpath,{folder}", "CGO_ENABLED": "1"}
    caches = {"GOCACHE": str(target.parent / "cache"), "GOFLAGS": "-mod=mod"}
    subprocess.run(
        [go, "build", "-o", target, "."],
        cwd=HOME / "examples" / "go",
        env={**os.environ, **flags, **caches},
        check=True,
    )
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
