"""Writers of many files: runs, embeddings, caches, exported models, reports."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import seqloom as sl
from faults._file_writers import draw_genotypes, draw_records, write_fasta
from faults._story import Writer, digest, do_nothing, names
from seqloom.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

DNA = sl.encode.OneHot("dna")
TASK = sl.models.Classify(("no", "yes"))
TABLE = np.random.default_rng(7).normal(size=(33, 8)).astype(np.float32)
CONFIG = sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(8,), kernel_size=5)
PROGRAM = Path(sl.__file__).parent / "_rust/seqloom-run"


def _dataset(path: Path) -> sl.data.Dataset:
    """Return labelled sequences."""
    if not path.exists():
        write_fasta(path, 3)
    labels = {name: ("no", "yes")["GC" in text] for name, text in draw_records(3)}
    return sl.data.SequenceDataset(path, encoder=DNA, labels=labels)


def make_network(seed: int = 0) -> Any:
    """Create a network with random weights."""
    model, rng = CONFIG.init("numpy").eval(), np.random.default_rng(seed)
    drawn = {
        path: rng.uniform(0.1, 1, size=each.shape).astype("f4")
        for path, each in model.to_record().items()
        if each.dtype.kind == "f"
    }
    return model.load_record(drawn, strict=False)


def _fit(place: Path, *, report: bool = False, keep: int = 1) -> None:
    """Train, or resume a stopped run."""
    data, run = _dataset(place.parent / "train.fa"), place / "run"
    is_begun = (run / "config.json").exists()
    sl.train.fit(
        CONFIG,
        data,
        data,
        out=sl.train.RunFolder(
            run, checkpoint_every=2, keep=keep, report=report, overwrite=not is_begun
        ),
        epochs=2,
        batch_size=16,
        seed=1,
        backend=sl.train.Computation(num_threads=1),
        progress=False,
        resume=is_begun,
    )


def _read_run(place: Path) -> str:
    return digest(place / "run/model.safetensors", place / "run/scores-valid.tsv")


def _broken_run(place: Path) -> list[str]:
    """Return the names of the unreadable files of a run."""
    broken = []
    for path in (place / "run").rglob("[!.]*"):
        try:
            if path.suffix == ".safetensors":
                [np.asarray(array) for array in sl.record.load(path).values()]
            if path.suffix == ".json":
                json.loads(path.read_bytes())
        except ValueError as error:
            broken.append(f"{path.name}: {error}")
    return broken


def _embed_without_links(place: Path) -> None:
    """Embed sequences on a file system without hard links."""

    def refuse(*paths: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), *paths[:1])

    os.link, link = refuse, os.link
    try:
        _embed(place)
    finally:
        os.link = link


def _broken_shards(place: Path) -> list[str]:
    """Return the shards that are marked as complete but are incomplete."""
    broken = []
    for marker in (place / "out").glob("*.done"):
        told = json.loads(marker.read_text(encoding="utf-8"))
        shard = marker.parent / told["file"]
        if not shard.exists() or sha256(shard.read_bytes()).hexdigest() != told["sha256"]:
            broken.append(marker.name)
    return broken


def look_up(batch: dict[str, Any]) -> Any:
    """Return the table row of each token, as a model would."""
    return TABLE[batch["input_ids"]]


def _embed(place: Path) -> None:
    """Embed sequences, or resume a stopped job."""
    fasta = place.parent / "x.fa"
    if not fasta.exists():
        write_fasta(fasta, 3)
    sl.infer.embed(
        look_up, fasta, out=place / "out", shard_size=20,
        tokens=sl.encode.Tokens("dna"), identity="table", num_threads=1,
    )  # fmt: skip


def _read_embeddings(place: Path) -> str:
    return digest(*sorted((place / "out").glob("*.safetensors")))


def export_model(place: Path, *, name: str, seed: int = 2) -> None:
    """Export a network for use without Python."""
    sl.export.save(make_network(seed), place / name, encoder=DNA, task=TASK, overwrite=True)


def _read_export(place: Path, *, name: str) -> str:
    """Score a record with seqloom-run, which checks the hashes of all model files."""
    write_fasta(place.parent / "one.fa", 9)
    done = run_program(place / name, place.parent / "one.fa", env=_clean())
    return done.stdout.decode()[:400]


def run_program(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run seqloom-run; raise an exception with its error message or signal."""
    command = [PROGRAM, "predict", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, **options)
    if done.returncode < 0:
        os.kill(os.getpid(), -done.returncode)
        signal.pause()
    if done.returncode:
        raise FileError(done.stderr.decode())
    return done


def _clean() -> dict[str, str]:
    return {name: it for name, it in os.environ.items() if name != "SEQLOOM_FAULT"}


def _save_onnx(place: Path, *, seed: int = 2) -> None:
    sl.export.onnx(
        make_network(seed), place / "m.onnx", encoder=DNA, task=TASK, overwrite=True
    )


def _score(place: Path) -> None:
    """Score with seqloom-run in a process that also loads the fault library."""
    if not (place.parent / "m.zip").exists():
        export_model(place.parent, name="m.zip")
        write_fasta(place.parent / "many.fa", 3)
    run_program(
        place.parent / "m.zip", place.parent / "many.fa", "--threads", "1",
        "--out", place / "scores.tsv", "--overwrite",
    )  # fmt: skip


def _before_scores(place: Path) -> None:
    (place / "scores.tsv").write_text("old\n", encoding="ascii")
    export_model(place.parent, name="m.zip")
    write_fasta(place.parent / "many.fa", 3)


def _cached_data(place: Path) -> Any:
    return sl.data.cached(_dataset(place.parent / "x.fa"), place / "cache")


def _read_cached(place: Path) -> str:
    return repr([np.asarray(item["inputs"]).sum().item() for item in _cached_data(place)])


def _genotype_data(place: Path) -> sl.data.Dataset:
    bed = place.parent / "x.bed"
    if not bed.exists():
        sl.io.to_bed(bed, draw_genotypes(1, (30, 50)))
    return sl.data.GenotypeDataset(bed, memory=0, cache=place / "cache", num_threads=1)


def _read_genotypes(place: Path) -> str:
    return repr(
        [
            round(float(np.asarray(item["inputs"]).sum()), 3)
            for item in _genotype_data(place)
        ]
    )


def _write_report(place: Path, *, value: float = 0.9) -> None:
    losses = {"training": [value, 0.5], "validation": [0.8, 0.6]}
    curves = (sl.report.Curve("loss", losses),)
    sl.report.write_report(place, sl.report.Report(title=f"run {value}", curves=curves))


def _read_report(place: Path) -> list[Any]:
    return [names(place), digest(place / "report.html")]


def _read_onnx(place: Path) -> str:
    return digest(place / "m.onnx")


def _read_scores(place: Path) -> str:
    return digest(place / "scores.tsv")


def job_writers() -> Iterator[Writer]:
    """Return all writers of jobs."""
    run = partial(
        Writer, prepare=do_nothing, read=_read_run, is_job=True, broken=_broken_run
    )
    yield run("run, one checkpoint", write=_fit, step=12)
    yield run("run, three checkpoints", write=partial(_fit, keep=3), step=25)
    yield run("run, report and pictures", write=partial(_fit, report=True), step=200)
    shards = partial(
        Writer,
        prepare=do_nothing,
        read=_read_embeddings,
        is_job=True,
        optional=("out/report.html",),  # Index of the call that computes a shard.
        broken=_broken_shards,
    )
    yield shards("embeddings", write=_embed, step=8)
    yield shards("embeddings, disk without links", write=_embed_without_links, step=16)
    yield _export_writer("model.seqloom", "folder", step=2)
    yield _export_writer("model.zip", "zip", step=1)
    yield Writer(
        "exported model, ONNX", partial(_save_onnx, seed=1), _save_onnx, _read_onnx
    )
    yield Writer("scores, seqloom-run", _before_scores, _score, _read_scores)
    yield Writer("cache, sequences", do_nothing, _cached_data, _read_cached, is_job=True)
    yield Writer(
        "cache, genotypes", do_nothing, _genotype_data, _read_genotypes, is_job=True
    )
    before = partial(_write_report, value=0.7)
    yield Writer("report", before, _write_report, _read_report, is_job=True, step=8)


def _export_writer(name: str, what: str, *, step: int) -> Writer:
    """Return the writer of an exported folder or zip."""
    write = partial(export_model, name=name)
    before, read = partial(write, seed=1), partial(_read_export, name=name)
    return Writer(f"exported model, {what}", before, write, read, step=step)
