"""A disk that loses its power: what may be on it then.

POSIX promises little. What was written to a file is on the disk once the file was synced; a
name is there, or gone, once the folder that holds it was synced. Before that, each change of
a folder may be there or not, whatever came before or after it; one rename is one change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults._shim import Call

# Changes of folders that were not synced: so many are tried in all combinations; of more,
# those in which one or two are there, or one or two are not.
_ALL = 6


@dataclass(eq=False, slots=True)
class File:
    """A file: what was written, and what of it is on the disk."""

    now: bytes = b""
    synced: bytes = b""


@dataclass(eq=False, slots=True)
class Folder:
    """A folder: its names now, and those on the disk."""

    now: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)


Node: TypeAlias = File | Folder
# Entries of folders that change together: a folder, a name, and what it names then.
Change: TypeAlias = tuple[tuple[Folder, str, Node | None], ...]
Tree: TypeAlias = dict[str, bytes | None]


class Disk:
    """Follows the calls of a writer."""

    def __init__(self, root: Folder, place: Path) -> None:
        self.root, self.place = root, PurePosixPath(place)
        self.pending: list[Change] = []

    @classmethod
    def of(cls, before: Path, place: Path) -> Disk:
        """Begins with what one folder holds, as if it lay at another place."""
        return cls(_load(before), place)

    def follow(self, call: Call) -> None:
        """Does what a call has done."""
        path, other = self._inside(call.path), self._inside(call.other)
        does = getattr(self, f"_{call.name.replace('-', '_')}", None)
        if does is not None and not (path is None and other is None):
            does(call, path, other)

    def after_crash(self) -> Iterator[Tree]:
        """Lists what may be on the disk if the power fails now."""
        for changes in _subsets(self.pending):
            for content in (_synced, _written, _half, _zeros):
                yield _tree(self.root, changes, content)

    def _inside(self, path: str) -> tuple[str, ...] | None:
        """Splits a path below the place; None for any other."""
        found = PurePosixPath(path.removesuffix(" (deleted)"))
        is_ours = bool(path) and found.is_relative_to(self.place)
        return found.relative_to(self.place).parts if is_ours else None

    def _find(self, parts: tuple[str, ...] | None) -> Node | None:
        """Finds what a path names now."""
        node: Node | None = self.root if parts is not None else None
        for part in parts or ():
            node = node.now.get(part) if isinstance(node, Folder) else None
        return node

    def _change(self, *entries: tuple[tuple[str, ...] | None, Node | None]) -> None:
        """Changes entries of folders in one step."""
        change = []
        for parts, node in entries:
            folder = self._find(parts[:-1]) if parts else None
            if parts and isinstance(folder, Folder):
                change.append((folder, parts[-1], node))
        for folder, name, node in change:
            _enter(folder.now, name, node)
        self.pending.append(tuple(change))

    # One function for each call, by its name.

    def _create(self, call: Call, path: tuple[str, ...], other: object) -> None:
        self._change((path, File()))

    def _mkdir(self, call: Call, path: tuple[str, ...], other: object) -> None:
        if self._find(path) is None:  # else it has failed
            self._change((path, Folder()))

    def _truncate(self, call: Call, path: tuple[str, ...], other: object) -> None:
        file = self._find(path)
        if isinstance(file, File):
            file.now = b""

    def _write(self, call: Call, path: tuple[str, ...], other: object) -> None:
        file = self._find(path)
        if isinstance(file, File):
            before = file.now.ljust(call.offset, b"\0")
            rest = before[call.offset + len(call.data) :]
            file.now = before[: call.offset] + call.data + rest

    _pwrite = _pwrite64 = _write

    def _ftruncate(self, call: Call, path: tuple[str, ...], other: object) -> None:
        file = self._find(path)
        if isinstance(file, File):
            file.now = file.now[: call.offset].ljust(call.offset, b"\0")

    _ftruncate64 = _ftruncate

    def _fsync(self, call: Call, path: tuple[str, ...], other: object) -> None:
        node = self._find(path)
        if isinstance(node, File):
            node.synced = node.now
        if isinstance(node, Folder):
            self._sync_folder(node)

    _fdatasync = _fsync

    def _rename(
        self, call: Call, path: tuple[str, ...], other: tuple[str, ...] | None
    ) -> None:
        moved, replaced = self._find(path), self._find(other)
        # The flag of an exchange is not in the log: who exchanges folders finds one there.
        is_exchange = call.name == "renameat2" and isinstance(replaced, Folder)
        self._change((path, replaced if is_exchange else None), (other, moved))

    _renameat = _renameat2 = _rename

    def _link(
        self, call: Call, path: tuple[str, ...], other: tuple[str, ...] | None
    ) -> None:
        if self._find(other) is None:  # else it has failed
            self._change((other, self._find(path)))

    _linkat = _link

    def _unlink(self, call: Call, path: tuple[str, ...], other: object) -> None:
        if self._find(path) is not None:
            self._change((path, None))

    _unlinkat = _rmdir = _unlink

    def _sync_folder(self, folder: Folder) -> None:
        """Puts the changes of a folder on the disk."""
        for change in self.pending:
            if any(changed is folder for changed, _, _ in change):
                for changed, name, node in change:
                    _enter(changed.synced, name, node)
        self.pending = [
            change
            for change in self.pending
            if all(changed is not folder for changed, _, _ in change)
        ]


def _load(place: Path) -> Folder:
    """Reads a folder that has been on the disk for long."""
    folder = Folder()
    for path in place.iterdir():
        data = b"" if path.is_dir() else path.read_bytes()
        folder.now[path.name] = _load(path) if path.is_dir() else File(data, data)
    folder.synced = dict(folder.now)
    return folder


def _enter(names: dict[str, Node], name: str, node: Node | None) -> None:
    """Gives a name to something, or takes it away."""
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _subsets(changes: list[Change]) -> Iterator[list[Change]]:
    """Lists which of several changes may be on the disk."""
    few = range(len(changes) + 1)
    if len(changes) > _ALL:
        few = sorted({0, 1, 2, len(changes) - 2, len(changes) - 1, len(changes)})
        yield from (changes[:count] for count in range(3, len(changes) - 2))
    for count in few:
        yield from map(list, combinations(changes, count))


def _synced(file: File) -> bytes:
    return file.synced


def _written(file: File) -> bytes:
    return file.now


def _half(file: File) -> bytes:
    """What was not synced got there by half."""
    if file.now == file.synced:
        return file.now
    return file.now[: (len(file.synced) + len(file.now)) // 2]


def _zeros(file: File) -> bytes:
    """The disk knows the new size, but has nothing of what was not synced."""
    if file.now == file.synced:
        return file.now
    return file.synced[: len(file.now)].ljust(len(file.now), b"\0")


def _tree(root: Folder, changes: list[Change], content: object) -> Tree:
    """Lists the files after some changes: their bytes; None for a folder."""
    names = {}

    def names_of(folder: Folder) -> dict[str, Node]:
        return names.setdefault(id(folder), dict(folder.synced))

    for change in changes:
        for folder, name, node in change:
            _enter(names_of(folder), name, node)
    found: Tree = {}

    def walk(folder: Folder, at: PurePosixPath) -> None:
        for name, node in names_of(folder).items():
            is_file = isinstance(node, File)
            found[str(at / name)] = content(node) if is_file else None  # pyright: ignore[reportCallIssue]
            if not is_file:
                walk(node, at / name)

    walk(root, PurePosixPath())
    return found
