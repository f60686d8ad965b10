"""All kernels pass their tests with each smaller SIMD instruction set."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom._rust import _native

REPOSITORY = Path(__file__).parents[2]
SMALLER_INSTRUCTION_SETS = {"avx512": ["avx2", "portable"], "portable": []}.get(
    _native.simd(), ["portable"]
)
# Tests of code with SIMD kernels: parsers, encoders, and the NumPy backend.
FILES_TO_TEST = [
    f"tests/{each}"
    for each in ("io", "encode", "augment", "data", "nn", "optim", "tensor/backends")
] + ["tests/tensor/agreement", "tests/tensor/plan"]

needs_cargo = pytest.mark.skipif(
    shutil.which("cargo") is None, reason="cargo is not installed"
)


def assert_passes(command, cap):
    """Run a command with the SIMD instruction set limited to `cap`; it must succeed."""
    environment = {**os.environ, "SEQLOOM_SIMD": cap}
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout[-4000:] + done.stderr[-2000:]
    assert done.returncode == 0, f"exit status {done.returncode}\n{output}"


@pytest.mark.parametrize("cap", SMALLER_INSTRUCTION_SETS)
def test_python_tests_pass_with_a_smaller_instruction_set(cap):
    assert_passes([sys.executable, "-m", "pytest", "-q", *FILES_TO_TEST], cap)


@needs_cargo
@pytest.mark.parametrize("cap", SMALLER_INSTRUCTION_SETS)
def test_rust_tests_pass_with_a_smaller_instruction_set(cap):
    command = ["cargo", "test", "--profile", "bench", "--quiet"]
    command += ["--workspace", "--exclude", "seqloom-py"]
    assert_passes(command, cap)


@needs_cargo
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 assembly")
@pytest.mark.parametrize("crate", ["seqloom-kernels", "seqloom-fuse", "seqloom-encode"])
def test_kernels_inline_all_simd_instructions(crate):
    # The compiler builds a closure that is not inlined into a kernel without AVX. A
    # closure without AVX calls a function for each SIMD instruction, which is 40 times
    # slower.
    target = REPOSITORY / "target" / "instructions"
    command = ["cargo", "rustc", "--release", "--lib", "--package", crate]
    subprocess.run(
        [*command, "--target-dir", target, "--", "--emit=asm"], cwd=REPOSITORY, check=True
    )
    assembly_files = target.glob(f"release/deps/{crate.replace('-', '_')}-*.s")
    newest = max(assembly_files, key=lambda path: path.stat().st_mtime)
    intrinsic = r"(?:call|jmp)\w*\s+(\S*core_arch\S*_mm\d*_\S*)"
    calls = set(re.findall(intrinsic, newest.read_text()))
    assert not calls
