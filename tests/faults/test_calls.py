"""The fault library intercepts all calls that strace reports, so no call is missed."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
# System calls that change files, and their names in the fault library.
SYSTEM_CALLS = (
    "write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,sync_file_range,rename,renameat,"
    "renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat,chmod,"
    "fchmod,fchmodat,chown,fchown,lchown,fchownat,utimensat,truncate,ftruncate,fallocate,"
    "copy_file_range,sendfile,openat,creat,mmap,access,faccessat,newfstatat,stat"
)
SYSTEM_CALL_OF_LIBRARY_CALL = {
    "create": "openat",
    "truncate": "openat",
    "open": "openat",
    "pwrite": "pwrite64",
    "ftruncate64": "ftruncate",
    "futimens": "utimensat",
}
TESTED_WRITERS = [
    "record, safetensors",
    "sequences, fa.gz",
    "index of fa.bgz",
    "genotypes, to_bed, SNP",
    "genotypes, transposed",
    "embeddings",
    "exported model, folder",
    "scores, seqloom-run",
    "cache, sequences",
    "cache, genotypes",
    "run, one checkpoint",
]


def seen_by_strace(log, home):
    """Count the calls that may change the files of a folder."""
    _, now, after = log.read_text(errors="replace").partition(f'"{home}/now"')
    assert now
    calls = re.findall(r"^\d+ +(\w+)\((.*)", after, re.MULTILINE)
    ours = [(name, rest) for name, rest in calls if f"{home}/place" in rest]
    return Counter(name for name, rest in ours if may_change(name, rest))


def may_change(name, rest):
    """Remove calls that only inspect files, or open and map files for reading."""
    if name in {"access", "faccessat", "newfstatat", "stat"}:
        return False
    if name == "mmap":
        return "MAP_SHARED" in rest and "PROT_WRITE" in rest
    return name != "openat" or re.search(r"O_(WRONLY|RDWR|CREAT)", rest) is not None


@pytest.mark.sample(5)
@pytest.mark.parametrize("writer", TESTED_WRITERS)
def test_the_fault_injection_library_counts_the_calls_of_strace(tmp_path, writer):
    if shutil.which("strace") is None or shutil.which("cc") is None:
        pytest.skip("strace or a C compiler is not installed")
    log = tmp_path / "strace"
    tracer = ["strace", "-f", "-y", "-o", log, "-e", f"trace={SYSTEM_CALLS}"]
    command = [sys.executable, "-m", "faults", "--list", str(tmp_path), writer]
    said = subprocess.run(
        [*tracer, *command], check=True, capture_output=True, text=True, cwd=REPOSITORY
    ).stdout
    ours = Counter(SYSTEM_CALL_OF_LIBRARY_CALL.get(name, name) for name in said.split())
    assert ours
    assert ours == seen_by_strace(log, tmp_path)
