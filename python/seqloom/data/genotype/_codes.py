"""Reads two-bit genotype codes from memory, from the .bed, or from a cached copy."""

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
    create_private_folder,
    finish_entry,
    invalidate_entry,
    read_metadata,
)
from seqloom.errors import FileError, FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.data.genotype._files import GenotypeFiles, ReadingOptions

    Rows = NDArray[np.int64]

    from numpy.typing import NDArray

# Minimum age of a file, in seconds, for caching its hash. A younger file may change
# again without a new modification time.
_MIN_FILE_AGE_SECONDS = 2.0
# Files of fewer bytes are hashed on each access.
_MIN_CACHED_BYTES = 64 << 20
# Increase this version when the format of the transposed copy changes.
_COPY_VERSION = 1
_CODES_FILE, _SUMS_FILE = "codes.bed", "sums"

# Bytes of memory for transposing, in addition to the codes in memory.
TRANSPOSE_BYTES = 224 << 20
_CODES_PER_BYTE = 4


class CodeStore:
    """Reads rows of two-bit codes by index; a row is a sample or a variant."""

    # Codes that fit into the memory limit are kept in memory. Codes that exceed the
    # limit are read from the .bed if it has the requested order (samples or variants).
    # Any other .bed is transposed once into the cache. An unpickled object reopens the
    # .bed, and raises if its content has changed.

    def __init__(
        self,
        files: GenotypeFiles,
        shape: tuple[int, int],
        *,
        by_sample: bool,
        variants: Rows | None,
        reading: ReadingOptions,
    ) -> None:
        self._files, self._shape, self._reading = files, shape, reading
        self.by_sample = by_sample
        self._variants = variants if by_sample else None
        # If the rows are variants, selecting variants selects rows.
        self._lines = None if by_sample else variants
        self._content: str | None = None
        self._copy: str | None = None
        self._native: _native.GenotypeCodes | None = self._open_rows()

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_native": None}
        return state | {"_content": self.content if self._is_direct else self._content}

    @property
    def native(self) -> _native.GenotypeCodes:
        """The rows of codes; an unpickled object opens them again."""
        if self._native is None:
            self._native = self._open_rows()
        return self._native

    @property
    def content(self) -> str:
        """The hash of the .bed's content."""
        if self._content is None:
            self._content = hash_bed_content(self._files, self._reading)
        return self._content

    @property
    def row_length(self) -> int:
        """Number of codes in a row."""
        if not self.by_sample:
            return self._shape[0]
        return self._shape[1] if self._variants is None else self._variants.size

    def _open_rows(self) -> _native.GenotypeCodes:
        bed = self._files.open_bed()
        is_same = bed.major == ("individual" if self.by_sample else "SNP")
        self._is_direct = False
        lines = self._shape[0] if self.by_sample else self._shape[1]
        if lines * -(-self.row_length // _CODES_PER_BYTE) <= self._reading.memory:
            return self._read_into_memory(bed)
        if is_same and self._variants is None:
            self._is_direct = True
            if self._reading.check:
                bed.check_tail(self._shape)
            return _native.GenotypeCodes.open(
                self._files.bed, self._shape, self.by_sample, None
            )
        return self._open_cached_copy(bed)

    def _make_transposer(self, bed: _native.BedFile) -> _native.GenotypeLayer:
        return _native.GenotypeLayer(bed, self._shape, self.by_sample, self._variants)

    def _read_into_memory(self, bed: _native.BedFile) -> _native.GenotypeCodes:
        stamp = self._check_content()
        layer = self._make_transposer(bed)
        held = self._run_with_progress(lambda watch, rest: layer.hold(watch, **rest))
        check_file_stamp(self._files.bed, stamp)
        return held

    def _open_cached_copy(self, bed: _native.BedFile) -> _native.GenotypeCodes:
        """Open the transposed copy in the cache; write it if it is missing."""
        stamp, layer = self._check_content(), self._make_transposer(bed)

        def write(path: str) -> NDArray[np.uint64]:
            sums = self._run_with_progress(
                lambda watch, rest: layer.write(path, watch, **rest)
            )
            check_file_stamp(self._files.bed, stamp)
            return sums

        shape = (self._shape[0], self.row_length) if self.by_sample else self._shape
        self._copy, codes = open_transposed_copy(
            self._reading.cache,
            (self.content, self._shape, self.by_sample, self._variants),
            write=write,
            shape=shape,
        )
        return codes

    def _check_content(self) -> dict[str, int]:
        """Raise if the content of the file has changed since this object was pickled."""
        path, expected, self._content = self._files.bed, self._content, None
        stamp = read_file_stamp(path)
        if expected not in {None, self.content}:
            message = f"{path}: has changed since it was opened; create the dataset again"
            raise FormatError(message, path=path)
        return stamp

    def _run_with_progress(
        self, work: Callable[[_native.GenotypeWatch, dict[str, Any]], Any]
    ) -> Any:
        """Run a long function that reports progress and can be interrupted."""
        watch, reading = _native.GenotypeWatch(), self._reading
        total = self._shape[0] * self._shape[1] // _CODES_PER_BYTE
        rest = {"room": TRANSPOSE_BYTES, "check": reading.check, "threads": reading.threads}

        def report() -> None:
            if reading.progress is not None:
                reading.progress(min(watch.bytes, total), total)

        return run_interruptible(lambda: work(watch, rest), report, stop=watch.stop)

    def _to_file_rows(self, rows: Rows) -> Rows:
        return np.ascontiguousarray(rows if self._lines is None else self._lines[rows])

    def decode(
        self, rows: Rows, tables: NDArray[Any], out: NDArray[Any], *, num_threads: int
    ) -> None:
        """Decode rows of codes with one lookup table per variant."""
        by_line = not self.by_sample
        arguments = self._to_file_rows(rows), np.ascontiguousarray(tables), out
        self._read_rows(
            lambda: self.native.decode(*arguments, by_line=by_line, threads=num_threads)
        )

    def gather(self, rows: Rows, num_threads: int) -> NDArray[np.uint8]:
        """Return the codes of some rows."""
        codes = np.empty((rows.size, -(-self.row_length // _CODES_PER_BYTE)), np.uint8)
        self._read_rows(
            lambda: self.native.gather(self._to_file_rows(rows), codes, threads=num_threads)
        )
        return codes

    def count(self, rows: Rows) -> NDArray[np.int64]:
        """Return counts of missing, heterozygous and homozygous A2 codes per variant."""
        by_line, threads = not self.by_sample, self._reading.threads
        counts = self._read_rows(
            lambda: self.native.count(
                self._to_file_rows(rows), by_line=by_line, threads=threads
            )
        )
        return counts.astype(np.int64)

    def _read_rows(self, read: Callable[[], Any]) -> Any:
        """Call a function that reads rows; if the cached copy is damaged, invalidate it."""
        try:
            return read()
        except FormatError as error:
            if self._copy is not None and error.path == self._copy:
                # The next process that opens the invalidated copy writes it again.
                invalidate_entry(Path(self._copy).parent)
            raise


def hash_bed_content(files: GenotypeFiles, reading: ReadingOptions) -> str:
    """Return a hash of a .bed's content: 32 hexadecimal digits."""
    # The hash of a large file is cached with the file's size and times. A changed file
    # is always hashed again, because programs cannot reset its ctime.
    stamp = read_file_stamp(files.bed)
    path = os.fsencode(os.path.realpath(files.bed))
    name = hashlib.blake2b(path, digest_size=16).hexdigest()
    record = reading.cache / "contents" / f"{name}.json"
    if content := _find_cached_hash(record, stamp):
        return content
    watch = _native.GenotypeWatch()
    bed = files.open_bed()
    content = run_interruptible(
        lambda: _native.hash_bed(bed, watch, reading.threads), lambda: None, stop=watch.stop
    )
    check_file_stamp(files.bed, stamp)
    if (
        stamp["size"] >= _MIN_CACHED_BYTES
        and time.time() - stamp["changed"] / 1e9 > _MIN_FILE_AGE_SECONDS
    ):
        _cache_hash(record, {**stamp, "content": content})
    return content


def read_file_stamp(path: str) -> dict[str, int]:
    """Return size, times and inode of a file, which show whether the file was written."""
    with reading(path):
        facts = Path(path).stat()
    return {
        "size": facts.st_size,
        "written": facts.st_mtime_ns,
        "changed": facts.st_ctime_ns,
        "inode": facts.st_ino,
        "device": facts.st_dev,
    }


def check_file_stamp(path: str, stamp: dict[str, int]) -> None:
    """Raise if a file was modified after its size and times were read."""
    if read_file_stamp(path) != stamp:
        raise FormatError(f"{path}: changed while it was read; read it again", path=path)


def _find_cached_hash(path: Path, stamp: dict[str, int]) -> str | None:
    """Return the cached hash, if the file has not changed."""
    try:
        facts = json.loads(path.read_bytes())
        content = facts.pop("content")
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return content if facts == stamp and isinstance(content, str) else None


def _cache_hash(path: Path, facts: dict[str, object]) -> None:
    """Cache the hash of a file, if the folder can be written."""
    try:
        create_private_folder(path.parent)
        with atomic_path(path) as part:
            part.write_text(json.dumps(facts), encoding="utf-8")
            part.chmod(0o600)
    except (OSError, FileError):
        return


def open_transposed_copy(
    cache: Path,
    what: tuple[str, tuple[int, int], bool, NDArray[np.int64] | None],
    *,
    write: Callable[[str], NDArray[np.uint64]],
    shape: tuple[int, int],
) -> tuple[str, _native.GenotypeCodes]:
    """Open a transposed copy; write it if it is missing or damaged."""
    # The cache key is computed from the content of the .bed and the selected variants.
    # `CacheFolder` writes entries atomically. Each row has a checksum, which is
    # verified on every read.
    *facts, variants = what
    digest = hashlib.blake2b(repr((_COPY_VERSION, *facts)).encode(), digest_size=16)
    if variants is not None:
        digest.update(variants.tobytes())
    folder, key = CacheFolder(cache / "genotypes"), digest.hexdigest()

    def write_files(part: Path) -> None:
        sums = write(os.fspath(part / _CODES_FILE))
        (part / _SUMS_FILE).write_bytes(sums.tobytes())
        finish_entry(part, {"lines": sums.size, "sums": _digest_sums(sums)})

    opened = partial(_open_existing_copy, shape=shape, by_sample=what[2])
    codes = folder.entry(key, opened, write_files)
    return os.fspath(folder.path / key / _CODES_FILE), codes


def _open_existing_copy(
    entry: Path, *, shape: tuple[int, int], by_sample: bool
) -> _native.GenotypeCodes | None:
    """Open a transposed copy; return None if the copy is missing or damaged."""
    try:
        facts = read_metadata(entry)
        sums = np.frombuffer((entry / _SUMS_FILE).read_bytes(), np.uint64)
        if facts != {"lines": sums.size, "sums": _digest_sums(sums)}:
            return None
        path = os.fspath(entry / _CODES_FILE)
        return _native.GenotypeCodes.open(path, shape, by_sample, sums)
    except (OSError, ValueError, FormatError):
        return None


def _digest_sums(sums: NDArray[np.uint64]) -> str:
    return hashlib.blake2b(sums.tobytes(), digest_size=16).hexdigest()
