"""A packed stream resumes after any batch, with any number of threads."""

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom.data
from packed_oracle import same_batches
from seqloom.encode import Tokens
from seqloom.errors import ArgumentError, FormatError
from seqloom.io import SequenceIndex

PackedStream: Any = seqloom.data.PackedStream  # settings are passed as untyped dicts


def write(path, lengths):
    text = "".join(
        f">r{number}\n{('MKTVLAGER' * 40)[number % 9 :][:length]}\n"
        for number, length in enumerate(lengths)
    )
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A plain file, a file with an index, and a gzip file."""
    folder = tmp_path_factory.mktemp("resume")
    lengths = np.random.default_rng(1).integers(1, 200, 150).tolist()
    plain = write(folder / "a.fa", lengths)
    indexed = write(folder / "b.fa", lengths[::-1])
    SequenceIndex(indexed)
    packed = folder / "c.fa.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    return [plain, indexed, packed]


STREAM_OPTIONS = {"max_tokens": 400, "window": 20, "max_length": 90, "overlap": 11}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_packed_stream_resumes_from_every_batch(files, threads):
    whole = PackedStream(files, **STREAM_OPTIONS)
    states, batches = [], []
    for batch in whole:
        batches.append(batch)
        states.append(json.loads(json.dumps(whole.state_dict())))
    for number, state in list(enumerate(states))[:: 7 if threads == 1 else 31]:
        other = PackedStream(files, **STREAM_OPTIONS, num_threads=threads)
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert same_batches(list(other), batches[number + 1 :])
        assert other.content == whole.content


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=40),
    st.integers(1, 12),
    st.integers(0, 30),
)
def test_a_resumed_packed_stream_loses_and_repeats_no_window(
    tmp_path_factory, lengths, window, stop
):
    path = write(tmp_path_factory.mktemp("any") / "a.fa", lengths)
    options = {"max_tokens": 70, "window": window, "max_length": 25, "overlap": 6}
    whole = list(PackedStream(path, **options))
    first = PackedStream(path, **options)
    before = [*islice(first, stop)]
    second = PackedStream(path, **options)
    second.load_state_dict(first.state_dict())
    assert same_batches([*before, *second], whole)


def test_a_packed_stream_of_a_record_range_resumes(files):
    options = {"records": (30, 120), "max_tokens": 400}
    whole = list(PackedStream(files[1], **options))
    first, second = (PackedStream(files[1], **options) for _ in range(2))
    before = [*islice(first, 3)]
    second.load_state_dict(first.state_dict())
    assert same_batches([*before, *second], whole)


def test_a_packed_stream_with_a_token_function_resumes(files):
    def tokens(sequence):
        return [*sequence]

    options = {"max_tokens": 400, "window": 20}
    whole = list(PackedStream(files[0], tokens, **options))
    first, second = (PackedStream(files[0], tokens, **options) for _ in range(2))
    before = [*islice(first, 3)]
    second.load_state_dict(first.state_dict())
    assert same_batches([*before, *second], whole)


def test_resuming_a_packed_stream_after_its_end_yields_no_batches(files):
    first, second = (PackedStream(files, **STREAM_OPTIONS) for _ in range(2))
    list(first)
    second.load_state_dict(first.state_dict())
    assert list(second) == []
    assert second.content == first.content


def test_resuming_a_packed_stream_at_its_start_yields_all_batches(files):
    first, second = (PackedStream(files, **STREAM_OPTIONS) for _ in range(2))
    second.load_state_dict(first.state_dict())
    assert same_batches(list(second), list(first))


def test_resuming_with_an_index_does_not_read_earlier_records(tmp_path):
    path = write(tmp_path / "a.fa", [300] * 20_000)
    stream = PackedStream(path, num_threads=1)
    list(islice(stream, 1300))
    state = stream.state_dict()
    assert _bytes_of_resume(path, state) > 0.9 * path.stat().st_size
    SequenceIndex(path)
    assert _bytes_of_resume(path, state) < 0.5 * path.stat().st_size


def _bytes_of_resume(path, state):
    """Return the number of bytes read for one batch of a resumed stream."""
    stream = PackedStream(path, num_threads=1)
    stream.load_state_dict(state)
    before = _bytes_read()
    next(iter(stream))
    return _bytes_read() - before


def _bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"max_tokens": 500}, "max_tokens"),
        ({"window": 21}, "window"),
        ({"overlap": 12}, "overlap"),
        ({"tokens": Tokens("esm2", case="error")}, "tokens"),
        ({"empty": "keep"}, "empty"),
    ],
)
def test_a_packed_state_of_other_settings_is_an_error_that_names_them(files, changed, name):
    state = PackedStream(files, **STREAM_OPTIONS).state_dict()
    other = PackedStream(files, **(STREAM_OPTIONS | changed))
    with pytest.raises(ArgumentError, match=f"packed stream with {name}"):
        other.load_state_dict(state)


def test_a_packed_state_of_another_file_is_an_error(files):
    state = PackedStream(files[0]).state_dict()
    with pytest.raises(ArgumentError, match="files"):
        PackedStream(files[1]).load_state_dict(state)


def test_a_change_in_a_packed_file_is_an_error_or_changes_the_hash(tmp_path):
    lengths = [200] * 2000
    path = write(tmp_path / "a.fa", lengths)
    stream = PackedStream(path, max_tokens=1000)
    list(islice(stream, 100))
    state = stream.state_dict()
    text = path.read_bytes()
    # Remove one record without changing the size and the ends of the file.
    middle = text.index(b">", len(text) // 2)
    path.write_bytes(text[:middle] + b"M" + text[middle + 1 :].replace(b"\n", b"M", 1))
    other = PackedStream(path, max_tokens=1000, num_threads=1)
    other.load_state_dict(state)
    try:
        list(stream)
        list(other)
    except FormatError:
        return
    assert other.content != stream.content
