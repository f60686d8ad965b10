"""Every kernel under each instruction set that is narrower than the processor's."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom._rust import _native

HOME = Path(__file__).parents[2]
NARROWER = {"avx512": ["avx2", "portable"], "portable": []}.get(
    _native.simd(), ["portable"]
)
# The tests of what runs in our kernels: files, codes, and numbers on NumPy.
TESTS = [
    f"tests/{each}"
    for each in ("io", "encode", "augment", "data", "nn", "optim", "tensor/backends")
] + ["tests/tensor/agreement", "tests/tensor/plan"]

needs_cargo = pytest.mark.skipif(
    shutil.which("cargo") is None, reason="cargo is not installed"
)


def assert_passes(command, cap):
    """Run a command under a cap."""
    environment = {**os.environ, "SEQLOOM_SIMD": cap}
    done = subprocess.run(
        command, cwd=HOME, env=environment, capture_output=True, text=True, check=False
    )
    output = done.stdout[-4000:] + done.stderr[-2000:]
    assert done.returncode == 0, f"exit status {done.returncode}\n{output}"


@pytest.mark.parametrize("cap", NARROWER)
def test_what_runs_in_kernels_passes_its_tests(cap):
    assert_passes([sys.executable, "-m", "pytest", "-q", *TESTS], cap)


@needs_cargo
@pytest.mark.parametrize("cap", NARROWER)
def test_the_crates_pass_their_tests(cap):
    command = ["cargo", "test", "--profile", "bench", "--quiet"]
    command += ["--workspace", "--exclude", "seqloom-py"]
    assert_passes(command, cap)


@needs_cargo
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 assembly")
@pytest.mark.parametrize("crate", ["seqloom-kernels", "seqloom-fuse", "seqloom-encode"])
def test_no_instruction_of_a_kernel_is_a_call(crate):
    # A closure that is not inlined into a kernel is compiled without AVX. It calls a
    # function for each instruction, which took 40 times as long.
    target = HOME / "target" / "instructions"
    command = ["cargo", "rustc", "--release", "--lib", "--package", crate]
    subprocess.run(
        [*command, "--target-dir", target, "--", "--emit=asm"], cwd=HOME, check=True
    )
    found = target.glob(f"release/deps/{crate.replace('-', '_')}-*.s")
    newest = max(found, key=lambda path: path.stat().st_mtime)
    intrinsic = r"(?:call|jmp)\w*\s+(\S*core_arch\S*_mm\d*_\S*)"
    calls = set(re.findall(intrinsic, newest.read_text()))
    assert not calls
