"""Concurrent writers of one file, writers of one cache, and readers."""

import os
import shutil
import sys
import tempfile
import threading
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from faults._apart import run_apart, start_apart
from faults._file_writers import draw_genotypes, draw_records, write_fasta
from faults._job_writers import _cached_data, _genotype_data, export_model
from faults._story import digest, names

import seqloom as sl
from seqloom.errors import SeqloomError
from seqloom.export import _write
from simultaneous_processes import race

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
# Number of concurrent writes, in `make test` and in `make soak`.
many = pytest.mark.parametrize("races", [4, pytest.param(500, marks=pytest.mark.soak)])


def save_record(place, value, suffix, recorder):
    sl.record.Record({"a": np.full(3000, value), "b": np.full((9, 7), value)}).save(
        place / f"x.{suffix}", recorder()
    )


def write_sequences(place, value):
    sl.io.write_sequences(place / "x.fa.gz", draw_records(value))


def read_record(place, suffix):
    found = sl.record.load(place / f"x.{suffix}")
    return sorted({int(it) for name in "ab" for it in np.unique(found[name])})


def write_index(place, value):
    if not (place / "x.fa").exists():
        write_fasta(place / "x.fa", 3)
    sl.io.build_index(place / "x.fa")


def read_index(place):
    index = sl.io.SequenceIndex(place / "x.fa", build=False)
    return [str(record.sequence) for record in index]


def write_bed(place, value, **how):
    sl.io.to_bed(place / "x.bed", draw_genotypes(value, (10 + 3 * value, 21)), **how)


def create_bed(place, value):
    values = draw_genotypes(value, (10 + 3 * value, 21))
    with sl.io.create_bed(place / "x.bed", *values.shape) as bed:
        for column in values.T:
            bed.write(column)


def read_bed(place):
    with sl.io.open_bed(place / "x.bed") as bed:
        return [bed.iid.tolist(), bed.sid.tolist(), bed.read(dtype="int8").tolist()]


@cache
def exported(value):
    """Return the files of an export, with different weights for each `value`."""
    with tempfile.TemporaryDirectory() as home:
        export_model(Path(home), name="model.seqloom", seed=value)
        files = (Path(home) / "model.seqloom").iterdir()
        return {file.name: file.read_bytes() for file in files}


def write_export(path, value):
    _write.write_export(path, exported(value), overwrite=True)


def write_scores(place, value):
    scores = np.full((50, 2), float(value))
    sl.infer.Scores([f"r{row}" for row in range(50)], ("no", "yes"), scores).to_tsv(
        place / "scores.tsv"
    )


RECORDERS = {
    "safetensors": sl.record.Safetensors,
    "json.gz": sl.record.JsonGz,
}
# For each file type: a function that writes the first or second content, and a reader.
WRITE_AND_READ_FUNCTIONS = {
    **{
        f"record, {suffix}": (
            lambda place, value, suffix=suffix, how=how: save_record(
                place, value, suffix, how
            ),
            lambda place, suffix=suffix: read_record(place, suffix),
        )
        for suffix, how in RECORDERS.items()
    },
    "sequences": (write_sequences, lambda place: digest(place / "x.fa.gz")),
    "index": (write_index, read_index),
    "to_bed": (write_bed, read_bed),
    "to_bed, individual": (
        lambda place, value: write_bed(place, value, major="individual"),
        read_bed,
    ),
    "create_bed": (create_bed, read_bed),
    "export, folder": (
        lambda place, value: write_export(place / "model.seqloom", value),
        lambda place: digest(*sorted((place / "model.seqloom").iterdir())),
    ),
    "export, zip": (
        lambda place, value: write_export(place / "model.zip", value),
        lambda place: digest(place / "model.zip"),
    ),
    "scores": (write_scores, lambda place: digest(place / "scores.tsv")),
}


@many
@pytest.mark.parametrize("name", WRITE_AND_READ_FUNCTIONS)
def test_two_concurrent_writers_leave_one_complete_file(tmp_path, name, races):
    write, read = WRITE_AND_READ_FUNCTIONS[name]
    wanted, known = [], set()
    for value in (1, 2):
        alone = tmp_path / f"alone{value}" / "x"
        alone.mkdir(parents=True)
        write(alone, value)
        wanted.append(read(alone))
        known |= set(names(alone))
    place = tmp_path / "both" / "x"
    for number in range(races):
        if number % 2 == 0:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            if name == "index":
                write_fasta(place / "x.fa", 3)
        ended = race(*(lambda value=value: write(place, value) for value in (1, 2)))
        assert [str(it) for it in ended] == ["gave None"] * 2
        assert read(place) in wanted
        assert {*names(place)} == known


CACHED_DATASET_FUNCTIONS = {"sequences": _cached_data, "genotypes": _genotype_data}


def fill(kind, place):
    """Read all items through a cache; return the values and the number of cache writes."""
    made = []

    def watch(event, facts):
        if event == "os.mkdir" and ".part-" in str(facts[0]):
            made.append(facts[0])

    sys.addaudithook(watch)
    items = CACHED_DATASET_FUNCTIONS[kind](place)
    read = [np.asarray(item["inputs"]).astype(float).tolist() for item in items]
    return repr(read), len(made)


@many
@pytest.mark.parametrize("kind", CACHED_DATASET_FUNCTIONS)
def test_two_processes_fill_a_cache_once_and_read_equal_values(tmp_path, kind, races):
    (tmp_path / "alone").mkdir()
    wanted = run_apart(partial(fill, kind, tmp_path / "alone" / "x")).value[0]
    place = tmp_path / "both" / "x"
    place.mkdir(parents=True)
    run_apart(partial(fill, kind, place))  # fills the cache
    for _ in range(races):
        shutil.rmtree(place / "cache")
        ended = race(*[partial(fill, kind, place)] * 3)
        assert {str(it.value[0]) for it in ended} == {wanted}
        assert sum(it.value[1] for it in ended) == 1
        assert not list((place / "cache").glob(".[pg]*"))


def replace_index(place, value):
    sl.io.write_sequences(place / "x.fa", draw_records(value))
    sl.io.build_index(place / "x.fa")


# For each file type: a function that writes a value, and a function that reads this
# value.
REPLACE_AND_READ_FUNCTIONS = {
    "record": (
        lambda place, value: save_record(place, value, *next(iter(RECORDERS.items()))),
        lambda place: read_record(place, "safetensors"),
    ),
    "index": (replace_index, read_index),
    "bed": (write_bed, read_bed),
}
PROCESSES, THREADS = 4, 250


def read_in_threads(place, read, wanted):
    """Read in many threads; return unexpected values and seqloom errors."""
    wrong, refused, gate = [], [], threading.Barrier(THREADS)

    def look():
        gate.wait()
        for _ in range(2):
            try:
                found = read(place)
                wrong.extend([] if found in wanted else [repr(found)[:200]])
            except SeqloomError as error:
                refused.append(str(error))
            except BaseException as error:  # noqa: BLE001 - told
                wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=look) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong[:5], sorted(set(refused))


@pytest.mark.parametrize("name", REPLACE_AND_READ_FUNCTIONS)
def test_1000_concurrent_readers_read_a_complete_file_or_raise(tmp_path, name):
    write, read = REPLACE_AND_READ_FUNCTIONS[name]
    wanted = []
    for value in (2, 1):
        write(tmp_path, value)
        wanted.append(read(tmp_path))
    one = partial(read_in_threads, tmp_path, read, wanted)
    begun = [start_apart(one) for _ in range(PROCESSES)]
    replaced = 0
    while any(
        os.waitid(os.P_PID, it.child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        for it in begun
    ):
        write(tmp_path, replaced % 2 + 1)
        replaced += 1
    ended = [it.finish() for it in begun]
    wrong = [str(it) if it.error or it.signal else it.value[0] for it in ended]
    assert wrong == [[]] * PROCESSES
    said = {text for it in ended for text in it.value[1]}
    words = "replaced", "changed", "shorter than when"
    other = [text for text in said if not any(word in text for word in words)]
    assert other == []
    assert replaced
    assert read(tmp_path) in wanted
