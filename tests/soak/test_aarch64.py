"""The wheel for AArch64 and what runs in its kernels, emulated by qemu."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
PLACE = Path(os.environ.get("SEQLOOM_AARCH64", HOME / "target/aarch64"))
PYTHON = PLACE / "python"
TARGET = "aarch64-unknown-linux-gnu"
# At most 20 minutes of an idle processor. None needs torch: its wheel asks for CUDA.
TESTS = {
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
        platform.machine() == "aarch64", reason="every other test runs on AArch64 here"
    ),
    pytest.mark.skipif(
        not PYTHON.exists(),
        reason=f"{PYTHON} is missing: `make arm` (on Debian) fetches qemu and it",
    ),
]


def run(*command, **variables):
    """Run a command at home, and give what it printed; its failure is ours."""
    done = subprocess.run(
        command,
        cwd=HOME,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Build the wheel, and give a Python for AArch64 that has it."""
    made = tmp_path_factory.mktemp("wheel")
    run(
        *("maturin", "build", "--release", "--zig", "--compatibility", "manylinux_2_28"),
        *("--target", TARGET, "--out", str(made)),
    )
    (wheel,) = made.glob("*_aarch64.whl")
    run(
        *("uv", "pip", "install", "--quiet", "--no-deps", "--reinstall", str(wheel)),
        *("--python-platform", "aarch64-manylinux_2_28", "--python", sys.executable),
        *("--target", str(PLACE / "site")),
    )
    return str(PYTHON)


def test_the_wheel_runs_on_neon(python):
    code = "from seqloom._rust import _native; print(_native.simd())"
    assert run(python, "-c", code) == "neon\n"


def test_the_wheel_trains_and_predicts(python, tmp_path):
    program = (HOME / "tests/wheel/train_and_predict.py").read_text("utf-8")
    code = f"import os; os.chdir({str(tmp_path)!r})\n{program}"
    # One thread: emulated threads that wait for each other take many times as long.
    out = run(python, "-c", code, SEQLOOM_NUM_THREADS="1")
    assert out.startswith("trained two epochs")


@pytest.mark.parametrize("subject", TESTS)
def test_what_runs_in_kernels_passes_its_tests(python, subject):
    assert " passed" in run(python, "-m", "pytest", "-q", *TESTS[subject])


def test_the_crates_pass_their_tests():
    linker = str(PLACE / "linker")
    command = ("cargo", "test", "--workspace", "--exclude", "seqloom-py", "--tests")
    variables = {
        "AR_aarch64_unknown_linux_gnu": str(PLACE / "archiver"),
        "CC_aarch64_unknown_linux_gnu": linker,
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": linker,
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER": str(PLACE / "emulate"),
        "CARGO_PROFILE_DEV_OPT_LEVEL": "1",  # emulated, unoptimised tests take minutes
    }
    assert "test result: ok" in run(*command, "--target", TARGET, **variables)
