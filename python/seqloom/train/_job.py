"""One call of `fit`, from its checks to its report."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seqloom._signals import HeldSignals
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
from seqloom.report._values import Fact
from seqloom.tensor import Backend
from seqloom.train._card import write_card_of_unfinished
from seqloom.train._checkpoint import State, load_checkpoint
from seqloom.train._checkpoints import Checkpoints, Interval, how_to_resume
from seqloom.train._compiling import Compiling, find_user_object, is_worth_compiling
from seqloom.train._facts import changes_of, machine_facts, name_settings
from seqloom.train._finish import Ended
from seqloom.train._judged import Metric
from seqloom.train._objective import Objective
from seqloom.train._parts import Parts, count_batches, count_samples
from seqloom.train._precision import scale_of
from seqloom.train._prepare import identity_of, prepare
from seqloom.train._progress import Plan
from seqloom.train._ranks import Ranks
from seqloom.train._run import Run, aim_of
from seqloom.train._schedule import FIRST, Rates, ScheduleLike, ends_of_rounds, most_epochs
from seqloom.train._settings import Settings
from seqloom.train._step_maker import StepMaker
from seqloom.train._task import ClassWeight
from seqloom.train._trainer import Trainer
from seqloom.train._update import list_undecayed, make_accumulation, make_average
from seqloom.train._validation import Validation
from seqloom.train._watchers import Watchers


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The checked arguments of one call of `fit`; `run` trains by them."""

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
        self, model: Config | Module, watchers: Watchers, *, resume: bool, overwrite: bool
    ) -> Run:
        """Checks that network and data fit, trains, judges and writes."""
        trained, parts = prepare(
            model,
            self.parts,
            self.settings,
            task=self.task,
            class_weight=self.class_weight,
            backend=self.backend,
        )
        with ExitStack() as stack:
            # Only the first of several processes opens the folder; the stack closes it.
            opened = self._opened_folder(resume=resume, overwrite=overwrite)
            self.ranks.on_first(lambda: stack.enter_context(opened))
            return self._report_errors(trained, parts, watchers)

    @contextmanager
    def _opened_folder(self, *, resume: bool, overwrite: bool) -> Generator[None]:
        """Makes the folder ready, and locks it against other runs."""
        if self.folder is None:
            yield
            return
        with opened_folder(self.folder, resume=resume, overwrite=overwrite):
            make_checkpoint_folder(self.folder)
            yield

    def _report_errors(self, trained: Trained, parts: Parts, watchers: Watchers) -> Run:
        """Trains; tells the watchers of an exception, and a stopped user how to resume."""
        try:
            settings = self.settings.for_network(trained.model)
            return replace(self, settings=settings).train(trained, parts, watchers)
        except KeyboardInterrupt as error:
            watchers.on_error(error)
            advice = how_to_resume(self.folder) if self.ranks.is_first else "stopped"
            raise KeyboardInterrupt(advice) from None
        except BaseException as error:
            watchers.on_error(error)
            raise

    def train(self, trained: Trained, parts: Parts, watchers: Watchers) -> Run:
        """Trains, judges and writes."""
        optimizer = self.optimizer or _default_optimizer(self.settings, trained.model)
        state = State(trained.model, optimizer)
        state.others |= scale_of(self.settings.precision)
        state.others |= make_average(self.settings.weight_average)
        state.others |= make_accumulation(self.settings.accumulate)
        trainer = self._trainer(trained, parts, watchers)
        if self.folder is not None:
            self._resume_or_begin(self.folder, state, trainer, trained=trained)
        self.ranks.take_first(state.model)
        watchers.on_start(self._plan(trained, state, trainer))
        # Without a folder there is no checkpoint to write: a signal stops the run at once.
        with nullcontext() if self.folder is None else trainer.signals.listening():
            trainer.run(state)
        ended = Ended(
            trained=trained,
            parts=parts,
            state=state,
            settings=self._facts(state, trainer),
            judge=trainer.validation.judge,
            draws=self.report,
        )
        with self.ranks.sharing():
            run = ended.finish(self.folder, writes=self.ranks.is_first)
        watchers.on_end(run)
        return run

    @property
    def _writable_folder(self) -> Path | None:
        """The run folder in the process that writes to it; None in the other ones."""
        return self.folder if self.ranks.is_first else None

    def _trainer(self, trained: Trained, parts: Parts, watchers: Watchers) -> Trainer:
        """Makes the trainer of this run, with all that it works with."""
        settings, folder, objective = (
            self.settings,
            self._writable_folder,
            self._objective(trained),
        )
        is_compiled = self._is_compiled(trained, parts.train)
        identity = identity_of(trained, parts, settings, compiled=is_compiled)
        return Trainer(
            train=parts.train,
            step_maker=StepMaker(
                train=parts.train,
                task=trained.task,
                objective=objective,
                compiling=self._compiling(trained, objective, is_compiled=is_compiled),
                settings=settings,
                ranks=self.ranks,
                folder=folder,
            ),
            validation=Validation(
                part=parts.valid,
                trained=trained,
                objective=objective,
                settings=settings,
                metrics=self.metrics,
                ranks=self.ranks,
            ),
            settings=settings,
            checkpoints=Checkpoints(folder, identity, self.interval, self.keep),
            folder=folder,
            watchers=watchers,
            rates=Rates(settings.lr, self.schedule),
            ranks=self.ranks,
            signals=HeldSignals(waits=self.ranks.are_several),
        )

    def _compiling(
        self, trained: Trained, objective: Objective, *, is_compiled: bool
    ) -> Compiling:
        """Makes what compiles the step, turned off where the step cannot be compiled."""
        # A compiled step cannot wait for other processes.
        is_on, refusal = is_compiled and not self.ranks.are_several, ""
        if is_on and self.settings.precision == "float16":
            is_on, refusal = False, "a step in float16 may be skipped"
        if self.compiles == "auto" and not is_compiled:
            refusal = self._explain_no_compile(trained)
        is_asked = self.compiles is True
        return Compiling(objective, is_on, is_asked=is_asked, refusal=refusal)

    def _explain_no_compile(self, trained: Trained) -> str:
        """Names the user's object in the step, which is then compiled on request only."""
        name = find_user_object(trained.model, self.optimizer, self.loss)
        return (
            f"{name} is no part of seqloom; compile=True compiles the step" if name else ""
        )

    def _is_compiled(self, trained: Trained, train: Any) -> bool:
        """Says whether the step is to be compiled; a resumed run does as it did before."""
        if isinstance(self.compiles, bool):
            return self.compiles
        if self.folder is not None and (path := checkpoint_path(self.folder)).exists():
            return bool(load(path).metadata.get("identity", {}).get("compiled"))
        if self.step is not None or self._explain_no_compile(trained):
            return False
        batches = self._count_batches(train)
        steps = batches * ends_of_rounds(self.settings.epochs, [])[0]
        return is_worth_compiling(train, self.backend.name, steps=steps)

    def _count_batches(self, train: Any) -> int:
        """Counts the batches of an epoch; 0 where a loader does not know."""
        settings = self.settings
        return count_batches(train, settings.batch_size, drop_last=settings.drop_last)

    def _objective(self, trained: Trained) -> Objective:
        """Makes the objective: the loss that the steps of the run minimise."""
        return Objective(
            loss=self.loss or trained.task.loss,
            step=self.step,
            encoder=trained.encoder,
            task=trained.task if self.loss is None else None,
            is_custom=isinstance(trained.task, Custom),
            precision=self.settings.precision,
        )

    def _resume_or_begin(
        self, folder: Path, state: State, trainer: Trainer, *, trained: Trained
    ) -> None:
        """Loads the checkpoint, if there is one, and writes where the run begins."""
        checkpoint, identity = checkpoint_path(folder), trainer.checkpoints.identity
        self.ranks.require_same(identity)
        # The first process decides for all, because a disk may show others another folder:
        # the sum is 1 if the first one sees a checkpoint.
        (is_there,) = self.ranks.sum_numbers(self.ranks.is_first and checkpoint.exists())
        if is_there:
            load_checkpoint(checkpoint, state, identity)
        self.ranks.on_first(lambda: _write_begin(folder, state, trained))

    def _plan(self, trained: Trained, state: State, trainer: Trainer) -> Plan:
        """Describes the run to come, for the watchers."""
        return Plan(
            first_epoch=state.epoch + 1,
            first_batch=len(state.steps) + 1,
            epochs=ends_of_rounds(self.settings.epochs, state.history)[-1],
            batches=self._count_batches(self.parts.train),
            samples=count_samples(self.parts.train),
            noun=noun_of(self.parts.train),
            task=aim_of(trained),
            backend=state.model.backend.name,
            threads=self.threads,
            parameters=state.model.number_of_parameters,
            folder=self.folder,
            is_compiled=trainer.step_maker.compiling.is_on,
            network=type(getattr(state.model, "module", state.model)).__name__,
            most_epochs=most_epochs(
                self.settings.epochs, has_valid=self.parts.valid is not None
            ),
            facts=self._facts(state, trainer),
        )

    def _facts(self, state: State, trainer: Trainer) -> dict[str, Fact]:
        """Names the settings and the machine, for the report."""
        settings = self.settings
        further: dict[str, Any] = {"class_weight": self.class_weight}
        if settings.epochs is None:
            further["epochs"] = _spell_epochs(state)
        further |= changes_of(self.parts.train)
        further["compiled"] = trainer.step_maker.compiling.describe()
        facts = name_settings(settings, self.optimizer, self.schedule, **further)
        return facts | machine_facts(settings.backend, self.threads)


def _spell_epochs(state: State) -> str:
    """Says how many epochs a run chose to make, and the weights of which one are kept."""
    if not state.epoch:
        return f"{FIRST} or more, in rounds while the validation loss falls"
    return f"{state.epoch}, in rounds; the weights of epoch {state.best_epoch} are kept"


def _default_optimizer(settings: Settings, model: Module) -> AdamW:
    """Makes the default optimiser; biases and normalisation have no weight decay."""
    with_one_scale: tuple[str, ...] = getattr(model, "one_scale", ())
    optimizer = AdamW(weight_decay=settings.weight_decay or 0.0)
    optimizer = optimizer.group(list_undecayed(model), weight_decay=0.0)
    return optimizer.group(with_one_scale, one_scale=True)


def _write_begin(folder: Path, state: State, trained: Trained) -> None:
    """Writes the settings, and the history without the epochs after the checkpoint."""
    save_config(folder, replace(trained, is_finished=False))
    write_history(folder, state.history)
    write_card_of_unfinished(folder)
