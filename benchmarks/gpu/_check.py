"""The machine and its libraries, one product, and packed attention in each type."""

import platform
import shutil
import subprocess
from collections.abc import Callable
from importlib import metadata
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks._processor import describe_processor
from benchmarks.gpu._results import Results

PACKAGES = ("seqloom", "torch", "jax", "transformers", "numpy", "safetensors", "triton")
# Offsets of packed sequences, one of them empty, and the greatest error in each type.
ENDS, LONGEST, HEADS, WIDTH = (0, 3, 3, 300, 1324), 1024, 4, 64
ERRORS = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 8e-2}


def run(results: Results) -> None:
    """Writes the machine's facts, and whether a few results are right."""
    results.add("machine", **describe_machine(results.device))
    for name in ("torch", "jax"):
        _attempt(results, f"product, {name}", lambda name=name: _multiply(results, name))
    for dtype, limit in ERRORS.items():
        _attempt(
            results,
            f"packed attention, {dtype}",
            lambda dtype=dtype, limit=limit: _attend(results, dtype, limit),
        )


def describe_machine(device: str) -> dict[str, Any]:
    """The device, its driver and memory, the processor, and the versions of packages."""
    import torch

    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "processor": describe_processor(),
        "versions": {name: _version(name) for name in PACKAGES},
        "device": "CPU",
    }
    if device == "cuda":
        card: Any = torch.cuda.get_device_properties(0)
        facts |= {
            "device": card.name,
            "memory": card.total_memory,
            "capability": f"{card.major}.{card.minor}",
            "cuda": torch.version.cuda,
            "driver": _ask_driver(),
        }
    return facts


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _ask_driver() -> str | None:
    """The version of the NVIDIA driver."""
    if not (program := shutil.which("nvidia-smi")):
        return None
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=10)
    return done.stdout.strip() or None


def _attempt(results: Results, what: str, work: Callable[[], tuple[float, float]]) -> None:
    """Writes the error that `work` measures and its limit, or why there is none."""
    from seqloom.errors import BackendError

    try:
        error, limit = work()
    except BackendError as problem:
        results.skip(what, str(problem))
    except Exception as problem:  # noqa: BLE001 - one failure must not hide other results
        results.add(what, failed=repr(problem))
    else:
        results.add(what, error=error, limit=limit, ok=error <= limit)


def _multiply(results: Results, name: str) -> tuple[float, float]:
    """The error of a product in bfloat16, relative to float64 on the host."""
    import seqloom as sl

    on = sl.tensor.backend(name if results.device == "cpu" else f"{name}:cuda")
    x, y = np.random.default_rng(0).normal(size=(2, 256, 256)).astype("float32")
    rows, columns = (on.tensor(each).astype("bfloat16") for each in (x, y))
    found = (rows @ columns).astype("float32").numpy()
    expected = x.astype(float) @ y.astype(float)
    return float(abs(found - expected).max() / abs(expected).max()), 2e-2


def _attend(results: Results, dtype: str, limit: float) -> tuple[float, float]:
    """The error of packed attention, relative to dense attention of each sequence."""
    import torch

    import seqloom as sl

    on: Any = sl.tensor.backend("torch" if results.device == "cpu" else "torch:cuda")
    made = torch.Generator().manual_seed(0)
    drawn = torch.randn((3, ENDS[-1], HEADS, WIDTH), generator=made)
    inputs = drawn.to(results.device, getattr(torch, dtype))
    ends = torch.tensor(ENDS, dtype=torch.int32, device=results.device)
    found, _ = on.attention_varlen(*inputs, ends, max_seqlen=LONGEST)
    expected = torch.cat([_attend_dense(inputs[:, a:b]) for a, b in pairwise(ENDS)])
    return float((found.double().cpu() - expected).abs().max()), limit


def _attend_dense(inputs: Any) -> Any:
    """Attention within one sequence, in float64 on the host."""
    import torch

    rows = inputs.double().cpu().transpose(1, 2)
    return torch.nn.functional.scaled_dot_product_attention(*rows).transpose(0, 1)
