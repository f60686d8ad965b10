"""Claims: which process works on which shard, without anybody in charge."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from seqloom._system import boot_identity, process_start
from seqloom.infer.embedding._folder import filesystem_time
from seqloom.infer.embedding._name import give_name

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from seqloom.infer.embedding._folder import OutputFolder

# A claim that was not renewed for so many seconds is another process's to take.
LEASE = 60.0
_RENEWALS = 4  # within a lease


@dataclass(frozen=True, slots=True)
class Owner:
    """A process: its claims, and whether it is known to be dead."""

    host: str
    boot: str
    pid_namespace: str
    pid: int
    started: str
    key: str

    @classmethod
    def here(cls) -> Self:
        """Describes this process."""
        pid = os.getpid()
        boot, namespace = boot_identity()
        key = secrets.token_hex(8)
        return cls(socket.gethostname(), boot, namespace, pid, process_start(pid), key)

    def is_dead(self, here: Owner) -> bool:
        """Says whether the process ended; of another machine nobody here can know."""
        place = (here.host, here.boot, here.pid_namespace)
        same = (self.host, self.boot, self.pid_namespace) == place
        return bool(self.boot and same) and process_start(self.pid) != self.started


class Claims:
    """The claims of this process, which a thread renews while it works.

    A claim is a file that only one process can make. It avoids double work, and nothing
    depends on it: where two processes compute one shard, because a claim was taken over,
    `OutputFolder.create` lets only the first of them publish it.
    """

    def __init__(self, folder: OutputFolder, lease: float = LEASE) -> None:
        self._folder, self._lease = folder, lease
        self._owner = Owner.here()
        self._held: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        for name in [*self._held]:
            self.release(name)

    def take(self, shard: str) -> bool:
        """Claims a shard; False if another process that lives works on it."""
        name = f"{shard}.claim"
        content = json.dumps(_values(self._owner)).encode()
        if not self._folder.create(name, [content]) and not (
            self._take_over(name) and self._folder.create(name, [content])
        ):
            return False
        self._held.add(shard)
        return True

    def release(self, shard: str) -> None:
        """Removes a claim, unless another process has taken it over."""
        self._held.discard(shard)
        path = self._path(shard)
        if self._is_own(path):
            with suppress(OSError):
                path.unlink()

    def _take_over(self, name: str) -> bool:
        """Removes a claim whose owner is dead or silent."""
        path = self._folder.path / name
        owner = _owner_of(path)
        if owner is None and not path.exists():
            return True
        is_dead = owner is not None and owner.is_dead(self._owner)
        if not is_dead and not self._is_silent(path):
            return False
        stale = path.with_name(f".{name}.{secrets.token_hex(8)}.part")
        try:
            path.rename(stale)
        except OSError:
            return False  # another process was quicker
        return self._discard_or_restore(stale, path, owner)

    def _discard_or_restore(self, stale: Path, path: Path, owner: Owner | None) -> bool:
        """Removes the old claim; says False and restores one that was made since."""
        is_old = _owner_of(stale) == owner
        if not is_old:
            with suppress(OSError):
                give_name(stale, path)
        stale.unlink(missing_ok=True)
        return is_old

    def _is_silent(self, path: Path) -> bool:
        """Says whether a claim was not renewed for the length of a lease."""
        try:
            renewed = path.stat().st_mtime
        except OSError:
            return False
        return filesystem_time(self._folder.path) - renewed > self._lease

    def _renew(self) -> None:
        """Renews the claims of this process until it ends."""
        while not self._over.wait(self._lease / _RENEWALS):
            for path in filter(self._is_own, map(self._path, [*self._held])):
                with suppress(OSError):
                    os.utime(path)

    def _path(self, shard: str) -> Path:
        """Returns the path of a claim."""
        return self._folder.path / f"{shard}.claim"

    def _is_own(self, path: Path) -> bool:
        """Says whether a claim is still this process's."""
        owner = _owner_of(path)
        return owner is not None and owner.key == self._owner.key


def _owner_of(path: Path) -> Owner | None:
    """Reads whose a claim is; None where it is gone or unreadable."""
    try:
        return Owner(**json.loads(path.read_bytes()))
    except (OSError, TypeError, ValueError):
        return None


def _values(owner: Owner) -> dict[str, Any]:
    """Lists the fields of an owner."""
    return {name: getattr(owner, name) for name in Owner.__slots__}
