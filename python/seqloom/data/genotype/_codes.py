"""Where the two-bit codes of a dataset are: in memory, in the .bed, or in a copy."""

from __future__ import annotations

import hashlib
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import atomic_path, reading
from seqloom._rust import _native
from seqloom._threads import run_interruptible
from seqloom.data._cache_folder import (
    CacheFolder,
    entry_facts,
    finish_entry,
    forget_entry,
    private_folder,
)
from seqloom.errors import FileError, FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.data.genotype._files import GenotypeFiles, Reading

    Rows = NDArray[np.int64]

    from numpy.typing import NDArray

# A file that was written so many seconds ago may be written again in the same tick of the
# clock: its stamp is not believed.
_YOUNG = 2.0
# Smaller files are hashed each time.
_WORTH_KEEPING = 64 << 20
# Goes up when what is kept changes.
_LAYOUT = 1
_CODES, _SUMS = "codes.bed", "sums"

# What laying lines down may take beside what is held, in bytes.
ROOM = 224 << 20
_FOUR = 4


class CodeStore:
    """Lines of codes by number: a line is a sample, or a variant."""

    # Where all of them fit into the memory that is allowed, they are held. Else a .bed
    # whose lines are the right ones is read as it is, and any other is copied once into the
    # cache. Another process opens the same again; a file with other content is an error
    # there.

    def __init__(
        self,
        files: GenotypeFiles,
        shape: tuple[int, int],
        *,
        by_sample: bool,
        variants: Rows | None,
        reading: Reading,
    ) -> None:
        self._files, self._shape, self._reading = files, shape, reading
        self.by_sample = by_sample
        self._variants = variants if by_sample else None
        # Where lines are variants all are laid down: some are a choice of lines.
        self._lines = None if by_sample else variants
        self._content: str | None = None
        self._copy: str | None = None
        self._native: _native.GenotypeCodes | None = self._open_lines()

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_native": None}
        return state | {"_content": self.content if self._is_direct else self._content}

    @property
    def native(self) -> _native.GenotypeCodes:
        """The lines, opened again where this is another process."""
        if self._native is None:
            self._native = self._open_lines()
        return self._native

    @property
    def content(self) -> str:
        """Name the content of the .bed."""
        if self._content is None:
            self._content = content_of(self._files, self._reading)
        return self._content

    @property
    def row_length(self) -> int:
        """The number of codes of a line."""
        if not self.by_sample:
            return self._shape[0]
        return self._shape[1] if self._variants is None else self._variants.size

    def _open_lines(self) -> _native.GenotypeCodes:
        """Open the lines where they are best had."""
        bed = self._files.open_bed()
        is_same = bed.major == ("individual" if self.by_sample else "SNP")
        self._is_direct = False
        lines = self._shape[0] if self.by_sample else self._shape[1]
        if lines * -(-self.row_length // _FOUR) <= self._reading.memory:
            return self._read_into_memory(bed)
        if is_same and self._variants is None:
            self._is_direct = True
            if self._reading.check:
                bed.check_tail(self._shape)
            return _native.GenotypeCodes.open(
                self._files.bed, self._shape, self.by_sample, None
            )
        return self._open_cached_copy(bed)

    def _layer(self, bed: _native.BedFile) -> _native.GenotypeLayer:
        """Say what is laid down."""
        return _native.GenotypeLayer(bed, self._shape, self.by_sample, self._variants)

    def _read_into_memory(self, bed: _native.BedFile) -> _native.GenotypeCodes:
        """Hold all lines in memory."""
        stamp = self._check_content()
        layer = self._layer(bed)
        held = self._run_with_progress(lambda watch, rest: layer.hold(watch, **rest))
        check_stamp(self._files.bed, stamp)
        return held

    def _open_cached_copy(self, bed: _native.BedFile) -> _native.GenotypeCodes:
        """Open the copy in the cache, which is made if need be."""
        stamp, layer = self._check_content(), self._layer(bed)

        def write(path: str) -> NDArray[np.uint64]:
            sums = self._run_with_progress(
                lambda watch, rest: layer.write(path, watch, **rest)
            )
            check_stamp(self._files.bed, stamp)
            return sums

        shape = (self._shape[0], self.row_length) if self.by_sample else self._shape
        self._copy, codes = open_copy(
            self._reading.cache,
            (self.content, self._shape, self.by_sample, self._variants),
            write=write,
            shape=shape,
        )
        return codes

    def _check_content(self) -> dict[str, int]:
        """Refuse a file that another process has found with other content."""
        path, kept, self._content = self._files.bed, self._content, None
        stamp = stamp_of(path)
        if kept not in {None, self.content}:
            raise FormatError(f"{path}: has changed since it was opened", path=path)
        return stamp

    def _run_with_progress(
        self, work: Callable[[_native.GenotypeWatch, dict[str, Any]], Any]
    ) -> Any:
        """Do what takes long, while others watch."""
        watch, reading = _native.GenotypeWatch(), self._reading
        total = self._shape[0] * self._shape[1] // _FOUR
        rest = {"room": ROOM, "check": reading.check, "threads": reading.threads}

        def look() -> None:
            if reading.progress is not None:
                reading.progress(min(watch.bytes, total), total)

        return run_interruptible(lambda: work(watch, rest), look, stop=watch.stop)

    def _at(self, rows: Rows) -> Rows:
        """Find the lines of items."""
        return np.ascontiguousarray(rows if self._lines is None else self._lines[rows])

    def decode(
        self, rows: Rows, tables: NDArray[Any], out: NDArray[Any], *, num_threads: int
    ) -> None:
        """Make numbers of some lines, by a table for each variant."""
        by_line = not self.by_sample
        arguments = self._at(rows), np.ascontiguousarray(tables), out
        self._read(
            lambda: self.native.decode(*arguments, by_line=by_line, threads=num_threads)
        )

    def gather(self, rows: Rows, num_threads: int) -> NDArray[np.uint8]:
        """Copy the codes of some lines."""
        codes = np.empty((rows.size, -(-self.row_length // _FOUR)), np.uint8)
        self._read(lambda: self.native.gather(self._at(rows), codes, threads=num_threads))
        return codes

    def count(self, rows: Rows) -> NDArray[np.int64]:
        """Count what is missing, heterozygous and homozygous A2, of each variant."""
        by_line, threads = not self.by_sample, self._reading.threads
        counts = self._read(
            lambda: self.native.count(self._at(rows), by_line=by_line, threads=threads)
        )
        return counts.astype(np.int64)

    def _read(self, read: Callable[[], Any]) -> Any:
        """Read lines; a copy that is damaged is made anew when it is next opened."""
        try:
            return read()
        except FormatError as error:
            if self._copy is not None and error.path == self._copy:
                # Whoever opens the copy next makes it again.
                forget_entry(Path(self._copy).parent)
            raise


def content_of(files: GenotypeFiles, reading: Reading) -> str:
    """Name a .bed's content by 32 hexadecimal digits."""
    # The hash of a large file is kept in the cache together with the file's size and times:
    # the time of the last change of anything (ctime) cannot be set back, so that a file
    # that is not the same is hashed anew.
    stamp = stamp_of(files.bed)
    place = os.fsencode(os.path.realpath(files.bed))
    name = hashlib.blake2b(place, digest_size=16).hexdigest()
    kept = reading.cache / "contents" / f"{name}.json"
    if found := _find_known_content(kept, stamp):
        return found
    watch = _native.GenotypeWatch()
    bed = files.open_bed()
    content = run_interruptible(
        lambda: _native.hash_bed(bed, watch, reading.threads), lambda: None, stop=watch.stop
    )
    check_stamp(files.bed, stamp)
    if stamp["size"] >= _WORTH_KEEPING and time.time() - stamp["changed"] / 1e9 > _YOUNG:
        _keep(kept, {**stamp, "content": content})
    return content


def stamp_of(path: str) -> dict[str, int]:
    """Tell what changes when a file is written."""
    with reading(path):
        facts = Path(path).stat()
    return {
        "size": facts.st_size,
        "written": facts.st_mtime_ns,
        "changed": facts.st_ctime_ns,
        "inode": facts.st_ino,
        "device": facts.st_dev,
    }


def check_stamp(path: str, stamp: dict[str, int]) -> None:
    """Refuse a file that was written meanwhile."""
    if stamp_of(path) != stamp:
        raise FormatError(f"{path}: was written while it was being read", path=path)


def _find_known_content(path: Path, stamp: dict[str, int]) -> str | None:
    """Look up what was found before, if the file is the same."""
    try:
        facts = json.loads(path.read_bytes())
        content = facts.pop("content")
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return content if facts == stamp and isinstance(content, str) else None


def _keep(path: Path, facts: dict[str, object]) -> None:
    """Write down what was found; where nothing can be written, it is found again."""
    try:
        private_folder(path.parent)
        with atomic_path(path) as part:
            part.write_text(json.dumps(facts), encoding="utf-8")
            part.chmod(0o600)
    except (OSError, FileError):
        return


def open_copy(
    cache: Path,
    what: tuple[str, tuple[int, int], bool, NDArray[np.int64] | None],
    *,
    write: Callable[[str], NDArray[np.uint64]],
    shape: tuple[int, int],
) -> tuple[str, _native.GenotypeCodes]:
    """Open a copy, and make it if it is absent or damaged."""
    # It is named by the content of the .bed and by what was chosen of it, and is whole or
    # absent: it is written beside its place and renamed, under a lock that ends with the
    # process. Each line has a sum, which is compared when the line is read.
    *facts, variants = what
    digest = hashlib.blake2b(repr((_LAYOUT, *facts)).encode(), digest_size=16)
    if variants is not None:
        digest.update(variants.tobytes())
    folder, key = CacheFolder(cache / "genotypes"), digest.hexdigest()

    def write_files(part: Path) -> None:
        sums = write(os.fspath(part / _CODES))
        (part / _SUMS).write_bytes(sums.tobytes())
        finish_entry(part, {"lines": sums.size, "sums": _digest(sums)})

    opened = partial(_open_existing, shape=shape, by_sample=what[2])
    codes = folder.entry(key, opened, write_files)
    return os.fspath(folder.path / key / _CODES), codes


def _open_existing(
    entry: Path, *, shape: tuple[int, int], by_sample: bool
) -> _native.GenotypeCodes | None:
    """Open a copy; None if it is absent, or not as it was written."""
    try:
        facts = entry_facts(entry)
        sums = np.frombuffer((entry / _SUMS).read_bytes(), np.uint64)
        if facts != {"lines": sums.size, "sums": _digest(sums)}:
            return None
        path = os.fspath(entry / _CODES)
        return _native.GenotypeCodes.open(path, shape, by_sample, sums)
    except (OSError, ValueError, FormatError):
        return None


def _digest(sums: NDArray[np.uint64]) -> str:
    """Name the sums."""
    return hashlib.blake2b(sums.tobytes(), digest_size=16).hexdigest()
