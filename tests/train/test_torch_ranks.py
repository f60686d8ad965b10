"""Tests that sums by torch.distributed keep the dtype, shape and library of arrays."""

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")


@pytest.fixture
def ranks(tmp_path):
    """A process group of one process, whose sums equal its own values."""
    from seqloom.train._torch_ranks import TorchRanks  # after importorskip("torch")

    place = f"file://{tmp_path}/store"
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, init_method=place)
    yield TorchRanks(0, 1)
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "bool"]
)
def test_a_sum_has_the_dtype_of_its_terms(ranks, backend, dtype):
    b = sl.tensor.backend(backend)
    arrays = [b.tensor(values).astype(dtype).raw for values in ([[1, 0, 1]], 1, [])]
    before = [np.array(b.to_numpy(array)) for array in arrays]
    for found, array, old in zip(ranks.sum_arrays(arrays, b), arrays, before, strict=True):
        assert (found.dtype, tuple(found.shape)) == (array.dtype, tuple(array.shape))
        assert (b.to_numpy(found) == old).all()
        assert found is not array


def test_processes_sum_many_arrays_in_buckets(ranks, monkeypatch):
    sizes = []
    reduce = torch.distributed.all_reduce
    monkeypatch.setattr(
        torch.distributed, "all_reduce", lambda x: (sizes.append(x.nbytes), reduce(x))
    )
    b = sl.tensor.backend("numpy")
    arrays = [np.full(3 << 20, number, np.float32) for number in range(5)]
    found = ranks.sum_arrays(arrays, b)
    assert sizes == [24 << 20, 24 << 20, 12 << 20]
    assert [array[-1] for array in found] == [0, 1, 2, 3, 4]


def test_a_process_that_ended_is_reported_as_the_cause(ranks, monkeypatch):
    def fail(_):
        raise RuntimeError("Connection closed by peer [127.0.0.1]:1\nmore")

    monkeypatch.setattr(torch.distributed, "all_reduce", fail)
    with pytest.raises(
        sl.errors.WorkerError, match="another process of this run has ended"
    ):
        ranks.sum_numbers(1.0)


def test_an_error_in_the_first_process_is_raised_in_the_first_process(ranks):
    def fail():
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        ranks.on_first(fail)


def test_different_settings_in_another_process_are_an_error(ranks, monkeypatch):
    ranks.require_same({"lr": 1})
    monkeypatch.setattr(ranks, "sum_numbers", lambda _: [1.0])
    ranks.world = 2
    with pytest.raises(sl.errors.ArgumentError, match=r"1 of 2 processes have other data"):
        ranks.require_same({"lr": 1})
