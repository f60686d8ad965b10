"""The facts of a run: settings, machine, network and data, as a report lists them."""

import platform
from importlib import metadata
from typing import Any

import numpy as np

from seqloom.models import Trained
from seqloom.models._trained import config_of
from seqloom.models._trained_on import files_of, names_of
from seqloom.report._values import Fact
from seqloom.train._parts import Parts, count_samples
from seqloom.train._settings import Settings


def facts_of(
    settings: Settings, train: Any, *, compiled: str, **further: Any
) -> dict[str, Fact]:
    """Names the settings and the machine; leaves out what has no effect."""
    values: dict[str, Any] = settings.to_dict() | {"class_weight": settings.class_weight}
    values |= further | _changes_of(train) | {"compiled": compiled}
    values |= {"accumulate": settings.accumulate if settings.accumulate > 1 else None}
    values |= {"drop_last": settings.drop_last or None}
    if settings.optimizer is not None:
        values["optimizer"] = _spell(settings.optimizer.to_dict())
        values.pop("weight_decay")  # the optimiser has its own
    if settings.schedule is not None:
        values["schedule"] = repr(settings.schedule)
        values.pop("lr")  # the schedule gives it
    named = {
        name.replace("_", " "): value if isinstance(value, Fact) else str(value)
        for name, value in values.items()
        if value is not None and name != "backend"
    }
    return named | _machine_facts(settings.backend, settings.target.threads)


def all_facts_of(
    trained: Trained,
    parts: Parts,
    *,
    history: list[dict[str, Any]],
    settings: dict[str, Fact],
) -> dict[str, Fact]:
    """Adds the network and the data to the settings."""
    model = trained.model
    config, encoder = config_of(model), trained.encoder
    sizes = {
        f"{name} records": count
        for name, part in parts.list_named()
        if (count := count_samples(part))
    }
    seconds = sum(row["seconds"] for row in history)
    return {
        "model": f"{type(model).__name__}, {model.number_of_parameters:,} parameters",
        **({} if config is None else {"network": str(config)}),
        **({} if encoder is None else {"encoder": str(encoder)}),
        "task": trained.task.name,
        **sizes,
        **_files_of(parts),
        **settings,
        "seconds of training": round(seconds, 1),
    }


def spell_augment(augment: Any) -> Any:
    """Names what changes the training sequences."""
    if augment is None or hasattr(augment, "to_dict"):
        return augment and augment.to_dict()
    return getattr(augment, "__qualname__", type(augment).__qualname__)


def _spell(settings: dict[str, Any]) -> str:
    """Spells an optimiser as the call that makes it."""
    values = [f"{name}={value!r}" for name, value in settings.items() if name != "class"]
    return f"{settings['class']}({', '.join(values)})"


def _changes_of(train: Any) -> dict[str, Any]:
    """Names what changes the training records in each epoch: augmentation and jitter."""
    augment = getattr(train, "augment", None)
    named = repr(augment) if hasattr(augment, "to_dict") else spell_augment(augment)
    return {"augmentation": named, "jitter": getattr(train, "jitter", None) or None}


def _machine_facts(backend: str, threads: int) -> dict[str, Fact]:
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


def _files_of(parts: Parts) -> dict[str, str]:
    """Names the files of each part; those of a part cut off are the whole's."""
    named = {name: names_of(files_of(part)) for name, part in parts.list_named()}
    return {
        f"{name} files": ", ".join(files)
        for name, files in named.items()
        if files and (name == "training" or files != named["training"])
    }
