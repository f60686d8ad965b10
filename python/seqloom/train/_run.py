"""What a training run leaves behind, and the file of its results."""

import hashlib
import json
import os
from dataclasses import dataclass, replace
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._arguments import as_path
from seqloom._files import write_atomic
from seqloom.models import Task, Trained
from seqloom.models._folder import RESULTS, write_history
from seqloom.nn import Module
from seqloom.report import Report, write_report
from seqloom.report._values import Fact
from seqloom.train._card import write_card
from seqloom.train._judged import Part, find_intervals, headline, write_labels

# So many names of classes fit into a line.
_SHOWN = 6
_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished training run.

    Attributes:
        trained: The network with the weights that were kept, its encoder and its task.
        history: The numbers of each epoch.
        best_epoch: The epoch whose weights were kept, from 1.
        folder: The run folder, if there is one.
        valid: How the model does on the validation part, if there is one.
        test: How it does on the test part, if there is one.
        report: What ``report.html`` shows.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
        >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=2)
        >>> run.best_epoch, len(run.history)
        (2, 2)
    """

    trained: Trained
    history: list[dict[str, Any]]
    best_epoch: int
    folder: Path | None
    valid: Part | None
    test: Part | None
    report: Report

    @property
    def model(self) -> Module:
        """The network."""
        return self.trained.model

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes what ``fit(out=folder)`` would have left, but for the checkpoint.

        Args:
            folder: An empty folder, or one to be made.
            overwrite: Replace the model or the run that is there.

        Raises:
            FileError: The folder cannot be written.
            RunFolderError: It holds something already.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
            >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
            >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
            >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data)
            >>> run.save("run")
            >>> sl.models.load("run").classes
            ('no', 'yes')
        """
        home = as_path("folder", folder, expected="a folder's path")
        self.trained.save(home, overwrite=overwrite)
        write_history(home, self.history)
        write_scores(home, self)
        write_card(
            home, trained=self.trained, report=self.report, valid=self.valid, test=self.test
        )
        write_results(home, self)
        write_report(home, replace(self.report, title=home.absolute().name))

    def __repr__(self) -> str:
        where = "" if self.folder is None else f", in {self.folder}"
        return f"Run of {self._lead()}{where}"

    def _repr_html_(self) -> str:
        """Shows a table in a notebook."""
        parts = {"validation": self.valid, "test": self.test}
        judged = {name: part.metrics for name, part in parts.items() if part is not None}
        return _table(self._lead(), judged)

    def _lead(self) -> str:
        """Says what was trained, how long, and how it does on each part."""
        model = self.model
        said = [
            f"{type(model).__name__}, {model.number_of_parameters:,} parameters",
            aim_of(self.trained),
            f"epoch {self.best_epoch} of {len(self.history)} kept",
        ]
        for name, part in (("validation", self.valid), ("test", self.test)):
            if part is not None:
                said.append(f"{name} {headline(part.metrics)}")
        return "; ".join(said)


def aim_of(trained: Trained) -> str:
    """Says in a few words what a network learns: its task, and of what names."""
    names = trained.classes
    shown = [*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])]
    return " ".join([trained.task.name, *([", ".join(shown)] if shown else [])])


def write_scores(folder: Path, run: Run) -> None:
    """Writes the scores and the labels of the parts that a model was judged on."""
    for name, part in (("valid", run.valid), ("test", run.test)):
        if part is not None and len(part.scores):
            part.scores.to_tsv(folder / f"scores-{name}.tsv")
            write_labels(folder / f"labels-{name}.tsv", run.trained.task, part)


def _table(lead: str, parts: dict[str, dict[str, float]]) -> str:
    """Writes a line and a table with a column for each part as HTML."""
    names = list(dict.fromkeys(name for metrics in parts.values() for name in metrics))
    head = "".join(f"<th>{escape(part)}</th>" for part in parts)
    rows = [
        f"<tr><th>{escape(name.replace('_', ' '))}</th>"
        + "".join(f"<td>{metrics[name]:.4g}</td>" for metrics in parts.values())
        + "</tr>"
        for name in names
    ]
    table = f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>" if rows else ""
    return f"<p>Run of {escape(lead)}</p>{table}"


# `Run` writes itself by this module, which therefore does not know its type.
def write_results(folder: Path, run: Any) -> None:
    """Writes the results of a run, whole or not at all."""
    text = json.dumps(results_of(run), indent=2, allow_nan=False)
    write_atomic(folder / RESULTS, f"{text}\n".encode())


def results_of(run: Any) -> dict[str, Any]:
    """Gives plain values that JSON has; what is no number is None."""
    task, parts = run.trained.task, {"validation": run.valid, "test": run.test}
    return {
        "version": _VERSION,
        "network": type(run.model).__name__,
        "parameters": run.model.number_of_parameters,
        "task": task.name,
        "classes": list(task.columns),
        "epochs": len(run.history),
        "best_epoch": run.best_epoch,
        "seconds": round(sum(row["seconds"] for row in run.history), 3),
        "settings": {it: _plain(value) for it, value in run.report.facts.items()},
        "parts": {
            name: _describe(task, part) for name, part in parts.items() if part is not None
        },
    }


def _describe(task: Task, part: Part) -> dict[str, Any]:
    """Gives the metrics of a part, their intervals, and a name of its records."""
    return {
        "records": _name_records(task, part),
        "metrics": {it: _number(value) for it, value in part.metrics.items()},
        "intervals": {
            it: list(ends)
            for it, ends in find_intervals(task, part.metrics, part.labels).items()
        },
    }


def _name_records(task: Task, part: Part) -> str:
    """Names the records of a part, by their ids, labels and classes."""
    words = [*part.scores.ids, *task.columns, *map(str, np.ravel(part.labels).tolist())]
    text = "\0".join(words).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _plain(value: Fact) -> Fact:
    """Gives a setting that JSON knows: an infinite number as text."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _number(value: float) -> float | None:
    """Gives a number that JSON knows."""
    return value if isfinite(value) else None
