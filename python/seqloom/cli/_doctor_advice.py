"""What makes seqloom slow on this machine, why, and what to do."""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from seqloom._files import cache_home
from seqloom._system import count_cores, load_average, read_fact
from seqloom._threads import count_threads, threads_variable
from seqloom.cli._doctor_facts import gpu_names, has_vectors, version_of
from seqloom.cli._run import PROGRAM
from seqloom.errors import ArgumentError


class Advice(NamedTuple):
    """What was found, and what to do."""

    what: str
    remedy: str


def find_advice() -> list[Advice]:
    """Lists what was found."""
    return [advice for check in _CHECKS for advice in check()]


def _check_caps() -> Iterator[Advice]:
    """Finds variables that keep libraries from the processor's widest instructions."""
    if capped := os.environ.get("SEQLOOM_SIMD"):
        yield Advice(
            f"SEQLOOM_SIMD={capped} caps the instructions of seqloom's kernels.",
            "Unset it, unless this is a test or a benchmark.",
        )
    if kind := os.environ.get("OPENBLAS_CORETYPE"):
        yield Advice(
            f"OPENBLAS_CORETYPE={kind} chooses the kernels of NumPy's matrix products.",
            "Unset it, and NumPy takes those that fit the processor.",
        )


def _check_vectors() -> Iterator[Advice]:
    """Finds a processor without the vector instructions that kernels are written for."""
    if not has_vectors() and not os.environ.get("SEQLOOM_SIMD"):
        yield Advice(
            "The processor has neither AVX2 nor NEON: kernels compute number by number.",
            "Use a processor made after 2013, or one for AArch64.",
        )


def _check_threads() -> Iterator[Advice]:
    """Finds fewer threads than cores, and fewer cores than the machine has."""
    try:
        threads, cores, variable = count_threads(), count_cores(), threads_variable()
    except ArgumentError as error:
        yield Advice(f"{error}.", "Correct the variable, or unset it.")
        return
    if variable and threads < cores:
        yield Advice(
            f"{variable} allows {threads} of {cores} cores.",
            f"Unset it, or pass --threads {cores}.",
        )
    if cores < (os.cpu_count() or 1):
        yield Advice(
            f"This process may use {cores} of the machine's {os.cpu_count()} cores.",
            "Ask for more: taskset, the container's quota or the cluster's job decides.",
        )


def _check_load() -> Iterator[Advice]:
    """Finds other programs that compute."""
    load, cores = load_average(), os.cpu_count() or 1
    if load > cores:
        yield Advice(
            f"Other programs compute: {load:.1f} want to run, on {cores} cores.",
            "Wait for them, or measure again later: `top` names them.",
        )


def _check_clock() -> Iterator[Advice]:
    """Finds a processor that is told to save power."""
    if read_fact("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") == "powersave":
        yield Advice(
            "The processor saves power (governor powersave), which may lower its clock.",
            "On a machine of your own: cpupower frequency-set --governor performance.",
        )


def _check_gpu() -> Iterator[Advice]:
    """Finds a GPU, and no library here that computes on it."""
    versions = [
        version_of(name) for name in ("torch", "jax-cuda12-plugin", "jax-cuda13-plugin")
    ]
    if gpu_names() and all(not it or "+cpu" in it for it in versions):
        yield Advice(
            "There is a GPU, and no torch or jax that was built for it.",
            "Install torch for CUDA, and pass --backend torch:cuda.",
        )


def _check_cache() -> Iterator[Advice]:
    """Finds a cache that cannot be written, so that compiled steps are made each time."""
    home = cache_home()
    first = next(folder for folder in (home, *home.parents) if folder.exists())
    if not os.access(first, os.W_OK):
        yield Advice(
            f"The cache {home} cannot be written: each process compiles again.",
            "Name another folder in SEQLOOM_CACHE.",
        )


def _check_program() -> Iterator[Advice]:
    """Finds a checkout where `seqloom run` was not built."""
    if not PROGRAM.is_file():
        yield Advice(
            "seqloom run is not built.",
            "In a checkout: cargo build --release --package seqloom-run, and copy "
            f"target/release/seqloom-run to {PROGRAM}.",
        )


def _check_bytecode() -> Iterator[Advice]:
    """Finds that Python compiles each module again."""
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        yield Advice(
            "PYTHONDONTWRITEBYTECODE is set: each start compiles the modules again.",
            "Unset it, or set PYTHONPYCACHEPREFIX to a folder that can be written.",
        )


_CHECKS: tuple[Callable[[], Iterator[Advice]], ...] = (
    _check_caps,
    _check_vectors,
    _check_threads,
    _check_load,
    _check_clock,
    _check_gpu,
    _check_cache,
    _check_program,
    _check_bytecode,
)
