"""The end of a run: judges the kept weights, and writes model, scores and report."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seqloom._warning import warn_user
from seqloom.errors import NoSkillWarning, SeenRecordsWarning
from seqloom.infer._doubts import describe_known
from seqloom.models import Classify, Trained
from seqloom.models._examples import noun_of
from seqloom.models._trained import write_config
from seqloom.report import Report, Section, write_report
from seqloom.report._values import Fact
from seqloom.train._card import limits_of, write_card
from seqloom.train._checkpoint import State
from seqloom.train._facts import all_facts_of
from seqloom.train._judged import Part, no_better
from seqloom.train._letters import class_logos, mistakes_section
from seqloom.train._parts import Parts, count_samples
from seqloom.train._report import left_out, make_report
from seqloom.train._run import Run, write_results, write_scores
from seqloom.train._task import describe_conflicts

# To colour letters, a run scores at most one record for each so many that it learned from.
_SHARE = 20
_IN_ORDER = ("validation", "test")  # of warnings


def finish(
    trained: Trained,
    parts: Parts,
    state: State,
    *,
    judge: Callable[[Any], Part | None],
    settings: dict[str, Fact],
    folder: Path | None,
    writes: bool,
    draws: bool,
) -> Run:
    """Judges the kept weights and writes everything; doing so twice is harmless."""
    trained.model.load_record(state.best).eval()
    valid, test = map(judge, (parts.valid, parts.test))
    # The test part is the most telling.
    judged = {"test": test, "validation": valid}
    judged_parts = {name: part for name, part in judged.items() if part is not None}
    title = "Training run" if folder is None else folder.name
    facts = all_facts_of(trained, parts, history=state.history, settings=settings)
    run = Run(
        trained=trained,
        history=state.history,
        best_epoch=state.best_epoch,
        folder=folder,
        valid=valid,
        test=test,
        report=_report(
            trained, parts, state, judged=judged_parts, title=title, facts=facts
        ),
    )
    if writes:
        if folder is not None:
            _write(folder, run, state, draws=draws)
        for sentence in _list_seen(trained, judged_parts):
            warn_user(sentence, SeenRecordsWarning)
        for sentence in _list_poor(trained, judged_parts):
            warn_user(sentence, NoSkillWarning)
    return run


def _list_seen(trained: Trained, judged: dict[str, Part]) -> Iterator[str]:
    """Says which parts hold records that the model was trained on."""
    for name in _IN_ORDER:
        if (part := judged.get(name)) is not None:
            sentence = describe_known(
                trained.task,
                part.labels,
                part.scores,
                known=part.known,
                what=f"{name} records",
            )
            yield from (sentence,) if sentence else ()


def _list_poor(trained: Trained, judged: dict[str, Part]) -> Iterator[str]:
    """Says on which parts the model is no better than without records."""
    for name in _IN_ORDER:
        if (part := judged.get(name)) is not None:
            sentence = no_better(trained.task, name, part)
            yield from (sentence,) if sentence else ()


def _write(folder: Path, run: Run, state: State, *, draws: bool) -> None:
    """Writes the model, the scores and, if it is wanted, the report."""
    state.best.save(folder / "model.safetensors")
    write_scores(folder, run)
    write_card(
        folder, trained=run.trained, report=run.report, valid=run.valid, test=run.test
    )
    write_results(folder, run)
    write_config(folder, run.trained)
    if draws:
        write_report(folder, run.report)


def _report(
    trained: Trained,
    parts: Parts,
    state: State,
    *,
    judged: dict[str, Part],
    title: str,
    facts: dict[str, Fact],
) -> Report:
    """Gathers what the report shows."""
    network, columns = type(trained.model).__name__, ", ".join(trained.classes)
    learned = f"learned {columns}".strip()
    conflicts = describe_conflicts(parts.train)
    limits = Section(title="Limits", note=" ".join(limits_of(trained, judged)))
    return make_report(
        title=title,
        lead=f"{network} {learned} from {_count(parts.train)}.",
        task=trained.task,
        parts=judged,
        history=state.history,
        best_epoch=state.best_epoch if "validation" in judged else None,
        facts=facts,
        notes=(
            *left_out(parts),
            *((f"{conflicts}.",) if conflicts else ()),
            *(f"{it}." for it in _list_seen(trained, judged)),
            *(f"{it[0].upper()}{it[1:]}." for it in _list_poor(trained, judged)),
        ),
        sections=(limits, *_letter_sections(trained, parts, state, judged=judged)),
    )


def _letter_sections(
    trained: Trained, parts: Parts, state: State, *, judged: dict[str, Part]
) -> Iterator[Section]:
    """Makes the sections with letters: the worst mistakes, and logos of classes."""
    sources = {"test": parts.test, "validation": parts.valid}
    for name, part in list(judged.items())[:1]:
        seen = len(state.history) * (count_samples(parts.train) or 0)
        section = mistakes_section(
            trained, sources[name], part, name=name, most=seen // _SHARE
        )
        yield from () if section is None else (section,)
    if isinstance(trained.task, Classify):
        logos = class_logos(parts.train, trained.classes)
        yield from () if logos is None else (logos,)


def _count(part: Any) -> str:
    """Says how many records there are, by what they are called."""
    count = count_samples(part)
    return f"{count:,} {noun_of(part)}" if count else "the batches of a loader"
