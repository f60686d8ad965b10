"""Several processes for one job, one for each device; the folder is all that they share."""

from __future__ import annotations

import time
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, RunFolderError, WorkerError
from seqloom.infer.embedding._agree import PLAN
from seqloom.infer.embedding._call import check_loader
from seqloom.infer.embedding._member import Member
from seqloom.infer.embedding._summary import EmbedSummary, Progress
from seqloom.infer.monitor._verdict import IDLE, judge
from seqloom.io import SequenceIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.infer.embedding._call import Call


def run_team(
    call: Call, devices: Sequence[str], progress: Callable[[Progress], Any] | None
) -> EmbedSummary:
    """Starts a process for each device and waits until every shard is there."""
    names = check_devices(devices)
    call = prepare(call, count=len(names))
    team = Team(progress)
    try:
        for number, name in enumerate(names):
            team.members.append(Member.start(number, name, call))
        team.follow()
    finally:
        team.stop()
    return team.summarise()


def check_devices(devices: Sequence[str]) -> list[str]:
    """Refuses no devices."""
    is_list = not isinstance(devices, (str, bytes)) and hasattr(devices, "__iter__")
    names = [*devices] if is_list else []
    if not names or {*map(type, names)} != {str}:
        raise ArgumentError(
            'devices must be names of backends such as ["torch:cuda:0", "torch:cuda:1"], '
            f"got {quote(devices)}"
        )
    return names


def prepare(call: Call, *, count: int) -> Call:
    """Does once what each of several processes would do, and divides the threads."""
    check_loader(call.model)
    folder = call.open_folder()
    if not call.options["resume"] and PLAN in folder.names():
        raise RunFolderError(
            f"{call.out}: holds embeddings already; leave out resume=False (--no-resume) "
            "to go on with them, or give another folder"
        )
    for path in call.paths:
        SequenceIndex(path)
    threads = max(1, count_threads(call.options["num_threads"]) // count)
    return call.with_options(resume=True, num_threads=threads)


class Team:
    """The processes of a job, and what they have told."""

    def __init__(self, progress: Callable[[Progress], Any] | None) -> None:
        self.members: list[Member] = []
        self._tell, self._begun = progress, time.perf_counter()

    def follow(self) -> None:
        """Listens until all have ended; nobody is started again."""
        left = {member.news: member for member in self.members}
        while left:
            for news in wait([*left]):
                if not left[news].hear():
                    del left[news]
            self._pass_on()

    def stop(self) -> None:
        """Ends who still works."""
        for member in self.members:
            member.stop()
        for member in self.members:
            member.join()

    def _pass_on(self) -> None:
        """Tells how far all are together."""
        told = [it.progress for it in self.members if it.progress is not None]
        if self._tell is not None and told:
            self._tell(join_progress(told, self._seconds))

    @property
    def _seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._begun

    def summarise(self) -> EmbedSummary:
        """Says what all did; if nobody came to the end, why."""
        whole = [it.summary for it in self.members if it.summary is not None]
        fates = [it.fate for it in self.members if it.summary is None]
        if not whole:
            raise self._error(fates)
        notes = [f"{fate}; the others took over its shards" for fate in fates]
        return join_summaries(whole, notes, self._seconds)

    def _error(self, fates: Sequence[str]) -> BaseException:
        """Finds the error that ended the job: the first one that was told."""
        told = [it.error for it in self.members if it.error is not None]
        error = told[0] if told else WorkerError(fates[0])
        for fate in fates:
            error.add_note(fate)
        return error


def join_progress(parts: Sequence[Progress], seconds: float) -> Progress:
    """Adds up the progress of several processes."""
    tokens = [part.tokens for part in parts]
    return Progress(
        records=parts[0].records,
        done=max(part.done for part in parts),
        sequences=sum(part.sequences for part in parts),
        tokens=sum(tokens),
        seconds=seconds,
        fill=_weigh([part.fill for part in parts], tokens),
        waiting=sum(part.waiting for part in parts) / len(parts),
    )


def join_summaries(
    parts: Sequence[EmbedSummary], notes: Sequence[str], seconds: float
) -> EmbedSummary:
    """Adds up what several processes did."""
    tokens = [part.tokens for part in parts]
    shares = {
        kind: sum(part.shares[kind] for part in parts) / len(parts)
        for kind in parts[0].shares
    }
    verdict = judge(shares, seconds) if any(tokens) else IDLE
    every = [note for part in parts for note in part.notes]
    return EmbedSummary(
        records=parts[0].records,
        shards=parts[0].shards,
        computed=sum(part.computed for part in parts),
        sequences=sum(part.sequences for part in parts),
        tokens=sum(tokens),
        seconds=seconds,
        shares=shares,
        fill=_weigh([part.fill for part in parts], tokens),
        verdict=verdict.sentence,
        notes=(*dict.fromkeys([*every, *notes]),),
    )


def _weigh(values: Sequence[float], weights: Sequence[int]) -> float:
    """Returns the mean by weight; 0 where nothing weighs."""
    return float(np.average(values, weights=weights)) if any(weights) else 0.0
