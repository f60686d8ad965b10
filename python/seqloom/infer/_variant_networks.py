"""Networks that score windows of a genome, with the names of their outputs."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from seqloom._arguments import is_list
from seqloom.data import Dataset, SequenceDataset
from seqloom.encode import OneHot
from seqloom.errors import ArgumentError, ShapeError
from seqloom.infer._changed_passes import ChangedPasses, find_changed_passes
from seqloom.infer._exported import MANIFEST, find_exported, predict_exported
from seqloom.infer._loop import check_lengths, evaluation_batch_size, run_model
from seqloom.infer._predict import find_builtin_model
from seqloom.models import Profile, Regress, TorchModule, Trained
from seqloom.models._torch_module import is_torch
from seqloom.nn import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.infer._changed_rows import Alternatives
    from seqloom.models import Task


# The maximum number of positions in a batch of whole windows on a CPU.
_MAX_CPU_POSITIONS = 1 << 14


class WindowScores(NamedTuple):
    """Scores of windows, ``(windows, outputs)`` or ``(windows, outputs, positions)``."""

    values: NDArray[np.float64]
    # The logarithms of the odds of probabilities; None if the scores are not
    # probabilities, or the network is an exported model.
    log_odds: NDArray[np.float64] | None

    @property
    def has_positions(self) -> bool:
        """True if the network has an output at each position."""
        return self.values.ndim > 2  # noqa: PLR2004 - the third axis is the position

    def mean_of_positions(self) -> NDArray[np.float64]:
        """Return an output for each window: the mean over positions, if there are any."""
        return self.values.mean(axis=2) if self.has_positions else self.values

    def take(self, rows: NDArray[np.int64]) -> WindowScores:
        """Return the scores of some windows."""
        odds = None if self.log_odds is None else self.log_odds[rows]
        return WindowScores(self.values[rows], odds)

    def orient(self, is_reversed: NDArray[np.bool_]) -> WindowScores:
        """Return the scores with the positions of reversed windows in genome order."""
        if not self.has_positions:
            return self
        values = self.values[..., ::-1]
        return self._replace(
            values=np.where(is_reversed[:, None, None], values, self.values)
        )


@dataclass(frozen=True, slots=True)
class WindowNetwork:
    """A network with its encoder; ``trained`` is None for a network without a task."""

    model: Module
    encoder: Any
    trained: Trained | None
    passes: ChangedPasses | None

    @classmethod
    def of(cls, model: Module, encoder: Any, trained: Trained | None = None) -> Self:
        """Return a network that computes only what a variant changes, where possible."""
        if not isinstance(model, TorchModule):
            model.eval()
        return cls(model, encoder, trained, find_changed_passes(model, encoder))

    @property
    def task(self) -> Task | None:
        """The task of the outputs; None if the network has no task."""
        return None if self.trained is None else self.trained.task

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the outputs; None if the network has no task."""
        return None if self.trained is None else self.trained.classes

    @property
    def width(self) -> int | None:
        """The number of residues of each training sequence; None if it varies."""
        length = getattr(getattr(self.model, "config", None), "length", None)
        facts = self.trained and self.trained.trained_on
        lengths = set((facts and facts.lengths) or ())
        return length or (lengths.pop() if len(lengths) == 1 else None)

    def score(
        self,
        references: NDArray[np.uint8],
        parts: Sequence[Alternatives],
        places: NDArray[np.int64] | None = None,
    ) -> tuple[WindowScores, list[WindowScores]]:
        """Score reference windows, and alternative windows of several widths."""
        data = self._open_windows(references)
        others = [self._open_windows(it.array) for it in parts]
        if self.passes is None:
            one, changed = self._run_whole(data), [self._run_whole(it) for it in others]
        else:
            inputs = [
                it._replace(array=_encode(x)) for it, x in zip(parts, others, strict=True)
            ]
            one, changed = self.passes.run_parts(_encode(data), inputs, places)
        return self._to_scores(one), [self._to_scores(it) for it in changed]

    def _open_windows(self, windows: NDArray[np.uint8]) -> Dataset:
        texts = [row.tobytes() for row in windows]
        data = SequenceDataset({"sequence": texts}, encoder=self.encoder, labels=False)
        check_lengths(self.model, data)
        return data

    def _run_whole(self, data: Dataset) -> NDArray[np.float32]:
        size = evaluation_batch_size(data)
        size = size if self.trained is None else min(size, self.trained.batch_size)
        if self.model.backend.device == "cpu":
            # Batches of one size are filled with copies, so small batches waste less time.
            size = max(1, min(size, _MAX_CPU_POSITIONS // int(data.lengths.max())))
        if not isinstance(self.model, TorchModule):
            return run_model(self.model, data, batch_size=size)
        # The caller may continue to train the PyTorch network.
        modes = [(part, part.training) for part in self.model.module.modules()]
        try:
            return run_model(self.model, data, batch_size=size)
        finally:
            for part, mode in modes:
                part.training = mode

    def _to_scores(self, outputs: NDArray[np.float32]) -> WindowScores:
        if outputs.ndim > 3:  # noqa: PLR2004 - windows, outputs and positions
            raise ShapeError(
                f"the model returns an array of shape {outputs.shape[1:]} for a window; "
                "expected (outputs,) or (outputs, positions)"
            )
        if self.trained is None:
            values = outputs.astype(np.float64)
            return WindowScores(values.reshape(len(values), -1, *values.shape[2:]), None)
        task = self.trained.task
        is_number = isinstance(task, (Regress, Profile))
        log_odds = None if is_number else task.order(outputs).astype(np.float64)
        return WindowScores(task.activate(outputs).astype(np.float64), log_odds)


@dataclass(slots=True)
class ExportedNetwork:
    """An exported model; it scores a FASTA file of windows."""

    path: Path
    threads: int
    checksum: str
    names: tuple[str, ...] | None = None
    width: int | None = None
    encoder: Any = None
    task: Task | None = None

    @classmethod
    def open(cls, path: Path, threads: int) -> Self:
        """Read the length of the training sequences, and the checksum."""
        text = (
            (path / MANIFEST).read_bytes()
            if path.is_dir()
            else zipfile.Path(path, MANIFEST).read_bytes()
        )
        facts: dict[str, Any] = json.loads(text)
        training: dict[str, Any] = facts.get("training") or {}
        lengths: set[int] = set(training.get("lengths") or ())
        width = lengths.pop() if len(lengths) == 1 else facts.get("length")
        task: dict[str, Any] = facts.get("task") or {}
        names = tuple(task["columns"]) if "columns" in task else None
        return cls(path, threads, facts["checksum"], names, width)

    def score(
        self,
        references: NDArray[np.uint8],
        parts: Sequence[Alternatives],
        places: NDArray[np.int64] | None = None,
    ) -> tuple[WindowScores, list[WindowScores]]:
        """Score reference windows, and alternative windows of several widths."""
        del places
        others = [self._score_windows(it.array) for it in parts]
        return self._score_windows(references), others

    def _score_windows(self, windows: NDArray[np.uint8]) -> WindowScores:
        with TemporaryDirectory(prefix="seqloom-") as folder:
            file = Path(folder) / "windows.fa"
            file.write_bytes(
                b"".join(b">%d\n%s\n" % (i, row.tobytes()) for i, row in enumerate(windows))
            )
            found = predict_exported(
                self.path, [file], num_threads=self.threads, progress=None
            )
        self.names = found.classes
        return WindowScores(found.to_numpy().astype(np.float64), None)


def _encode(data: Dataset) -> NDArray[Any]:
    return data.batch(np.arange(len(data)))["inputs"]


def open_networks(
    model: Any, encoder: Any, *, threads: int
) -> list[WindowNetwork | ExportedNetwork]:
    """Open one model, or each model of a list."""
    models: list[Any] = list(model) if is_list(model) else [model]
    if not models:
        raise ArgumentError("model is an empty list; expected one or more models")
    networks = [_open_network(it, encoder, threads) for it in models]
    names = {it.names for it in networks}
    if len(names) > 1:
        listed = " and ".join(", ".join(it) if it else "no names" for it in names)
        raise ArgumentError(
            f"the models of the list have different outputs: {listed}; expected the folds "
            "of one task"
        )
    return networks


def _open_network(
    model: Any, encoder: Any, threads: int
) -> WindowNetwork | ExportedNetwork:
    if (path := find_exported(model)) is not None:
        return ExportedNetwork.open(path, threads)
    if is_torch(model):
        device = next(model.parameters()).device if [*model.parameters()] else None
        is_on_cpu = device is None or device.type == "cpu"
        model = TorchModule(model).bind("torch" if is_on_cpu else f"torch:{device}", 0)
    if isinstance(model, Module):
        return WindowNetwork.of(model, encoder or OneHot("dna"))
    trained = find_builtin_model(model, threads)
    if encoder is not None and encoder != trained.encoder:
        raise ArgumentError(
            f"encoder is for networks without an encoder, but the model reads "
            f"{trained.encoder}: leave encoder out"
        )
    return WindowNetwork.of(trained.model, trained.encoder, trained)
