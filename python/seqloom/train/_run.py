"""The results of a training run, and the files in its run folder."""

import hashlib
import json
import os
from dataclasses import dataclass, replace
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_path
from seqloom._files import write_atomic
from seqloom._warning import warn_user
from seqloom.data._parts import find_similar_records
from seqloom.errors import NoSkillWarning, SeenRecordsWarning
from seqloom.infer._input_warnings import describe_duplicates
from seqloom.models import Trained
from seqloom.models._examples import are_variants
from seqloom.models._folder import RESULTS, WEIGHTS, write_history
from seqloom.models._trained import write_config
from seqloom.nn import Module
from seqloom.report import Report, write_report
from seqloom.report._values import Fact
from seqloom.train._baselines import Baseline, Ranking, compare_baselines, fit_baselines
from seqloom.train._card import write_card
from seqloom.train._checkpoints import RunState
from seqloom.train._evaluation import (
    Part,
    Validation,
    find_intervals,
    first_metric,
    poor_model_warning,
    write_labels,
)
from seqloom.train._job import FitJob
from seqloom.train._report import make_report
from seqloom.train._selection import Candidate, name_model, select_model

# The maximum number of class names in a description.
_MAX_CLASSES = 6
_RESULTS_VERSION = 2
# A smaller fraction of similar records hardly changes a metric.
_MIN_SIMILAR_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished training run, as `fit` returns it.

    Attributes:
        trained: The network with the weights of the best epoch, its encoder and its task.
            With ``fit("auto")``, the selected model.
        history: A list with a dict for each epoch: its losses and metrics.
        best_epoch: The epoch (from 1) whose weights the trained model has. With
            candidates, the epoch of the best network.
        folder: The run folder, or None.
        valid: The results on the validation set, or None.
        test: The results on the test set, or None.
        report: The content of ``report.html``.
        baselines: Simple models that were fitted on the same training set, with their
            metrics and a comparison with the network.
        candidates: The models that ``fit("auto")`` compared; empty for a given network.

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
    baselines: tuple[Baseline, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    @property
    def model(self) -> Module:
        """The trained network."""
        return self.trained.model

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the files that ``fit(out=folder)`` would write, except the checkpoint.

        Args:
            folder: The folder, which must be empty or is created.
            overwrite: If True, replace an existing model or run in the folder.

        Raises:
            FileError: The folder cannot be written.
            RunFolderError: The folder is not empty.

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
        _write_evaluation(home, self)
        write_report(home, replace(self.report, title=home.absolute().name))

    def __repr__(self) -> str:
        where = "" if self.folder is None else f", in {self.folder}"
        return f"Run of {self._describe_run()}{where}"

    def _repr_html_(self) -> str:
        """Return the HTML table that a notebook shows."""
        evaluated = {name: part.metrics for name, part in _parts_of(self).items()}
        return _html_table(self._describe_run(), evaluated)

    def _describe_run(self) -> str:
        """Describe the network, its task, the best epoch and the results on each set."""
        network = name_model(self.model, self.candidates)
        said = [
            f"{network}, {self.model.number_of_parameters:,} parameters",
            describe_task(self.trained),
            f"selected from {len(self.candidates)} candidates"
            if self.candidates
            else f"epoch {self.best_epoch} of {len(self.history)}",
        ]
        evaluated = [
            f"{name} {first_metric(it.metrics)}" for name, it in _parts_of(self).items()
        ]
        return "; ".join([*said, *evaluated])


def _parts_of(run: Run) -> dict[str, Part]:
    """Return the results on the validation and test sets, by the name of the set."""
    parts = {"validation": run.valid, "test": run.test}
    return {name: part for name, part in parts.items() if part is not None}


def describe_task(trained: Trained) -> str:
    """Describe the task and the classes of a network briefly."""
    names = trained.classes
    shown = [*names[:_MAX_CLASSES], *(["..."] if len(names) > _MAX_CLASSES else [])]
    return " ".join([trained.task.name, *([", ".join(shown)] if shown else [])])


def finish_run(
    job: FitJob, state: RunState, *, validation: Validation, settings: dict[str, Fact]
) -> Run:
    """Evaluate the best weights and write all files of the run, replacing older files."""
    folder = job.settings.folder
    job.trained.model.load_record(state.best).eval()
    models = fit_baselines(job) if job.ranks.is_first else ()
    candidates = tuple[Candidate, ...]()
    if job.selects:
        job, candidates = select_model(
            job, state, baselines=models, objective=validation.objective
        )
    # The test set comes first, because its results are the most reliable.
    validation = replace(validation, job=job)
    parts = {
        "test": validation.evaluate(job.parts.test),
        "validation": validation.evaluate(job.parts.valid),
    }
    evaluated = {name: part for name, part in parts.items() if part is not None}
    name = name_model(job.trained.model, candidates)
    baselines = compare_baselines(job, models, evaluated, network=name)
    warnings = _list_warnings(job, evaluated, baselines, network=name)
    report = make_report(
        job,
        state,
        evaluated,
        baselines=baselines,
        candidates=candidates,
        facts=job.list_facts(state.history, settings, title=name),
        notes=[f"{it[0].upper()}{it[1:]}" for it, _ in warnings],
    )
    run = Run(
        trained=job.trained,
        history=state.history,
        best_epoch=state.best_epoch,
        folder=folder.path,
        valid=parts["validation"],
        test=parts["test"],
        report=report,
        baselines=baselines,
        candidates=candidates,
    )
    if not job.ranks.is_first:
        return run
    if folder.path is not None:
        run.model.to_record().save(folder.path / WEIGHTS)
        write_config(folder.path, run.trained)
        _write_evaluation(folder.path, run)
        if folder.report:
            write_report(folder.path, report)
    for sentence, category in warnings:
        warn_user(sentence, category)
    return run


def _list_warnings(
    job: FitJob,
    evaluated: dict[str, Part],
    baselines: tuple[Baseline, ...],
    *,
    network: str,
) -> list[tuple[str, type[Warning]]]:
    """Return warnings about duplicates of training sequences, and about poor metrics."""
    task, sets = job.trained.task, dict(job.parts.list_named())
    seen, poor = list[tuple[str, type[Warning]]](), list[tuple[str, type[Warning]]]()
    for name, part in reversed(evaluated.items()):
        labels, scores, known = part.labels, part.scores, part.known
        text = describe_duplicates(
            task,
            labels,
            scores,
            known=known,
            what=f"{name} records",
            similar=_find_similar(sets["training"], sets[name], known),
        )
        if text:
            seen.append((text, SeenRecordsWarning))
        if text := poor_model_warning(task, name, part):
            poor.append((text, NoSkillWarning))
    ranking = Ranking.of(network, baselines, evaluated)
    if ranking is not None and ranking.against_best.is_worse and not poor:
        text = f"{ranking.sentence}; try other settings, or use more records"
        poor.append((text, NoSkillWarning))
    return [*seen, *poor]


def _find_similar(
    train: Any, part: Any, known: NDArray[np.bool_] | None
) -> tuple[NDArray[np.bool_], int] | None:
    """Return which records are similar to training sequences, if these are not few."""
    # Variants of one sequence are similar in each split.
    if known is None or are_variants(train):
        return None
    found = find_similar_records(part, train)
    if found is None or (found[0] & ~known).sum() < _MIN_SIMILAR_SHARE * known.size:
        return None
    return found


def _write_evaluation(folder: Path, run: Run) -> None:
    """Write the scores, the labels, the model card and the results to the run folder."""
    for name, part in (("valid", run.valid), ("test", run.test)):
        if part is not None and len(part.scores):
            part.scores.to_tsv(folder / f"scores-{name}.tsv")
            write_labels(folder / f"labels-{name}.tsv", run.trained.task, part)
    evaluated = dict(reversed(_parts_of(run).items()))  # the test set is listed first
    write_card(
        folder,
        trained=run.trained,
        report=run.report,
        evaluated=evaluated,
        baselines=run.baselines,
        network=name_model(run.model, run.candidates),
    )
    text = json.dumps(results_of(run), indent=2, allow_nan=False)
    write_atomic(folder / RESULTS, f"{text}\n".encode())


def _html_table(lead: str, parts: dict[str, dict[str, float]]) -> str:
    """Return the HTML of a summary and of a table of metrics with a column per set."""
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


def results_of(run: Run) -> dict[str, Any]:
    """Return the results as JSON values; None for NaN and infinity."""
    task, facts = run.trained.task, dict(run.report.facts)
    for name, value in facts.items():
        if isinstance(value, float) and not isfinite(value):
            facts[name] = str(value)
    parts: dict[str, dict[str, Any]] = {}
    for name, part in _parts_of(run).items():
        words = [*part.scores.ids, *task.columns, *map(str, np.ravel(part.labels).tolist())]
        text = "\0".join(words).encode("utf-8", "surrogatepass")
        metrics = part.metrics
        intervals = find_intervals(task, metrics, part.labels, scores=part.scores)
        parts[name] = {
            "records": hashlib.blake2b(text, digest_size=8).hexdigest(),
            "metrics": {
                it: metrics[it] if isfinite(metrics[it]) else None for it in metrics
            },
            "intervals": {it: list(intervals[it]) for it in intervals},
        }
    return {
        "version": _RESULTS_VERSION,
        "network": name_model(run.model, run.candidates),
        "parameters": run.model.number_of_parameters,
        "task": task.name,
        "classes": list(task.columns),
        "epochs": len(run.history),
        "best_epoch": run.best_epoch,
        "seconds": round(sum(row["seconds"] for row in run.history), 3),
        "settings": facts,
        "parts": parts,
        "candidates": [it.to_dict() for it in run.candidates],
        "baselines": [it.to_dict() for it in run.baselines],
    }
