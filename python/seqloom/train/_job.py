"""The network, data and settings of a run, and their comparison when a run is resumed."""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np

from seqloom.errors import RunFolderError
from seqloom.models import Trained
from seqloom.models._trained import config_of
from seqloom.models._training_facts import dataset_files, file_names
from seqloom.report._values import Fact
from seqloom.train._parts import Data, Parts, count_samples
from seqloom.train._ranks import Ranks
from seqloom.train._settings import FitSettings

# Values of settings that older checkpoints lack.
_OLD_DEFAULTS = {
    "precision": "float32",
    "accumulate": 1,
    "drop_last": False,
    "selects": False,
}
# Keys of a saved object that are not arguments of its class.
_NOT_ARGUMENTS = {"class", "version"}
# Saved setting -> the arguments of `fit` that determine it.
_ARGUMENTS = {
    "augmentation": "augment=, --reverse-complement",
    "compiled": "compile=, --compile",
    "encoder": "the dataset's encoder=, --unknown, --case, --rare, --symbols",
    "model": "the model's settings, --width, --kernel-size, --dropout, --rank",
    "task": "class_weight=, --class-weight, and the labels",
    "training data": "files, labels and sets",
    "validation data": "files, labels and sets",
    "loss": "loss=",
    "selects": 'model="auto", --network auto',
    "step": "step=",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FitJob:
    """The checked arguments of `fit`; they do not change during the run."""

    settings: FitSettings
    trained: Trained
    parts: Parts
    ranks: Ranks
    selects: bool = False  # if True, select the best of the trained and linear models

    @property
    def writable_folder(self) -> Path | None:
        """The run folder, or None in processes that write no files."""
        return self.settings.folder.path if self.ranks.is_first else None

    def identify(self, *, compiled: bool) -> dict[str, Any]:
        """Return the settings and data hashes that a resumed run must share."""
        trained, parts = self.trained, self.parts
        config = config_of(trained.model)
        shapes = [(path, param.shape) for path, param in trained.model.parameters()]
        facts = {
            **self.settings.to_dict(),
            "model": shapes if config is None else config.to_dict(),
            "selects": self.selects,
            "training data": parts.train.fingerprint(),
            "validation data": None if parts.valid is None else parts.valid.fingerprint(),
            "augmentation": _describe_augment(parts.train),
            "encoder": trained.encoder and trained.encoder.to_dict(),
            "task": trained.task.to_dict(),
            # Compiled and uncompiled steps round differently, so the choice must be the
            # same.
            "compiled": compiled or None,
        }
        return json.loads(json.dumps(facts))

    def list_settings(self, *, compiled: str, epochs: str) -> dict[str, Fact]:
        """List settings and machine; `epochs` is a text, or "" if the user set a number."""
        settings, train = self.settings, self.parts.train
        augment = getattr(train, "augment", None)
        is_ours = hasattr(augment, "to_dict")
        values = settings.to_dict()
        values |= {"class_weight": settings.objective.class_weight}
        values |= {"epochs": epochs or values["epochs"]}
        values |= {"augmentation": repr(augment) if is_ours else _describe_augment(train)}
        values |= {"jitter": getattr(train, "jitter", None) or None, "compiled": compiled}
        values |= {"drop_last": values["drop_last"] or None}
        if values["accumulate"] == 1:
            values["accumulate"] = None
        if (made := values["optimizer"]) is not None:
            given = [f"{name}={it!r}" for name, it in made.items() if name != "class"]
            values["optimizer"] = f"{made['class']}({', '.join(given)})"
            values.pop("weight_decay")  # a custom optimiser has its own weight decay
        if settings.schedule is not None:
            values["schedule"] = repr(settings.schedule)
            values.pop("lr")  # a custom schedule sets the learning rate
        named = {
            name.replace("_", " "): value if isinstance(value, Fact) else str(value)
            for name, value in values.items()
            if value is not None and name != "backend"
        }
        name, _, device = settings.backend.partition(":")
        versions = (
            f"seqloom {metadata.version('seqloom')}, Python {platform.python_version()}, "
            f"NumPy {np.__version__}"
        )
        machine = {"backend": name, "device": device or "cpu"}
        return named | machine | {"threads": settings.target.threads, "versions": versions}

    def list_facts(
        self, history: list[dict[str, Any]], settings: dict[str, Fact], *, title: str
    ) -> dict[str, Fact]:
        """Return the settings, the model with its title, and the data, for the report."""
        model, encoder = self.trained.model, self.trained.encoder
        config, parts = config_of(model), dict(self.parts.list_named())
        facts: dict[str, Fact] = {
            "model": f"{title}, {model.number_of_parameters:,} parameters"
        }
        if config is not None:
            facts["network"] = str(config)
        if encoder is not None:
            facts["encoder"] = str(encoder)
        facts["task"] = self.trained.task.name
        for name, part in parts.items():
            if count := count_samples(part):
                facts[f"{name} records"] = count
        files = {name: file_names(dataset_files(part)) for name, part in parts.items()}
        for name, names in files.items():
            # Sets split from one dataset have the same files, which are listed only
            # once.
            if names and (name == "training" or names != files["training"]):
                facts[f"{name} files"] = ", ".join(names)
        seconds = sum(row["seconds"] for row in history)
        return facts | settings | {"seconds of training": round(seconds, 1)}


def _describe_augment(train: Data) -> Any:
    """Return the augmentation of the training sequences as a JSON-compatible value."""
    augment = getattr(train, "augment", None)
    if augment is None or hasattr(augment, "to_dict"):
        return augment and augment.to_dict()
    return getattr(augment, "__qualname__", type(augment).__qualname__)


def check_same(path: Path, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise if a run is resumed with other data or settings, and list all changes."""
    differences: list[str] = []
    for name, value in now.items():
        was = saved.get(name, _OLD_DEFAULTS.get(name))
        if name == "epochs" and not _may_resume_with(was, value):
            more = "" if value is None else f", not {value}"
            differences.append(
                f"epochs {was}{more}; give the same or a larger number (epochs=, --epochs)"
            )
        elif name != "epochs" and was != value:
            argument = _ARGUMENTS.get(name, f"{name}=, --{name.replace('_', '-')}")
            differences.append(f"{_describe(name, saved, value)} ({argument})")
    if differences:
        raise RunFolderError(
            f"{path}: this run was started with {'; '.join(differences)}: resume it with "
            "the same data and settings, or start again (RunFolder(..., overwrite=True), "
            "--overwrite)"
        )


def _may_resume_with(saved: int | None, now: int | None) -> bool:
    """Return True if the saved number of epochs is None, or not above the new number."""
    return saved is None or (type(saved) is int and now is not None and now >= saved)


def _describe(name: str, saved: Mapping[str, Any], value: Any) -> str:
    """Describe how a saved setting differs from the current one; omit hashes of data."""
    was: Any = saved.get(name, _OLD_DEFAULTS.get(name))
    if name.endswith("data") and value is not None and was is not None:
        return f"other {name}"
    if not (isinstance(was, Mapping) and isinstance(value, Mapping)):
        return f"{name} {_format_setting(saved.get(name))}, not {_format_setting(value)}"
    old, new = cast("tuple[Mapping[str, Any], Mapping[str, Any]]", (was, value))
    names = [each for each in {**old, **new} if old.get(each) != new.get(each)]
    return f"{name} " + " and ".join(_describe(each, old, new.get(each)) for each in names)


def _format_setting(value: Any) -> str:
    """Format a setting for a message; an object is written as a constructor call."""
    text = str(value)
    if isinstance(value, Mapping) and "class" in value:
        facts = cast("Mapping[str, Any]", value)
        given = [f"{key}={it!r}" for key, it in facts.items() if key not in _NOT_ARGUMENTS]
        text = f"{facts['class']}({', '.join(given)})"
    return text if len(text) < 60 else text[:57] + "..."  # noqa: PLR2004 - half a line
