"""The asynchronous loader reads raw records in processes without GPU access."""

import gzip
import os
import warnings
from collections import Counter
from typing import Any, cast

import numpy as np
import pytest

import loader_user as user
from seqloom.data import create_async_dataloader
from seqloom.data.loader._async import check_cpu_only, warn_of_pinned_memory
from seqloom.errors import (
    ArgumentError,
    FileError,
    FormatError,
    MissingExtraError,
    WorkerError,
)


def _rows(start, count, length=30):
    letters = np.random.default_rng(start).choice([*b"ACGT"], (count, length))
    return "".join(
        f">r{start + i} text\n{bytes(row.tolist()).decode()}\n"
        for i, row in enumerate(letters)
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file with many records, a gzip file, and a file with a single record."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "a.fa").write_text(_rows(0, 2000))
    (folder / "b.fa.gz").write_bytes(gzip.compress(_rows(2000, 300).encode()))
    (folder / "c.fa").write_text(_rows(2300, 1))
    return [folder / "a.fa", folder / "b.fa.gz", folder / "c.fa"]


def items_of(loader):
    try:
        return [item for batch in loader for item in batch]
    finally:
        loader.close()


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_the_async_loader_returns_each_record_exactly_once(files, workers):
    found = items_of(create_async_dataloader(files, list, workers))
    assert [item["ordinal"] for item in found] == list(range(2301))
    assert all(item["id"] == f"r{item['ordinal']}" for item in found)
    assert Counter(item["file"] for item in found) == dict(
        zip(map(str, files), [2000, 300, 1], strict=True)
    )
    assert found[0].keys() == {"id", "sequence", "file", "ordinal"}


def test_a_worker_with_too_much_memory_is_replaced_without_data_loss(tmp_path):
    (tmp_path / "marks").mkdir()
    for number in range(8):
        (tmp_path / f"{number}.fa").write_text(_rows(number, 1))
    # Every process needs more than 1 MiB, so it is replaced after its first batches.
    loader = create_async_dataloader(
        tmp_path / "*.fa",
        list,
        2,
        worker_memory=1 << 20,
        worker_init_fn=user.MarksProcesses(tmp_path / "marks"),
        prefetch_factor=1,
    )
    found = items_of(loader)
    assert len(list((tmp_path / "marks").iterdir())) >= 3
    assert [item["id"] for item in found] == [f"r{number}" for number in range(8)]


def test_worker_init_fn_runs_in_each_worker_process(files, tmp_path):
    prepare = user.Marks(tmp_path)
    loader = create_async_dataloader(files, list, 2, worker_init_fn=prepare)
    assert len(items_of(loader)) == 2301
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def test_the_async_collator_runs_in_the_main_process(files):
    loader = create_async_dataloader(files, user.with_pid, 1, batch_size=500)
    assert {pid for pid, _ in loader} == {os.getpid()}
    loader.close()


class _Pairs:
    """A collator that packs two items into a batch."""

    def stream(self, items):
        held = []
        for item in items:
            held.append(item["ordinal"])
            if len(held) == 2:
                yield held
                held = []
        if held:
            yield held

    def __call__(self, _):
        raise AssertionError("a loader calls stream")


def test_a_collator_with_a_stream_method_receives_every_item(files):
    found = items_of(create_async_dataloader(files, _Pairs(), 1))
    assert sorted(found) == list(range(2301))


def test_a_second_async_epoch_uses_equal_workers_and_batches(files):
    loader = create_async_dataloader(files, list, 2)
    first, second = ([item for batch in loader for item in batch] for _ in range(2))
    loader.close()
    assert first == second


def test_an_async_loader_resumes_after_the_last_returned_batch(files):
    whole = list(create_async_dataloader(files, list, 0, batch_size=700))
    source = create_async_dataloader(files, list, 0, batch_size=700)
    next(iter(source))
    again = create_async_dataloader(files, list, 0, batch_size=700)
    again.load_state_dict(source.state_dict())
    assert list(again) == whole[1:]


def test_an_error_of_an_async_worker_is_raised_in_the_main_process(tmp_path):
    (tmp_path / "a.fa").write_text("ACGT\n")
    with pytest.raises(FormatError):
        items_of(create_async_dataloader(tmp_path / "a.fa", list, 2))


def test_a_file_that_changes_after_its_records_were_counted_is_an_error(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(_rows(0, 50))
    loader = create_async_dataloader(path, list, 1)
    list(loader)
    path.write_text(_rows(0, 60))
    with pytest.raises(FileError, match="has changed"):
        list(loader)
    loader.close()


def test_a_worker_process_with_a_visible_gpu_is_an_error(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(
        WorkerError, match=r"MainProcess \(pid \d+\): CUDA_VISIBLE_DEVICES is '0'"
    ):
        check_cpu_only()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    check_cpu_only()


def test_using_pytorch_with_cuda_in_a_worker_is_an_error(monkeypatch):
    import torch

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(WorkerError, match="torch sees CUDA"):
        check_cpu_only()


def test_pinning_memory_without_pytorch_is_an_error(monkeypatch):
    monkeypatch.setattr("seqloom.data.loader._async.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="pin_memory=True needs torch"):
        create_async_dataloader("a.fa", list, pin_memory=True)


def test_pinning_half_of_the_host_memory_causes_a_warning():
    class Pinned:
        nbytes = 600

        def is_pinned(self):
            return True

    with pytest.warns(ResourceWarning, match="more than half"):
        warn_of_pinned_memory({"x": Pinned()}, 4, memory=4000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_pinned_memory({"x": Pinned()}, 3, memory=4000)


def test_an_async_collator_must_be_callable():
    with pytest.raises(ArgumentError, match="collate_fn must be a function"):
        create_async_dataloader("a.fa", cast("Any", "list"))


@pytest.mark.parametrize("workers", [0, 2])
def test_max_length_keeps_the_first_residues_of_each_sequence(files, workers):
    options: dict[str, Any] = {"num_workers": workers, "batch_size": 100}
    whole = create_async_dataloader(files, list, **options)
    cut = create_async_dataloader(files, list, max_length=7, **options)
    wanted = [item["sequence"][:7] for batch in whole for item in batch]
    assert [item["sequence"] for batch in cut for item in batch] == wanted
    whole.close()
    cut.close()
