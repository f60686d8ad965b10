"""Files are split into ranges of bytes for processes, and each byte is read once."""

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import loader_user as user
from packed_oracle import same_batches
from seqloom.data import VarlenCollator, create_async_dataloader
from seqloom.data.loader import _raw
from seqloom.data.loader._order import Request
from seqloom.encode import Tokens
from seqloom.errors import AlphabetError, FormatError
from seqloom.io import open_sequences

AMINO_ACIDS = np.frombuffer(b"LAGVSERTIDPKQNFYMHWC", np.uint8)


def write(path, lengths, width=60, end="\n"):
    """Write records of the given lengths."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        for number, length in enumerate(lengths):
            letters = rng.choice(AMINO_ACIDS, length).tobytes().decode()
            lines = [letters[at : at + width] for at in range(0, length, width)]
            file.write(end.join([f">r{number} > text", *lines, ""]))
    return path


def records(path):
    with open_sequences(path) as reader:
        return [(record.id, record.sequence) for record in reader]


def read_in_parts(path):
    """Read all ranges of a file as a worker does."""
    reader, found = _raw.RawReader(), []
    for part in _raw.split_files((str(path),)):
        step = 0
        while chunks := reader(Request(_raw.RawStep(part, step))):
            found += [item for chunk in chunks for item in chunk.items(0)]
            step += 1
            if not part.is_long:
                break
    return [(item["id"], item["sequence"]) for item in found]


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 90), min_size=1, max_size=30),
    st.integers(1, 200),
    st.integers(1, 30),
    st.sampled_from(["\n", "\r\n"]),
)
def test_file_ranges_of_any_size_contain_each_record_once(
    tmp_path_factory, lengths, part, step, end
):
    path = write(tmp_path_factory.mktemp("parts") / "a.fa", lengths, 7, end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_raw, "RANGE_BYTES", part)
        patch.setattr(_raw, "_SEARCH_BYTES", step)
        assert read_in_parts(path) == records(path)


@pytest.fixture
def small_parts(monkeypatch):
    """Split files into ranges of 4 KiB."""
    monkeypatch.setattr(_raw, "RANGE_BYTES", 1 << 12)


@pytest.fixture
def mixed(tmp_path):
    """Long FASTA, long and short gzip, FASTQ, and a record longer than a range."""
    lengths = np.random.default_rng(1).integers(1, 900, 60).tolist()
    first = write(tmp_path / "a.fa", lengths)
    packed = tmp_path / "b.fa.gz"
    packed.write_bytes(gzip.compress(first.read_bytes()))
    short = tmp_path / "c.fa.gz"
    short.write_bytes(gzip.compress(b">x\nMK\n>y\nM\n"))
    reads = tmp_path / "d.fq"
    reads.write_text("".join(f"@q{i}\n{'ACGT' * 30}\n+\n{'>' * 120}\n" for i in range(60)))
    giant = write(tmp_path / "e.fa", [30, 30_000, 40])
    return [first, packed, short, reads, giant]


def items_of(loader):
    found = [item for batch in loader for item in batch]
    loader.close()
    return found


@pytest.mark.parametrize("workers", [1, 3])
def test_the_async_loader_returns_records_in_file_order(small_parts, mixed, workers):
    found = items_of(create_async_dataloader(mixed, list, workers))
    wanted = [(str(path), *record) for path in mixed for record in records(path)]
    assert [(item["file"], item["id"], item["sequence"]) for item in found] == wanted
    assert [item["ordinal"] for item in found] == [*range(len(wanted))]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_an_async_state_resumes_with_any_number_of_workers(small_parts, mixed, workers):
    whole = list(create_async_dataloader(mixed, list, 0, batch_size=30))
    first = create_async_dataloader(mixed, list, 3, batch_size=30)
    assert [*islice(first, 4)] == whole[:4]
    second = create_async_dataloader(mixed, list, workers, batch_size=30)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    first.close()
    assert list(second) == whole[4:]
    second.close()


def test_resuming_does_not_collate_delivered_batches_again(mixed):
    calls = []
    loader = create_async_dataloader(mixed, calls.append, 0, batch_size=30)
    loader.load_state_dict({**loader.state_dict(), "position": 4})
    next(iter(loader))
    assert min(batch[0]["ordinal"] for batch in calls) == 120


@pytest.mark.parametrize("workers", [0, 2])
def test_records_before_an_invalid_record_are_returned_by_workers(
    small_parts, tmp_path, workers
):
    path = write(tmp_path / "a.fa", [500] * 50)
    text = path.read_text()
    at = text.index(">r40") + 100
    path.write_text(text[:at] + "!M K" + text[at + 4 :])
    with pytest.raises(FormatError) as wanted:
        records(path)
    loader, found = create_async_dataloader(path, list, workers, batch_size=1), []
    with pytest.raises(FormatError) as caught:
        found.extend(item["id"] for batch in loader for item in batch)
    loader.close()
    assert str(wanted.value).split(" [")[0] in str(caught.value)
    assert found == [f"r{i}" for i in range(40)]


def test_four_async_workers_together_read_a_file_only_once(tmp_path):
    path = write(tmp_path / "a.fa", [1000] * 20_000, 1000)
    loader = create_async_dataloader(path, list, 4, prefetch_factor=1)
    list(loader)  # imports the modules of the workers
    source: Any = loader._source  # noqa: SLF001 - for the numbers of its processes
    pool = source.executor._pool  # noqa: SLF001 - the same
    before = {one.pid: _bytes_read(one.pid) for one in pool.workers}
    own = _bytes_read("self")
    assert sum(1 for _ in loader) == 20_000 // 32
    read = sum(_bytes_read(pid) - count for pid, count in before.items())
    own = _bytes_read("self") - own
    loader.close()
    size = path.stat().st_size
    assert size <= read <= 1.05 * size
    assert own < 0.05 * size


def _bytes_read(pid):
    """Return the number of bytes that a process has read."""
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


PACKING_COLLATOR = VarlenCollator(tokens=Tokens("esm2"), max_tokens=2000, window=40)


@pytest.fixture(scope="module")
def proteins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proteins")
    lengths = np.random.default_rng(2).integers(0, 900, 200).tolist()
    return [write(folder / "a.fa", lengths), write(folder / "b.fa", lengths[::-1])]


def collated(files):
    """Return the batches that the collator makes from all records in order."""
    loader = create_async_dataloader(files, list, 0, batch_size=1)
    items = (item for batch in loader for item in batch)
    return list(PACKING_COLLATOR.stream(items))


@pytest.mark.parametrize("workers", [0, 1, 4])
def test_native_packed_batches_equal_those_of_the_collator(proteins, workers):
    loader = create_async_dataloader(proteins, PACKING_COLLATOR, workers, output="numpy")
    wanted = collated(proteins)
    assert same_batches(list(loader), wanted)
    assert same_batches(list(loader), wanted)


def test_packed_batches_do_not_depend_on_worker_processes(proteins, tmp_path):
    init = user.Marks(tmp_path)
    loader = create_async_dataloader(
        proteins, PACKING_COLLATOR, 2, output="numpy", worker_init_fn=init
    )
    assert same_batches(list(loader), collated(proteins))
    loader.close()


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_packed_batches_resume_with_any_number_of_workers(proteins, workers):
    wanted = collated(proteins)
    first = create_async_dataloader(proteins, PACKING_COLLATOR, 2, output="numpy")
    before = [*islice(first, 7)]
    second = create_async_dataloader(proteins, PACKING_COLLATOR, workers, output="numpy")
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.state_dict() == first.state_dict()
    assert same_batches([*before, *second], wanted)


def test_packed_batches_can_be_returned_as_tensors(proteins):
    torch = pytest.importorskip("torch")
    batch = next(
        iter(create_async_dataloader(proteins, PACKING_COLLATOR, 0, output="torch"))
    )
    assert batch["input_ids"].dtype == torch.int64
    assert isinstance(batch["sequence_ids"], list)


def test_an_invalid_character_in_packed_batches_is_an_error_with_file_and_line(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">a\nMK\n>b\nM!\n")
    loader = create_async_dataloader(path, PACKING_COLLATOR, 2)
    with pytest.raises(AlphabetError, match=r"a\.fa: record 1 \(b\), line 4, byte 10"):
        list(loader)
