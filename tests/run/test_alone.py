"""seqloom-run needs only the C library, and opens only the files in its arguments."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from seqloom import _demo
from seqloom.cli._export import PROGRAM

# Files that the C library reads at the start of a program. The last file determines how
# the C library returns the memory of threads.
SYSTEM_PATHS = (
    "/etc/ld.so",
    "/lib/",
    "/lib64/",
    "/usr/lib/",
    "/proc/self/maps",
    "/proc/sys/vm/overcommit_memory",
)


def libraries():
    """Return the libraries that the loader finds for the program."""
    found = subprocess.run(["ldd", PROGRAM], capture_output=True, check=True)  # noqa: S607
    return [Path(it) for it in re.findall(r"(/\S+) \(0x", found.stdout.decode())]


def test_seqloom_run_needs_only_the_c_library(program):
    del program  # the fixture skips the test without the program
    names = {path.name.split(".")[0].split("-")[0] for path in libraries()}
    assert names <= {"ld", "libc", "libm"}


def test_seqloom_run_works_in_an_empty_root_directory(program, exported, tmp_path):
    _, export = exported("splice")
    if os.geteuid() != 0 or shutil.which("chroot") is None:
        pytest.skip("only root may change the root folder")
    for path in libraries():
        (tmp_path / path.parent.relative_to("/")).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / path.relative_to("/"))
    shutil.copy(PROGRAM, tmp_path / "seqloom-run")
    shutil.copytree(export, tmp_path / "model")
    shutil.copy(_demo.example_path("test.fa.gz"), tmp_path / "a.fa.gz")
    command = ["chroot", tmp_path, "/seqloom-run", "/model", "/a.fa.gz", "--quiet"]
    found = subprocess.run(command, capture_output=True, check=False)
    if b"cannot change root" in found.stderr:
        pytest.skip("this machine does not let root change the root folder")
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout == program(export, _demo.example_path("test.fa.gz")).stdout


@pytest.mark.soak
def test_the_smaller_program_in_a_wheel_writes_equal_scores(program, exported):
    _, export = exported("splice")
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    home = Path(__file__).parents[2]
    build = ["cargo", "build", "--quiet", "--profile", "small", "--package", "seqloom-run"]
    build.append("--message-format=json")
    built = subprocess.run(build, cwd=home, capture_output=True, check=True)
    names = re.findall(r'"executable":"([^"]*)"', built.stdout.decode())
    found = subprocess.run(
        [names[-1], export, _demo.example_path("test.fa.gz")],
        capture_output=True,
        check=True,
    )
    assert found.stdout == program(export, _demo.example_path("test.fa.gz")).stdout


@pytest.mark.parametrize("threads", [1, 2])
def test_seqloom_run_opens_no_sockets_and_no_other_files(
    program, exported, tmp_path, threads
):
    del program
    _, export = exported("splice")
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    log, path = tmp_path / "log", _demo.example_path("test.fa.gz")
    calls = "trace=%network,open,openat,openat2,creat,execve,memfd_create"
    tracer = ["strace", "-f", "-o", log, "-e", calls]
    words = [PROGRAM, export, path, "--threads", str(threads)]
    found = subprocess.run([*tracer, *words], capture_output=True, check=False)
    if b"Operation not permitted" in found.stderr:
        pytest.skip("this machine does not let processes be traced")
    assert found.returncode == 0
    lines = log.read_text().splitlines()
    opened = {it for line in lines for it in re.findall(r'open\w*\(.*?"([^"]*)"', line)}
    strange = {it for it in opened if not it.startswith(SYSTEM_PATHS)}
    named = {str(it) for it in [path, *Path(export).iterdir()]}
    assert strange <= named
    others = [it for it in lines if not re.search(r"\b(open\w*|execve)\(|\+\+\+|---", it)]
    assert others == []
