"""Claims in an object store: an object changes hands only if nobody has touched it."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from seqloom.errors import FileError, MissingObjectError
from seqloom.infer.embedding._claims import LEASE, Claims, Owner

if TYPE_CHECKING:
    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._object_folder import ObjectFolder


class ObjectClaims(Claims):
    """The claims of this process, as objects with a count of their renewals.

    The clocks of the store and of other machines tell nothing here: a claim is silent when
    this process has seen the same tag for the length of a lease.
    """

    def __init__(self, folder: OutputFolder, lease: float = LEASE) -> None:
        super().__init__(folder, lease)
        self._store = cast("ObjectFolder", folder)
        self._tags: dict[str, str] = {}  # of the claims of this process
        self._seen: dict[str, tuple[str, float]] = {}  # of others, and since when
        self._beat = 0
        self._turn = threading.Lock()

    def take(self, shard: str) -> bool:
        """Claims a shard; False if another process that lives works on it."""
        name, content = f"{shard}.claim", self._content()
        tag = self._store.make(name, content) or self._replace(name, content)
        if tag is None:
            return False
        self._tags[shard] = tag
        self._held.add(shard)
        return True

    def _replace(self, name: str, content: bytes) -> str | None:
        """Puts a claim of ours over one whose owner is dead or silent."""
        found = self._store.look(name)
        if found is None:
            return self._store.make(name, content)
        owner, tag = self._owner_of(name), found["e_tag"]
        is_own = owner is not None and owner.key == self._owner.key
        is_dead = owner is not None and owner.is_dead(self._owner)
        if is_own or is_dead or self._is_unchanged(name, tag):
            return self._store.put(name, content, {"e_tag": tag})
        return None

    def _is_unchanged(self, name: str, tag: str) -> bool:
        """Says whether a claim has had one tag for the length of a lease."""
        now = time.monotonic()
        before, since = self._seen.get(name, ("", now))
        if before != tag:
            since = now
        self._seen[name] = (tag, since)
        return now - since > self._lease

    def release(self, shard: str) -> None:
        """Removes a claim, unless another process has taken it over."""
        self._held.discard(shard)
        with self._turn, suppress(FileError):
            tag, name = self._tags.pop(shard, None), f"{shard}.claim"
            found = self._store.look(name)
            if found is not None and found["e_tag"] == tag:
                self._store.remove(name)

    def _renew(self) -> None:
        """Renews the claims of this process until it ends."""
        while not self._over.wait(self._lease / 4):
            for shard in [*self._held]:
                with self._turn, suppress(FileError):
                    self.renew(shard)

    def renew(self, shard: str) -> None:
        """Gives a claim a new tag, if it is still ours."""
        if (before := self._tags.get(shard)) is None:
            return
        self._beat += 1
        tag = self._store.put(f"{shard}.claim", self._content(), {"e_tag": before})
        if tag is not None:
            self._tags[shard] = tag

    def _content(self) -> bytes:
        """Writes who claims, and how often it was renewed."""
        owner = {name: getattr(self._owner, name) for name in Owner.__slots__}
        return json.dumps({**owner, "beat": self._beat}).encode()

    def _owner_of(self, name: str) -> Owner | None:
        """Reads whose a claim is."""
        try:
            values = json.loads(self._store.read(name))
            values.pop("beat")
            return Owner(**values)
        except (MissingObjectError, TypeError, ValueError, KeyError):
            return None
