"""Where the two-bit codes of a dataset are: in memory, in the .bed, or in a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom._threads import run_interruptible
from seqloom.data.genotype._content import check_stamp, content_of, stamp_of
from seqloom.data.genotype._copy import forget_copy, open_copy
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.data.genotype._files import GenotypeFiles, Reading

    Rows = NDArray[np.int64]

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
        """Names the content of the .bed."""
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
        """Opens the lines where they are best had."""
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
        """Says what is laid down."""
        return _native.GenotypeLayer(bed, self._shape, self.by_sample, self._variants)

    def _read_into_memory(self, bed: _native.BedFile) -> _native.GenotypeCodes:
        """Holds all lines in memory."""
        stamp, kept = stamp_of(self._files.bed), self._content
        self._content = None
        content = self.content
        self._check_same(kept, content)
        held = self._run_with_progress(
            lambda watch, rest: self._layer(bed).hold(watch, **rest)
        )
        check_stamp(self._files.bed, stamp)
        return held

    def _open_cached_copy(self, bed: _native.BedFile) -> _native.GenotypeCodes:
        """Opens the copy in the cache, which is made if need be."""
        stamp, kept = stamp_of(self._files.bed), self._content
        self._content = None
        self._check_same(kept, self.content)

        def write(path: str) -> NDArray[np.uint64]:
            layer = self._layer(bed)
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

    def _check_same(self, kept: str | None, content: str) -> None:
        """Refuses a file that another process has found with other content."""
        if kept not in {None, content}:
            path = self._files.bed
            raise FormatError(f"{path}: has changed since it was opened", path=path)

    def _run_with_progress(
        self, work: Callable[[_native.GenotypeWatch, dict[str, Any]], Any]
    ) -> Any:
        """Does what takes long, while others watch."""
        watch, reading = _native.GenotypeWatch(), self._reading
        total = self._shape[0] * self._shape[1] // _FOUR
        rest = {"room": ROOM, "check": reading.check, "threads": reading.threads}

        def look() -> None:
            if reading.progress is not None:
                reading.progress(min(watch.bytes, total), total)

        return run_interruptible(lambda: work(watch, rest), look, stop=watch.stop)

    def _at(self, rows: Rows) -> Rows:
        """Finds the lines of items."""
        return np.ascontiguousarray(rows if self._lines is None else self._lines[rows])

    def decode(
        self, rows: Rows, tables: NDArray[Any], out: NDArray[Any], *, num_threads: int
    ) -> None:
        """Makes numbers of some lines, by a table for each variant."""
        by_line = not self.by_sample
        arguments = self._at(rows), np.ascontiguousarray(tables), out
        self._read(
            lambda: self.native.decode(*arguments, by_line=by_line, threads=num_threads)
        )

    def gather(self, rows: Rows, num_threads: int) -> NDArray[np.uint8]:
        """Copies the codes of some lines."""
        codes = np.empty((rows.size, -(-self.row_length // _FOUR)), np.uint8)
        self._read(lambda: self.native.gather(self._at(rows), codes, threads=num_threads))
        return codes

    def count(self, rows: Rows) -> NDArray[np.int64]:
        """Counts what is missing, heterozygous and homozygous A2, of each variant."""
        by_line, threads = not self.by_sample, self._reading.threads
        counts = self._read(
            lambda: self.native.count(self._at(rows), by_line=by_line, threads=threads)
        )
        return counts.astype(np.int64)

    def _read(self, read: Callable[[], Any]) -> Any:
        """Reads lines; a copy that is damaged is made anew when it is next opened."""
        try:
            return read()
        except FormatError as error:
            if self._copy is not None and error.path == self._copy:
                forget_copy(self._copy)
            raise
