"""Headers with many arrays or hostile content: number of calls, memory, and messages."""

import json
import sys
import tracemalloc

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import RecordError
from seqloom.record._facts import parse_json


def write(path, text, data=b""):
    """Write a safetensors file with the header `text`."""
    header = text.encode() if isinstance(text, str) else json.dumps(text).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


def write_valid(path, count):
    """Write a file with `count` arrays of one number each."""
    entries = {
        f"layer.{i}": {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]}
        for i in range(count)
    }
    return write(path, entries, np.arange(count, dtype="f4").tobytes())


def count_calls(run):
    """Count the calls of Python and C functions while `run` is executed."""
    calls = 0

    def note(_, event, __):
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_a_file_with_very_many_arrays_is_read(tmp_path, count):
    found = sl.record.load(write_valid(tmp_path / "x.safetensors", count))
    assert len(found) == count
    rows = range(0, count, 997)
    assert [float(np.asarray(found[f"layer.{i}"])[0]) for i in rows] == [*rows]


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        ("safetensors", {}),
        ("safetensors", {"plain": True}),
        ("json.gz", {}),
    ],
)
def test_loading_cost_is_linear_in_the_number_of_arrays(tmp_path, suffix, options):
    counts = []
    for size in (500, 1000):
        path = tmp_path / f"{size}.{suffix}"
        recorder = sl.record.Safetensors(**options) if options else None
        record = sl.record.Record({f"{i}": np.full(1, i) for i in range(size)})
        record.save(path, recorder)
        sl.record.load(path)  # load once, so that imports are not counted
        counts.append(count_calls(lambda path=path: sl.record.load(path)))
    assert counts[1] < 2.1 * counts[0]


def test_duplicate_array_names_are_found_in_linear_time(monkeypatch):
    looks = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            nonlocal looks
            looks += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    def pairs_of(_, object_pairs_hook):
        return object_pairs_hook([(Name(i % 2999), 0) for i in range(3000)])

    monkeypatch.setattr(json, "loads", pairs_of)
    with pytest.raises(RecordError, match="the name '0' appears twice"):
        parse_json("x", "")
    assert looks < 3 * 3000


HOSTILE_HEADERS = {
    "a shape of many axes": {"a": {"dtype": "U8", "shape": [1] * 100_000}},
    "a long type": {"a": {"dtype": "x" * 100_000, "shape": [0]}},
    "a long name": {"x" * 100_000: {"dtype": "U8", "shape": [3]}},
    "a long name of an odd type": {"x" * 100_000: {"dtype": "x", "shape": [3]}},
    "a number of a thousand digits": {"a": {"dtype": "U8", "shape": [10**1000] * 9}},
    "many lists": {"a": [[]] * 100_000},
    "many tables": {"a": [{}] * 100_000},
    "tables in tables": {"a": [{"": {}}] * 50_000},
}


@pytest.mark.parametrize("header", HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS.keys())
def test_a_hostile_header_gives_a_short_error_and_little_memory(tmp_path, header):
    for entry in header.values():
        if isinstance(entry, dict):
            entry["data_offsets"] = [0, 0]
    path = write(tmp_path / "x.safetensors", header)
    tracemalloc.start()
    with pytest.raises(RecordError) as caught:
        sl.record.load(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(str(caught.value)) < 1000
    assert most < 40 * path.stat().st_size
