"""The end of a run: judges the kept weights, and writes model, scores and report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom._warning import warn_user
from seqloom.errors import NoSkillWarning, SeenRecordsWarning
from seqloom.infer._doubts import describe_known
from seqloom.models import Classify, Trained
from seqloom.models._examples import noun_of
from seqloom.models._trained import config_of, write_config
from seqloom.models._trained_on import files_of, names_of
from seqloom.nn import Module
from seqloom.report import Report, Section, write_report
from seqloom.report._values import Fact
from seqloom.train._card import limits_of, write_card
from seqloom.train._checkpoint import State
from seqloom.train._judged import Part, no_better
from seqloom.train._letters import class_logos, mistakes_section
from seqloom.train._parts import Parts, count_samples
from seqloom.train._report import left_out, make_report
from seqloom.train._run import Run, write_results, write_scores
from seqloom.train._task import describe_conflicts

# To colour letters, a run scores at most one record for each so many that it learned from.
_SHARE = 20


@dataclass(frozen=True, slots=True)
class Ended:
    """A run whose last epoch is over."""

    trained: Trained
    parts: Parts
    state: State
    settings: dict[str, Fact]
    judge: Callable[[Any], Part | None]
    draws: bool

    def finish(self, folder: Path | None, *, writes: bool) -> Run:
        """Judges the kept weights and writes everything; doing so twice is harmless."""
        self.trained.model.load_record(self.state.best).eval()
        valid, test = map(self.judge, (self.parts.valid, self.parts.test))
        run = Run(
            trained=self.trained,
            history=self.state.history,
            best_epoch=self.state.best_epoch,
            folder=folder,
            valid=valid,
            test=test,
            report=self._report(
                "Training run" if folder is None else folder.name, valid, test
            ),
        )
        if folder is not None and writes:
            self._write(folder, run)
        if writes:
            self._warn(valid, test)
        return run

    def _warn(self, valid: Part | None, test: Part | None) -> None:
        """Warns of figures that are poor, or too good; points to where fit was called."""
        for sentence in self._seen(valid, test):
            warn_user(sentence, SeenRecordsWarning)
        for sentence in self._poor(valid, test):
            warn_user(sentence, NoSkillWarning)

    def _seen(self, valid: Part | None, test: Part | None) -> Iterator[str]:
        """Says which parts hold records that the model was trained on."""
        for name, part in (("validation", valid), ("test", test)):
            sentence = part and describe_known(
                self.trained.task,
                part.labels,
                part.scores,
                known=part.known,
                what=f"{name} records",
            )
            if sentence:
                yield sentence

    def _poor(self, valid: Part | None, test: Part | None) -> Iterator[str]:
        """Says on which parts the model is no better than without records."""
        for name, part in (("validation", valid), ("test", test)):
            sentence = part and no_better(self.trained.task, name, part)
            if sentence:
                yield sentence

    def _write(self, folder: Path, run: Run) -> None:
        """Writes the model, the scores and, if it is wanted, the report."""
        self.state.best.save(folder / "model.safetensors")
        write_scores(folder, run)
        write_card(
            folder, trained=run.trained, report=run.report, valid=run.valid, test=run.test
        )
        write_results(folder, run)
        write_config(folder, run.trained)
        if self.draws:
            write_report(folder, run.report)

    def _report(self, title: str, valid: Part | None, test: Part | None) -> Report:
        """Gathers what the report shows; the test part is the most telling."""
        pairs = {"test": test, "validation": valid}
        network = type(self.trained.model).__name__
        columns = " ".join(["learned", *([", ".join(self.trained.classes)])]).strip()
        return make_report(
            title=title,
            lead=f"{network} {columns} from {_count(self.parts.train)}.",
            task=self.trained.task,
            parts={name: part for name, part in pairs.items() if part is not None},
            history=self.state.history,
            best_epoch=None if valid is None else self.state.best_epoch,
            facts=self._facts(),
            notes=(
                *left_out(self.parts),
                *(f"{it}." for it in (describe_conflicts(self.parts.train),) if it),
                *(f"{it}." for it in self._seen(valid, test)),
                *(f"{it[0].upper()}{it[1:]}." for it in self._poor(valid, test)),
            ),
            sections=(self._limits(pairs), *self._sections(valid, test)),
        )

    def _limits(self, pairs: dict[str, Part | None]) -> Section:
        """Says what the figures do not show."""
        judged = {name: part for name, part in pairs.items() if part is not None}
        return Section(title="Limits", note=" ".join(limits_of(self.trained, judged)))

    def _sections(self, valid: Part | None, test: Part | None) -> Iterator[Section]:
        """Makes the sections with letters: the worst mistakes, and logos of classes."""
        pairs = {"test": (self.parts.test, test), "validation": (self.parts.valid, valid)}
        for name, (examples, part) in pairs.items():
            if part is not None and examples is not None:
                seen = len(self.state.history) * (count_samples(self.parts.train) or 0)
                most = seen // _SHARE
                section = mistakes_section(
                    self.trained, examples, part, name=name, most=most
                )
                yield from () if section is None else (section,)
                break
        if isinstance(self.trained.task, Classify):
            logos = class_logos(self.parts.train, self.trained.classes)
            yield from () if logos is None else (logos,)

    def _facts(self) -> dict[str, Fact]:
        """Adds the network and the data to the settings."""
        model = self.trained.model
        parameters = f"{model.number_of_parameters:,} parameters"
        sizes = {
            f"{name} records": count
            for name, part in self.parts.list_named()
            if (count := count_samples(part))
        }
        seconds = sum(row["seconds"] for row in self.state.history)
        return {
            "model": f"{type(model).__name__}, {parameters}",
            **_network_facts(model),
            **({"encoder": str(it)} if (it := self.trained.encoder) is not None else {}),
            "task": self.trained.task.name,
            **sizes,
            **self._files(),
            **self.settings,
            "seconds of training": round(seconds, 1),
        }

    def _files(self) -> dict[str, str]:
        """Names the files of each part; those of a part cut off are the whole's."""
        named = {name: names_of(files_of(part)) for name, part in self.parts.list_named()}
        return {
            f"{name} files": ", ".join(files)
            for name, files in named.items()
            if files and (name == "training" or files != named["training"])
        }


def _network_facts(model: Module) -> dict[str, str]:
    """Spells the settings of a network, where it keeps them."""
    config = config_of(model)
    return {} if config is None else {"network": str(config)}


def _count(part: Any) -> str:
    """Says how many records there are, by what they are called."""
    count = count_samples(part)
    return f"{count:,} {noun_of(part)}" if count else "the batches of a loader"
