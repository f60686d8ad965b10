"""Trained: a network with its encoder and task; reading and writing of run folders."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

# config.json contains class names of these packages, so import the packages first.
import seqloom.data  # noqa: F401  # pyright: ignore[reportUnusedImport]
import seqloom.encode  # noqa: F401  # pyright: ignore[reportUnusedImport]
from seqloom._arguments import as_path, is_dict
from seqloom._config import JsonConfig
from seqloom._files import reading, write_atomic
from seqloom._key import Key
from seqloom.errors import ArgumentError, ConfigError, MissingFileError, SeqloomError
from seqloom.models._folder import CONFIG_KEYS, HISTORY, RESULTS, WEIGHTS, opened_folder
from seqloom.models._task import Custom, Task
from seqloom.models._torch_module import as_module
from seqloom.models._training_facts import (
    TrainedOn,
    load_encoder,
    load_training_hashes,
    save_encoder,
    save_training_hashes,
)
from seqloom.nn import Config as NetworkConfig, Module
from seqloom.record import load as load_record
from seqloom.tensor import Backend, backend as find_backend

Settings = TypeVar("Settings", bound=JsonConfig)
_CONFIG_VERSION = 1
# Entries that config.json may lack, because older versions did not write them.
TRAINING_FACTS_KEY = "trained_on"
_FINISHED_KEY = "finished"
_RUN_FOLDER_HINT = ", as written by seqloom train --out or fit(out=)"


@dataclass(frozen=True, slots=True)
class Trained:
    """Trained network with its encoder and the meaning of its outputs.

    Attributes:
        model: Network in evaluation mode.
        encoder: Encoder of sequences or genotypes; None if the network was trained on
            arrays.
        task: Task of the network: its loss, metrics and names of outputs.
        batch_size: Number of records in an evaluation batch. The batch size is stored
            with the model, because a different batch size changes the last bits of the
            scores.
        trained_on: Summary of the training set: its lengths and files; None if unknown.
        known_letters: Hashes of the training sequences, with which `evaluate` finds
            duplicates in validation and test sets. The hashes are None if the records
            are not sequences, or the training set has more than 1,048,576 records or 1
            GiB of residues.
        is_finished: False if the run was stopped before the end of its training.

    Examples:
        >>> import seqloom as sl
        >>> network = sl.models.SequenceCNNConfig(channels=4, outputs=2).init("numpy")
        >>> task = sl.models.Classify(("no", "yes"))
        >>> Trained(network.eval(), sl.encode.OneHot("dna"), task, batch_size=256).classes
        ('no', 'yes')
    """

    model: Module
    encoder: Any  # encoder: a JsonConfig for sequences or genotypes
    task: Task
    batch_size: int
    trained_on: TrainedOn | None = None
    known_letters: NDArray[np.uint64] | None = None
    is_finished: bool = True

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes or labels, in the order of the score columns."""
        return self.task.columns

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save network, encoder and names to a folder that `load` reads.

        Args:
            folder: An empty or new folder.
            overwrite: If True, replace a model or run in the folder.

        Raises:
            FileError: The folder cannot be written.
            RunFolderError: The folder is not empty, or another process is writing to it.

        Examples:
            >>> import seqloom as sl
            >>> network = sl.models.SequenceCNNConfig(channels=4, outputs=2).init("numpy")
            >>> task = sl.models.Classify(("no", "yes"))
            >>> model = Trained(network.eval(), sl.encode.OneHot("dna"), task, 256)
            >>> model.save("model")
            >>> sl.models.load("model").classes
            ('no', 'yes')
        """
        home = as_path("folder", folder, expected="a folder's path")
        with opened_folder(home, resume=False, overwrite=overwrite):
            save_config(home, self)
            self.model.to_record().save(home / WEIGHTS)

    def __repr__(self) -> str:
        return (
            f"Trained {type(self.model).__name__}, {self.model.number_of_parameters:,} "
            f"parameters: {self.task.name} {', '.join(self.classes)}".rstrip()
        )


def load(
    folder: str | os.PathLike[str],
    *,
    model: Any = None,
    base: str | os.PathLike[str] | None = None,
    backend: str | Backend = "numpy",
    num_threads: int | None = None,
) -> Trained:
    """Load network, encoder and names from a run folder.

    Args:
        folder: Run folder that `seqloom.train.fit` wrote.
        model: Network into which the weights are loaded, or the Config that builds the
            network. Required only if the network passed to `fit` is a PyTorch module or
            has no field `config`.
        base: Folder of the base network of adapters, if it has moved since `fit`.
        backend: A backend or its name.
        num_threads: Number of threads; default: all that the machine allows.

    Returns:
        The trained model in evaluation mode.

    Raises:
        ArgumentError: The folder does not describe the network and `model` is None, or
            an argument has a wrong type. ArgumentError is also raised if `base` is
            passed but the network has no adapters.
        ConfigError: ``config.json`` cannot be read, or was written by a newer version
            of seqloom.
        MissingFileError: The folder does not exist, is not a run folder, or contains no
            model because the run was stopped too early. MissingFileError is also raised
            if the base network of its adapters is missing.
        RecordError: A weight file is damaged or belongs to another run, or the base
            network of the adapters has other weights.

    Examples:
        >>> load("runs/none")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        seqloom.errors.MissingFileError: runs/none: no such folder; expected a run folder...
    """
    home = _find_folder(folder)
    facts = read_config(home)
    encoder = facts["encoder"]  # None if the model was trained on arrays
    if encoder is not None:
        encoder = load_encoder(home, _make_settings(home, encoder, JsonConfig))
    task = _make_task(home, facts["task"])
    network = _build_network(home, facts["model"], model, base=base)
    network.bind(find_backend(backend, num_threads=num_threads), Key(0))
    weights, origin = home / WEIGHTS, facts.get(TRAINING_FACTS_KEY)
    is_whole = not (home / HISTORY).exists() or (home / RESULTS).exists()
    if not weights.exists():
        raise MissingFileError(
            f"{home}: has no model, because its run was stopped in the first epoch; "
            "resume the run"
        )
    return Trained(
        network.load_record(load_record(weights)).eval(),
        encoder,
        task,
        facts["batch_size"],
        None if origin is None else _make_settings(home, origin, TrainedOn),
        load_training_hashes(home),
        # The results of an older run show whether its training was completed.
        bool(facts.get(_FINISHED_KEY, is_whole)),
    )


def find_trained(model: object, *, num_threads: int | None = None) -> Trained:
    """Return the model of a run or a run folder; return a trained model unchanged."""
    held = getattr(model, "trained", model)
    if isinstance(held, Trained):
        return held
    return load(cast("Any", model), num_threads=num_threads)


def save_config(folder: Path, trained: Trained) -> None:
    """Write ``config.json``: all data of a trained model except the weights.

    Arrays that the encoder has learned are written to a separate file first, and
    ``config.json`` contains their checksum.
    """
    save_encoder(folder, trained.encoder)
    save_training_hashes(folder, trained.known_letters)
    write_config(folder, trained)


def write_config(folder: Path, trained: Trained) -> None:
    """Write only ``config.json``, without the arrays of the encoder."""
    text = json.dumps(describe(trained), indent=2)
    write_atomic(folder / "config.json", f"{text}\n".encode())


def describe(trained: Trained) -> dict[str, Any]:
    """Return the contents of ``config.json`` for a trained model."""
    config, known = config_of(trained.model), trained.trained_on
    return {
        "version": _CONFIG_VERSION,
        "model": None if config is None else config.to_dict(),
        "encoder": trained.encoder and trained.encoder.to_dict(),
        "task": trained.task.to_dict(),
        "batch_size": trained.batch_size,
        **({} if known is None else {TRAINING_FACTS_KEY: known.to_dict()}),
        _FINISHED_KEY: trained.is_finished,
    }


def config_of(model: Module) -> NetworkConfig | None:
    """Return the settings from which a module was built, if its `config` contains them."""
    config = getattr(model, "config", None)
    return config if isinstance(config, NetworkConfig) else None


def _find_folder(folder: object) -> Path:
    """Return the path of the run folder; raise for a model in memory."""
    if isinstance(getattr(folder, "trained", folder), Trained):
        raise ArgumentError(
            "load expects a run folder, got a model in memory, which needs no "
            "loading; the model of a run is run.trained"
        )
    expected = "a run, its run.trained or its folder"
    if isinstance(folder, Module):
        expected += " (a network alone has no encoder and no classes)"
    return as_path("model", folder, expected=expected)


def read_config(home: Path) -> dict[str, Any]:
    """Read ``config.json``; raise if it does not belong to a run."""
    path = home / "config.json"
    if not home.is_dir():
        found = "is a file" if home.exists() else "no such folder"
        raise MissingFileError(f"{home}: {found}; expected a run folder{_RUN_FOLDER_HINT}")
    if not path.exists():
        folds = sorted(home.glob("fold-*/config.json"))
        hint = f", such as {folds[0].parent}" if folds else _RUN_FOLDER_HINT
        raise MissingFileError(f"{home}: no config.json in it; expected a run folder{hint}")
    with reading(path):
        text = path.read_bytes()
    try:
        facts: Any = json.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply to be a run's settings") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON ({error})") from None
    if not is_dict(facts) or not facts.keys() >= CONFIG_KEYS:
        raise ConfigError(
            f"{path}: not a run's settings; expected {', '.join(sorted(CONFIG_KEYS))}"
        )
    for name in ("version", "batch_size"):
        _check_count(path, name, facts[name])
    if facts["version"] > _CONFIG_VERSION:
        raise ConfigError(f"{path}: written by a newer seqloom; upgrade seqloom to read it")
    return facts


def _check_count(path: Path, name: str, value: object) -> None:
    """Raise if a value is not a positive integer."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{path}: {name} must be an integer from 1, found {value!r}")


def _make_task(home: Path, values: object) -> Task:
    """Create the task; raise if its column names are not unique."""
    task = _make_settings(home, values, Task)
    is_empty = not task.columns and not isinstance(task, Custom)
    if is_empty or len(set(task.columns)) < len(task.columns):
        raise ConfigError(
            f"{home / 'config.json'}: the task's columns must differ, found "
            f"{', '.join(task.columns) or 'none'}"
        )
    return task


def _make_settings(home: Path, values: object, kind: type[Settings]) -> Settings:
    """Create settings from a dict; errors name the file."""
    path = home / "config.json"
    if not is_dict(values):
        raise ConfigError(
            f"{path}: expected the settings of a {kind.__name__}, found {values!r}"
        )
    try:
        return kind.from_dict(values)
    except (SeqloomError, AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _build_network(home: Path, config: object, model: Any, *, base: object) -> Module:
    """Build the network without weights; adapters load their base network from `base`."""
    found = None if config is None else _make_settings(home, config, NetworkConfig)
    if base is not None:
        if not hasattr(found, "base_hash"):
            raise ArgumentError(
                f"{home}: base (--base) is for adapters, but this run trained a whole "
                "network; omit it"
            )
        found = replace(cast("Any", found), base=str(as_path("base", base)))
    if found is not None:
        return found.build()
    network = as_module(model.build() if isinstance(model, NetworkConfig) else model)
    if not isinstance(network, Module):
        found = (
            "" if model is None else f", which model={type(model).__name__} does not give"
        )
        raise ArgumentError(
            f"{home}: does not name the class of its network{found}. In Python, pass a new "
            "network or its Config: trained = sl.models.load(folder, model=Net()). For "
            'PyTorch, add backend="torch". Then sl.export.save(trained, "model.seqloom") '
            "writes a file for `seqloom predict`"
        )
    return network
