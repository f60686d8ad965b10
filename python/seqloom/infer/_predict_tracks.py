"""Write predicted tracks as bigWig files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_path
from seqloom._threads import count_threads
from seqloom.data import Dataset
from seqloom.data.interval._interval_source import IntervalSource
from seqloom.data.interval._spans import Genome
from seqloom.errors import ArgumentError
from seqloom.infer._exported import reject_exported
from seqloom.infer._predict import find_builtin_model, predict
from seqloom.infer._scores import compute_exact_scores
from seqloom.io import TrackWriter
from seqloom.io._track_writer import TRACK_SUFFIXES
from seqloom.models import Profile
from seqloom.models._ensemble import list_members
from seqloom.models._trained import config_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.infer._loop import ProgressOption
    from seqloom.infer._predict import Model
    from seqloom.models import Trained

    Integers = NDArray[np.int64]


def predict_tracks(
    model: Model,
    data: Dataset,
    out: str | os.PathLike[str],
    *,
    reverse_complement: bool = False,
    num_threads: int | None = None,
    progress: ProgressOption = None,
) -> list[Path]:
    """Predict the counts at each position of intervals, and write bigWig files.

    Where intervals overlap, the value is the mean of their predictions. Positions outside
    the intervals have no value.

    Args:
        model: A model of the task ``"profile"``, its run, or its run folder.
        data: An `IntervalDataset` with the model's encoder, without tracks.
        out: The path of the file, which ends in ``.bw``. For several tracks, the name of
            each track is added: ``pred.plus.bw``. Existing files are replaced.
        reverse_complement: If True, use the mean prediction of both strands; only for one
            track.
        num_threads: The number of threads; by default the number of available CPU cores.
        progress: Progress of the prediction, as in `predict`.

    Returns:
        The paths of the files, one for each track.

    Raises:
        ArgumentError: The model has another task, `data` has no intervals, or `out` has
            another suffix. The error is also raised for intervals on the minus strand if
            there are several tracks.
        ConfigError: The encoder of the dataset differs from that of the model.
        FileError: A file cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np, seqloom as sl
        >>> _ = Path("g.fa").write_text(">chr1\\n" + "ACGT" * 100 + "\\n")
        >>> encoder = sl.encode.OneHot("dna")
        >>> intervals = {"chrom": ["chr1"], "start": [100], "stop": [300]}
        >>> data = sl.data.IntervalDataset("g.fa", intervals, encoder=encoder)
        >>> network = sl.models.BPNetConfig(1, 4, 1, trimming=75).init("numpy").eval()
        >>> model = sl.models.Trained(network, encoder, sl.models.Profile(("reads",)), 8)
        >>> [path.name for path in sl.infer.predict_tracks(model, data, "pred.bw")]
        ['pred.bw']
        >>> track = sl.io.open_tracks("pred.bw")
        >>> np.isnan(track.values("chr1", 174, 226, missing="nan")).sum().item()
        2
    """
    reject_exported(model)
    trained = find_builtin_model(model, count_threads(num_threads))
    paths = list_track_paths(trained, out)
    spans = _TrackSpans(trained, data)
    scores = predict(
        trained,
        data,
        reverse_complement=reverse_complement,
        num_threads=num_threads,
        progress=progress,
    )
    task: Any = trained.task
    values = task.counts(compute_exact_scores(task, scores))
    for number, path in enumerate(paths):
        spans.write(path, values[:, number])
    return paths


def list_track_paths(trained: Trained, out: str | os.PathLike[str]) -> list[Path]:
    """Return the path of each track of a model; raise for other models and suffixes."""
    path = as_path("out", out).expanduser()
    if path.suffix.lower() not in TRACK_SUFFIXES:
        raise ArgumentError(f"out must end in .bw or .bigwig, got {str(path)!r}")
    if not isinstance(trained.task, Profile):
        raise ArgumentError(
            f"out is a bigWig file, but the model's task is {trained.task.name}; expected "
            "profile. Write its scores as .tsv"
        )
    names = trained.classes
    if len(names) == 1:
        return [path]
    texts = [
        re.sub(r"\.(bw|bigwig)$|[^\w.+-]", "", name, flags=re.IGNORECASE) for name in names
    ]
    if len(set(texts)) < len(names) or not all(texts):
        texts = [str(number) for number in range(len(names))]
    return [path.with_name(f"{path.stem}.{text}{path.suffix}") for text in texts]


class _TrackSpans:
    """The positions of the outputs of intervals."""

    def __init__(self, trained: Trained, data: Any) -> None:
        source = data.source if isinstance(data, Dataset) else None
        if not isinstance(source, IntervalSource):
            raise ArgumentError(
                "bigWig files need the positions of intervals: pass an IntervalDataset "
                "(--intervals)"
            )
        config: Any = config_of(list_members(trained.model)[0])
        self.bases: int = getattr(config, "bin_size", 1)
        spans = source.spans.take(data.rows)
        self.chroms, self.starts, self.stops = spans.chroms, spans.starts, spans.stops
        self.is_minus = (source.intervals.strands[data.rows] < 0) & source.strand
        if self.is_minus.any() and len(trained.classes) > 1:
            raise ArgumentError(
                "intervals are on the minus strand, but the model has several tracks, "
                "which may be strands: open the intervals with strand=False "
                "(--ignore-strand)"
            )
        genome = Genome(source.paths[0])
        self.contigs = dict(zip(genome.names, genome.lengths.tolist(), strict=True))

    def write(self, path: Path, values: NDArray[np.floating[Any]]) -> None:
        """Write the values ``(intervals, bins)`` of one track."""
        width = values.shape[1] * self.bases
        starts = self.starts + (self.stops - self.starts - width) // 2
        names = list(self.contigs)
        with TrackWriter(path, self.contigs) as writer:
            for rows in self._iterate_overlaps(starts, width):
                first = int(starts[rows[0]])
                sums, counts = np.zeros((2, int(starts[rows[-1]]) + width - first))
                for row in rows.tolist():
                    part = values[row, :: -1 if self.is_minus[row] else 1]
                    at = int(starts[row]) - first
                    sums[at : at + width] += np.repeat(part, self.bases)
                    counts[at : at + width] += 1
                name = names[int(self.chroms[rows[0]])]
                # Padded intervals extend beyond the ends of the contig.
                before = max(-first, 0)
                after = self.contigs[name] - first
                means = (sums / counts)[before:after]
                writer.write_values(name, first + before, means)

    def _iterate_overlaps(self, starts: Integers, width: int) -> Iterator[Integers]:
        """Yield the rows of intervals that overlap each other, in the order of starts."""
        order = np.lexsort((starts, self.chroms))
        is_new = np.diff(self.chroms[order]) != 0
        is_new |= np.diff(starts[order]) >= width
        yield from np.split(order, np.flatnonzero(is_new) + 1) if order.size else ()
