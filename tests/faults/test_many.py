"""Many at once: writers of one file, runs of one folder, makers of one cache, readers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from faults._file_writers import draw_genotypes, draw_records, write_fasta
from faults._job_writers import DNA, TASK, _export, _network, _read_export
from faults._story import digest, names
from racing import race

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
RACES = 20


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


def write_scores(place, value):
    scores = np.full((50, 2), float(value))
    sl.infer.Scores([f"r{row}" for row in range(50)], ("no", "yes"), scores).to_tsv(
        place / "scores.tsv"
    )


RECORDERS = {
    "safetensors": sl.record.Safetensors,
    "msgpack": sl.record.MsgPack,
    "json.gz": sl.record.JsonGz,
}
# What writes the first or the second of two contents, and what reads it.
WRITERS = {
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
        lambda place, value: _export(place, "model.seqloom", value),
        lambda place: _read_export(place, "model.seqloom"),
    ),
    "export, zip": (
        lambda place, value: _export(place, "model.zip", value),
        lambda place: _read_export(place, "model.zip"),
    ),
    "scores": (write_scores, lambda place: digest(place / "scores.tsv")),
}


def try_races(home, name, races):
    """Lets two processes write one thing again and again."""
    write, read = WRITERS[name]
    wanted, known = [], set()
    for value in (1, 2):
        alone = home / f"alone{value}" / "x"
        alone.mkdir(parents=True)
        write(alone, value)
        wanted.append(read(alone))
        known |= set(names(alone))
    place = home / "both" / "x"
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


@pytest.mark.parametrize("name", WRITERS)
def test_of_two_writers_at_once_one_wins_and_leaves_a_whole_file(tmp_path, name):
    try_races(tmp_path, name, RACES)


@pytest.mark.soak
@pytest.mark.parametrize("name", WRITERS)
def test_of_two_writers_at_once_one_wins_in_each_of_many_races(tmp_path, name):
    try_races(tmp_path, name, 25 * RACES)
