"""``seqloom doctor``: report the installation, the machine, and causes of slowness."""

import json as json_text
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, cast

from seqloom._files import find_cache_folder
from seqloom._rust import _native
from seqloom._system import (
    available_memory,
    count_cores,
    load_average,
    match_in_system_file,
    total_memory,
)
from seqloom._threads import count_threads, find_threads_variable
from seqloom.cli._console import make_fact_table, open_console
from seqloom.cli._export import PROGRAM
from seqloom.cli._options import Flag
from seqloom.errors import ArgumentError

_INSTRUCTION_SETS = {
    "avx512": "AVX-512",
    "avx2": "AVX2",
    "neon": "NEON",
    "portable": "no vector instructions",
}


class Advice(NamedTuple):
    """A cause of slowness and its remedy."""

    what: str
    remedy: str


def doctor(*, json: Flag = False) -> None:
    """Show versions, processor, threads, GPU, extras, cache and causes of slowness.

    Example: seqloom doctor

    Include the output in bug reports. The output contains no paths except the path of the
    cache.

    Args:
        json: Print JSON.
    """
    facts, advice = _list_facts(), find_advice()
    if json:
        found = {"facts": facts, "advice": [one._asdict() for one in advice]}
        sys.stdout.write(json_text.dumps(found, indent=2) + "\n")
        return
    console = open_console()
    console.print(make_fact_table(facts))
    console.line()
    if not advice:
        console.print("No cause of slowness was found.")
        return
    console.print("Problems and remedies:")
    for what, remedy in advice:
        console.print(f"- {what}")
        console.print(f"  {remedy}")


def _list_facts() -> dict[str, str]:
    """Return the rows of the output, which describe the installation and the machine."""
    named = match_in_system_file("/proc/cpuinfo", r"^model name\s*: (.*)$")
    name = (named or platform.processor() or platform.machine()).replace("(R)", "")
    return {
        "seqloom": f"{metadata.version('seqloom')}, Python {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": f"{name}, {os.cpu_count()} cores",
        "instructions": _INSTRUCTION_SETS[_native.simd()],
        **_describe_capacity(),
        "GPU": ", ".join(_list_gpu_names()) or "none found by the NVIDIA driver",
        "products": _describe_matrix_library(),
        "libraries": _list_versions("numpy", "safetensors", "msgspec"),
        "extras": _describe_extras(),
        **_describe_disk(),
        "seqloom run": str(PROGRAM) if PROGRAM.is_file() else "not built",
    }


def _list_gpu_names() -> list[str]:
    """Return the names of the GPUs that the NVIDIA driver lists, without using a GPU."""
    files = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return [match_in_system_file(file, r"^Model:\s*(.*)$") or "a GPU" for file in files]


def _version(package: str) -> str | None:
    """Return the version of an installed package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _describe_capacity() -> dict[str, str]:
    """Describe the memory, and the number of threads that a command uses."""
    try:
        cores = f"{count_cores()} cores that this process may use"
        threads = f"{count_threads()}, of {cores}"
    except ArgumentError as error:
        threads = str(error)
    every, free = total_memory(), available_memory()
    memory = f"{every / 2**30:.1f} GiB" if every else "unknown"
    if every and free:
        memory += f", {free / 2**30:.1f} GiB free"
    return {"threads": threads, "memory": memory}


def _describe_matrix_library() -> str:
    """Return the name of NumPy's BLAS library and of its kernels."""
    from threadpoolctl import threadpool_info

    pools: list[dict[str, Any]] = cast("Any", threadpool_info)()
    found = [pool for pool in pools if pool["user_api"] == "blas"]
    named = [
        f"{it['internal_api']} {it['version']}"
        + (f" for {it['architecture']}" if it.get("architecture") else "")
        for it in found
    ]
    return "NumPy with " + (", ".join(dict.fromkeys(named)) or "an unknown library")


def _list_versions(*packages: str) -> str:
    """List packages with their versions."""
    return ", ".join(f"{name} {_version(name) or 'not installed'}" for name in packages)


def _describe_extras() -> str:
    """List the packages of each optional extra, and the packages that are not installed."""
    wanted = [
        found.groups()
        for line in metadata.requires("seqloom") or []
        if (found := re.match(r"([\w.-]+).*extra == .(\w+)", line))
    ]
    there = [name for name, _ in wanted if _version(name)]
    missing = [f"{name} [{extra}]" for name, extra in wanted if not _version(name)]
    return "; not installed: ".join(
        part for part in (_list_versions(*there), ", ".join(missing)) if part
    )


def _describe_disk() -> dict[str, str]:
    """Describe the path and size of the cache, and the free disk space."""
    home = find_cache_folder()
    sizes = [path.stat().st_size for path in home.rglob("*") if path.is_file()]
    folders = {str(Path.cwd()): "here", tempfile.gettempdir(): "for temporary files"}
    if Path("/dev/shm").is_dir():  # noqa: S108 - only checks that it exists
        folders["/dev/shm"] = "in /dev/shm"  # noqa: S108
    spaces = (
        f"{shutil.disk_usage(folder).free / 1e9:,.1f} GB {where}"
        for folder, where in folders.items()
    )
    cache = f"{home}, {len(sizes):,} files, {sum(sizes) / 1e6:,.1f} MB"
    return {"cache": cache, "free": ", ".join(spaces)}


def find_advice() -> list[Advice]:
    """Return the causes of slowness on this machine, with remedies."""
    return [*_check_variables(), *_check_processor(), *_check_threads(), *_check_files()]


def _check_variables() -> Iterator[Advice]:
    """Yield advice on environment variables that make programs slower."""
    if capped := os.environ.get("SEQLOOM_SIMD"):
        yield Advice(
            f"SEQLOOM_SIMD={capped} limits the vector instructions of seqloom's kernels.",
            "Unset this variable, unless this is a test or a benchmark.",
        )
    if kind := os.environ.get("OPENBLAS_CORETYPE"):
        yield Advice(
            f"OPENBLAS_CORETYPE={kind} selects the kernels of NumPy's matrix products.",
            "Unset this variable: NumPy then selects kernels for this processor.",
        )
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        yield Advice(
            "PYTHONDONTWRITEBYTECODE is set: Python compiles all modules at every start.",
            "Unset this variable, or set PYTHONPYCACHEPREFIX to a writable folder.",
        )


def _check_processor() -> Iterator[Advice]:
    """Yield advice on a slow processor, and on a GPU that no installed library can use."""
    if _native.simd() == "portable" and not os.environ.get("SEQLOOM_SIMD"):
        yield Advice(
            "The processor has neither AVX2 nor NEON: kernels compute without vector "
            "instructions.",
            "Use an x86-64 processor from 2013 or later, or AArch64.",
        )
    load, cores = load_average(), os.cpu_count() or 1
    if load > cores:
        yield Advice(
            f"Other programs are running: load {load:.1f} on {cores} cores.",
            "Wait until these programs finish; `top` lists them.",
        )
    if (
        match_in_system_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        == "powersave"
    ):
        yield Advice(
            "The processor saves power (governor powersave) and may run at a lower clock.",
            "With root access: cpupower frequency-set --governor performance.",
        )
    versions = [
        _version(name) for name in ("torch", "jax-cuda12-plugin", "jax-cuda13-plugin")
    ]
    if _list_gpu_names() and all(not it or "+cpu" in it for it in versions):
        yield Advice(
            "There is a GPU, but no torch or jax with GPU support.",
            "Install torch for CUDA, and pass --backend torch:cuda.",
        )


def _check_threads() -> Iterator[Advice]:
    """Yield advice on limits of the number of threads and cores."""
    try:
        threads, cores, variable = count_threads(), count_cores(), find_threads_variable()
    except ArgumentError as error:
        yield Advice(f"{error}.", "Correct or unset this environment variable.")
        return
    if variable and threads < cores:
        yield Advice(
            f"{variable} allows {threads} of {cores} cores.",
            f"Unset this variable or pass --threads {cores}.",
        )
    if cores < (os.cpu_count() or 1):
        yield Advice(
            f"This process may use {cores} of the machine's {os.cpu_count()} cores.",
            "Request more cores: taskset, the container or the cluster's job sets the "
            "limit.",
        )


def _check_files() -> Iterator[Advice]:
    """Yield advice if the cache is read-only or seqloom-run is not built."""
    home = find_cache_folder()
    first = next(folder for folder in (home, *home.parents) if folder.exists())
    if not os.access(first, os.W_OK):
        yield Advice(
            f"The cache {home} cannot be written: each process compiles its programs "
            "again.",
            "Set SEQLOOM_CACHE to another folder.",
        )
    if not PROGRAM.is_file():
        yield Advice(
            "seqloom run is not built.",
            "In a checkout: cargo build --release --package seqloom-run, and copy "
            f"target/release/seqloom-run to {PROGRAM}.",
        )
