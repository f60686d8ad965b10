"""The function `fit`, which trains a model on labelled records."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from seqloom._arguments import quote
from seqloom._threads import limit_blas
from seqloom.errors import ArgumentError, MissingExtraError
from seqloom.models._ensemble import list_members
from seqloom.models._folder import opened_folder
from seqloom.models._torch_module import as_module
from seqloom.models._trained import config_of
from seqloom.nn import Config, Module
from seqloom.optim import Optimizer, Schedule
from seqloom.tensor import Backend
from seqloom.train._checkpoints import describe_resume
from seqloom.train._job import FitJob
from seqloom.train._parts import Parts, as_part, names_for
from seqloom.train._prepare import prepare
from seqloom.train._progress import (
    CallbackList,
    EpochLines,
    Progress,
    check_callbacks,
    is_interactive,
    require_methods,
)
from seqloom.train._ranks import Ranks, have_several_processes
from seqloom.train._run import Run
from seqloom.train._selection import check_selection, choose_networks
from seqloom.train._settings import FitSettings, read_arguments
from seqloom.train._training import make_training
from seqloom.train._values import (
    DEFAULT_LR,
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
    lr: float | Schedule | Callable[[int], float] = DEFAULT_LR,
    optimizer: Optimizer | Updates | None = None,
    seed: int = 0,
    backend: str | Backend | Computation = "numpy",
    out: str | os.PathLike[str] | RunFolder | None = None,
    resume: bool = False,
    progress: Progress | bool | None = None,
    callbacks: Sequence[Any] = (),
    **old: Any,
) -> Run:
    """Train a network, by default with AdamW and a learning rate that rises and falls.

    The trained model has the weights of the epoch with the lowest validation loss. Without
    a validation set, the model has the weights of the last epoch.

    With ``out``, the run folder contains ``config.json``, ``encoder.safetensors`` (for an
    encoder that learns), ``model.safetensors``, ``checkpoint/last.safetensors``,
    ``metrics.jsonl``, ``scores-valid.tsv``, ``scores-test.tsv``, ``labels-valid.tsv``,
    ``labels-test.tsv``, ``results.json``, the pictures and ``report.html``. Files are
    written atomically, so a run that is killed leaves no truncated file. A run can resume
    from a checkpoint, even in the middle of an epoch. A resumed run ends with exactly the
    weights of an uninterrupted run, on the same machine with the same number of threads.

    Under ``torchrun``, several processes train one network. Each process computes a
    fraction of every batch; the first process writes the files and reports progress.

    Args:
        model: ``"auto"``, a network, or the settings of a network (a `Config`).
            ``"auto"`` trains networks that suit the encoder, and fits linear
            models. The trained model is the model with the lowest loss on ``valid``, or
            the mean of up to three of them. ``run.candidates`` lists all models. A
            network is trained in place. ``seqloom.models.load`` can load a saved
            network only if the network has the attribute ``config`` with its settings.
            For each batch, ``fit`` calls the first of the methods ``logits``,
            ``forward`` and ``__call__`` that the network has. Each parameter of the
            method receives the array of the same name. If no array has the name of the
            first parameter, that parameter receives ``inputs``. ``key`` is the random
            key of the step, ``mask`` is None for batches without padding, and
            ``**options`` receives all other arrays. With ``backend="torch"``, the model
            can be a ``torch.nn.Module``, and its ``forward`` is called in the same way.
            The loss and the step of an `Objective` then receive PyTorch tensors and the
            module. After training, the module has the weights of the trained model.
        train: The training set: encoded sequences or genotypes with labels. An encoder that
            learns, such as that of genotypes, learns from the training set only, unless the
            encoder is already fitted. Arrays with a row for each record are also accepted,
            as a dict by name or a tuple of inputs and labels. Batches of such arrays are
            also accepted: a seqloom or PyTorch loader, a list, or any object that can be
            iterated once for each epoch.
        valid: The validation set, in any form that ``train`` accepts. The best epoch is the
            epoch with the lowest validation loss. Augmentation or jitter of ``valid`` or
            ``test`` raises a warning.
        test: The test set, on which the final model is evaluated once.
        objective: The task: ``"classify"``, ``"regress"``, ``"multilabel"``,
            ``"profile"`` or ``"custom"``; ``"auto"`` infers the task from the labels of the
            dataset. A loss function ``loss(logits, labels)`` is also accepted, or an
            `Objective`, which can also set a step, metrics and class weights.
        epochs: The number of passes over the training set. If None, the network's default
            is used. A network without a default is trained for 20 epochs. With a
            validation set, rounds of 20, 40 and 80 further epochs follow while the
            validation loss still falls. ``run.history`` and the report show the number of
            epochs. Pass `Epochs` to set early stopping.
        batch_size: The number of records in a batch. Pass `Batches` to accumulate the
            gradients of several batches.
        lr: The highest learning rate. A schedule of `seqloom.optim` is also accepted, or a
            function that returns the learning rate of a step, counted from 0. A ``Plateau``
            schedule is updated after each epoch with the validation loss, or without a
            validation set with the training loss.
        optimizer: An optimiser of `seqloom.optim`; if None, AdamW. Pass `Updates` to set
            weight decay, gradient clipping or weight averaging.
        seed: The seed of the initial weights, the order of the records and the dropout.
        backend: The array library and its device, as a name or a backend. Pass a
            `Computation` to set half precision, compiled steps or the number of threads.
        out: The run folder; if None, no files are written. Pass a `RunFolder` to set when
            checkpoints are written, how many are kept, and whether an existing run is
            replaced.
        resume: If True, continue from the last checkpoint in ``out``; without a checkpoint,
            start a new run.
        progress: If True, print a line for each epoch, with a bar on a terminal. If False,
            print nothing. If None, print a line for each epoch in a terminal or notebook;
            elsewhere, print a line to standard error at most every ten seconds. An object
            with some of the methods of `Progress` is also accepted.
        callbacks: Further objects with methods of `Progress`, such as `TensorBoard`,
            `MLflow`, `WandB` or your own. `fit` calls these objects in the given order,
            after ``progress``.
        old: Keyword arguments of older versions, which raise a DeprecationWarning. Use
            the fields of the classes above instead. Any other keyword raises an error
            that suggests the most similar name.

    Returns:
        The run: its trained model, its history, and its results on ``valid`` and ``test``.

    Raises:
        ArgumentError: An argument has an invalid value or type, or the network does not fit
            the data.
        BackendError: The `precision` would be slower than float32 on this machine.
        FileError: The folder cannot be written.
        GradientError: The loss is NaN or infinite.
        KeyboardInterrupt: The run was stopped; the message shows how to resume it.
        LabelError: The labels do not suit the task, or differ between the sets.
        RunFolderError: ``out`` is not a run folder, or contains a run with other data or
            settings.
        TypeError: A keyword argument does not exist.
        WorkerError: One of several processes that train the network together has ended.

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
    selects, model = model == "auto", as_module(model)
    if not (selects or isinstance(model, (Config, Module))):
        raise ArgumentError(
            f'model must be "auto", a Config or a Module, got {quote(model)}; '
            "create one with SequenceCNNConfig.for_data(train), or continue with run.model"
        )
    settings = FitSettings.of(given)
    callbacks = check_callbacks(callbacks)
    ranks = find_ranks()
    if selects:
        check_selection(train, valid, settings=settings, ranks=ranks)
        model = choose_networks(train, valid, test, stranded=settings.objective.stranded)
    settings.check(model, processes=ranks.world)
    names = names_for(model, has_step=settings.objective.step is not None)
    parts = Parts(*(as_part(part, names) for part in (train, valid, test)))
    # If several processes train, only the first process reports progress.
    if not ranks.is_first:
        progress, callbacks = False, []
    with (
        limit_blas(settings.target.threads),
        collect_callbacks(progress, callbacks) as watchers,
    ):
        job = prepare(model, parts, settings, ranks=ranks)
        networks = list_members(job.trained.model)
        if selects and any(config_of(it) is None for it in networks):
            raise ArgumentError(
                'model="auto" copies the selected network by its settings, but the network '
                "has no attribute config; set self.config = config in its __init__"
            )
        return _run_training(replace(job, selects=selects), watchers)


def find_ranks() -> Ranks:
    """Join the process group if torchrun started this process."""
    if not have_several_processes():
        return Ranks()
    try:
        from seqloom.train._torch_ranks import join_ranks
    except ImportError:
        raise MissingExtraError(
            f"WORLD_SIZE={os.environ['WORLD_SIZE']}: training with several processes "
            "needs PyTorch, which is not installed: pip install torch"
        ) from None
    return join_ranks()


@contextmanager
def collect_callbacks(
    progress: Progress | bool | None,  # noqa: FBT001 - as `fit` takes it
    callbacks: Sequence[Any] = (),
) -> Generator[CallbackList]:
    """Combine the arguments ``progress`` and ``callbacks`` of `fit` to one list."""
    if progress is True or (progress is None and is_interactive()):
        # Imported here, because rich loads slowly and most runs print nothing.
        from seqloom.train._watch import Watch, open_console

        with Watch(open_console()) as watch:
            yield CallbackList(watch, *callbacks)
    elif progress is None:
        has_stream = sys.stderr is not None
        yield CallbackList(EpochLines(sys.stderr) if has_stream else None, *callbacks)
    elif progress is False:
        yield CallbackList(*callbacks)
    else:
        require_methods("progress must be True, False or", progress)
        yield CallbackList(progress, *callbacks)


def _run_training(job: FitJob, watchers: CallbackList) -> Run:
    """Train in the run folder; if training stops, report why and how to resume the run."""
    folder, resume = job.settings.folder, job.settings.resume
    opened: AbstractContextManager[None] = nullcontext()
    if folder.path is not None:
        opened = opened_folder(folder.path, resume=resume, overwrite=folder.overwrite)
    with ExitStack() as stack:
        # Only the first process opens the run folder; the exit stack closes the folder.
        job.ranks.on_first(lambda: stack.enter_context(opened))
        try:
            return make_training(job, watchers).run()
        except KeyboardInterrupt as error:
            watchers.on_error(error)
            advice = describe_resume(folder.path) if job.ranks.is_first else "stopped"
            raise KeyboardInterrupt(advice) from None
        except BaseException as error:
            watchers.on_error(error)
            raise
