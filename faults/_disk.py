"""Model of a disk: its possible states after a power cut.

POSIX guarantees the content of a file only after a sync of the file. The name of a file is
guaranteed only after a sync of its folder. Before the sync, each change of a folder may be
on the disk or not, in any combination; a rename is one change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from faults._shim import Call

# Maximum number of unsynced changes of folders that are tried in all combinations. If
# there are more changes, only subsets of one or two changes, and of all changes except
# one or two, are tried.
_MAX_CHANGES = 6


@dataclass(eq=False, slots=True)
class File:
    """The current content of a file, and its content on the disk."""

    now: bytes = b""
    synced: bytes = b""


@dataclass(eq=False, slots=True)
class Folder:
    """The current entries of a folder, and its entries on the disk."""

    now: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)


Node: TypeAlias = File | Folder
# Folder entries that change together: each a folder, a name, and the new content.
Change: TypeAlias = tuple[tuple[Folder, str, Node | None], ...]
Tree: TypeAlias = dict[str, bytes | None]


@dataclass(frozen=True, slots=True)
class DiskCall:
    """A file system call, and its paths relative to the watched folder."""

    call: Call
    path: tuple[str, ...] | None
    other: tuple[str, ...] | None


class Disk:
    """A disk to which the calls of a writer are applied."""

    def __init__(self, root: Folder, place: Path) -> None:
        self.root, self.place = root, PurePosixPath(place)
        self.pending: list[Change] = []

    @classmethod
    def of(cls, before: Path, place: Path) -> Disk:
        """Return the disk with the content of a folder."""
        return cls(_load_folder(before), place)

    def follow(self, call: Call) -> None:
        """Apply a call of a writer to the disk."""
        path, other = self._inside(call.path), self._inside(call.other)
        does = getattr(self, f"_{call.name.replace('-', '_')}", None)
        if does is not None and not (path is None and other is None):
            does(DiskCall(call, path, other))

    def after_crash(self) -> Iterator[Tree]:
        """Return the possible states of the disk if the power fails now."""
        for changes in _subsets(self.pending):
            for content in (_synced_bytes, _current_bytes, _half_written, _zero_filled):
                yield _tree(self.root, changes, content)

    def _inside(self, path: str) -> tuple[str, ...] | None:
        """Return the components of a path below the folder, or None for another path."""
        found = PurePosixPath(path.removesuffix(" (deleted)"))
        is_ours = bool(path) and found.is_relative_to(self.place)
        return found.relative_to(self.place).parts if is_ours else None

    def _find(self, parts: tuple[str, ...] | None) -> Node | None:
        """Return the file or folder at a path."""
        node: Node | None = self.root if parts is not None else None
        for part in parts or ():
            node = node.now.get(part) if isinstance(node, Folder) else None
        return node

    def _change(self, *entries: tuple[tuple[str, ...] | None, Node | None]) -> None:
        """Change entries of folders in one step."""
        change = []
        for parts, node in entries:
            folder = self._find(parts[:-1]) if parts else None
            if parts and isinstance(folder, Folder):
                change.append((folder, parts[-1], node))
        for folder, name, node in change:
            _set_entry(folder.now, name, node)
        self.pending.append(tuple(change))

    # The function that applies each call, by its name. A failed call changes nothing.

    def _create(self, step: DiskCall) -> None:
        self._change((step.path, File()))

    def _mkdir(self, step: DiskCall) -> None:
        if self._find(step.path) is None:
            self._change((step.path, Folder()))

    _mkdirat = _mkdir

    def _truncate(self, step: DiskCall) -> None:
        file = self._find(step.path)
        if isinstance(file, File):
            file.now = b""

    def _write(self, step: DiskCall) -> None:
        file, call = self._find(step.path), step.call
        if isinstance(file, File):
            before = file.now.ljust(call.offset, b"\0")
            rest = before[call.offset + len(call.data) :]
            file.now = before[: call.offset] + call.data + rest

    _pwrite = _pwrite64 = _write

    def _ftruncate(self, step: DiskCall) -> None:
        file, size = self._find(step.path), step.call.offset
        if isinstance(file, File):
            file.now = file.now[:size].ljust(size, b"\0")

    _ftruncate64 = _ftruncate

    def _fsync(self, step: DiskCall) -> None:
        node = self._find(step.path)
        if isinstance(node, File):
            node.synced = node.now
        if isinstance(node, Folder):
            self._sync_folder(node)

    _fdatasync = _fsync

    def _rename(self, step: DiskCall) -> None:
        moved, replaced = self._find(step.path), self._find(step.other)
        # The log does not contain the exchange flag, but an existing target folder
        # implies it.
        is_exchange = step.call.name == "renameat2" and isinstance(replaced, Folder)
        self._change((step.path, replaced if is_exchange else None), (step.other, moved))

    _renameat = _renameat2 = _rename

    def _link(self, step: DiskCall) -> None:
        if self._find(step.other) is None:
            self._change((step.other, self._find(step.path)))

    _linkat = _link

    def _unlink(self, step: DiskCall) -> None:
        if self._find(step.path) is not None:
            self._change((step.path, None))

    _unlinkat = _rmdir = _unlink

    def _sync_folder(self, folder: Folder) -> None:
        """Mark all changes of a folder as synced."""
        for change in self.pending:
            if any(changed is folder for changed, _, _ in change):
                for changed, name, node in change:
                    _set_entry(changed.synced, name, node)
        self.pending = [
            change
            for change in self.pending
            if all(changed is not folder for changed, _, _ in change)
        ]


def _load_folder(place: Path) -> Folder:
    """Return the content of a real folder; all of it counts as synced."""
    folder = Folder()
    for path in place.iterdir():
        data = b"" if path.is_dir() else path.read_bytes()
        folder.now[path.name] = _load_folder(path) if path.is_dir() else File(data, data)
    folder.synced = dict(folder.now)
    return folder


def _set_entry(names: dict[str, Node], name: str, node: Node | None) -> None:
    """Set an entry of a folder; remove the entry if `node` is None."""
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _subsets(changes: list[Change]) -> Iterator[list[Change]]:
    """Yield the subsets of unsynced changes that may be on the disk."""
    counts = range(len(changes) + 1)
    if len(changes) > _MAX_CHANGES:
        counts = sorted({0, 1, 2, len(changes) - 2, len(changes) - 1, len(changes)})
        yield from (changes[:count] for count in range(3, len(changes) - 2))
    for count in counts:
        yield from map(list, combinations(changes, count))


def _synced_bytes(file: File) -> bytes:
    return file.synced


def _current_bytes(file: File) -> bytes:
    return file.now


def _half_written(file: File) -> bytes:
    """Return the content of a file with half of its unsynced bytes."""
    if file.now == file.synced:
        return file.now
    return file.now[: (len(file.synced) + len(file.now)) // 2]


def _zero_filled(file: File) -> bytes:
    """Return a file's content at its new size, with zeros instead of unsynced bytes."""
    if file.now == file.synced:
        return file.now
    return file.synced[: len(file.now)].ljust(len(file.now), b"\0")


def _tree(root: Folder, changes: list[Change], content: Callable[[File], bytes]) -> Tree:
    """Return the bytes of each file, and None for each folder, after some changes."""
    names: dict[int, dict[str, Node]] = {}
    for change in changes:
        for folder, name, node in change:
            _set_entry(names.setdefault(id(folder), dict(folder.synced)), name, node)
    found: Tree = {}
    waiting = [("", root)]
    while waiting:
        at, folder = waiting.pop()
        for name, node in names.get(id(folder), folder.synced).items():
            path = f"{at}{name}"
            found[path] = content(node) if isinstance(node, File) else None
            waiting += [(f"{path}/", node)] if isinstance(node, Folder) else []
    return found
