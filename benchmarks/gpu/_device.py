"""Speed of a GPU, as published and as measured, and its peak memory."""

import re
import time
from typing import Any

# Rows of the square matrices that `measure_product_speed` multiplies.
MATRIX_ROWS_OF_DEVICE = {"cuda": 8192, "cpu": 512}
PRODUCTS, RATE_SECONDS = 20, 0.5

# Dense bfloat16 operations per second from the vendors' data sheets. Each key is part
# of a device's name; the first key that matches is used.
PUBLISHED_GPU_SPEEDS = {
    "B200": 2250e12,
    "GH200": 989e12,
    "H200 NVL": 835e12,
    "H200": 989e12,
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H100": 989e12,
    "A100": 312e12,
    "A40": 150e12,
    "A10": 125e12,
    "L40S": 362e12,
    "L4": 121e12,
    "RTX 4090": 165e12,
    "RTX 3090": 71e12,
}


def find_published_speed(device_name: str) -> float | None:
    """Return the operations per second in the data sheet, or None for an unlisted GPU."""
    if "MIG" in device_name:  # MIG instances are slower than the whole GPU
        return None
    # Match whole words, because "A10G" is not an A10 and "RTX A4000" is not an A40.
    return next(
        (
            rate
            for words, rate in PUBLISHED_GPU_SPEEDS.items()
            if re.search(rf"\b{words}\b", device_name)
        ),
        None,
    )


def measure_product_speed(device: str, dtype: str) -> float:
    """Return the measured operations per second of products of large random matrices."""
    import torch

    torch_dtype: Any = getattr(torch, dtype)
    rows = MATRIX_ROWS_OF_DEVICE[device]
    x, y = (torch.randn(rows, rows, device=device).to(torch_dtype) for _ in range(2))
    rate = 0.0
    # A cool GPU is faster at first; only the second measurement is a sustained rate.
    for _ in range(2):
        start, products, seconds = time.perf_counter(), 0, 0.0
        while seconds < RATE_SECONDS:
            for _ in range(PRODUCTS):
                torch.mm(x, y)
            wait_for_gpu(device)
            products += PRODUCTS
            seconds = time.perf_counter() - start
        rate = products * 2 * rows**3 / seconds
    return rate


def wait_for_gpu(device: str) -> None:
    """Wait until the GPU has finished its work."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def reset_peak_memory(device: str) -> int:
    """Reset the peak memory counter of the GPU and return the bytes in use."""
    import torch

    if device != "cuda":
        return 0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak_memory_increase(start: int, device: str) -> int | None:
    """Return the peak GPU memory minus `start`, in bytes; None on a CPU."""
    import torch

    return torch.cuda.max_memory_allocated() - start if device == "cuda" else None
