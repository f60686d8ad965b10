"""What `seqloom doctor` finds: versions, processor, threads, GPU, extras, cache."""

import os
import platform
import re
import shutil
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from seqloom._files import cache_home
from seqloom._rust import _native
from seqloom._system import available_memory, count_cores, read_fact, total_memory
from seqloom._threads import count_threads
from seqloom.cli._run import PROGRAM
from seqloom.errors import ArgumentError

INSTRUCTIONS = {
    "avx512": "AVX-512",
    "avx2": "AVX2",
    "neon": "NEON",
    "portable": "no vector instructions",
}


def find_facts() -> dict[str, str]:
    """Finds them, by name, in the order in which they are shown."""
    return {
        "seqloom": f"{metadata.version('seqloom')}, Python {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": f"{processor_name()}, {os.cpu_count()} cores",
        "instructions": INSTRUCTIONS[_native.simd()],
        "threads": _threads(),
        "memory": _memory(),
        "GPU": ", ".join(gpu_names()) or "none that NVIDIA's driver knows",
        "products": _matrix_library(),
        "libraries": _versions("numpy", "safetensors", "msgspec"),
        "extras": _extras(),
        "cache": _cache(),
        "free": _free_space(),
        "seqloom run": str(PROGRAM) if PROGRAM.is_file() else "not built",
    }


def has_vectors() -> bool:
    """Tells whether the kernels of seqloom use vector instructions."""
    return _native.simd() != "portable"


def processor_name() -> str:
    """Reads the processor's name, or its architecture where Linux gives no name."""
    named = read_fact("/proc/cpuinfo", r"^model name\s*: (.*)$")
    return (named or platform.processor() or platform.machine()).replace("(R)", "")


def gpu_names() -> list[str]:
    """Lists the GPUs that NVIDIA's driver knows; reading this starts none of them."""
    files = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return [read_fact(file, r"^Model:\s*(.*)$") or "a GPU" for file in files]


def version_of(package: str) -> str | None:
    """Gives the version of an installed package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _threads() -> str:
    """Says how many threads a command uses, and how many cores it may use."""
    try:
        return f"{count_threads()}, of {count_cores()} cores that this process may use"
    except ArgumentError as error:
        return str(error)


def _memory() -> str:
    """Says how much memory there is, and how much of it is free."""
    sizes = total_memory(), available_memory()
    if not all(sizes):
        return "unknown" if not sizes[0] else f"{sizes[0] / 2**30:.1f} GiB"
    every, free = (f"{size / 2**30:.1f} GiB" for size in sizes)
    return f"{every}, {free} of them free"


def _matrix_library() -> str:
    """Names the library that multiplies NumPy's matrices, and its kernels."""
    from threadpoolctl import threadpool_info

    pools: list[dict[str, Any]] = cast("Any", threadpool_info)()
    found = [pool for pool in pools if pool["user_api"] == "blas"]
    named = [f"{it['internal_api']} {it['version']} {_kernels(it)}".strip() for it in found]
    return "NumPy's by " + (", ".join(dict.fromkeys(named)) or "a library without a name")


def _kernels(pool: dict[str, Any]) -> str:
    """Names the kernels that a matrix library chose, where it says so."""
    return f"for {pool['architecture']}" if pool.get("architecture") else ""


def _versions(*packages: str) -> str:
    """Lists packages with their versions."""
    return ", ".join(f"{name} {version_of(name) or 'not installed'}" for name in packages)


def _extras() -> str:
    """Lists the packages of each extra, and which are not installed."""
    wanted = [
        found.groups()
        for line in metadata.requires("seqloom") or []
        if (found := re.match(r"([\w.-]+).*extra == .(\w+)", line))
    ]
    there = [name for name, _ in wanted if version_of(name)]
    missing = [f"{name} [{extra}]" for name, extra in wanted if not version_of(name)]
    return "; not installed: ".join(
        part for part in (_versions(*there), ", ".join(missing)) if part
    )


def _cache() -> str:
    """Says where the cache is, and how large."""
    home = cache_home()
    sizes = [path.stat().st_size for path in home.rglob("*") if path.is_file()]
    return f"{home}, {len(sizes):,} files, {sum(sizes) / 1e6:,.1f} MB"


def _free_space() -> str:
    """Says how much may still be written."""
    folders = {str(Path.cwd()): "here", tempfile.gettempdir(): "for temporary files"}
    if Path("/dev/shm").is_dir():  # noqa: S108 - whether it is there
        folders["/dev/shm"] = "in /dev/shm"  # noqa: S108
    return ", ".join(
        f"{shutil.disk_usage(folder).free / 1e9:,.1f} GB {where}"
        for folder, where in folders.items()
    )
