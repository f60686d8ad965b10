"""One call of `fit`, from its checks to its report."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seqloom.models import Custom, Trained
from seqloom.models._examples import noun_of
from seqloom.models._folder import (
    checkpoint_path,
    make_checkpoint_folder,
    opened_folder,
    write_history,
)
from seqloom.models._trained import save_config
from seqloom.nn import Config, Module
from seqloom.optim import AdamW, Optimizer
from seqloom.record import load
from seqloom.tensor import Backend
from seqloom.train._arrays import count_batches, count_samples
from seqloom.train._checkpoint import STEPS, State, load_checkpoint
from seqloom.train._checkpoints import Checkpoints, Interval
from seqloom.train._compiling import Compiling, is_worth_compiling
from seqloom.train._describe import ClassWeight
from seqloom.train._finish import Ended
from seqloom.train._machine import machine_facts
from seqloom.train._metrics import Metric
from seqloom.train._objective import Objective
from seqloom.train._parts import Parts
from seqloom.train._precision import scale_of
from seqloom.train._prepare import identity_of, prepare, spell_augment
from seqloom.train._progress import Plan
from seqloom.train._ranks import Ranks
from seqloom.train._rates import Rates, ScheduleLike
from seqloom.train._rounds import FIRST, ends_of_rounds
from seqloom.train._run import Run, aim_of
from seqloom.train._settings import Settings
from seqloom.train._signals import Held
from seqloom.train._trainer import Trainer
from seqloom.train._watching import Watchers


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one call of `fit` was asked for."""

    settings: Settings
    parts: Parts
    task: str
    class_weight: ClassWeight
    loss: Callable[[Any, Any], Any] | None
    step: Callable[..., Any] | None
    backend: Backend
    folder: Path | None
    report: bool
    interval: Interval
    keep: int
    optimizer: Optimizer | None
    schedule: ScheduleLike | None
    metrics: Mapping[str, Metric]
    compiles: bool | str
    ranks: Ranks

    @property
    def threads(self) -> int:
        """How many threads compute."""
        return self.backend.threads

    def run(
        self, model: Config | Module, progress: Watchers, *, resume: bool, overwrite: bool
    ) -> Run:
        """Checks everything, trains, judges and writes."""
        trained, parts = prepare(
            model,
            self.parts,
            self.settings,
            task=self.task,
            class_weight=self.class_weight,
            backend=self.backend,
        )
        with ExitStack() as stack:
            opened = self._opened_folder(resume=resume, overwrite=overwrite)
            self.ranks.on_first(lambda: stack.enter_context(opened))
            return self._run_in_folder(trained, parts, progress)

    def _run_in_folder(self, trained: Trained, parts: Parts, progress: Watchers) -> Run:
        """Trains, and tells the watchers of an error."""
        try:
            chosen = replace(self, settings=self.settings.for_network(trained.model))
            return chosen._work(trained, parts, progress)  # noqa: SLF001 - its own kind
        except KeyboardInterrupt as error:
            progress.on_error(error)
            said = _how_to_go_on(self.folder) if self.ranks.is_first else "stopped"
            raise KeyboardInterrupt(said) from None
        except BaseException as error:
            progress.on_error(error)
            raise

    @contextmanager
    def _opened_folder(self, *, resume: bool, overwrite: bool) -> Generator[None]:
        """Makes the folder ready, and keeps others out of it."""
        if self.folder is None:
            yield
            return
        with opened_folder(self.folder, resume=resume, overwrite=overwrite):
            make_checkpoint_folder(self.folder)
            yield

    @property
    def written(self) -> Path | None:
        """The folder that this process writes to: of several, one alone writes."""
        return self.folder if self.ranks.is_first else None

    def _work(self, trained: Trained, parts: Parts, progress: Watchers) -> Run:
        """Trains to the end and gives the run."""
        optimizer = self.optimizer or _optimizer(self.settings, trained.model)
        others = scale_of(self.settings.precision)
        state = State(trained.model, optimizer, others={**others})
        trainer = self._trainer(trained, parts, progress)
        if self.folder is not None:
            self._enter(self.folder, state, trainer)
        self.ranks.take_first(state.model)
        progress.on_start(self._plan(state, trainer))
        # Without a folder a stopped run leaves nothing, and may be stopped anywhere.
        with nullcontext() if self.folder is None else trainer.held.listening():
            trainer.run(state)
        ended = Ended(
            *(trained, parts, state, self._facts(state, trainer)),
            judge=trainer.judge_part,
            draws=self.report,
        )
        with self.ranks.sharing():
            run = ended.finish(self.folder, writes=self.ranks.is_first)
        progress.on_end(run)
        return run

    def _trainer(self, trained: Trained, parts: Parts, progress: Watchers) -> Trainer:
        """Makes the trainer of this run."""
        objective = self._objective(trained)
        is_compiled = self._is_compiled(parts.train)
        # A program cannot wait for other processes.
        is_on = is_compiled and not self.ranks.are_several
        refusal = ""
        if is_on and self.settings.precision == "float16":
            is_on, refusal = False, "a step in float16 may be skipped"
        compiling = Compiling(
            objective, is_on, is_asked=self.compiles is True, refusal=refusal
        )
        return Trainer(
            trained=trained,
            train=parts.train,
            valid=parts.valid,
            objective=objective,
            compiling=compiling,
            settings=self.settings,
            checkpoints=Checkpoints(
                self.written,
                identity_of(trained, parts, self.settings, compiled=is_compiled),
                self.interval,
                self.keep,
            ),
            folder=self.written,
            progress=progress,
            rates=Rates(self.settings.lr, self.schedule),
            metrics=self.metrics,
            ranks=self.ranks,
            held=Held(waits=self.ranks.are_several),
        )

    def _is_compiled(self, train: Any) -> bool:
        """Says whether the step is compiled; a run that goes on does as it did before."""
        if isinstance(self.compiles, bool):
            return self.compiles
        if self.folder is not None and (path := checkpoint_path(self.folder)).exists():
            return bool(load(path).metadata.get("identity", {}).get("compiled"))
        batches = count_batches(train, self.settings.batch_size)
        steps = batches * ends_of_rounds(self.settings.epochs, [])[0]
        name, has_step = self.backend.name, self.step is not None
        return is_worth_compiling(train, name, steps=steps, has_step=has_step)

    def _objective(self, trained: Trained) -> Objective:
        """Says what a step makes small."""
        return Objective(
            loss=self.loss or trained.task.loss,
            step=self.step,
            encoder=trained.encoder,
            task=trained.task if self.loss is None else None,
            is_custom=isinstance(trained.task, Custom),
            precision=self.settings.precision,
        )

    def _enter(self, folder: Path, state: State, trainer: Trainer) -> None:
        """Takes up a checkpoint, if there is one, and makes the folder agree with it."""
        checkpoint, identity = checkpoint_path(folder), trainer.checkpoints.identity
        self.ranks.require_same(identity)
        # What the first process sees decides.
        (is_there,) = self.ranks.sum_numbers(self.ranks.is_first and checkpoint.exists())
        if is_there:
            load_checkpoint(checkpoint, state, identity)
        self.ranks.on_first(lambda: _write_begin(folder, state, trainer))

    def _plan(self, state: State, trainer: Trainer) -> Plan:
        """Says what is about to be done."""
        return Plan(
            first_epoch=state.epoch + 1,
            first_batch=len(state.steps) + 1,
            epochs=ends_of_rounds(self.settings.epochs, state.history)[-1],
            batches=count_batches(self.parts.train, self.settings.batch_size),
            samples=count_samples(self.parts.train),
            noun=noun_of(self.parts.train),
            task=aim_of(trainer.trained),
            backend=state.model.backend.name,
            threads=self.threads,
            parameters=state.model.number_of_parameters,
            folder=self.folder,
            is_compiled=trainer.compiling.is_on,
            facts=self._facts(state, trainer),
        )

    def _facts(self, state: State, trainer: Trainer) -> dict[str, str]:
        """Gives the settings and the machine as the report shows them."""
        every = self.settings.to_dict() | {"class_weight": self.class_weight}
        if self.settings.epochs is None:
            every["epochs"] = _spell_epochs(state)
        every["optimizer"] = self.optimizer and _spell(self.optimizer.to_dict())
        every["schedule"] = self.schedule and repr(self.schedule)
        if self.optimizer is not None:
            every.pop("weight_decay")  # is its own
        if self.schedule is not None:
            every.pop("lr")
        every |= _changes_of(self.parts.train)
        every["compiled"] = trainer.compiling.describe()
        facts = {
            name.replace("_", " "): str(value)
            for name, value in every.items()
            if value is not None and name != "backend"
        }
        return facts | machine_facts(self.settings.backend, self.threads)


def _changes_of(train: Any) -> dict[str, Any]:
    """Spells how the training part differs from epoch to epoch."""
    augment = getattr(train, "augment", None)
    named = repr(augment) if hasattr(augment, "to_dict") else spell_augment(augment)
    return {"augmentation": named, "jitter": getattr(train, "jitter", None) or None}


def _spell_epochs(state: State) -> str:
    """Says how many epochs a run chose to make, and the weights of which one are kept."""
    if not state.epoch:
        return f"{FIRST} or more, in rounds while the validation loss falls"
    return f"{state.epoch}, in rounds; the weights of epoch {state.best_epoch} are kept"


def _optimizer(settings: Settings, model: Module) -> AdamW:
    """Makes the optimiser; what is no matrix (a bias, a normalisation) does not shrink."""
    flat = tuple(path for path, param in model.parameters() if len(param.shape) == 1)
    alike: tuple[str, ...] = getattr(model, "one_scale", ())
    optimizer = AdamW(weight_decay=settings.weight_decay or 0.0)
    return optimizer.group(flat, weight_decay=0.0).group(alike, one_scale=True)


def _spell(settings: dict[str, Any]) -> str:
    """Spells an optimiser as it is made."""
    values = [f"{name}={it!r}" for name, it in settings.items() if name != "class"]
    return f"{settings['class']}({', '.join(values)})"


def _write_begin(folder: Path, state: State, trainer: Trainer) -> None:
    """Makes the folder agree with where the run begins."""
    save_config(folder, trainer.trained)
    write_history(folder, state.history)


def _how_to_go_on(folder: Path | None) -> str:
    """Says what a stopped run has left."""
    if folder is None:
        return "stopped; nothing was kept, because no run folder was given"
    checkpoint = checkpoint_path(folder)
    if not checkpoint.exists():
        return f"stopped before the first step; nothing is saved in {folder} yet"
    record = load(checkpoint)
    epochs = len(record.metadata["history"])
    kept = [_count(epochs, "epoch")] if epochs else []
    if STEPS in record:
        place = "the next" if epochs else "the first epoch"
        kept.append(f"{_count(record[STEPS].shape[0], 'step')} of {place}")
    kept = " and ".join(kept)
    return f"stopped; {folder} keeps {kept}: go on with resume=True (--resume)"


def _count(number: int, noun: str) -> str:
    """Counts in words."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
