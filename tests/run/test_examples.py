"""The examples in C and Go can be compiled, linked with seqloom-c, and run."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo

REPOSITORY = Path(__file__).parents[2]
EXAMPLES_FOLDER = REPOSITORY / "examples"
HEADER_FOLDER = REPOSITORY / "crates" / "seqloom-c" / "include"


def build_c(compiler, library, target):
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", HEADER_FOLDER]
    link = ["-L", library, "-lseqloom", f"-Wl,-rpath,{library}"]
    command = [compiler, *flags, EXAMPLES_FOLDER / "c" / "score.c", *link, "-o", target]
    subprocess.run(command, check=True)


def build_go(go, library, target):
    flags = {"CGO_LDFLAGS": f"-L{library} -Wl,-rpath,{library}", "CGO_ENABLED": "1"}
    caches = {"GOCACHE": str(target.parent / "cache"), "GOFLAGS": "-mod=mod"}
    command, there = [go, "build", "-o", target, "."], EXAMPLES_FOLDER / "go"
    subprocess.run(command, cwd=there, env={**os.environ, **flags, **caches}, check=True)


@pytest.fixture(scope="module", params=[("cc", build_c), ("go", build_go)])
def score(request, tmp_path_factory):
    """An example, if its compiler is installed."""
    name: str = request.param[0]
    compiler = shutil.which(name)
    if compiler is None:
        pytest.skip(f"{name} is not installed")
    library = request.getfixturevalue("library").parent
    target = tmp_path_factory.mktemp(name) / "score"
    request.param[1](compiler, library, target)
    return target


def test_the_example_program_prints_the_scores_of_predict(score, exported):
    trained, export = exported("splice")
    path = _demo.example_path("test.fa.gz")
    found = subprocess.run([score, export, path], capture_output=True, check=True)
    head, *rows = [line.split("\t") for line in found.stdout.decode().splitlines()]
    scores = sl.infer.predict(trained, path)
    assert head == ["id", *scores.classes]
    assert [row[0] for row in rows] == scores.ids
    values = [[float(it) for it in row[1:]] for row in rows]
    assert np.array_equal(scores, np.array(values, np.float32))


def test_the_example_program_prints_errors(score, exported):
    _, export = exported("splice")
    found = subprocess.run([score, export, "none.fa"], capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (2, b"error: none.fa: no such file\n")
