"""The settings of a run and its machine: numbers, and text where there is no number."""

import platform
from importlib import metadata
from typing import Any

import numpy as np

from seqloom.optim import Optimizer
from seqloom.report._values import Fact
from seqloom.train._prepare import spell_augment
from seqloom.train._schedule import ScheduleLike
from seqloom.train._settings import Settings


def name_settings(
    settings: Settings,
    optimizer: Optimizer | None,
    schedule: ScheduleLike | None,
    **further: Any,
) -> dict[str, Fact]:
    """Names settings, and further ones; leaves out what has no effect."""
    values = settings.to_dict() | further
    values |= {"accumulate": values["accumulate"] if values["accumulate"] > 1 else None}
    values |= {"drop_last": values["drop_last"] or None}
    values["optimizer"] = optimizer and _spell(optimizer.to_dict())
    values["schedule"] = schedule and repr(schedule)
    if optimizer is not None:
        values.pop("weight_decay")  # the optimiser has its own
    if schedule is not None:
        values.pop("lr")  # the schedule gives it
    return {
        name.replace("_", " "): value if isinstance(value, Fact) else str(value)
        for name, value in values.items()
        if value is not None and name != "backend"
    }


def _spell(settings: dict[str, Any]) -> str:
    """Spells an optimiser as the call that makes it."""
    values = [f"{name}={value!r}" for name, value in settings.items() if name != "class"]
    return f"{settings['class']}({', '.join(values)})"


def changes_of(train: Any) -> dict[str, Any]:
    """Names what changes the training records in each epoch: augmentation and jitter."""
    augment = getattr(train, "augment", None)
    named = repr(augment) if hasattr(augment, "to_dict") else spell_augment(augment)
    return {"augmentation": named, "jitter": getattr(train, "jitter", None) or None}


def machine_facts(backend: str, threads: int) -> dict[str, Fact]:
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
        "threads": threads,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
