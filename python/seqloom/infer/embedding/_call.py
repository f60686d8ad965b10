"""A call of `embed` as a value: it runs here, or goes to another process."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom._threads import limit_blas
from seqloom.errors import ArgumentError
from seqloom.infer.embedding._agree import agree
from seqloom.infer.embedding._job import Job
from seqloom.infer.embedding._loop import Loop
from seqloom.infer.embedding._model import Embedder
from seqloom.infer.embedding._place import claims_of, open_folder
from seqloom.infer.embedding._report import write_report
from seqloom.infer.embedding._settings import Settings
from seqloom.infer.embedding._tokens import find_tokens
from seqloom.infer.monitor._monitor import watch_device
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._summary import EmbedSummary, Progress


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of `embed`; with devices, `model` is the function that loads it."""

    model: Any
    paths: Sequence[str]
    out: str
    options: Mapping[str, Any]
    cloud_options: Mapping[str, str] | None = None

    def open_folder(self) -> OutputFolder:
        """Opens the folder of the output."""
        return open_folder(self.out, self.cloud_options)

    def from_anywhere(self) -> Call:
        """Names files so that a process in another folder finds them."""
        out = self.out if "://" in self.out else str(Path(self.out).absolute())
        paths = [str(Path(path).absolute()) for path in self.paths]
        return replace(self, paths=paths, out=out)

    def with_options(self, **options: Any) -> Call:
        """Changes some options."""
        return replace(self, options={**self.options, **options})

    def on(self, device: str) -> Call:
        """Loads the model on a device, by the function that stands in its place."""
        threads = self.options["num_threads"]
        model = self.model(backend=find_backend(device, num_threads=threads))
        return replace(self, model=model)

    def run(self, progress: Callable[[Progress], Any] | None = None) -> EmbedSummary:
        """Agrees on a plan with other processes, and computes what is left of it."""
        tokens = find_tokens(self.model, self.options["tokens"])
        settings = Settings.of(**{**self.options, "tokens": tokens})
        folder, embedder = self.open_folder(), Embedder(self.model, settings.layers)
        rules, width = settings.rules(embedder.name), embedder.width
        plan, digest = agree(
            folder, self.paths, rules=rules, settings=settings, width=width
        )
        monitor = watch_device(embedder.device.name)
        job = Job(
            plan, digest, folder, self.paths, embedder, settings, progress, monitor=monitor
        )
        return _run_job(job)


def _run_job(job: Job) -> EmbedSummary:
    """Computes what is left of a plan, and says in the folder how it went."""
    on_host = job.embedder.device.name == "cpu"
    limit = limit_blas(job.settings.threads) if on_host else nullcontext()
    watch = job.monitor or nullcontext()
    with limit, watch, claims_of(job.folder, job.settings.lease) as claims:
        summary = Loop(job, claims).run()
    write_report(job, summary)
    return summary


def check_loader(model: Any) -> None:
    """Refuses a model where a function is expected that loads it in each process."""
    if hasattr(model, "eval") or hasattr(model, "embed") or not callable(model):
        raise ArgumentError(
            "devices= starts a process for each device, which loads the model itself: "
            "model must be a function with a parameter backend, such as "
            "functools.partial(sl.models.ESM2.load, folder), got "
            f"{type(model).__name__}"
        )
