"""The device: its published rate, the rate that it reaches, and its memory."""

import re
import time
from typing import Any

# Rows of the square matrices whose product shows the rate of a device.
SQUARE = {"cuda": 8192, "cpu": 512}
PRODUCTS, RATE_SECONDS = 20, 0.5

# Dense bfloat16 operations a second in the makers' data sheets, by words of the device's
# name. The first match counts.
RATES = {
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


def find_published_rate(device_name: str) -> float | None:
    """Operations a second in the data sheet; None for a device that is not listed."""
    if "MIG" in device_name:  # a part of a device
        return None
    # Whole words, because the A10G and the RTX A4000 are not an A10 or an A40.
    return next(
        (rate for words, rate in RATES.items() if re.search(rf"\b{words}\b", device_name)),
        None,
    )


def measure_rate(device: str, dtype: str) -> float:
    """Operations a second of products of large square matrices of random numbers."""
    import torch

    torch_dtype: Any = getattr(torch, dtype)
    rows = SQUARE[device]
    x, y = (torch.randn(rows, rows, device=device).to(torch_dtype) for _ in range(2))
    rate = 0.0
    # An idle device is faster at first; the second rate is one that it sustains.
    for _ in range(2):
        start, products, seconds = time.perf_counter(), 0, 0.0
        while seconds < RATE_SECONDS:
            for _ in range(PRODUCTS):
                torch.mm(x, y)
            wait(device)
            products += PRODUCTS
            seconds = time.perf_counter() - start
        rate = products * 2 * rows**3 / seconds
    return rate


def wait(device: str) -> None:
    """Wait until the device has finished its work."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def reset_peak_memory(device: str) -> int:
    """Reset the peak of the device's memory; returns the bytes in use."""
    import torch

    if device != "cuda":
        return 0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak_memory_above(start: int, device: str) -> int | None:
    """Bytes by which the peak exceeds `start`; None on a CPU."""
    import torch

    return torch.cuda.max_memory_allocated() - start if device == "cuda" else None
