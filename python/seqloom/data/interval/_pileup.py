"""`pileup`, which counts the ends of sequenced fragments along the genome."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from seqloom._arguments import as_bool, as_choice, as_path, is_list, quote
from seqloom._rust import _native
from seqloom._text import format_count, join_first_names
from seqloom._warning import warn_user
from seqloom.data.interval._bias_motif import CONVENTIONS, estimate_shift
from seqloom.data.interval._spans import open_genome
from seqloom.errors import ArgumentError, FormatError
from seqloom.io import TrackWriter
from seqloom.io._settings import is_same_file
from seqloom.io._track_writer import TRACK_SUFFIXES

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from seqloom.data.interval._spans import Genome

    Shift = tuple[int, int]

_SAMPLE_SIZE = 2_000_000
_MAX_SHIFT = 1000
_SHIFT_COUNT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PileupReport:
    """Counts and shifts of `pileup`.

    Args:
        fragments: The number of fragments on contigs of the genome.
        outside: The number of ends outside of their contigs, which were left out.
        absent: The number of fragments on each contig that the genome lacks, which were
            left out.
        file_shift: The shifts that the plus and the minus ends have in the file, as
            estimated from the bias motif. None if the motif is unclear.
        shift: The shifts that were added to them.
        paths: The files that were written.

    Examples:
        >>> report = PileupReport(
        ...     fragments=5, absent={}, file_shift=(4, -5), shift=(0, 1), paths=("a.bw",)
        ... )
        >>> report.output_shift, report.ends
        ((4, -4), 10)
    """

    fragments: int
    outside: int = 0
    absent: dict[str, int]
    file_shift: Shift | None
    shift: Shift
    paths: tuple[str, ...]

    @property
    def ends(self) -> int:
        """The number of ends that were counted; duplicates are not included."""
        return 2 * self.fragments - self.outside

    @property
    def output_shift(self) -> Shift | None:
        """The shifts of the ends in the output; None if the motif is unclear."""
        return None if self.file_shift is None else _add(self.file_shift, self.shift)

    def sentences(self) -> list[str]:
        """Describe the counts and the shifts."""
        fragments = format_count(self.fragments, "fragments")
        shifts = "the bias motif is unclear, so the shift of the ends is unknown"
        if self.file_shift is not None:
            shifts = f"the bias motif shows ends with the shift {_spell(self.file_shift)}"
        sentences = [f"{fragments}, {self.ends:,} ends counted", shifts]
        added = f"added {_spell(self.shift)}"
        if self.output_shift is not None:
            added += f", which gives {_spell(self.output_shift)}"
        sentences.append(added)
        if self.outside:
            sentences.append(
                f"left out {format_count(self.outside, 'ends')} outside of the contigs"
            )
        if self.absent:
            count = format_count(sum(self.absent.values()), "fragments")
            sentences.append(
                f"left out {count} on contigs that the genome lacks: "
                f"{join_first_names(list(self.absent))}"
            )
        return sentences


def pileup(
    fragments: str | os.PathLike[str],
    genome: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    assay: Literal["atac", "dnase"],
    shift: Shift | str = (0, 0),
    count_duplicates: bool = False,
    strands: bool = False,
    outside: Literal["error", "drop"] = "error",
) -> PileupReport:
    """Count the ends of fragments at each base, and write them as a bigWig file.

    A fragment has two ends, one of a read of each strand. They are counted at the bases
    ``start`` and ``stop - 1``, and ``shift`` is added to them.

    Reads of ATAC-seq begin 4 bases before the middle of the Tn5 site. With the shift
    +4/-4, the ends of both strands are in the middle. Most fragments files, such as those
    of 10x Genomics and ENCODE, contain ends with the shift +4/-5 already. Only 0/+1 remains
    to be added, as chrombpnet does. For DNase-seq, the corresponding shift is 0/+1.

    The shift of the ends in the file is estimated from the bases around 100,000 of the
    first 2,000,000 fragments. The motifs of both strands coincide at the right shift, and
    the motif of Tn5 is its own reverse complement. For DNase-seq, the plus ends are assumed
    not to be shifted.

    Memory grows with the number of fragments of one contig. Values are stored as float32,
    and bases without ends have no value.

    Args:
        fragments: A text file with the columns contig, start, stop, and optionally barcode
            and count: plain, gzip or bgzip. The lines of each contig must be together.
        genome: The genome of the fragments, a FASTA file: plain, bgzip or gzip.
        out: The bigWig file to write, with the suffix ``.bw`` or ``.bigwig``.
        assay: The enzyme is Tn5 (``"atac"``) or DNase I (``"dnase"``).
        shift: The numbers that remain to be added to the plus and the minus ends, as a pair
            or a text such as ``"+4/-4"``. With ``"auto"``, they are estimated.
        count_duplicates: Multiply counts by the fifth column, the number of duplicates.
        strands: Write a file for each strand: ``x.plus.bw`` and ``x.minus.bw`` if ``out``
            is ``x.bw``.
        outside: Ends outside of a contig and contigs that the genome lacks are errors, or
            are left out and counted (``"drop"``).

    Returns:
        The counts and the shifts.

    Raises:
        ArgumentError: An argument is invalid. Or ``shift`` moves the ends away from the
            middle of the sites. Or ``shift`` is ``"auto"`` and the motif is unclear.
        FormatError: A line is invalid, or the lines of a contig are not together. Or no
            fragment is on a contig of the genome.
        FileError: A file cannot be read or written.

    Warns:
        DataWarning: The ends of the output have another shift than +4/-4 (ATAC-seq) or 0/+1
            (DNase-seq).

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("g.fa").write_text(f">chr1\\n{'ACGT' * 50}\\n")
        >>> _ = Path("f.tsv").write_text(
        ...     "chr1\\t10\\t60\\tcell\\t2\\nchr1\\t10\\t90\\tcell\\t1\\n"
        ... )
        >>> sl.data.pileup("f.tsv", "g.fa", "a.bw", assay="atac").ends
        4
        >>> sl.io.open_tracks("a.bw").entries("chr1", 0, 200).starts.tolist()
        [10, 59, 89]
    """
    as_choice("assay", assay, tuple(CONVENTIONS))
    rules = as_bool("count_duplicates", count_duplicates), outside == "drop"
    as_choice("outside", outside, ("error", "drop"))
    given, opened = _parse_shift(shift), open_genome(genome)
    source = str(as_path("fragments", fragments).expanduser())
    contigs = _list_contigs(opened)
    paths = list_paths(
        as_path("out", out).expanduser(), strands=as_bool("strands", strands)
    )
    _check_paths(paths, (source, opened.path))
    sample = _native.FragmentFile(source, contigs, (0, 0), *rules).sample(_SAMPLE_SIZE)
    file_shift = estimate_shift(assay, opened, sample)
    added = _choose_shift(given, file_shift, assay)
    file = _native.FragmentFile(source, contigs, added, *rules)
    _write(file, paths, contigs, inputs=(source, opened.path))
    counts = file.tally
    report = PileupReport(
        fragments=counts[0],
        outside=counts[1],
        absent=dict(counts[2]),
        file_shift=file_shift,
        shift=added,
        paths=paths,
    )
    if file_shift is not None and report.output_shift != CONVENTIONS[assay]:
        warn_user(
            f"the ends in {paths[0]} have the shift {_spell(_add(file_shift, added))}, so "
            'those of both strands are not at one base; shift="auto" (--shift auto) adds '
            f"{_spell(_find_remaining(file_shift, assay))} to the ends of the file"
        )
    return report


def _parse_shift(shift: Any) -> Shift | None:
    """Return the given shift; None for "auto"."""
    if shift == "auto":
        return None
    words: Any = shift
    if isinstance(shift, str):
        found = re.fullmatch(r"([+-]?\d{1,4})/([+-]?\d{1,4})", shift.strip(), re.ASCII)
        words = [int(it) for it in found.groups()] if found else None
    is_pair = is_list(words) and len(words) == _SHIFT_COUNT
    if not is_pair or not all(type(it) is int and abs(it) <= _MAX_SHIFT for it in words):
        raise ArgumentError(
            'shift must be "auto", or the numbers to add to the plus and the minus ends, '
            f'such as (4, -4) or "+4/-4", got {quote(shift)}'
        )
    return words[0], words[1]


def _list_contigs(genome: Genome) -> list[tuple[str, int]]:
    """Return the names and lengths of the contigs; raise if a name is repeated."""
    if len(set(genome.names)) < len(genome.names):
        raise FormatError(
            f"{genome.path}: two sequences have the same name; pass a genome with "
            "different names",
            path=genome.path,
        )
    return list(zip(genome.names, genome.lengths.tolist(), strict=True))


def list_paths(out: Path, *, strands: bool) -> tuple[str, ...]:
    """Return the paths of the files to write."""
    if not strands:
        return (str(out),)
    return tuple(str(out.with_suffix(f".{it}{out.suffix}")) for it in ("plus", "minus"))


def _check_paths(paths: tuple[str, ...], inputs: tuple[str, ...]) -> None:
    """Raise if the files to write are input files, or their suffix is of another format."""
    for path in paths:
        if any(is_same_file(path, it) for it in inputs):
            raise ArgumentError(f"out is also an input file: {path}; pass another path")
        if not path.lower().endswith(TRACK_SUFFIXES):
            raise ArgumentError(
                f"out must be a bigWig file with the suffix "
                f"{' or '.join(TRACK_SUFFIXES)}, got {path}"
            )


def _choose_shift(given: Shift | None, found: Shift | None, assay: str) -> Shift:
    """Return the shift to add; raise if it moves the ends away from the aim."""
    if given is None:
        if found is None:
            raise ArgumentError(
                'shift="auto" (--shift auto): the bias motif is unclear; pass what remains '
                "to be added, such as 0/+1 for fragments of 10x Genomics, or +4/-4 for "
                "ends of reads"
            )
        return _find_remaining(found, assay)
    if found is None:
        return given
    aims = zip(found, given, CONVENTIONS[assay], strict=True)
    if any(abs(old + new - aim) > abs(old - aim) for old, new, aim in aims):
        raise ArgumentError(
            f"shift {_spell(given)} moves the ends away from {_spell(CONVENTIONS[assay])}: "
            f"the motif shows {_spell(found)}; add "
            f"{_spell(_find_remaining(found, assay))}, or pass "
            'shift="auto" (--shift auto)'
        )
    return given


def _find_remaining(found: Shift, assay: str) -> Shift:
    """Return what remains to be added to ends with a shift."""
    return _add(CONVENTIONS[assay], (-found[0], -found[1]))


def _add(one: Shift, other: Shift) -> Shift:
    return one[0] + other[0], one[1] + other[1]


def _spell(shift: Shift) -> str:
    """Spell a shift, such as +4/-5."""
    return "/".join(f"{it:+}" if it else "0" for it in shift)


def _write(
    file: _native.FragmentFile,
    paths: tuple[str, ...],
    contigs: list[tuple[str, int]],
    *,
    inputs: tuple[str, str],
) -> None:
    """Write the counts of all contigs."""
    with ExitStack() as stack:
        writers = [stack.enter_context(TrackWriter(it, dict(contigs))) for it in paths]
        while (counts := file.next_contig(len(paths) > 1)) is not None:
            name = contigs[counts[0]][0]
            for writer, (starts, stops, values) in zip(writers, counts[1], strict=True):
                writer.write(name, starts, stops=stops, values=values)
        if not file.tally[0]:
            raise FormatError(
                f"{inputs[0]}: no fragment is on a contig of {inputs[1]}; use the genome "
                "of the fragments",
                path=inputs[0],
            )
