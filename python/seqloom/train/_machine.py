"""What a run was computed with."""

import platform
from importlib import metadata

import numpy as np


def machine_facts(backend: str, threads: int) -> dict[str, str]:
    """Names backend, device, threads and versions, as a report shows them."""
    name, _, device = backend.partition(":")
    versions = {
        "seqloom": metadata.version("seqloom"),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    return {
        "backend": name,
        "device": device or "cpu",
        "threads": str(threads),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
