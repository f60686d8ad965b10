"""Ray as the scheduler of a job's processes: it finds machines and devices for them.

Nothing of the job goes through Ray. Its tasks claim shards of the folder as any other
process does, so Ray Data, which moves blocks of rows between tasks, has nothing to do here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from seqloom.errors import MissingExtraError, WorkerError
from seqloom.infer.embedding._agree import PLAN, read_plan
from seqloom.infer.embedding._summary import EmbedSummary, Progress
from seqloom.infer.embedding._team import check_devices, join_summaries, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.infer.embedding._call import Call

_PAUSE = 1.0  # seconds between looks at the folder
_RETRIES = 3  # of a task whose process or machine died


def run_on_ray(
    call: Call, devices: Sequence[str], progress: Callable[[Progress], Any] | None
) -> EmbedSummary:
    """Gives Ray a task for each device and waits until every shard is there."""
    ray, names = import_ray(), check_devices(devices)
    begun, call = time.perf_counter(), prepare(call.from_anywhere(), count=len(names))
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    tasks = [_start(ray, call, name) for name in names]
    try:
        whole, notes = _follow(ray, tasks, Teller(call, progress, begun))
    finally:
        for task in tasks:
            ray.cancel(task, force=True)
    return join_summaries(whole, notes, time.perf_counter() - begun)


def import_ray() -> Any:
    """Imports Ray."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError(
            'engine="ray" needs Ray: pip install ray; or leave engine out: '
            "processes that share a folder need no scheduler"
        ) from error
    return ray


def _start(ray: Any, call: Call, device: str) -> Any:
    """Gives Ray one task: a GPU of its own, or its share of the cores."""
    has_gpu = device.startswith("torch:cuda")
    needs = {"num_gpus": 1} if has_gpu else {"num_cpus": call.options["num_threads"]}
    # Ray shows a task its own GPU alone, which is then the first.
    name = "torch:cuda" if has_gpu else device
    return ray.remote(**needs, max_retries=_RETRIES)(_work).remote(call, name)


def _work(call: Call, device: str) -> EmbedSummary:
    """Computes what nobody else does."""
    return call.on(device).run()


def _follow(
    ray: Any, tasks: Sequence[Any], tell: Teller
) -> tuple[list[EmbedSummary], list[str]]:
    """Waits for all tasks; returns what they did, and why some did nothing."""
    whole: list[EmbedSummary] = []
    errors: list[Exception] = []
    left = [*tasks]
    while left:
        ended, left = ray.wait(left, timeout=_PAUSE)
        for task in ended:
            try:
                whole.append(ray.get(task))
            except ray.exceptions.RayError as error:
                errors.append(_cause_of(error))
        tell()
    if not whole:
        raise errors[0]
    return whole, [f"a task of Ray ended: {error}; others took over" for error in errors]


def _cause_of(error: Any) -> Exception:
    """Finds what a task raised; a machine that is gone raised nothing."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, Exception) else WorkerError(f"Ray: {error}")


class Teller:
    """Tells how far a job is, by the markers in its folder."""

    def __init__(
        self, call: Call, progress: Callable[[Progress], Any] | None, begun: float
    ) -> None:
        self._folder, self._tell, self._begun = call.open_folder(), progress, begun

    def __call__(self) -> None:
        if self._tell is None or PLAN not in (names := self._folder.names()):
            return
        plan, _ = read_plan(self._folder)
        done = sum(len(it) for it in plan.shards if f"{it.name}.done" in names)
        seconds = time.perf_counter() - self._begun
        self._tell(Progress(plan.records, done, done, 0, seconds, 0.0, 0.0))
