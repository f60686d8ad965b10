"""Tests of the AArch64 wheel and its kernels, emulated by qemu."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
AARCH64_FOLDER = Path(os.environ.get("SEQLOOM_AARCH64", REPOSITORY / "target/aarch64"))
AARCH64_PYTHON = AARCH64_FOLDER / "python"
RUST_TARGET = "aarch64-unknown-linux-gnu"
# At most 20 minutes. No test uses PyTorch, because its AArch64 wheel requires CUDA.
FILES_TO_TEST = {
    "instruction sets": ["tests/test_simd.py"],
    "parsers": ["tests/io/test_reader.py", "tests/io/test_odd_input.py"],
    "encoders": ["tests/encode/test_one_hot.py", "tests/encode/test_kmer.py"],
    "genotypes": [
        f"tests/io/plink/test_{each}.py" for each in ("open_bed", "pack", "read")
    ],
    "kernels": [
        f"tests/tensor/kernels/test_{each}.py" for each in ("attention_varlen", "product")
    ],
}

pytestmark = [
    pytest.mark.skipif(
        platform.machine() == "aarch64",
        reason="on an AArch64 machine, the other tests cover AArch64",
    ),
    pytest.mark.skipif(
        not AARCH64_PYTHON.exists(),
        reason=f"{AARCH64_PYTHON} is missing: `make arm` downloads it and qemu (on Debian)",
    ),
]


def run(*command, **variables):
    """Run a command in the repository and return its output; fail if the command fails."""
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Build and install the AArch64 wheel, and return the path of its interpreter."""
    wheels = tmp_path_factory.mktemp("wheel")
    run(
        *("maturin", "build", "--release", "--zig", "--compatibility", "manylinux_2_28"),
        *("--target", RUST_TARGET, "--out", str(wheels)),
    )
    (wheel,) = wheels.glob("*_aarch64.whl")
    run(
        *("uv", "pip", "install", "--quiet", "--no-deps", "--reinstall", str(wheel)),
        *("--python-platform", "aarch64-manylinux_2_28", "--python", sys.executable),
        *("--target", str(AARCH64_FOLDER / "site")),
    )
    return str(AARCH64_PYTHON)


def test_the_wheel_uses_neon_instructions(python):
    code = "from seqloom._rust import _native; print(_native.simd())"
    assert run(python, "-c", code) == "neon\n"


def test_the_wheel_trains_and_predicts_on_aarch64(python, tmp_path):
    program = (REPOSITORY / "tests/wheel/train_and_predict.py").read_text("utf-8")
    code = f"import os; os.chdir({str(tmp_path)!r})\n{program}"
    # Use one thread, because synchronising emulated threads is many times slower.
    out = run(python, "-c", code, SEQLOOM_NUM_THREADS="1")
    assert out.startswith("trained two epochs")


@pytest.mark.parametrize("subject", FILES_TO_TEST)
def test_python_tests_pass_on_aarch64(python, subject):
    assert " passed" in run(python, "-m", "pytest", "-q", *FILES_TO_TEST[subject])


def test_rust_tests_pass_on_aarch64():
    linker = str(AARCH64_FOLDER / "linker")
    command = ("cargo", "test", "--workspace", "--exclude", "seqloom-py", "--tests")
    variables = {
        "AR_aarch64_unknown_linux_gnu": str(AARCH64_FOLDER / "archiver"),
        "CC_aarch64_unknown_linux_gnu": linker,
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": linker,
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER": str(AARCH64_FOLDER / "emulate"),
        "CARGO_PROFILE_DEV_OPT_LEVEL": "1",  # unoptimised tests take minutes
    }
    assert "test result: ok" in run(*command, "--target", RUST_TARGET, **variables)
