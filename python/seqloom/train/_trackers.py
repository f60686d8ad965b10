"""Callbacks that log a run to TensorBoard, MLflow and Weights & Biases."""

import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from seqloom._arguments import as_integer, as_path
from seqloom.errors import MissingExtraError
from seqloom.train._progress import Plan, Progress, Step
from seqloom.train._run import Run


class Tracker(Progress, ABC):
    """The base class of callbacks that log metrics to a tracker such as MLflow.

    After every `every`-th step, the tracker receives ``train/loss``, ``train/accuracy`` and
    ``lr``. After each epoch, the tracker receives all numbers of the epoch's row in
    ``metrics.jsonl``, such as ``epoch/valid_loss``. At the end, the tracker receives
    the metrics of the best weights, such as ``final/valid/auroc``. The x axis is the
    number of training steps since the start of the run, even if it was resumed.

    Args:
        every: The number of steps between two logged steps.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> class Printer(sl.train.Tracker):
        ...     def open(self, plan):
        ...         print(plan.samples, "records")
        ...
        ...     def write(self, numbers, step):
        ...         print("step", step, *sorted(numbers)[:2])
        ...
        ...     def close(self, *, failed):
        ...         print("failed" if failed else "done")
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
        >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> config = sl.models.SequenceCNNConfig.for_data(data)
        >>> _ = sl.train.fit(config, data, epochs=1, callbacks=[Printer()])
        2 records
        step 1 lr train/accuracy
        step 1 epoch/lr epoch/number
        done
    """

    def __init__(self, *, every: int = 1) -> None:
        self._every = as_integer("every", every, least=1)
        self._step = 0

    def on_start(self, plan: Plan) -> None:
        """Open a run in the tracker."""
        self.open(plan)

    def on_batch(self, step: Step) -> None:
        """Log the numbers of a step."""
        self._step = step.number
        if step.number % self._every == 0:
            found = {"train/loss": step.loss, "train/accuracy": step.accuracy}
            self.write(dict(_finite_numbers(found | {"lr": step.lr})), self._step)

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Log the numbers of an epoch."""
        found = {f"epoch/{name}": value for name, value in row.items() if name != "epoch"}
        self.write(
            dict(_finite_numbers({"epoch/number": row["epoch"], **found})), self._step
        )

    def on_end(self, run: Run) -> None:
        """Log the metrics of the best weights, and close the run."""
        found = {
            f"final/{name}/{metric}": value
            for name, part in {"valid": run.valid, "test": run.test}.items()
            if part is not None
            for metric, value in part.metrics.items()
        }
        if found:
            self.write(dict(_finite_numbers(found)), self._step)
        self.close(failed=False)

    def on_error(self, error: BaseException) -> None:
        """Close the tracker's run after an exception stopped the training."""
        del error
        self.close(failed=True)

    @abstractmethod
    def open(self, plan: Plan) -> None:
        """Open a run in the tracker."""

    @abstractmethod
    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """Log a dict of numbers."""

    @abstractmethod
    def close(self, *, failed: bool) -> None:
        """Close the run in the tracker; do nothing if no run is open."""


class TensorBoard(Tracker):
    """Callback of `fit` that logs a run to TensorBoard.

    This callback needs the package ``tensorboard``. See `Tracker` for the logged numbers.

    Args:
        folder: The folder of the event files, to be opened by ``tensorboard --logdir``.
        every: The number of steps between two logged steps.

    Examples:
        >>> import seqloom as sl
        >>> callbacks = [sl.train.TensorBoard("logs", every=10)]
    """

    def __init__(self, folder: str | os.PathLike[str], *, every: int = 1) -> None:
        super().__init__(every=every)
        self._folder = as_path("folder", folder, expected="a folder's path")
        self._writer: Any = None

    def open(self, plan: Plan) -> None:
        """Open an event file."""
        del plan
        summary = _import("tensorboard.summary", package="tensorboard")
        self._writer = summary.Writer(os.fspath(self._folder))

    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """Write a dict of numbers."""
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self, *, failed: bool) -> None:
        """Close the file."""
        del failed
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class MLflow(Tracker):
    """Callback of `fit` that logs a run to MLflow.

    This callback needs the package ``mlflow`` or ``mlflow-skinny``. The settings of the run
    are logged as parameters. Inside ``with mlflow.start_run()``, the numbers are logged to
    this open MLflow run, which is not closed. See `Tracker` for the logged numbers.

    Args:
        experiment: The name of the MLflow experiment; by default the default experiment of
            MLflow.
        tracking_uri: The tracking server, database or folder; by default the tracking URI
            of MLflow.
        run_name: The name of the run.
        every: The number of steps between two logged steps.

    Examples:
        >>> import seqloom as sl
        >>> callbacks = [sl.train.MLflow("splice", run_name="wide", every=10)]
    """

    def __init__(
        self,
        experiment: str | None = None,
        *,
        tracking_uri: str | None = None,
        run_name: str | None = None,
        every: int = 1,
    ) -> None:
        super().__init__(every=every)
        self._experiment, self._run_name = experiment, run_name
        self._tracking_uri = tracking_uri
        self._client: Any = None
        self._run_id = ""
        self._is_ours = False

    def open(self, plan: Plan) -> None:
        """Create a run in the tracker, or use the open run."""
        mlflow = _import("mlflow", package="mlflow")
        self._client = mlflow.MlflowClient(tracking_uri=self._tracking_uri)
        found = None if self._experiment else mlflow.active_run()
        self._is_ours = found is None
        if found is None:
            place = "0"
            if self._experiment is not None:
                known = self._client.get_experiment_by_name(self._experiment)
                place = known and known.experiment_id
                place = place or self._client.create_experiment(self._experiment)
            found = self._client.create_run(place, run_name=self._run_name)
        self._run_id = found.info.run_id
        for name, value in plan.facts.items():
            self._client.log_param(self._run_id, name, value)

    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """Log a dict of numbers in one request."""
        entry: Any = import_module("mlflow.entities").Metric
        now = round(time.time() * 1000)
        entries = [entry(name, value, now, step) for name, value in numbers.items()]
        self._client.log_batch(self._run_id, metrics=entries)

    def close(self, *, failed: bool) -> None:
        """End the tracker's run, unless the user opened the run."""
        if self._client is not None and self._is_ours:
            status = "FAILED" if failed else "FINISHED"
            self._client.set_terminated(self._run_id, status=status)
        self._client = None


class WandB(Tracker):
    """Callback of `fit` that logs a run to Weights & Biases.

    This callback needs the package ``wandb``. The settings of the training run are logged
    as the config of the W&B run. If a W&B run is already open, the numbers are logged to
    the open run, which is not closed. See `Tracker` for the logged numbers.

    Args:
        project: The name of the project.
        every: The number of steps between two logged steps.
        **options: Further arguments of ``wandb.init``, such as ``mode="offline"``.

    Examples:
        >>> import seqloom as sl
        >>> callbacks = [sl.train.WandB("splice", mode="offline", every=10)]
    """

    def __init__(
        self, project: str | None = None, *, every: int = 1, **options: Any
    ) -> None:
        super().__init__(every=every)
        self._options = {"project": project, **options}
        self._run: Any = None
        self._is_ours = False

    def open(self, plan: Plan) -> None:
        """Create a run in the tracker, or use the open run."""
        wandb = _import("wandb", package="wandb")
        self._is_ours = wandb.run is None
        self._run = wandb.init(**self._options) if wandb.run is None else wandb.run
        self._run.config.update(dict(plan.facts), allow_val_change=True)

    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """Log a dict of numbers."""
        self._run.log(dict(numbers), step=step)

    def close(self, *, failed: bool) -> None:
        """End the tracker's run, unless the user opened the run."""
        if self._run is not None and self._is_ours:
            self._run.finish(exit_code=int(failed))
        self._run = None


def _finite_numbers(numbers: Mapping[str, float | None]) -> Iterator[tuple[str, float]]:
    """Yield the numbers that are neither None, NaN nor infinite."""
    for name, value in numbers.items():
        if value is not None and math.isfinite(value):
            yield name, value


def _import(module: str, *, package: str) -> Any:
    """Import a library, or raise an error that explains how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this callback needs the package {package}, which cannot be imported "
            f"({error}); install it: pip install {package}"
        ) from error
