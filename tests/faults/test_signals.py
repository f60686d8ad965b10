"""A command that a signal stops prints one line and leaves no partial files."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from faults._apart import run_apart
from faults._file_writers import draw_genotypes, draw_records
from faults._job_writers import export_model

import seqloom as sl
from seqloom.cli import main

import_module("seqloom.cli._app")  # before the forks

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
TESTED_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1]
TRAINING_OPTIONS = "x.fa --labels x.tsv --alphabet dna"
CHECKPOINT_OPTIONS = "--batch-size 32 --checkpoint-every 3"
# Each command, and its output. A job resumes if its output already exists.
COMMAND_LINES = {
    "inspect": ("inspect x.fa --json", None),
    "convert": ("convert x.fa out.fa.gz --overwrite", "out.fa.gz"),
    "index": ("index out.fa.gz --overwrite", "out.fa.gz.sli"),
    "train": (f"train {TRAINING_OPTIONS} --out run --epochs 2 {CHECKPOINT_OPTIONS}", "run"),
    "predict": ("predict model x.fa --out scores.tsv --overwrite", "scores.tsv"),
    "evaluate": ("evaluate model x.fa --labels x.tsv", None),
    "embed": ("embed p.fa --model small --out e --shard-size 4", "e"),
    "export, folder": ("export model --out m.seqloom --overwrite", "m.seqloom"),
    "export, zip": ("export model --out m.zip --overwrite", "m.zip"),
    "bed inspect": ("bed inspect x.bed", None),
    "bed stats": ("bed stats x.bed --out stats.tsv --overwrite", "stats.tsv"),
    "bed subset": ("bed subset x.bed y.bed --maf 0.01 --overwrite", "y.bed"),
    "bed convert": ("bed convert x.bed y.raw --overwrite", "y.raw"),
}
RESUMABLE_COMMANDS = {"train", "embed"}
# Audit events of Python that change a folder, and events that read a folder.
FILE_EVENT_PATTERN = re.compile(
    r"open$|os\.(rename|remove|mkdir|link|rmdir|chmod|truncate|utime)|shutil\."
)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A folder with the input of the commands and older output."""
    place = tmp_path_factory.mktemp("signals") / "before"
    place.mkdir()
    records = draw_records(3, 160)
    (place / "x.fa").write_text("".join(f">{name}\n{text}\n" for name, text in records))
    rows = [f"{name}\t{('no', 'yes')['GC' in text]}\n" for name, text in records]
    (place / "x.tsv").write_text("id\tlabel\n" + "".join(rows))
    (place / "p.fa").write_text("".join(f">p{n}\nMKTAYIAKQR\n" for n in range(24)))
    sl.models.ESM2Config(layers=1, width=16, heads=2).init("numpy").save(place / "small")
    sl.io.to_bed(place / "x.bed", draw_genotypes(1, (30, 50)))
    run_here(place, f"train {TRAINING_OPTIONS} --epochs 1 --out model")
    sl.io.write_sequences(place / "out.fa.gz", draw_records(4, 10))
    sl.io.build_index(place / "out.fa.gz")
    sl.io.to_bed(place / "y.bed", draw_genotypes(2, (30, 50)))
    for name in ("scores.tsv", "stats.tsv", "y.raw", "y.bed.log"):
        (place / name).write_text("old\n")
    for name in ("m.seqloom", "m.zip"):
        export_model(place, name=name)
    return place


def run_here(place, words, number=-1, sent=signal.SIGINT):
    """Return a command's exit code, output and events; send a signal at one event."""
    said = place.parent / "said"
    outcome = run_apart(partial(_run_command, place, words, (number, sent), said))
    assert not outcome.signal, f"{words}: {outcome}"
    assert not outcome.error, f"{words}: {outcome}"
    return outcome.value[0], said.read_text(), outcome.value[1]


def _run_command(place, words, when, said):
    os.chdir(place)
    with said.open("w") as file:
        for number, stream in enumerate((sys.stdout, sys.stderr), 1):
            os.dup2(file.fileno(), number)
            del stream
        sys.stdout, sys.stderr = (os.fdopen(os.dup(number), "w") for number in (1, 2))
        seen = _send_at(*when)
        try:
            main(words.split())
        except SystemExit as left:
            when = seen.pop("when"), left.code
        sys.stdout.flush()
        sys.stderr.flush()
    return when[1], when[0]


def _send_at(number, sent):
    """Send a signal to this process at the n-th event, and count events."""
    seen, moments = {"when": 0}, itertools.count()
    others = 0

    def watch(event, facts):
        nonlocal others
        if "when" not in seen:
            return
        # Count only some of the events outside the folder, such as reads of Python
        # modules.
        if not FILE_EVENT_PATTERN.match(event) or not is_here(facts[0]):
            others += 1
            if others % 200:
                return
        moment = next(moments)  # each thread gets a different number
        seen["when"] = max(seen["when"], moment + 1)
        if moment == number:
            os.kill(os.getpid(), sent)

    sys.addaudithook(watch)
    return seen


def is_here(path):
    """Return whether a path is in this folder."""
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else "/"
    return not text.startswith("/") or text.startswith(str(Path.cwd()))


def listing(place):
    """Return the files of a folder with their contents."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in sorted(place.rglob("*"))
    }


def is_stable(name):
    """Remove lines that contain times, which differ between runs."""
    return not re.search(
        r"report\.html|results\.json|README\.md|metrics\.jsonl|last\.safetensors|plan\.json|\.done",
        name,
    )


def judge(name, place, old, new):
    """Return the problems with the output of a stopped command."""
    target, left = COMMAND_LINES[name][1], listing(place)
    hidden = [path for path in left if re.search(r"(^|/)\.|\.lock$", path)]
    assert hidden == []
    for path, data in old.items():
        is_output = target is not None and path.startswith(target.removesuffix(".bed"))
        allowed = [data, new.get(path)] if is_output else [data]
        assert left.get(path, b"gone") in allowed, path
    assert left.keys() <= {*old, *new}


def try_moments(name, before, home, *, count, signals):
    """Send signals at moments spread over a command; return the number of signals."""
    words, _ = COMMAND_LINES[name]
    place = home / "place"
    shutil.copytree(before, place)
    code, said, events = run_here(place, words)
    assert code == 0, said
    new, tried = listing(place), 0
    moments = np.unique(np.linspace(0, events - 1, count).astype(int))
    for position, moment in enumerate(moments):
        sent = signals[position % len(signals)]
        shutil.rmtree(place)
        shutil.copytree(before, place)
        code, said, reached = run_here(place, words, moment, sent)
        if code == 0 and reached <= moment:
            continue  # this run had fewer events, so no signal was sent
        tried += 1
        where = f"{sent.name} at event {moment} of {events}: {code}, {said}"
        assert code == 128 + sent, where
        assert "Traceback" not in said, where
        assert "stopped" in said, where
        judge(name, place, listing(before), new)
        judge_next(name, place, new, where)
    return tried


def judge_next(name, place, new, where):
    """Run a stopped command again: it must finish with all output."""
    words = COMMAND_LINES[name][0] + (" --resume" if name == "train" else "")
    code, said, _ = run_here(place, words)
    assert code == 0, f"after {where}: {said}"
    found = listing(place)
    # If the job was already complete, the second call writes no report.
    assert new.keys() - found.keys() <= {"e/report.html"}, where
    assert found.keys() <= new.keys(), where
    differing = [path for path in found if found[path] != new[path] and is_stable(path)]
    assert differing == [], where


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_command_stopped_by_a_signal_can_be_repeated(tmp_path, before, name):
    assert try_moments(name, before, tmp_path, count=2, signals=TESTED_SIGNALS) > 0


@pytest.mark.soak
@pytest.mark.parametrize("sent", TESTED_SIGNALS, ids=lambda it: it.name)
@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_signal_during_any_file_operation_stops_a_command(tmp_path, before, name, sent):
    assert try_moments(name, before, tmp_path, count=40, signals=[sent]) > 0


EXIT_CODE_OF_SIGNAL = {"SIGINT": 130, "SIGTERM": 143}


@pytest.mark.parametrize("name", EXIT_CODE_OF_SIGNAL)
def test_a_signal_stops_seqloom_run_which_can_be_repeated(tmp_path, before, name):
    place = tmp_path / "place"
    shutil.copytree(before, place)
    with (place / "many.fa").open("w") as file:
        file.writelines(f">r{n}\n{'ACGT' * 200}\n" for n in range(60_000))
    words = "run predict m.seqloom many.fa --out scores.tsv --overwrite"
    process = start(place, words)
    while Path(f"/proc/{process.pid}/comm").read_text() != "seqloom-run\n":
        assert process.poll() is None
    time.sleep(0.05)
    process.send_signal(getattr(signal, name))
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (EXIT_CODE_OF_SIGNAL[name], "\nstopped\n")
    assert (place / "scores.tsv").read_text() == "old\n"
    again = start(place, words.replace("many.fa", "x.fa"))
    said = again.communicate(timeout=60)[1]
    assert (again.returncode, said) == (0, "scored 160 sequences: scores.tsv\n")
    assert [it.name for it in place.iterdir() if it.name.startswith(".")] == []


def start(place, words):
    """Start a command in a new process."""
    command = [sys.executable, "-m", "seqloom", *words.split()]
    return subprocess.Popen(command, cwd=place, stdout=-1, stderr=-1, text=True)


def test_ctrl_c_during_the_import_of_seqloom_prints_one_line(before):
    process = start(before, "inspect x.fa")
    # Wait until NumPy is loaded, because the command line is imported later.
    while "numpy" not in Path(f"/proc/{process.pid}/maps").read_text():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "\nstopped\n")
