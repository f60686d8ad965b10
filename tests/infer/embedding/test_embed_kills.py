"""Tests that killed, stopped and duplicate embedding jobs write each record once."""

import errno
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import embed_job
import seqloom as sl
from seqloom.infer.embedding import _folder
from seqloom.infer.embedding._folder import OutputFolder

EMBED_SCRIPT = Path(embed_job.__file__)
RECORDS, SHARD = 20_000, 500


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    path = tmp_path_factory.mktemp("kills") / "short.fa"
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 40, RECORDS)
    letters = rng.choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8), lengths.sum())
    pieces = np.split(letters, np.cumsum(lengths)[:-1])
    records = (b">s%d\n%s\n" % (n, piece.tobytes()) for n, piece in enumerate(pieces))
    path.write_bytes(b"".join(records))
    sl.io.SequenceIndex(path)
    return path


@pytest.fixture(scope="module")
def expected_sums(fasta):
    """The checksums of the shards of an uninterrupted job."""
    out = fasta.parent / "whole"
    embed_job.run(fasta, out, SHARD)
    return sums_of(out)


def sums_of(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).glob("*.safetensors")
    }


def start(fasta, out, part="1/1", *, links=True):
    return subprocess.Popen(
        [sys.executable, EMBED_SCRIPT, fasta, out, str(SHARD), part],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | ({} if links else {"WITHOUT_LINKS": "1"}),
    )


def check_markers(out):
    """Check that the shard of each marker file exists and is complete."""
    for marker in Path(out).glob("*.done"):
        done = json.loads(marker.read_text())
        data = (Path(out) / done["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == done["sha256"], marker


def check_every_record_once(out, expected_sums):
    assert sums_of(out) == expected_sums
    check_markers(out)
    found = sl.infer.load(out)
    seen = np.zeros(RECORDS, np.uint8)
    np.add.at(seen, found.ordinals, 1)
    assert (seen == 1).all()
    assert found.ids == [f"s{n}" for n in range(RECORDS)]


def kill_until_done(fasta, out, kills, rng):
    """Kill the job repeatedly, at random times or while it writes; count the kills."""
    killed = 0
    while killed < kills:
        shards = len(list(out.glob("*.done")))
        with start(fasta, out) as process:
            while (
                killed % 2
                and process.poll() is None
                and len(list(out.glob("*.done"))) == shards
            ):
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.05 if killed % 2 else 0.6))
            process.kill()
        if process.returncode == 0:
            return killed
        killed += 1
        check_markers(out)
    with start(fasta, out) as process:
        process.communicate()
    assert process.returncode == 0
    return killed


def test_an_embedding_job_killed_repeatedly_has_unchanged_results(
    fasta, expected_sums, tmp_path
):
    killed = kill_until_done(fasta, tmp_path / "e", 6, np.random.default_rng(0))
    assert killed
    check_every_record_once(tmp_path / "e", expected_sums)


@pytest.mark.parametrize("links", [True, False])
def test_two_processes_embed_different_parts_without_duplicates(
    fasta, expected_sums, tmp_path, links
):
    out = tmp_path / "e"
    both = [start(fasta, out, part, links=links) for part in ("1/2", "2/2")]
    computed = [int(it.communicate()[0].split()[0]) for it in both]
    assert computed == [RECORDS // SHARD / 2] * 2
    check_every_record_once(out, expected_sums)


@pytest.mark.parametrize("links", [True, False])
def test_two_processes_on_one_part_write_no_duplicate_embeddings(
    fasta, expected_sums, tmp_path, links
):
    out = tmp_path / "e"
    both = [start(fasta, out, links=links), start(fasta, out, links=links)]
    computed = [int(it.communicate()[0].split()[0]) for it in both]
    assert sum(computed) == RECORDS // SHARD
    check_every_record_once(out, expected_sums)


def test_a_paused_and_continued_process_writes_no_duplicate_embeddings(
    fasta, expected_sums, tmp_path
):
    out = tmp_path / "e"
    first = start(fasta, out)
    while not any(out.glob("*.done")):
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGSTOP)
    second = start(fasta, out)
    taken = int(second.communicate(timeout=60)[0].split()[0])
    finished = {path: path.stat().st_mtime_ns for path in out.glob("*.done")}
    os.kill(first.pid, signal.SIGCONT)
    own = int(first.communicate(timeout=60)[0].split()[0])
    assert own + taken == RECORDS // SHARD
    assert finished == {path: path.stat().st_mtime_ns for path in out.glob("*.done")}
    check_every_record_once(out, expected_sums)


def test_a_temporary_shard_removed_during_a_pause_is_written_again(tmp_path, monkeypatch):
    removed = []

    def sync_and_remove(_handle):
        if not removed:  # as by a process that considers the writer dead
            removed.extend(tmp_path.glob(".*.part"))
            removed[0].unlink()

    monkeypatch.setattr(os, "fsync", sync_and_remove)
    assert OutputFolder(tmp_path).create("shard", b"first and second")
    assert (tmp_path / "shard").read_bytes() == b"first and second"
    assert [path.name for path in tmp_path.iterdir()] == ["shard"]
    assert len(removed) == 1


def test_old_temporary_files_of_killed_writers_are_removed(fasta, tmp_path):
    out = tmp_path / "e"
    out.mkdir()
    old, young = out / ".shard-000000.done.1.part", out / ".shard-000001.done.2.part"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (0, 0))
    embed_job.run(fasta, out, SHARD)
    assert [old.exists(), young.exists()] == [False, True]


@pytest.mark.parametrize("links", [True, False])
def test_exactly_one_of_eight_threads_creates_an_output_file(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", os.link)
        embed_job.refuse_links()
    folder = OutputFolder(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        for turn in range(25):
            name, texts = f"shard-{turn}", [b"%d" % n * 1000 for n in range(8)]
            made = threads.map(lambda text, name=name: folder.create(name, text), texts)
            winners = [text for text, is_ours in zip(texts, made, strict=True) if is_ours]
            assert winners == [(tmp_path / name).read_bytes()]
    assert len([*tmp_path.iterdir()]) == 25


def test_embedding_to_a_disk_without_hard_links_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", os.link)
    embed_job.refuse_links()
    monkeypatch.setattr(_folder, "rename_without_replacing", lambda *_: errno.EINVAL)
    with pytest.raises(sl.errors.FileError, match=r"neither hard links nor a rename.*URL"):
        OutputFolder(tmp_path).create("shard", b"x")
    assert not [*tmp_path.iterdir()]


def test_a_locked_sequence_file_does_not_block_packed_streams(fasta):
    with fasta.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = list(sl.data.PackedStream(fasta, records=(0, 10)))
    assert sum(batch["num_sequences"] for batch in found) == 10


def test_repeating_an_embed_call_computes_missing_shards_of_its_part(
    fasta, expected_sums, tmp_path
):
    out = tmp_path / "e"
    first = embed_job.run(fasta, out, SHARD, part="2/3")
    assert (first.computed, first.missing) == (13, 27)
    assert sums_of(out) == {
        name: it for name, it in expected_sums.items() if int(name[6:12]) % 3 == 1
    }
    assert not (out / "complete.json").exists()
    rest = embed_job.run(fasta, out, SHARD)
    assert (rest.computed, rest.missing) == (27, 0)
    check_every_record_once(out, expected_sums)


def test_an_embedding_shard_without_a_marker_is_reused(fasta, expected_sums, tmp_path):
    out = tmp_path / "e"
    embed_job.run(fasta, out, SHARD)
    for name in ("shard-000003.done", "complete.json"):
        (out / name).unlink()
    embed_job.run(fasta, out, SHARD)
    check_every_record_once(out, expected_sums)


def test_a_marker_file_without_its_embedding_shard_is_an_error(fasta, tmp_path):
    out = tmp_path / "e"
    embed_job.run(fasta, out, SHARD)
    (out / "shard-000003.safetensors").unlink()
    with pytest.raises(sl.errors.FileError, match=r"delete that.*computes the shard again"):
        embed_job.run(fasta, out, SHARD)
    (out / "shard-000003.done").unlink()
    assert embed_job.run(fasta, out, SHARD).computed == 1


def test_the_error_for_an_embedding_folder_without_write_access_names_it(fasta, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(sl.errors.FileError, match="output folder cannot be created"):
        embed_job.run(fasta, tmp_path / "file" / "e", SHARD)
