"""Describes the machine; checks matrix products and packed attention on the GPU."""

import platform
import shutil
import subprocess
import traceback
from collections.abc import Callable
from functools import partial
from importlib import metadata
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks._processor import describe_processor
from benchmarks.gpu._results import DEVICE_CHECK, Results

PACKAGES = ("seqloom", "torch", "jax", "transformers", "numpy", "safetensors", "triton")
# Offsets of packed sequences; one sequence is empty, and the longest has 1,024
# positions.
OFFSETS, MAX_RESIDUES, HEADS, WIDTH = (0, 3, 3, 300, 1324), 1024, 4, 64
MAX_PRODUCT_ERROR = 2e-2  # maximum relative error in bfloat16
MAX_ATTENTION_ERRORS = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 8e-2}


def run_benchmark(results: Results) -> None:
    """Write a description of the machine, and the numerical errors of two operations."""
    try:
        machine = describe_machine(results.device)
    except (ImportError, RuntimeError, AssertionError) as error:  # no CUDA
        results.add(DEVICE_CHECK, failed=f"{type(error).__name__}: {error}")
        return
    results.add("machine", **machine)
    for library in ("torch", "jax"):
        measure = partial(_product_error, results.device, library)
        _write_error(results, f"product, {library}", measure, limit=MAX_PRODUCT_ERROR)
    for dtype, limit in MAX_ATTENTION_ERRORS.items():
        measure = partial(_attention_error, results.device, dtype)
        _write_error(results, f"packed attention, {dtype}", measure, limit=limit)


def describe_machine(device: str) -> dict[str, Any]:
    """Describe the GPU with its driver and memory, the processor, and package versions."""
    machine: dict[str, Any] = {
        "python": platform.python_version(),
        "processor": describe_processor(),
        "versions": {name: _find_version(name) for name in PACKAGES},
        "device": "CPU",
        # torch.compile and seqloom's random numbers on CUDA need Triton and a C
        # compiler.
        "compiler": shutil.which("cc") or shutil.which("gcc"),
    }
    if device == "cuda":
        import torch

        properties: Any = torch.cuda.get_device_properties(0)
        machine |= {
            "device": properties.name,
            "memory": properties.total_memory,
            "capability": f"{properties.major}.{properties.minor}",
            "cuda": torch.version.cuda,
            "driver": _find_driver_version(),
        }
    return machine


def _find_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _find_driver_version() -> str | None:
    """Return the version of the NVIDIA driver; None if nvidia-smi cannot be run."""
    if not (program := shutil.which("nvidia-smi")):
        return None
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=5
        )
    except subprocess.TimeoutExpired:
        return None
    return answer.stdout.partition("\n")[0].strip() or None


def _write_error(
    results: Results, what: str, measure: Callable[[], float], *, limit: float
) -> None:
    """Write a numerical error and whether it is within its limit, or why it is missing."""
    from seqloom.errors import BackendError

    try:
        error = measure()
    except BackendError as problem:
        results.skip(what, str(problem))
    except Exception as problem:  # noqa: BLE001 - the other checks may still work
        traceback.print_exc()  # to standard error, which is the log
        results.add(what, failed=f"{type(problem).__name__}: {problem}")
    else:
        results.add(what, error=error, limit=limit, ok=error <= limit)


def _product_error(device: str, library: str) -> float:
    """Return the relative error of a bfloat16 matrix product, compared with float64."""
    import seqloom as sl

    backend = sl.tensor.backend(library if device == "cpu" else f"{library}:cuda")
    x, y = np.random.default_rng(0).normal(size=(2, 256, 256)).astype("float32")
    rows, columns = (backend.tensor(array).astype("bfloat16") for array in (x, y))
    product = (rows @ columns).astype("float32").numpy()
    expected = x.astype(float) @ y.astype(float)
    return float(abs(product - expected).max() / abs(expected).max())


def _attention_error(device: str, dtype: str) -> float:
    """Return the largest difference of packed attention from dense float64 attention."""
    import torch

    import seqloom as sl

    backend: Any = sl.tensor.backend("torch" if device == "cpu" else "torch:cuda")
    generator = torch.Generator().manual_seed(0)
    normal = torch.randn((3, OFFSETS[-1], HEADS, WIDTH), generator=generator)
    inputs = normal.to(device, getattr(torch, dtype))
    offsets = torch.tensor(OFFSETS, dtype=torch.int32, device=device)
    packed, _ = backend.attention_varlen(*inputs, offsets, max_seqlen=MAX_RESIDUES)
    expected = torch.cat([_dense_attention(inputs[:, a:b]) for a, b in pairwise(OFFSETS)])
    return float((packed.double().cpu() - expected).abs().max())


def _dense_attention(inputs: Any) -> Any:
    """Return the attention within one sequence, computed in float64 on the CPU."""
    import torch

    rows = inputs.double().cpu().transpose(1, 2)
    return torch.nn.functional.scaled_dot_product_attention(*rows).transpose(0, 1)
