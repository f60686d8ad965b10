"""Sequences scored as they are, and with some of their letters replaced."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqloom.data import Dataset, SequenceDataset
from seqloom.data._encoder import leaves_out
from seqloom.data._parts import letters_of
from seqloom.infer._loop import (
    OnBatch,
    evaluation_batch_size,
    run_model,
    run_strands,
)
from seqloom.models import Trained

# From the outputs for sequences, and the numbers of their records, to what is measured.
Measure: TypeAlias = Callable[
    [NDArray[np.float32], NDArray[np.int64]], NDArray[np.floating[Any]]
]

# The letters of the changed sequences that are made at once, unless a batch has more.
_LETTERS = 1 << 20
# What is put in place of a letter: one that stands for any, or each plain one.
_NEUTRAL = {"dna": b"N", "rna": b"N", "iupac": b"N", "protein": b"X"}
_MEMBERS = {
    "dna": "ACGT",
    "iupac": "ACGT",
    "rna": "ACGU",
    "protein": "ACDEFGHIKLMNPQRSTVWY",
}


def neutral_of(encoder: Any) -> bytes | None:
    """Return the letter that hides others, where the encoder's alphabet has one."""
    if not hasattr(encoder, "refuses"):
        return None
    return _NEUTRAL.get(getattr(encoder, "alphabet", ""))


def members_of(encoder: Any) -> str:
    """List the plain letters of the encoder's alphabet; none where it has no alphabet."""
    alphabet = str(getattr(encoder, "alphabet", ""))
    return _MEMBERS.get(alphabet, alphabet)


def as_read(encoder: Any, sequence: bytes) -> bytes:
    """Replace each letter by the one that the encoder counts it as: of DNA ``u`` by T."""
    table = getattr(encoder, "_letters", None)
    if table is None:
        return sequence
    normal = np.frombuffer(table.normal, np.uint8)
    letters = np.frombuffer(sequence, np.uint8)
    return np.where(normal[letters], normal[letters], letters).tobytes()


def why_not_hidden(encoder: Any) -> str | None:
    """Say why letters cannot be hidden; None if they can."""
    neutral = neutral_of(encoder)
    if neutral is None:
        return "the encoder's alphabet has no letter that stands for any other"
    if encoder.refuses(neutral):
        return f"the encoder refuses {neutral.decode()}, which would hide them"
    return None


def letters_to_change(examples: Any, rows: NDArray[np.int64]) -> list[bytes] | None:
    """Fetch letters without a stop that the encoder leaves out; None without letters."""
    letters = letters_of(examples, rows)
    if letters is None or not leaves_out(examples.encoder):
        return letters
    return [it.removesuffix(b"*") for it in letters]


class Change(NamedTuple):
    """Letters of a sequence that are replaced, all by the same one."""

    record: int
    start: int
    stop: int
    by: bytes

    def apply(self, sequence: bytes) -> bytes:
        """Return the changed sequence."""
        middle = self.by * (self.stop - self.start)
        return sequence[: self.start] + middle + sequence[self.stop :]


class Probe:
    """Sequences, what a model gives for them, and what it gives when letters change."""

    def __init__(
        self,
        trained: Trained,
        sequences: Sequence[bytes],
        tell: OnBatch | None = None,
        *,
        both_strands: bool = False,
    ) -> None:
        self._both_strands = both_strands
        self.trained, self.sequences, self.tell = trained, sequences, tell
        longest = max(sequences, key=len)
        # Sequences longer than those that it learned from make smaller batches.
        most = evaluation_batch_size(self._dataset([longest]))
        self.batch_size = min(trained.batch_size, most)
        # Whole batches, because a part of one takes as long.
        batches = max(1, _LETTERS // (self.batch_size * len(longest)))
        self._at_once = self.batch_size * batches
        same = (Change(record, 0, 0, b"") for record in range(len(sequences)))
        self.outputs = np.concatenate([outputs for _, outputs in self._score(same)])

    def hide(self, measure: Measure, windows: Sequence[int]) -> list[NDArray[np.float32]]:
        """Say by how much it lowers a measure to hide each window, so long in a record."""
        found = [np.zeros(len(it), np.float32) for it in self.sequences]
        for change, difference in self._differ(measure, self._hidden(windows)):
            found[change.record][change.start : change.stop] = -difference
        return found

    def mutate(self, measure: Measure, letters: str) -> list[NDArray[np.float32]]:
        """Say by how much it raises a measure to put each letter at each position."""
        width = len(letters)
        found = [np.zeros((len(it), width), np.float32) for it in self.sequences]
        for change, difference in self._differ(measure, self._mutated(letters)):
            column = letters.index(change.by.decode())
            found[change.record][change.start, column] = difference
        return found

    def _hidden(self, windows: Sequence[int]) -> Iterator[Change]:
        """Hide each window once; the last one of a sequence may be shorter."""
        by = neutral_of(self.trained.encoder) or b""
        for record, (sequence, window) in enumerate(
            zip(self.sequences, windows, strict=True)
        ):
            for start in range(0, len(sequence), window):
                yield Change(record, start, min(start + window, len(sequence)), by)

    def _mutated(self, letters: str) -> Iterator[Change]:
        """Put each letter where another one stands."""
        for record, sequence in enumerate(self.sequences):
            for at, old in enumerate(as_read(self.trained.encoder, sequence)):
                others = letters.encode().replace(bytes([old]), b"")
                yield from (Change(record, at, at + 1, bytes([by])) for by in others)

    def _differ(
        self, measure: Measure, changes: Iterable[Change]
    ) -> Iterator[tuple[Change, float]]:
        """Return each change with what it adds to a measure."""
        starts = np.cumsum([0, *map(len, self.sequences)]).tolist()
        before = measure(self.outputs, np.arange(len(self.sequences)))
        for chunk, outputs in self._score(changes):
            records = np.array([it.record for it in chunk])
            differences = measure(outputs, records) - before[records]
            yield from zip(chunk, differences.tolist(), strict=True)
            if self.tell is not None:
                self.tell(starts[chunk[-1].record] + chunk[-1].stop, starts[-1])

    def _score(
        self, changes: Iterable[Change]
    ) -> Iterator[tuple[list[Change], NDArray[np.float32]]]:
        """Score changed sequences, as many at once as memory should hold."""
        changes = iter(changes)
        while chunk := list(islice(changes, self._at_once)):
            texts = [it.apply(self.sequences[it.record]) for it in chunk]
            yield chunk, self._run(self._dataset(texts))

    def _run(self, data: Dataset) -> NDArray[np.float32]:
        """Compute the outputs for sequences, on both strands if that is wanted."""
        if self._both_strands:
            return run_strands(self.trained, data, batch_size=self.batch_size)
        return run_model(self.trained.model, data, batch_size=self.batch_size)

    def _dataset(self, texts: list[bytes]) -> Dataset:
        """Make a dataset of sequences, as the model reads them."""
        encoder = self.trained.encoder
        return SequenceDataset({"sequence": texts}, encoder=encoder, labels=False)
