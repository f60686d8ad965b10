"""Read signal tracks: bigWig files and bedGraph text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from seqloom._arguments import as_bool, as_choice, as_integer, as_path, is_list, quote
from seqloom._rust import _native
from seqloom._text import contig_aliases, join_first_names
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Integers = NDArray[np.int64]
    Table = Mapping[Any, Any]

REDUCTIONS = ("mean", "sum", "max")
_STRAND_COUNT = 2
# With this limit, sums of positions fit into 64 bits.
_MAX_POSITION = 1 << 60


class TrackEntries(NamedTuple):
    """The ranges of a track that have values, in order.

    Args:
        starts: First position of each range, zero-based.
        stops: Position after the last position of each range.
        values: Value of each range.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.bedgraph").write_text("chr1 0 4 2.5\\nchr1 6 9 1\\n")
        >>> sl.io.open_tracks("a.bedgraph").entries("chr1", 3, 7).values.tolist()
        [2.5, 1.0]
    """

    starts: NDArray[np.uint32]
    stops: NDArray[np.uint32]
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class BinSettings:
    """The bins of spans, how they are reduced, and the value of missing bases."""

    width: int
    bin: int = 1
    reduce: str = "mean"
    missing: str | float = "nan"

    def __post_init__(self) -> None:
        as_integer("width", self.width, least=1)
        as_integer("bin", self.bin, least=1)
        as_choice("reduce", self.reduce, REDUCTIONS)
        if self.width % self.bin:
            raise ArgumentError(
                f"width must be a multiple of bin; got width={self.width} and "
                f"bin={self.bin}"
            )
        if self.missing_rule is None:
            raise ArgumentError(
                f'missing must be "nan", 0 or "error", got {quote(self.missing)}'
            )

    @property
    def count(self) -> int:
        """The number of bins."""
        return self.width // self.bin

    @property
    def missing_rule(self) -> str | None:
        """The name of the rule for missing bases; None if the value is invalid."""
        if isinstance(self.missing, str):
            return self.missing if self.missing in {"nan", "error"} else None
        if isinstance(self.missing, bool):
            return None
        is_nan = self.missing != self.missing
        return "nan" if is_nan else "zero" if self.missing == 0 else None


class Tracks:
    """One or more signal tracks, each in a bigWig or bedGraph file.

    `open_tracks` creates the object. Threads and forked processes may share it, and a
    pickled copy opens the files again. A bigWig file is read as ranges are needed. A
    bedGraph file has no index, so it is read into memory, with 12 bytes for each line.

    Attributes:
        names: Name of each track.
        paths: Path of each track.
        pairs: Pairs of tracks that are the plus and the minus strand of one signal.
        contigs: Length of each contig that all tracks have; None if no track states it.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.bedgraph").write_text("chr1 0 4 2.5\\nchr1 6 9 1\\n")
        >>> tracks = sl.io.open_tracks("a.bedgraph")
        >>> tracks.values("chr1", 2, 8, missing=0).tolist()
        [[2.5, 2.5, 0.0, 0.0, 1.0, 1.0]]
    """

    names: tuple[str, ...]
    paths: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    contigs: dict[str, int | None]

    def __init__(
        self,
        paths: Sequence[str],
        names: Sequence[str],
        pairs: Sequence[tuple[int, int]] = (),
        *,
        absent_contigs: bool = False,
    ) -> None:
        self.paths, self.names, self.pairs = tuple(paths), tuple(names), tuple(pairs)
        self.absent_contigs = absent_contigs
        self._files = [_native.TrackFile(path) for path in self.paths]
        self._contigs = [file.contigs for file in self._files]
        self._numbers = [
            {name: number for number, (name, _) in enumerate(contigs)}
            for contigs in self._contigs
        ]
        self.contigs = self._find_contigs()

    def _find_contigs(self) -> dict[str, int | None]:
        """Return the contigs of all tracks; raise if their lengths differ."""
        found: dict[str, int | None] = {}
        owners: dict[str, str] = {}
        for path, contigs in zip(self.paths, self._contigs, strict=True):
            for other, length in contigs:
                name = next((it for it in contig_aliases(other) if it in found), other)
                old = found.setdefault(name, length)
                if None not in {old, length} and old != length:
                    raise FormatError(
                        f"{path}: {other} has {length:,} bases, but {old:,} in "
                        f"{owners[name]}; use tracks of one genome build",
                        path=path,
                    )
                if length is not None:
                    found[name] = length
                    owners.setdefault(name, path)
        return {
            name: length
            for name, length in found.items()
            if self.absent_contigs
            or all(
                any(it in numbers for it in contig_aliases(name))
                for numbers in self._numbers
            )
        }

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"Tracks({join_first_names(list(self.names))})"

    def __reduce__(self) -> Any:
        """Pickle the paths; the copy opens the files again."""
        arguments = self.paths, self.names, self.pairs, self.absent_contigs
        return _reopen, (type(self), *arguments)

    def find_contig(self, name: str) -> list[int]:
        """Return the number of a contig in each file; -1 if an absent contig is allowed.

        Args:
            name: Name of the contig; ``chr1`` and ``1``, and ``chrM`` and ``MT``, are names
                of one contig.

        Raises:
            ArgumentError: A file does not have the contig.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a.bedgraph").write_text("1 0 4 2.5\\n")
            >>> sl.io.open_tracks("a.bedgraph").find_contig("chr1")
            [0]
        """
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"chrom must be the name of a contig, got {quote(name)}")
        found: list[int] = []
        for path, numbers in zip(self.paths, self._numbers, strict=True):
            known = [numbers[it] for it in contig_aliases(name) if it in numbers]
            if not known and not self.absent_contigs:
                raise ArgumentError(
                    f"{path} has no contig {name!r}, it has "
                    f"{join_first_names(list(numbers)) or 'none'}; if all its values are "
                    "missing, open the file with open_tracks(..., absent_contigs=True)"
                )
            found.append(known[0] if known else -1)
        return found

    def check_length(self, numbers: list[int], name: str, length: int) -> None:
        """Raise if a track has another length of a contig than the genome."""
        for path, contigs, number in zip(self.paths, self._contigs, numbers, strict=True):
            known = contigs[number][1] if number >= 0 else None
            if known is not None and known != length:
                raise FormatError(
                    f"{path}: {name} has {known:,} bases, but {length:,} in the genome; "
                    "use tracks of the same genome build",
                    path=path,
                )

    def values(
        self,
        chrom: str,
        start: int,
        stop: int,
        *,
        bin: int = 1,
        reduce: Literal["mean", "sum", "max"] = "mean",
        missing: Literal["nan", "error"] | float = "nan",
    ) -> NDArray[np.float32]:
        """Return the values of one range.

        Args:
            chrom: Name of the contig.
            start: First position, zero-based. Positions outside of the contig are missing.
            stop: Position after the last position.
            bin: Number of bases of a bin.
            reduce: Number for each bin: mean, sum or maximum of its bases. The numbers are
                exact; zoom levels of the file are not used.
            missing: Value of bases without a value in the file, or outside of the contig:
                ``"nan"`` (left out of means, sums and maxima), 0 (included), or
                ``"error"``.

        Returns:
            An array ``(tracks, bins)`` of float32.

        Raises:
            ArgumentError: The contig is absent, or an argument is invalid.
            FormatError: The file is damaged, or a base has no value and `missing` is
                ``"error"``.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a.bedgraph").write_text("chr1 0 3 4\\n")
            >>> sl.io.open_tracks("a.bedgraph").values("chr1", 0, 4, bin=4).tolist()
            [[4.0]]
        """
        starts = [as_integer("start", start, least=-_MAX_POSITION, limit=_MAX_POSITION)]
        stops = as_integer("stop", stop, least=starts[0] + 1, limit=_MAX_POSITION)
        width = stops - starts[0]
        return self.fetch(
            [chrom], starts, width=width, bin=bin, reduce=reduce, missing=missing
        )[0]

    def fetch(
        self,
        chroms: Sequence[str],
        starts: ArrayLike,
        *,
        width: int,
        bin: int = 1,
        reduce: Literal["mean", "sum", "max"] = "mean",
        missing: Literal["nan", "error"] | float = "nan",
    ) -> NDArray[np.float32]:
        """Return the values of many ranges of one width.

        Args:
            chroms: Name of the contig of each range.
            starts: First position of each range, zero-based.
            width: Number of bases of each range, a multiple of `bin`.
            bin: Number of bases of a bin, as in `values`.
            reduce: Number for each bin, as in `values`.
            missing: Value of bases without a value, as in `values`.

        Returns:
            An array ``(ranges, tracks, bins)`` of float32.

        Raises:
            ArgumentError: A contig is absent, or an argument is invalid.
            FormatError: A file is damaged, or a base has no value and `missing` is
                ``"error"``.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a.bedgraph").write_text("chr1 0 3 4\\n")
            >>> tracks = sl.io.open_tracks("a.bedgraph")
            >>> tracks.fetch(["chr1", "chr1"], [0, 2], width=2, missing=0).tolist()
            [[[4.0, 4.0]], [[4.0, 0.0]]]
        """
        bins = BinSettings(width=width, bin=bin, reduce=reduce, missing=missing)
        if isinstance(chroms, str):
            raise ArgumentError(f"chroms must be a list of names, got {quote(chroms)}")
        positions = np.asarray(starts)
        if positions.size and positions.dtype.kind not in "iu":
            raise ArgumentError(f"starts must be integers, got {quote(starts)}")
        names = list(dict.fromkeys(chroms))
        codes = {name: code for code, name in enumerate(names)}
        numbers = np.array([codes[name] for name in chroms], np.int64)
        return self.read_spans(
            [self.find_contig(name) for name in names],
            (numbers, positions.astype(np.int64)),
            bins=bins,
            num_threads=count_threads(),
        )

    def read_spans(
        self,
        contigs: list[list[int]],
        spans: tuple[Integers, Integers],
        *,
        bins: BinSettings,
        num_threads: int,
    ) -> NDArray[np.float32]:
        """Return the values of spans, each an index into `contigs` and a start."""
        numbers, starts = map(np.ascontiguousarray, spans)
        if numbers.shape != starts.shape or starts.ndim != 1:
            raise ArgumentError(
                "chroms and starts must have one value for each range, got the shapes "
                f"{numbers.shape} and {starts.shape}"
            )
        made = np.empty((len(starts), len(self), bins.count), np.float32)
        _native.fetch_tracks(
            self._files,
            [[each[row] for each in contigs] for row in range(len(self))],
            (numbers, starts),
            (bins.count, bins.bin),
            bins.reduce,
            str(bins.missing_rule),
            made.reshape(-1),
            num_threads,
        )
        return made

    def entries(
        self, chrom: str, start: int = 0, stop: int | None = None, *, track: int = 0
    ) -> TrackEntries:
        """Return the ranges of one track that overlap a range, as they are in the file.

        Args:
            chrom: Name of the contig.
            start: First position, zero-based.
            stop: Position after the last position; by default, the end of the contig.
            track: Index of the track.

        Returns:
            Starts, stops and values.

        Raises:
            ArgumentError: The contig is absent, or an argument is invalid.
            FormatError: The file is damaged.
        """
        limit = 1 << 32
        first = as_integer("start", start, limit=limit)
        end = limit - 1
        if stop is not None:
            end = as_integer("stop", stop, least=first, limit=limit)
        index = as_integer("track", track, limit=len(self))
        number = self.find_contig(chrom)[index]
        if number < 0:
            none = np.zeros(0, np.uint32)
            return TrackEntries(none, none, np.zeros(0, np.float32))
        return TrackEntries(*self._files[index].entries(number, first, end))


def _reopen(kind: type[Tracks], *arguments: Any) -> Tracks:
    """Unpickle tracks; existing pickles refer to this function by name."""
    paths, names, pairs, absent_contigs = arguments
    return kind(paths, names, pairs, absent_contigs=absent_contigs)


def open_tracks(paths: Any, *, absent_contigs: bool = False) -> Tracks:
    """Open bigWig and bedGraph files; the format is detected from the content.

    Args:
        paths: A path, or a list of paths. A pair ``(plus, minus)`` in the list has the two
            strands of one signal, which a reverse complement exchanges. A dict from name to
            path or pair gives names; by default, names are those of the files. Opened
            tracks are returned unchanged.
        absent_contigs: If True, all values of a contig that a file does not have are
            missing. By default, reading such a contig raises an error.

    Returns:
        The tracks.

    Raises:
        ArgumentError: The paths have the wrong type, or two tracks have one name.
        FileError: A file cannot be read.
        FormatError: A file is neither bigWig nor bedGraph, or is damaged; or the files
            belong to different genome builds.

    Examples:
        >>> from pathlib import Path
        >>> for sign in ("plus", "minus"):
        ...     _ = Path(f"{sign}.bedgraph").write_text("chr1 0 4 2.5\\n")
        >>> tracks = open_tracks({"ctcf": ("plus.bedgraph", "minus.bedgraph")})
        >>> tracks.names, tracks.pairs
        (('ctcf+', 'ctcf-'), ((0, 1),))
    """
    if isinstance(paths, Tracks):
        if absent_contigs and not paths.absent_contigs:
            raise ArgumentError(
                "absent_contigs is True, but paths are tracks that were opened without it; "
                "pass the paths of the files"
            )
        return paths
    given: list[tuple[str | None, Any]] = []
    if isinstance(paths, (str, os.PathLike)):
        given = [(None, paths)]
    elif isinstance(paths, Mapping):
        given = [(str(name), each) for name, each in cast("Table", paths).items()]
    elif isinstance(paths, (list, tuple)):
        given = [(None, each) for each in cast("list[Any]", paths)]
    if not given:
        raise ArgumentError(
            "paths must be one or more paths of bigWig or bedGraph files, got "
            f"{quote(cast('object', paths))}"
        )
    found = _TrackList()
    for name, each in given:
        found.add(name, each)
    return found.open(absent_contigs=as_bool("absent_contigs", absent_contigs))


class _TrackList:
    """Paths, names and pairs of tracks."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._names: list[str] = []
        self._pairs: list[tuple[int, int]] = []

    def add(self, name: str | None, given: Any) -> None:
        """Add a path, or a pair of paths."""
        is_pair = is_list(given)
        both: list[Any] = list(given) if is_pair else [given]
        if is_pair and len(both) != _STRAND_COUNT:
            raise ArgumentError(
                f"a pair of tracks must have two paths, plus and minus; got {quote(both)}"
            )
        if is_pair:
            self._pairs.append((len(self.paths), len(self.paths) + 1))
        for sign, each in zip("+-" if is_pair else ("",), both, strict=True):
            path = as_path("each of paths", each, expected="the path of a track")
            if "://" in str(each):
                raise ArgumentError(
                    f"{each} is a URL, but tracks are read from local files; download the "
                    "file, and pass its path"
                )
            self.paths.append(str(path.expanduser()))
            self._names.append(path.name if name is None else f"{name}{sign}")

    def open(self, *, absent_contigs: bool) -> Tracks:
        """Open the files."""
        for row, name in enumerate(self._names):
            if name in self._names[:row]:
                raise ArgumentError(
                    f"two tracks are named {name!r}; pass a dict from name to path"
                )
        return Tracks(self.paths, self._names, self._pairs, absent_contigs=absent_contigs)
