"""Writers of many files: runs, embeddings, caches, exported models, reports."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl
from faults._file_writers import draw_genotypes, draw_records, write_fasta
from faults._story import Writer, digest, names
from seqloom.errors import FileError

DNA = sl.encode.OneHot("dna")
TASK = sl.models.Classify(("no", "yes"))
TABLE = np.random.default_rng(7).normal(size=(33, 8)).astype(np.float32)
PROGRAM = Path(sl.__file__).parent / "_rust/seqloom-run"


def _dataset(path: Path, seed: int = 3) -> sl.data.SequenceDataset:
    """Makes labelled sequences."""
    if not path.exists():
        write_fasta(path, seed)
    labels = {name: ("no", "yes")["GC" in text] for name, text in draw_records(seed)}
    return sl.data.SequenceDataset(path, encoder=DNA, labels=labels)


def _network(seed: int = 0) -> Any:  # noqa: ANN401 - a module
    config = sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(8,), kernel_size=5)
    model, rng = config.init("numpy").eval(), np.random.default_rng(seed)
    drawn = {
        path: rng.uniform(0.1, 1, size=each.shape).astype("f4")
        for path, each in model.to_record().items()
        if each.dtype.kind == "f"
    }
    return model.load_record(drawn, strict=False)


def _fit(place: Path, *, report: bool = False, keep: int = 1) -> None:
    """Trains, or goes on where a run was stopped."""
    data = _dataset(place.parent / "train.fa")
    config = sl.models.SequenceCNNConfig(channels=4, outputs=2, widths=(8,), kernel_size=5)
    run = place / "run"
    sl.train.fit(
        config, data, data, out=run, epochs=2, batch_size=16, seed=1, num_threads=1,
        checkpoint_every=2, keep=keep, report=report, progress=False,
        resume=(run / "config.json").exists(), overwrite=not (run / "config.json").exists(),
    )  # fmt: skip


def _read_run(place: Path) -> str:
    return digest(place / "run/model.safetensors", place / "run/scores-valid.tsv")


def _broken_run(place: Path) -> list[str]:
    """Lists the files of a run that cannot be read."""
    broken = []
    for path in (place / "run").rglob("[!.]*"):
        try:
            if path.suffix == ".safetensors":
                sl.record.Record({name: np.asarray(it) for name, it in sl.record.load(path).items()})
            if path.suffix == ".json":
                json.loads(path.read_bytes())
        except ValueError as error:
            broken.append(f"{path.name}: {error}")
    return broken


def _embed_without_links(place: Path) -> None:
    """Embeds on a disk that has no hard links."""

    def refuse(*paths: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), *paths[:1])

    os.link, link = refuse, os.link
    try:
        _embed(place)
    finally:
        os.link = link


def _broken_shards(place: Path) -> list[str]:
    """Lists the shards that a marker calls complete, and that are not."""
    broken = []
    for marker in (place / "out").glob("*.done"):
        told = json.loads(marker.read_text(encoding="utf-8"))
        shard = marker.parent / told["file"]
        if not shard.exists() or sha256(shard.read_bytes()).hexdigest() != told["sha256"]:
            broken.append(marker.name)
    return broken


def _embed(place: Path) -> None:
    """Embeds sequences with a model of one table."""
    fasta = place.parent / "x.fa"
    if not fasta.exists():
        write_fasta(fasta, 3)
    sl.infer.embed(
        lambda batch: TABLE[batch["input_ids"]], fasta, out=place / "out", shard_size=20,
        tokens=sl.encode.Tokens("esm2"), identity="table", num_threads=1,
    )  # fmt: skip


def _read_embeddings(place: Path) -> str:
    return digest(*sorted((place / "out").glob("*.safetensors")))


def _export(place: Path, name: str, seed: int = 2) -> None:
    sl.export.save(_network(seed), place / name, encoder=DNA, task=TASK, overwrite=True)


def _read_export(place: Path, name: str) -> str:
    """Scores a record by the program: it checks every hash."""
    write_fasta(place.parent / "one.fa", 9)
    done = subprocess.run(
        [PROGRAM, "predict", place / name, place.parent / "one.fa"],
        check=True, capture_output=True, env=_clean(),
    )  # fmt: skip
    return done.stdout.decode()[:400]


def _clean() -> dict[str, str]:
    return {name: it for name, it in os.environ.items() if name != "SEQLOOM_FAULT"}


def _onnx(place: Path, seed: int = 2) -> None:
    sl.export.onnx(_network(seed), place / "m.onnx", encoder=DNA, task=TASK, overwrite=True)


def _score(place: Path) -> None:
    """Scores by the program, which is another process under the same library."""
    if not (place.parent / "m.zip").exists():
        _export(place.parent, "m.zip")
        write_fasta(place.parent / "many.fa", 3)
    command = [PROGRAM, "predict", place.parent / "m.zip", place.parent / "many.fa",
               "--threads", "1", "--out", place / "scores.tsv", "--overwrite"]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode < 0:
        os.kill(os.getpid(), -done.returncode)
        signal.pause()
    if done.returncode:
        raise FileError(done.stderr.decode())


def _before_scores(place: Path) -> None:
    (place / "scores.tsv").write_text("old\n", encoding="ascii")
    _export(place.parent, "m.zip")
    write_fasta(place.parent / "many.fa", 3)


def _cached(place: Path) -> Any:  # noqa: ANN401 - a dataset
    return sl.data.cached(_dataset(place.parent / "x.fa"), place / "cache")


def _read_cached(place: Path) -> str:
    return repr([np.asarray(item["inputs"]).sum().item() for item in _cached(place)])


def _genotypes(place: Path) -> sl.data.GenotypeDataset:
    bed = place.parent / "x.bed"
    if not bed.exists():
        sl.io.to_bed(bed, draw_genotypes(1, (30, 50)))
    return sl.data.GenotypeDataset(bed, memory=0, cache=place / "cache", num_threads=1)


def _read_genotypes(place: Path) -> str:
    return repr([round(float(np.asarray(item["inputs"]).sum()), 3) for item in _genotypes(place)])


def _compile(place: Path) -> str:
    """Compiles a step of training, whose layout is kept in the cache."""
    os.environ["SEQLOOM_CACHE"] = str(place / "home")

    @sl.tensor.compile
    def step(model: Any, optimizer: Any, x: Any, label: Any) -> Any:  # noqa: ANN401
        def loss_of(model: Any) -> Any:  # noqa: ANN401
            return sl.nn.functional.cross_entropy(model(x), label)

        loss, grads = sl.nn.value_and_grad(loss_of)(model)
        optimizer.step(0.01, model, grads)
        return loss

    layers = sl.nn.Linear(8, 32), sl.nn.functional.relu, sl.nn.Linear(32, 2)
    model = sl.nn.Sequential(*layers).bind("numpy", sl.Key(0))
    random = np.random.default_rng(0)
    x = model.backend.tensor(random.normal(size=(64, 8)).astype(np.float32))
    label = model.backend.tensor(np.arange(64) % 2)
    optimizer = sl.optim.AdamW()
    return repr([round(step(model, optimizer, x, label).item(), 5) for _ in range(3)])


def _report(place: Path, value: float = 0.9, *, curves: bool = True) -> None:
    losses = {"training": [value, 0.5], "validation": [0.8, 0.6]}
    report = sl.report.Report(
        title=f"run {value}", curves=(sl.report.Curve("loss", losses),) if curves else ()
    )
    sl.report.write_report(place, report)


def job_writers() -> list[Writer]:
    """Lists them."""
    folder, packed = "model.seqloom", "model.zip"
    return [
        Writer(
            "run, one checkpoint",
            lambda _: None,
            _fit,
            _read_run,
            is_job=True,
            broken=_broken_run,
            step=2,
        ),
        Writer(
            "run, three checkpoints",
            lambda _: None,
            lambda place: _fit(place, keep=3),
            _read_run,
            is_job=True,
            broken=_broken_run,
            step=4,
        ),
        Writer(
            "run, report and pictures",
            lambda _: None,
            lambda place: _fit(place, report=True),
            _read_run,
            is_job=True,
            step=60,
        ),
        Writer(
            "embeddings",
            lambda _: None,
            _embed,
            _read_embeddings,
            is_job=True,
            broken=_broken_shards,
            step=3,
        ),
        Writer(
            "embeddings, disk without links",
            lambda _: None,
            _embed_without_links,
            _read_embeddings,
            is_job=True,
            broken=_broken_shards,
            step=6,
        ),
        Writer(
            "exported model, folder",
            lambda place: _export(place, folder, 1),
            lambda place: _export(place, folder),
            lambda place: _read_export(place, folder),
            step=2,
        ),
        Writer(
            "exported model, zip",
            lambda place: _export(place, packed, 1),
            lambda place: _export(place, packed),
            lambda place: _read_export(place, packed),
        ),
        Writer(
            "exported model, ONNX",
            lambda place: _onnx(place, 1),
            _onnx,
            lambda place: digest(place / "m.onnx"),
        ),
        Writer(
            "scores, seqloom-run",
            _before_scores,
            _score,
            lambda place: digest(place / "scores.tsv"),
        ),
        Writer("cache, sequences", lambda _: None, _cached, _read_cached, is_job=True),
        Writer("cache, genotypes", lambda _: None, _genotypes, _read_genotypes, is_job=True),
        Writer("cache, compiled steps", lambda _: None, _compile, _compile, is_job=True),
        Writer(
            "report",
            lambda place: _report(place, 0.7),
            _report,
            lambda place: [names(place), digest(place / "report.html")],
            is_job=True,
            step=8,
        ),
    ]
