"""The card: whether there is one, and how many operations a second it can do."""

import time
from importlib.util import find_spec
from typing import Any

SQUARE = 8192  # rows of the matrices whose products tell the card's rate
ROUNDS = 20
AMPERE = (8, 0)

# Dense bfloat16 operations a second of the makers' data sheets, by a part of the name;
# the first that fits.
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


def why_not() -> str:
    """Says why nothing can be measured here; empty where it can."""
    missing = [name for name in ("torch", "transformers") if not find_spec(name)]
    if missing:
        return f"{' and '.join(missing)} not installed"
    import torch

    if not torch.cuda.is_available():
        return "needs a CUDA device, and this machine has none"
    if torch.cuda.get_device_capability() < AMPERE:
        name = torch.cuda.get_device_name()
        return f"needs a card with bfloat16 (Ampere or newer), this is a {name}"
    return ""


def name_card() -> str:
    """The name of the card."""
    import torch

    return torch.cuda.get_device_name()


def find_peak(device: str) -> float | None:
    """Operations a second by the data sheet; None for a card that is not listed."""
    name = name_card() if device != "cpu" else ""
    return next((peak for part, peak in PEAKS.items() if part in name), None)


def measure_rate(device: str, dtype: str) -> float:
    """Operations a second of products of large square matrices."""
    import torch

    kind: Any = getattr(torch, dtype)
    square = SQUARE if device != "cpu" else SQUARE // 16
    x = torch.ones(square, square, dtype=kind, device=device)
    torch.mm(x, x)
    wait(device)
    start = time.perf_counter()
    for _ in range(ROUNDS):
        torch.mm(x, x)
    wait(device)
    return ROUNDS * 2 * square**3 / (time.perf_counter() - start)


def wait(device: str) -> None:
    """Waits until the device has done what it was asked."""
    import torch

    if device != "cpu":
        torch.cuda.synchronize()
