"""The processor, and the instruction set that a run is capped at: ours and the rivals'."""

import os
import platform
import sys
from pathlib import Path

from seqloom._rust import _native

# How people write what SEQLOOM_SIMD names.
NAMES = {"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON", "portable": "no vectors"}

# What each library reads as it starts: ours; torch, and what its compiler writes; MKL and
# oneDNN within torch; OpenBLAS, where Haswell is the kernel of every AVX2 processor;
# NumPy's loops; jax. A library that is not named takes what the processor has.
CAPS = {
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


def cap(name: str) -> None:
    """Starts this program again with every library capped at an instruction set."""
    wanted = CAPS[name]
    if wanted.items() <= os.environ.items():
        return
    command = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
    os.execve(  # noqa: S606  # this program, again
        sys.executable, command, {**os.environ, **wanted}
    )


def kind() -> str:
    """Names the processor and the instruction set, as a heading of the page has them."""
    return f"{_name()}, {NAMES[_native.simd()]}"


def is_avx512() -> bool:
    """Whether kernels use AVX-512 in this run."""
    return _native.simd() == "avx512"


def described() -> str:
    """Says more of the processor: its generation, its cores and how busy they were."""
    facts = (_fact("cpu family"), _fact("model"), os.cpu_count(), os.getloadavg()[0])
    return "{}, family {}, model {} ({} cores, load {:.1f})".format(kind(), *facts)


def _name() -> str:
    """The name that the processor gives itself."""
    return _fact("model name").replace("(R)", "") or platform.machine()


def _fact(wanted: str) -> str:
    """What the kernel knows of the first core."""
    facts = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
    return next((value.strip() for key, _, value in facts if key.strip() == wanted), "")
