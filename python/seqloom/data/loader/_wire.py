"""Python objects between our own processes: pickled, with their arrays as raw memory.

A message is the number of its parts, the size of each, then the parts: the pickle, and the
buffers that it refers to. Nothing is ever unpickled from a file.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections import deque
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._encoder import empty

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

_NUMBER = struct.Struct("<Q")
# Memory of this size is worth reusing.
_LARGE = 1 << 16
Part = memoryview | bytes


def pack(message: Any) -> list[Part]:
    """Writes an object as the parts of a message; arrays are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    _Pickler(file, buffers.append).dump(message)
    parts: list[Part] = [file.getbuffer(), *(buffer.raw() for buffer in buffers)]
    sizes = b"".join(_NUMBER.pack(len(part)) for part in parts)
    return [_NUMBER.pack(len(parts)) + sizes, *parts]


class _Pickler(pickle.Pickler):
    """Pickles as multiprocessing does, and tensors as arrays."""

    def __init__(
        self, file: io.BytesIO, keep: Callable[[pickle.PickleBuffer], Any]
    ) -> None:
        super().__init__(file, protocol=5, buffer_callback=keep)
        self.dispatch_table = ForkingPickler(io.BytesIO()).dispatch_table

    def reducer_override(self, obj: Any) -> Any:
        """Takes tensors in memory apart; leaves the rest to pickle."""
        torch: Any = sys.modules.get("torch")
        if torch is None or type(obj) is not torch.Tensor:
            return NotImplemented
        if obj.is_nested and obj.layout is torch.strided and obj.device.type == "cpu":
            return torch.nested.as_nested_tensor, (obj.unbind(),)
        if not _is_plain(obj):
            return NotImplemented
        flat = obj.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
        return _tensor, (flat, str(obj.dtype).removeprefix("torch."), tuple(obj.shape))


def _is_plain(tensor: Any) -> bool:
    """Tells whether a tensor is no more than numbers in this machine's memory."""
    return (
        tensor.device.type == "cpu"
        and str(tensor.layout) == "torch.strided"
        and (not tensor.requires_grad and not tensor.is_quantized and not tensor.is_conj())
    )


def _tensor(flat: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
    """Puts a tensor together again."""
    import torch

    kind = getattr(torch, dtype)
    if not flat.size:
        return torch.empty(shape, dtype=kind)
    return torch.from_numpy(flat).view(kind).reshape(shape)  # pyright: ignore[reportUnknownMemberType]


class Inbox:
    """Reads messages from a socket that does not block, part by part."""

    def __init__(self, source: socket.socket) -> None:
        self._source = source
        self.is_ended = False
        self._expect(0, [_NUMBER.size])

    def messages(self) -> Iterator[Any]:
        """Yields the messages that have arrived."""
        while self._fill():
            if len(self._parts) > self._at:
                continue
            if self._stage == len(_STAGES):
                head, *buffers = self._parts
                self._expect(0, [_NUMBER.size])
                yield pickle.loads(head, buffers=buffers)  # noqa: S301 - of our own process
            else:
                self._expect(self._stage + 1, _STAGES[self._stage](bytes(self._parts[0])))

    def _expect(self, stage: int, sizes: list[int]) -> None:
        """Makes room for what comes next."""
        self._stage = stage
        self._parts = [_memory(size) for size in sizes]
        self._at = self._filled = 0
        self._skip()

    def _skip(self) -> None:
        """Goes on to the next part that has something to come."""
        while self._at < len(self._parts) and self._filled == len(self._parts[self._at]):
            self._at, self._filled = self._at + 1, 0

    def _fill(self) -> bool:
        """Reads what is there; tells whether there was anything."""
        try:
            count = self._source.recv_into(self._parts[self._at][self._filled :])
        except BlockingIOError:
            return False
        except OSError:
            count = 0
        self._filled += count
        self.is_ended = not count
        self._skip()
        return bool(count)


def _memory(size: int) -> memoryview:
    """Takes memory for one part; large memory is reused."""
    if size < _LARGE:
        return memoryview(bytearray(size))
    return empty((size,), np.uint8).data


def _sizes(raw: bytes) -> list[int]:
    """Reads the sizes of the parts."""
    return [size for (size,) in _NUMBER.iter_unpack(raw)]


_STAGES: tuple[Callable[[bytes], list[int]], ...] = (
    lambda raw: [_NUMBER.size * size for size in _sizes(raw)],
    _sizes,
)


class Outbox:
    """Sends messages through a socket that does not block."""

    def __init__(self, target: socket.socket) -> None:
        self._target = target
        self._waiting: deque[memoryview] = deque()

    @property
    def is_empty(self) -> bool:
        """Whether all has been sent."""
        return not self._waiting

    def put(self, message: Any) -> None:
        """Sends a message, as much of it as it can without waiting."""
        self._waiting.extend(memoryview(part).cast("B") for part in pack(message))
        self.flush()

    def flush(self) -> None:
        """Sends what it can without waiting; a dead peer is noticed elsewhere."""
        try:
            while self._waiting:
                count = self._target.send(self._waiting[0])
                rest = self._waiting.popleft()[count:]
                if rest:
                    self._waiting.appendleft(rest)
        except BlockingIOError:
            return
        except OSError:
            self._waiting.clear()


def send(target: socket.socket, parts: list[Part]) -> None:
    """Sends a message and waits until it is gone."""
    for part in parts:
        target.sendall(part)


def receive(source: socket.socket) -> Any:
    """Waits for one message; raises EOFError if the peer has closed the pipe."""
    sizes = [_NUMBER.size]
    for stage in _STAGES:
        sizes = stage(bytes(_receive_part(source, sizes[0])))
    head, *buffers = [_receive_part(source, size) for size in sizes]
    return pickle.loads(head, buffers=buffers)  # noqa: S301 - of our own process


def _receive_part(source: socket.socket, size: int) -> memoryview:
    """Waits for one part."""
    part = _memory(size)
    filled = 0
    while filled < size:
        count = source.recv_into(part[filled:])
        if not count:
            raise EOFError
        filled += count
    return part
