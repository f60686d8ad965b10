"""fit: trains a model on labelled records, in one call."""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any, Never

from seqloom._arguments import as_flag, as_integer, as_path
from seqloom._threads import limit_blas
from seqloom.models._torch_module import as_module
from seqloom.nn import Config, Module
from seqloom.optim import Optimizer, Schedule
from seqloom.tensor import Backend, backend as find_backend
from seqloom.train._checkpoints import FolderSettings, Interval, how_to_resume
from seqloom.train._judged import Metrics, list_metrics
from seqloom.train._parts import Parts, as_part
from seqloom.train._prepare import make_training, prepare
from seqloom.train._progress import Progress
from seqloom.train._ranks import Ranks, choose_device, find_ranks
from seqloom.train._run import Run
from seqloom.train._settings import (
    LR,
    Settings,
    check_compiled_step,
    check_kinds,
    check_known,
    check_settings,
)
from seqloom.train._task import choose_task, names_for
from seqloom.train._watchers import Watchers, check_callbacks, watching


def fit(
    model: Any,
    train: Any,
    valid: Any = None,
    *,
    task: str = "auto",
    epochs: int | None = None,
    batch_size: int = 64,
    lr: float = LR,
    weight_decay: float | None = None,
    optimizer: Optimizer | None = None,
    schedule: Schedule | Callable[[int], float] | None = None,
    loss: Callable[[Any, Any], Any] | None = None,
    step: Callable[..., Any] | None = None,
    metrics: Metrics = None,
    class_weight: str | Mapping[str, float] | Sequence[float] | None = None,
    early_stop: int | None = None,
    clip_norm: float | None = None,
    accumulate: int = 1,
    weight_average: float | str | None = None,
    drop_last: bool = False,
    seed: int = 0,
    precision: str = "float32",
    compile: bool | str = "auto",  # noqa: A002 - as torch's and ours
    backend: str | Backend = "numpy",
    num_threads: int | None = None,
    test: Any = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpoint_every: int | str | None = None,
    keep: int = 1,
    report: bool = True,
    progress: Progress | bool | None = None,
    callbacks: Sequence[Any] = (),
    **unknown: Never,
) -> Run:
    """Trains a network: by default with AdamW, whose learning rate rises and then falls.

    The weights that are kept are those of the epoch with the lowest validation loss, or
    of the last epoch where there is no validation part. With ``out`` the run folder holds
    ``config.json``, ``encoder.safetensors`` (of an encoder that learns),
    ``model.safetensors``, ``checkpoint/last.safetensors``, ``metrics.jsonl``,
    ``scores-valid.tsv``, ``scores-test.tsv``, ``labels-valid.tsv``, ``labels-test.tsv``,
    ``results.json``, the pictures and ``report.html``; each is whole or absent whenever the
    run is killed. A run that goes on from its checkpoint, also from one in the middle of an
    epoch, ends with the same weights, bit for bit (on one machine, with the same number of
    threads).

    Under ``torchrun`` the processes that it starts train one network: each takes its part
    of every batch, and the first one writes and reports.

    Args:
        model: Settings of a network, or a network. A network is trained in place;
            ``seqloom.models.load`` can make it again only if its attribute ``config`` holds
            its settings. Its method ``logits``, else ``forward`` or ``__call__``, gets the
            arrays of a batch that it asks for: each parameter takes the array of its name,
            the first one ``inputs`` if no array has its name, ``key`` the random key of the
            step, and ``mask`` is None where there is none. ``**options`` takes all others.
            Or a ``torch.nn.Module``, with ``backend="torch"``: its ``forward`` is called in
            the same way, `loss` and `step` get torch's own tensors and module, and at the
            end it holds the weights that were kept.
        train: Encoded records with labels: of sequences or genotypes. An encoder that
            learns, such as genotypes have, learns from these alone, unless it is fitted.
            Or arrays, a row for each record: a dict by name, or a tuple of inputs and
            labels. Or batches of such arrays: a loader of ours or of torch, a list, or any
            object that can be iterated anew for each epoch.
        valid: The validation part, in one of these forms: its loss decides which epoch is
            kept. A warning says so if augmentation or jitter changes its records, or those
            of ``test``, in each epoch.
        task: ``"classify"``, ``"regress"``, ``"multilabel"``, or ``"custom"``: the labels
            are of any kind, and `loss` or `step` knows what they mean. ``"auto"``: what
            the labels of a dataset are; custom for arrays, loaders and where there is a
            `step`.
        epochs: How often every record is seen. None: what the network chooses, or 20
            times; then, with a validation part, rounds of 40 and 80 epochs follow while its
            loss still falls. ``run.history`` and the report say how many there were.
        batch_size: How many records a step takes.
        lr: The highest learning rate; `schedule` replaces it.
        weight_decay: The weight decay; biases and normalisation have none. None: what the
            network chooses, or 0.01. An optimiser of yours has its own.
        optimizer: An optimiser of `seqloom.optim`; None: AdamW. One that averages weights,
            as ``ScheduleFreeAdamW`` does, is judged and kept at its average.
        schedule: A schedule of `seqloom.optim`, or a function of the step, from 0, that
            gives its learning rate. A ``Plateau`` observes the validation loss, or without
            a validation part the training loss, after each epoch.
        loss: ``loss(logits, labels)`` instead of the task's own. Labels are the array
            ``label``, ``labels``, ``y`` or ``target``.
        step: ``step(model, batch, key)`` instead of the network's method and a loss. It
            gets the network, all arrays of the batch as tensors by name (a tuple where the
            data are tuples), and a random key. It returns the loss; or a tuple of the loss
            and the outputs, of which `metrics` are computed; or of the loss and a dict of
            further numbers, whose means stand in the history. In validation the network is
            in evaluation mode.
        metrics: Further measures of the validation and the test part, by name: functions
            ``(labels, scores) -> number``, or objects with ``update(labels, scores)`` and
            ``compute()``. Scores are what the task makes of logits. A list of functions
            takes their own names.
        class_weight: What a record of each class counts: ``"balanced"``, a dict by name,
            or one number a class.
        early_stop: Stop after so many epochs without a lower validation loss.
        clip_norm: The largest norm of all gradients of a step together; larger ones are
            scaled down to it. None: any norm.
        accumulate: The number of batches whose gradients make one step. The step is that
            of one batch of all their records, but for batch normalisation, whose statistics
            are those of each batch. The last step of an epoch may take fewer batches.
        weight_average: The decay of a running average of the weights, such as 0.999 (EMA),
            or ``"equal"``, an average in which all steps count the same (SWA). The average
            is evaluated after each epoch and kept; buffers, as of batch normalisation, are
            those of the last weights. None: the weights themselves.
        drop_last: Leave out the last batch of an epoch if it is smaller than the others.
        seed: Decides the initial weights, the order of the records and the dropout.
        precision: ``"bfloat16"`` or ``"float16"`` computes products of a training step in
            half precision, as `seqloom.tensor.autocast` does: weights, gradients, sums and
            validation stay in float32. float16 multiplies the loss by a `LossScale`, which
            is in the checkpoint, and does not compile the step, because it may be skipped.
        compile: Whether forward, backward and update are one program, as
            ``seqloom.tensor.compile`` makes it. ``"auto"``: where the run is then shorter,
            on NumPy from 200 steps on and on JAX; for records of one length, and not for a
            network, optimiser, loss or `step` of the user's, whose Python code would run
            once only. The last bits of the weights may
            differ; a run that is resumed does as it did before.
        backend: The array library that computes, and its device: a name or a backend.
        num_threads: The threads to use; default: what the machine allows.
        test: Records to judge the final model on, once.
        out: The run folder; None keeps everything in memory.
        resume: Go on from the last checkpoint in ``out``; without one, begin.
        overwrite: Replace the run in ``out``.
        checkpoint_every: When checkpoints are written within an epoch: a number of steps
            of the run, a time such as ``"90s"``, ``"10min"`` or ``"2h"``, or ``"epoch"``
            for none. None: a minute after the last one, later where writing would take
            more than 2 % of the time. Each epoch ends with one, and so does a run that is
            stopped by Ctrl-C or SIGTERM.
        keep: How many checkpoints stay in ``out``. With 2 or more each is also
            ``checkpoint/step-00000120.safetensors``, and that of the best epoch stays too.
        report: Draw the pictures and ``report.html``. Without, the run's ``report`` can be
            changed first and written by ``seqloom.report.write_report``.
        progress: True prints a line an epoch, with a bar on a terminal; False prints
            nothing; None does so at a terminal and in a notebook, and elsewhere prints a
            line about an epoch to standard error, at most one each ten seconds. Or an
            object with some of the methods of `Progress`.
        callbacks: More such objects, called in this order after `progress`: your own, or
            `TensorBoard`, `MLflow` and `WandB`.
        unknown: An argument that there is not is an error that names the nearest one.

    Returns:
        The trained model, its history, and how it does on ``valid`` and ``test``.

    Raises:
        ArgumentError: A number makes no sense, an argument is of another type, or the
            network does not fit the data.
        BackendError: `precision` would be slower than float32 here.
        FileError: The folder cannot be written.
        GradientError: The loss is no number any more.
        KeyboardInterrupt: The run was stopped; the message says how to go on.
        LabelError: The labels cannot teach the task, or differ between the parts.
        RunFolderError: ``out`` holds something else, or a run of other data or settings.
        TypeError: There is no such argument.
        WorkerError: Another process that trains the network has ended.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n>c\\nACGC\\n")
        >>> labels = {"a": "yes", "b": "no", "c": "no"}
        >>> encoder = sl.encode.OneHot("dna")
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> config = sl.models.SequenceCNNConfig.for_data(data)
        >>> run = sl.train.fit(config, data, epochs=2, out="run")
        >>> len(run.history), sl.models.load("run").classes
        (2, ('no', 'yes'))
    """
    check_known(unknown, [*signature(fit).parameters][:-1])
    model = as_module(model)
    check_kinds(model, loss, resume=resume, has_folder=out is not None)
    callbacks = check_callbacks(callbacks)
    settings = Settings(
        epochs=epochs,
        batch_size=batch_size,
        lr=lr,
        weight_decay=weight_decay,
        early_stop=early_stop,
        clip_norm=clip_norm,
        accumulate=accumulate,
        weight_average=weight_average,
        drop_last=drop_last,
        seed=seed,
        target=find_backend(choose_device(backend), num_threads=num_threads),
        backend=backend if isinstance(backend, str) else backend.name,
        task=task,
        loss=loss,
        step=step,
        optimizer=optimizer,
        schedule=schedule,
        precision=precision,
        compile=compile,
        class_weight=class_weight,
        metrics=list_metrics(metrics),
    )
    check_settings(settings, model)
    ranks = find_ranks()
    check_compiled_step(compile, model, precision=precision, processes=ranks.world)
    names = names_for(model, has_step=step is not None)
    parts = Parts(*(as_part(part, names) for part in (train, valid, test)))
    chosen = choose_task(task, parts, has_step=step is not None, has_loss=loss is not None)
    settings = replace(settings, task=chosen)
    folder = FolderSettings(
        None if out is None else as_path("out", out, expected="a folder's path"),
        interval=Interval.of(checkpoint_every),
        keep=as_integer("keep (--keep)", keep, least=1),
        resume=resume,
        overwrite=as_flag("overwrite", overwrite),
        draws=as_flag("report", report),
    )
    # Of several processes only the first one reports its progress.
    if not ranks.is_first:
        progress, callbacks = False, []
    with (
        limit_blas(settings.target.threads),
        watching(progress, callbacks) as watchers,
    ):
        return _run(model, parts, settings, folder=folder, watchers=watchers, ranks=ranks)


def _run(
    model: Config | Module,
    parts: Parts,
    settings: Settings,
    *,
    folder: FolderSettings,
    watchers: Watchers,
    ranks: Ranks,
) -> Run:
    """Checks that network and data fit, then trains in the run folder."""
    trained, parts = prepare(model, parts, settings)
    with ExitStack() as stack:
        # Only the first of several processes opens the folder; the stack closes it.
        ranks.on_first(lambda: stack.enter_context(folder.opened()))
        with _reporting_errors(watchers, folder, ranks):
            training = make_training(
                trained, parts, settings, folder=folder, watchers=watchers, ranks=ranks
            )
            return training.run(draws=folder.draws)


@contextmanager
def _reporting_errors(
    watchers: Watchers, folder: FolderSettings, ranks: Ranks
) -> Generator[None]:
    """Tells the watchers of an exception, and a stopped user how to resume."""
    try:
        yield
    except KeyboardInterrupt as error:
        watchers.on_error(error)
        advice = how_to_resume(folder.path) if ranks.is_first else "stopped"
        raise KeyboardInterrupt(advice) from None
    except BaseException as error:
        watchers.on_error(error)
        raise
