"""Communication between the processes that torchrun started, by torch.distributed.

In `seqloom.train`, only this file imports PyTorch, and only if several processes train.
"""

from __future__ import annotations

import atexit
import hashlib
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed

from seqloom.errors import ArgumentError, WorkerError
from seqloom.train._ranks import Ranks, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Array, Backend

_torch: Any = torch  # the functions of PyTorch have no type hints
group: Any = torch.distributed
# Maximum number of bytes that one operation sums, as in PyTorch's
# DistributedDataParallel.
_BUCKET_BYTES = 25 << 20
# Dtypes of at most this number of bytes, such as float16, are summed as float32,
# because sums would be inexact or overflow.
_MAX_NARROW_BYTES = 2


def join_ranks() -> Ranks:
    """Join the PyTorch process group, unless the program has already joined one."""
    if not group.is_initialized():
        try:
            # gloo sums arrays in CPU memory, nccl on a GPU.
            has_gpu = torch.cuda.is_available() and group.is_nccl_available()
            group.init_process_group("cpu:gloo,cuda:nccl" if has_gpu else "gloo")
        except (RuntimeError, ValueError) as error:
            raise WorkerError(f"the processes cannot connect: {error}") from None
        atexit.register(lambda: group.is_initialized() and group.destroy_process_group())
    return TorchRanks(group.get_rank(), group.get_world_size())


class TorchRanks(Ranks):
    """The rank of this process, with operations over all processes."""

    def on_first(self, work: Callable[[], Result]) -> Result | None:
        """Call a function in the first process; if it fails, raise in all processes."""
        if not self.is_first:
            (count,) = self.sum_numbers(0)
            data = self.sum_values(np.zeros(int(count), np.int64)).astype(np.uint8)
            if message := data.tobytes().decode():
                raise WorkerError(f"the first process of this run failed: {message}")
            return None
        try:
            result = work()
        except Exception as error:
            self._send_message(str(error) or type(error).__name__)
            raise
        self._send_message("")
        return result

    def sum_array(self, array: Array, backend: Backend) -> Array:
        """Sum an array over all processes."""
        return self.sum_arrays([array], backend)[0]

    def sum_arrays(self, arrays: list[Array], backend: Backend) -> list[Array]:
        """Sum many arrays over all processes, several arrays in each operation."""
        tensors = [_to_torch(array, backend) for array in arrays]
        summed: list[torch.Tensor] = []
        for bucket in _split_into_buckets(tensors):
            flat = _torch.cat([tensor.reshape(-1) for tensor in bucket])
            with _explaining_lost_process():
                group.all_reduce(flat)
            parts = flat.split([tensor.numel() for tensor in bucket])
            pairs = zip(parts, bucket, strict=True)
            summed += [part.reshape(like.shape) for part, like in pairs]
        # The sum is converted to the dtype and the library of the summed arrays.
        found: list[Any] = []
        for total, like in zip(summed, arrays, strict=True):
            is_torch = isinstance(like, torch.Tensor)
            own = total.to(like.dtype) if is_torch else total.numpy()
            found.append(own if is_torch else backend.asarray(own, dtype=like.dtype))
        return found

    def sum_numbers(self, *numbers: float) -> list[float]:
        """Sum numbers over all processes."""
        return self.sum_values(np.array(numbers, np.float64)).tolist()

    def sum_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum a NumPy array over all processes."""
        total = _torch.from_numpy(values.copy())
        with _explaining_lost_process():
            group.all_reduce(total)
        return total.numpy()

    def require_same(self, facts: object) -> None:
        """Raise if processes were called with different data or settings."""
        text = json.dumps(facts, sort_keys=True).encode()
        digest = hashlib.blake2b(text, digest_size=32).digest()
        own = np.frombuffer(digest, np.uint8).astype(np.int64)
        first = self.sum_values(own if self.is_first else 0 * own)
        (different,) = self.sum_numbers(float((own != first).any()))
        if different:
            raise ArgumentError(
                f"{different:.0f} of {self.world} processes have other data or settings "
                "than the first; all must make the same call of fit"
            )

    def _send_message(self, message: str) -> None:
        """Send a message to the other processes."""
        data = np.frombuffer(message.encode(), np.uint8).astype(np.int64)
        self.sum_numbers(len(data))
        self.sum_values(data)


@contextmanager
def _explaining_lost_process() -> Generator[None]:
    """Convert PyTorch's socket errors to an error that reports the end of a process."""
    try:
        yield
    except RuntimeError as error:
        raise WorkerError(
            "another process of this run has ended or does not respond; see the message of "
            f"that process ({str(error).splitlines()[0]})"
        ) from None


def _to_torch(array: Any, backend: Backend) -> torch.Tensor:
    """Return an array as a PyTorch tensor, in float32 if sums in its dtype are inexact."""
    if not isinstance(array, torch.Tensor):
        host = np.asarray(backend.to_numpy(array))
        is_wide = host.dtype.kind in "iuf" and host.dtype.itemsize > _MAX_NARROW_BYTES
        array = _torch.from_numpy(np.array(host, host.dtype if is_wide else np.float32))
    is_short = array.dtype.itemsize <= _MAX_NARROW_BYTES
    return array.detach().float() if is_short else array.detach()


def _split_into_buckets(tensors: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """Split a list of arrays into buckets of arrays with the same dtype and device."""
    bucket: list[torch.Tensor] = []
    size = 0
    for tensor in tensors:
        kind = (tensor.dtype, tensor.device)
        is_other = bucket and (bucket[0].dtype, bucket[0].device) != kind
        if bucket and (is_other or size + tensor.nbytes > _BUCKET_BYTES):
            yield bucket
            bucket, size = [], 0
        bucket.append(tensor)
        size += tensor.nbytes
    if bucket:
        yield bucket
