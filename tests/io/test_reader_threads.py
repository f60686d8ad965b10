"""Only one thread at a time may use a reader."""

import io
import threading

import pytest

from seqloom.errors import ArgumentError
from seqloom.io import open_sequences

# More bytes than a reader reads ahead when it opens a file.
FASTQ_BYTES = b"@a\nAC\n+\nII\n" * 20_000


class Slow:
    """A file object that blocks until released, so that its reader is in use."""

    def __init__(self, text):
        self._file = io.BytesIO(text)
        self.is_asked, self.may_go_on = threading.Event(), threading.Event()
        self.may_go_on.set()

    def read(self, size):
        self.is_asked.set()
        assert self.may_go_on.wait(20)
        return self._file.read(min(size, 100))


def len_of(batch):
    """Return the number of records or pairs."""
    return len(batch[0]) if isinstance(batch, tuple) else len(batch)


@pytest.fixture(params=[False, True], ids=["records", "pairs"])
def busy(request):
    """A reader in which another thread waits for text."""
    file = Slow(FASTQ_BYTES)
    reader = open_sequences(file, interleaved=request.param)
    file.may_go_on.clear()
    file.is_asked.clear()
    found = []
    sizes = map(len_of, reader.batches(1 << 12))
    thread = threading.Thread(target=found.extend, args=(sizes,))
    thread.start()
    assert file.is_asked.wait(20)
    yield reader
    file.may_go_on.set()
    thread.join()
    assert sum(found) == (10_000 if request.param else 20_000)


def test_reading_from_two_threads_at_once_is_an_error(busy):
    with pytest.raises(ArgumentError, match=r"another thread is using .*; open a reader"):
        next(busy.batches(1))


def test_a_reader_cannot_be_closed_while_another_thread_reads(busy):
    with pytest.raises(ArgumentError, match="another thread is using this reader"):
        busy.close()


def test_several_threads_can_use_one_reader_in_turn():
    with open_sequences(io.BytesIO(FASTQ_BYTES)) as reader:
        for _ in range(2):
            thread = threading.Thread(target=reader.read_batch, args=(1,))
            thread.start()
            thread.join()
        assert reader.report.records == 2
