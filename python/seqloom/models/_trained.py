"""A trained network with all that it takes to use it, and the folder it lives in."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

# config.json names classes of this package: they must be known when it is read.
import seqloom.encode  # noqa: F401  # pyright: ignore[reportUnusedImport]
from seqloom._config import Config
from seqloom._files import write_atomic
from seqloom._key import Key
from seqloom.errors import ArgumentError, ConfigError, MissingFileError
from seqloom.models._task import Task
from seqloom.nn import Config as NetworkConfig, Module
from seqloom.record import load as load_record
from seqloom.tensor import backend as find_backend

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Trained:
    """A network, its encoder and what its outputs mean.

    Attributes:
        model: The network, in evaluation mode.
        encoder: What turns letters into the network's input.
        task: The loss, the metrics and the names of the outputs.
        batch_size: The records of one evaluation batch. It is part of the model: another
            one gives scores that differ in the last bits.

    Examples:
        >>> import seqloom as sl
        >>> network = sl.models.SequenceCNNConfig(channels=4, outputs=2).init("numpy")
        >>> task = sl.models.Classify(("no", "yes"))
        >>> Trained(network.eval(), sl.encode.OneHot("dna"), task, batch_size=256).classes
        ('no', 'yes')
    """

    model: Module
    encoder: Config
    task: Task
    batch_size: int

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' or the labels' names, in the order of the scores' columns."""
        return self.task.columns


def load(
    folder: str | os.PathLike[str],
    *,
    model: Module | None = None,
    backend: str = "numpy",
    num_threads: int | None = None,
) -> Trained:
    """Loads what a run folder holds: network, encoder and names together.

    Args:
        folder: A run folder, as `seqloom.train.fit` writes it.
        model: The network to take the numbers; needed only where `fit` was given a
            module that has no config.
        backend: Where it computes.
        num_threads: The threads it may use; default: what the machine allows.

    Returns:
        The trained model, in evaluation mode.

    Raises:
        ArgumentError: The folder does not say what the network is, and `model` is None.
        ConfigError: ``config.json`` cannot be read or is of a newer version.
        MissingFileError: There is no such folder, it is no run folder, or its run was
            stopped before a model was saved.

    Examples:
        >>> load("runs/none")
        Traceback (most recent call last):
        ...
        seqloom.errors.MissingFileError: runs/none: no such folder; expected a run folder
    """
    home = Path(folder)
    facts = _read_config(home)
    network = _network(home, facts["model"], model)
    network.bind(find_backend(backend, num_threads=num_threads), Key(0))
    weights = home / "model.safetensors"
    if not weights.exists():
        raise MissingFileError(
            f"{home}: no model yet, its run was stopped in the first epoch; resume it"
        )
    return Trained(
        network.load_record(load_record(weights)).eval(),
        Config.from_dict(facts["encoder"]),
        Task.from_dict(facts["task"]),
        facts["batch_size"],
    )


def save_config(folder: Path, trained: Trained) -> None:
    """Writes ``config.json``: everything of a trained model but its numbers."""
    config = config_of(trained.model)
    facts = {
        "version": _VERSION,
        "model": None if config is None else config.to_dict(),
        "encoder": trained.encoder.to_dict(),
        "task": trained.task.to_dict(),
        "batch_size": trained.batch_size,
    }
    write_atomic(folder / "config.json", (json.dumps(facts, indent=2) + "\n").encode())


def config_of(model: Module) -> NetworkConfig | None:
    """Gives the settings that a module was made from, where it keeps them as ``config``."""
    config = getattr(model, "config", None)
    return config if isinstance(config, NetworkConfig) else None


def _read_config(home: Path) -> dict[str, Any]:
    """Reads ``config.json`` and checks that it is a run's."""
    path = home / "config.json"
    if not home.is_dir():
        found = "is a file" if home.exists() else "no such folder"
        raise MissingFileError(f"{home}: {found}; expected a run folder")
    if not path.exists():
        raise MissingFileError(f"{home}: no config.json in it; expected a run folder")
    try:
        facts: Any = json.loads(path.read_bytes())
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON ({error})") from None
    wanted = {"version", "model", "encoder", "task", "batch_size"}
    if not isinstance(facts, dict) or not wanted <= facts.keys():
        raise ConfigError(
            f"{path}: not a run's settings; expected {', '.join(sorted(wanted))}"
        )
    if facts["version"] > _VERSION:
        raise ConfigError(f"{path}: written by a newer seqloom; upgrade seqloom to read it")
    return cast("dict[str, Any]", facts)


def _network(home: Path, config: dict[str, Any] | None, model: Module | None) -> Module:
    """Makes the network without numbers."""
    if config is not None:
        return NetworkConfig.from_dict(config).build()
    if model is None:
        raise ArgumentError(
            f"{home}: trained from a module without a config; give load(model=) such a one"
        )
    return model
