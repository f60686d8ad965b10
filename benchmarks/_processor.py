"""Name the processor, and limit the instruction set that the libraries use."""

import os
import platform
import sys
from pathlib import Path

from seqloom._rust import _native

# Values of SEQLOOM_SIMD -> names for the page.
SIMD_NAMES = {"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON", "portable": "no vectors"}

# Environment variables that the libraries read at start: seqloom, torch and its compiler,
# MKL and oneDNN in torch, OpenBLAS (Haswell kernels use AVX2), NumPy, jax. Libraries
# that read none of these variables are not limited.
INSTRUCTION_LIMITS = {
    "avx2": {
        "SEQLOOM_SIMD": "avx2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    }
}


def limit_instruction_set(name: str) -> None:
    """Restart this program with the instruction set of every library limited."""
    variables = INSTRUCTION_LIMITS[name]
    if variables.items() <= os.environ.items():
        return  # the environment is already set in the restarted program
    command = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
    os.execve(  # noqa: S606  # restarts this program
        sys.executable, command, {**os.environ, **variables}
    )


def name_processor() -> str:
    """Return the processor and the instruction set, for a heading of the page."""
    return f"{_read_model_name()}, {SIMD_NAMES[_native.simd()]}"


def uses_avx512() -> bool:
    """Return True if the kernels of seqloom use AVX-512 in this run."""
    return _native.simd() == "avx512"


def describe_processor() -> str:
    """Return the processor with its family, model, number of cores and load."""
    facts = (
        _read_cpuinfo("cpu family"),
        _read_cpuinfo("model"),
        os.cpu_count(),
        os.getloadavg()[0],
    )
    return "{}, family {}, model {} ({} cores, load {:.1f})".format(
        name_processor(), *facts
    )


def _read_model_name() -> str:
    """Return the model name of the processor, or the architecture if it has no name."""
    return _read_cpuinfo("model name").replace("(R)", "") or platform.machine()


def _read_cpuinfo(wanted: str) -> str:
    """Return a field of the first core in /proc/cpuinfo; "" if it is missing."""
    facts = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
    return next((value.strip() for key, _, value in facts if key.strip() == wanted), "")
