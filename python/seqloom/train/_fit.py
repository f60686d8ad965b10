"""fit: trains a model on labelled records, in one call."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from seqloom._arguments import quote
from seqloom._threads import limit_blas
from seqloom.errors import ArgumentError, MissingExtraError
from seqloom.models._folder import opened_folder
from seqloom.models._torch_module import as_module
from seqloom.nn import Config, Module
from seqloom.optim import Optimizer, Schedule
from seqloom.tensor import Backend
from seqloom.train._checkpoints import how_to_resume
from seqloom.train._job import Job
from seqloom.train._parts import Parts, as_part, names_for
from seqloom.train._prepare import prepare
from seqloom.train._progress import (
    EpochLines,
    Progress,
    Watchers,
    check_callbacks,
    is_watched,
    require_methods,
)
from seqloom.train._ranks import Ranks, are_started
from seqloom.train._run import Run
from seqloom.train._settings import Settings, read_arguments
from seqloom.train._training import make_training
from seqloom.train._values import (
    LR,
    Batches,
    Computation,
    Epochs,
    Objective,
    RunFolder,
    Updates,
)


def fit(
    model: Any,
    train: Any,
    valid: Any = None,
    *,
    test: Any = None,
    objective: str | Callable[[Any, Any], Any] | Objective = "auto",
    epochs: int | Epochs | None = None,
    batch_size: int | Batches = 64,
    lr: float | Schedule | Callable[[int], float] = LR,
    optimizer: Optimizer | Updates | None = None,
    seed: int = 0,
    backend: str | Backend | Computation = "numpy",
    out: str | os.PathLike[str] | RunFolder | None = None,
    resume: bool = False,
    progress: Progress | bool | None = None,
    callbacks: Sequence[Any] = (),
    **old: Any,
) -> Run:
    """Train a network: by default with AdamW, whose learning rate rises and then falls.

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
            the same way, the loss and the step of an `Objective` get torch's own tensors
            and module, and at the end it holds the weights that were kept.
        train: Encoded records with labels: of sequences or genotypes. An encoder that
            learns, such as genotypes have, learns from these alone, unless it is fitted.
            Or arrays, a row for each record: a dict by name, or a tuple of inputs and
            labels. Or batches of such arrays: a loader of ours or of torch, a list, or any
            object that can be iterated anew for each epoch.
        valid: The validation part, in one of these forms: its loss decides which epoch is
            kept. A warning says so if augmentation or jitter changes its records, or those
            of ``test``, in each epoch.
        test: Records to judge the final model on, once.
        objective: What the network learns. A task: ``"classify"``, ``"regress"``,
            ``"multilabel"`` or ``"custom"``; ``"auto"``, what the labels of a dataset are.
            Or a function ``loss(logits, labels)``. Or an `Objective`, which has a step,
            metrics and class weights too.
        epochs: How often every record is seen. None: what the network chooses, or 20
            times; then, with a validation part, rounds of 40 and 80 epochs follow while its
            loss still falls. ``run.history`` and the report say how many there were. Or
            `Epochs`, with early stopping.
        batch_size: How many records a step takes; or `Batches`, with accumulation.
        lr: The highest learning rate. Or a schedule of `seqloom.optim`, or a function of
            the step, from 0, that gives its learning rate. A ``Plateau`` observes the
            validation loss, or without a validation part the training loss, after each
            epoch.
        optimizer: An optimiser of `seqloom.optim`; None: AdamW. Or `Updates`, with weight
            decay, clipping and an average of the weights.
        seed: Decides the initial weights, the order of the records and the dropout.
        backend: The array library that computes, and its device: a name or a backend. Or
            a `Computation`, with half precision, compiled steps and a number of threads.
        out: The run folder; None keeps everything in memory. Or a `RunFolder`, which says
            when checkpoints are written, how many stay, and whether a run is replaced.
        resume: Go on from the last checkpoint in ``out``; without one, begin.
        progress: True prints a line an epoch, with a bar on a terminal; False prints
            nothing; None does so at a terminal and in a notebook, and elsewhere prints a
            line about an epoch to standard error, at most one each ten seconds. Or an
            object with some of the methods of `Progress`.
        callbacks: More such objects, called in this order after `progress`: your own, or
            `TensorBoard`, `MLflow` and `WandB`.
        old: Keywords of older versions, which are fields of the values above; they warn.
            Any other argument is an error that names the nearest one.

    Returns:
        The trained model, its history, and how it does on ``valid`` and ``test``.

    Raises:
        ArgumentError: A number makes no sense, an argument is of another type, or the
            network does not fit the data.
        BackendError: A `precision` would be slower than float32 here.
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
    given = read_arguments(
        {
            "test": test,
            "objective": objective,
            "epochs": epochs,
            "batch_size": batch_size,
            "lr": lr,
            "optimizer": optimizer,
            "seed": seed,
            "backend": backend,
            "out": out,
            "resume": resume,
            "progress": progress,
            "callbacks": callbacks,
        },
        old,
    )
    model = as_module(model)
    if not isinstance(model, (Config, Module)):
        raise ArgumentError(
            f"model must be a Config or a Module, got {quote(model)}; "
            "SequenceCNNConfig.for_data(train) makes one, and run.model is a trained one"
        )
    settings = Settings.of(given)
    callbacks = check_callbacks(callbacks)
    ranks = find_ranks()
    settings.check(model, processes=ranks.world)
    names = names_for(model, has_step=settings.objective.step is not None)
    parts = Parts(*(as_part(part, names) for part in (train, valid, test)))
    # Of several processes only the first one reports its progress.
    if not ranks.is_first:
        progress, callbacks = False, []
    with (
        limit_blas(settings.target.threads),
        watching(progress, callbacks) as watchers,
    ):
        return _run(prepare(model, parts, settings, ranks=ranks), watchers)


def find_ranks() -> Ranks:
    """Join the processes that torchrun has started, if it has."""
    if not are_started():
        return Ranks()
    try:
        from seqloom.train._torch_ranks import join_ranks
    except ImportError:
        raise MissingExtraError(
            f"WORLD_SIZE={os.environ['WORLD_SIZE']}: to train by several processes needs "
            "torch, which is not installed: pip install torch"
        ) from None
    return join_ranks()


@contextmanager
def watching(
    progress: Progress | bool | None,  # noqa: FBT001 - as `fit` takes it
    callbacks: Sequence[Any] = (),
) -> Generator[Watchers]:
    """Make the watchers that ``progress`` and ``callbacks`` of `fit` ask for."""
    if progress is True or (progress is None and is_watched()):
        # Imported here, because rich takes time to load and most runs print nothing.
        from seqloom.train._watch import Watch, open_console

        with Watch(open_console()) as watch:
            yield Watchers(watch, *callbacks)
    elif progress is None:
        has_stream = sys.stderr is not None
        yield Watchers(EpochLines(sys.stderr) if has_stream else None, *callbacks)
    elif progress is False:
        yield Watchers(*callbacks)
    else:
        require_methods("progress must be True, False or", progress)
        yield Watchers(progress, *callbacks)


def _run(job: Job, watchers: Watchers) -> Run:
    """Train in the run folder; reports an exception, and how to resume a stopped run."""
    folder, resume = job.settings.folder, job.settings.resume
    opened: AbstractContextManager[None] = nullcontext()
    if folder.path is not None:
        opened = opened_folder(folder.path, resume=resume, overwrite=folder.overwrite)
    with ExitStack() as stack:
        # Only the first of several processes opens the folder; the stack closes it.
        job.ranks.on_first(lambda: stack.enter_context(opened))
        try:
            return make_training(job, watchers).run()
        except KeyboardInterrupt as error:
            watchers.on_error(error)
            advice = how_to_resume(folder.path) if job.ranks.is_first else "stopped"
            raise KeyboardInterrupt(advice) from None
        except BaseException as error:
            watchers.on_error(error)
            raise
