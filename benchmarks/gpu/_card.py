"""The device: its name, its published rate, and the rate that it reaches."""

import time
from typing import Any

# Rows of the square matrices whose product shows the rate of a device.
SQUARE = {"cuda": 8192, "cpu": 512}
ROUNDS = 20

# Dense bfloat16 operations a second in the makers' data sheets, by a part of the name.
# The first part that occurs in the device's name counts.
PEAKS = {
    "B200": 2250e12,
    "GH200": 989e12,
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


def find_peak(name: str) -> float | None:
    """Operations a second of the data sheet; None for a device that is not listed."""
    return next((peak for part, peak in PEAKS.items() if part in name), None)


def measure_rate(device: str, dtype: str) -> float:
    """Operations a second of products of large square matrices of random numbers."""
    import torch

    kind: Any = getattr(torch, dtype)
    square = SQUARE[device]
    x, y = (torch.randn(square, square, device=device).to(kind) for _ in range(2))
    torch.mm(x, y)
    wait(device)
    start = time.perf_counter()
    for _ in range(ROUNDS):
        torch.mm(x, y)
    wait(device)
    return ROUNDS * 2 * square**3 / (time.perf_counter() - start)


def wait(device: str) -> None:
    """Waits until the device has done all that it was given."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def start_peak(device: str) -> int:
    """Forgets the peak of the device's memory; returns the bytes in use."""
    import torch

    if device != "cuda":
        return 0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak_since(start: int, device: str) -> int | None:
    """Bytes by which the peak exceeds `start`; None on a CPU."""
    import torch

    return torch.cuda.max_memory_allocated() - start if device == "cuda" else None
