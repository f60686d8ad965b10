"""Score sequences, and the same sequences with some residues replaced."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqloom.data import Dataset, SequenceDataset
from seqloom.data._encoder import may_drop_residues
from seqloom.data._parts import read_sequences
from seqloom.infer._changed_passes import ChangedPasses, find_changed_passes
from seqloom.infer._loop import (
    OnBatch,
    average_outputs,
    check_lengths,
    evaluation_batch_size,
    reverse_complements,
    run_both_strands,
    run_model,
)
from seqloom.models import Trained

# (outputs, record indices) -> one score for each record
ScoreFunction: TypeAlias = Callable[
    [NDArray[np.float32], NDArray[np.int64]], NDArray[np.floating[Any]]
]

# The maximum number of residues in the changed sequences that one call scores. A call
# scores at least one batch, even if the batch exceeds this limit.
_MAX_CHUNK_RESIDUES = 1 << 20
# Occlusion hides a residue by the symbol for an unknown base (N) or amino acid (X).
_HIDING_SYMBOLS = {"dna": b"N", "rna": b"N", "iupac": b"N", "protein": b"X"}
_RESIDUES_OF_ALPHABET = {
    "dna": "ACGT",
    "iupac": "ACGT",
    "rna": "ACGU",
    "protein": "ACDEFGHIKLMNPQRSTVWY",
}


def find_hiding_symbol(encoder: Any) -> bytes | None:
    """Return the symbol that hides a residue; None if the alphabet has none."""
    if not hasattr(encoder, "refuses"):
        return None
    return _HIDING_SYMBOLS.get(getattr(encoder, "alphabet", ""))


def list_residues(encoder: Any) -> str:
    """Return the residues of the encoder's alphabet; empty if it has no alphabet."""
    alphabet = str(getattr(encoder, "alphabet", ""))
    return _RESIDUES_OF_ALPHABET.get(alphabet, alphabet)


def normalise_residues(encoder: Any, sequence: bytes) -> bytes:
    """Replace each residue by its normalised form, such as ``u`` by T in DNA."""
    table = getattr(encoder, "_letters", None)
    if table is None:
        return sequence
    normal = np.frombuffer(table.normal, np.uint8)
    letters = np.frombuffer(sequence, np.uint8)
    return np.where(normal[letters], normal[letters], letters).tobytes()


def reason_against_hiding(encoder: Any) -> str | None:
    """Return the reason why residues cannot be hidden; None if residues can be hidden."""
    neutral = find_hiding_symbol(encoder)
    if neutral is None:
        return "the encoder's alphabet has no symbol for an unknown residue"
    if encoder.refuses(neutral):
        return f"the encoder rejects {neutral.decode()}, which would hide them"
    return None


def sequences_to_mutate(examples: Any, rows: NDArray[np.int64]) -> list[bytes] | None:
    """Return the sequences to mutate; None if the records are not sequences."""
    letters = read_sequences(examples, rows)
    if letters is None or not may_drop_residues(examples.encoder):
        return letters
    return [it.removesuffix(b"*") for it in letters]


class ResidueChange(NamedTuple):
    """A change of a sequence that replaces all residues in a range by one residue."""

    record: int
    start: int
    stop: int
    by: bytes

    def apply(self, sequence: bytes) -> bytes:
        middle = self.by * (self.stop - self.start)
        return sequence[: self.start] + middle + sequence[self.stop :]


class EncoderProbe:
    """Sequences with a model's outputs, for the original and for changed sequences."""

    def __init__(
        self,
        trained: Trained,
        sequences: Sequence[bytes],
        report: OnBatch | None = None,
        *,
        both_strands: bool = False,
    ) -> None:
        self._both_strands = both_strands
        self.trained, self.sequences, self.report = trained, sequences, report
        longest = max(sequences, key=len)
        # Sequences longer than the training sequences need smaller batches.
        most = evaluation_batch_size(self._make_dataset([longest]))
        self.batch_size = min(trained.batch_size, most)
        # Score full batches, because a batch with few records takes as long as a full
        # batch.
        batches = max(1, _MAX_CHUNK_RESIDUES // (self.batch_size * len(longest)))
        self._chunk_size = self.batch_size * batches
        self._passes = find_changed_passes(trained.model, trained.encoder)
        same = (ResidueChange(record, 0, 0, b"") for record in range(len(sequences)))
        self.outputs = np.concatenate([outputs for _, outputs in self._score_changes(same)])

    def hide(
        self, measure: ScoreFunction, windows: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Return how much the score decreases when each window of residues is hidden."""
        found = [np.zeros(len(it), np.float32) for it in self.sequences]
        for change, difference in self._effects(measure, self._hiding_changes(windows)):
            found[change.record][change.start : change.stop] = -difference
        return found

    def mutate(self, measure: ScoreFunction, letters: str) -> list[NDArray[np.float32]]:
        """Return how much the score increases for each new residue at each position."""
        width = len(letters)
        found = [np.zeros((len(it), width), np.float32) for it in self.sequences]
        for change, difference in self._effects(measure, self._mutating_changes(letters)):
            column = letters.index(change.by.decode())
            found[change.record][change.start, column] = difference
        return found

    def _hiding_changes(self, windows: Sequence[int]) -> Iterator[ResidueChange]:
        """Yield a change that hides each window; the last window may be shorter."""
        by = find_hiding_symbol(self.trained.encoder) or b""
        for record, (sequence, window) in enumerate(
            zip(self.sequences, windows, strict=True)
        ):
            for start in range(0, len(sequence), window):
                yield ResidueChange(record, start, min(start + window, len(sequence)), by)

    def _mutating_changes(self, letters: str) -> Iterator[ResidueChange]:
        """Yield changes that replace each residue by every other residue."""
        for record, sequence in enumerate(self.sequences):
            for at, old in enumerate(normalise_residues(self.trained.encoder, sequence)):
                others = letters.encode().replace(bytes([old]), b"")
                yield from (ResidueChange(record, at, at + 1, bytes([by])) for by in others)

    def _effects(
        self, measure: ScoreFunction, changes: Iterable[ResidueChange]
    ) -> Iterator[tuple[ResidueChange, float]]:
        """Yield each change of a sequence with the difference of the scores."""
        starts = np.cumsum([0, *map(len, self.sequences)]).tolist()
        before = measure(self.outputs, np.arange(len(self.sequences)))
        for chunk, outputs in self._score_changes(changes):
            records = np.array([it.record for it in chunk])
            differences = measure(outputs, records) - before[records]
            yield from zip(chunk, differences.tolist(), strict=True)
            if self.report is not None:
                self.report(starts[chunk[-1].record] + chunk[-1].stop, starts[-1])

    def _score_changes(
        self, changes: Iterable[ResidueChange]
    ) -> Iterator[tuple[list[ResidueChange], NDArray[np.float32]]]:
        """Score changed sequences in chunks of limited memory."""
        changes = iter(changes)
        while chunk := list(islice(changes, self._chunk_size)):
            if self._passes is None:
                texts = [it.apply(self.sequences[it.record]) for it in chunk]
                yield chunk, self._run_network(self._make_dataset(texts))
            else:
                # Sequences of one length need no padding.
                groups = groupby(chunk, key=lambda it: len(self.sequences[it.record]))
                parts = [self._run_changes(self._passes, list(own)) for _, own in groups]
                yield chunk, np.concatenate(parts)

    def _run_changes(
        self, passes: ChangedPasses, changes: list[ResidueChange]
    ) -> NDArray[np.float32]:
        """Compute the outputs of changed sequences, only where a change has an effect."""
        records, rows = np.unique([it.record for it in changes], return_inverse=True)
        originals: list[int] = records.tolist()
        texts = [self.sequences[it] for it in originals]
        texts += [it.apply(self.sequences[it.record]) for it in changes if it.by]
        data = self._make_dataset(texts)
        check_lengths(self.trained.model, data)

        def run(data: Dataset) -> NDArray[np.float32]:
            inputs = data.batch(np.arange(len(data)))["inputs"]
            if len(data) == len(records):
                return passes.run_parts(inputs, [])[0][rows]
            return passes.run(inputs[: len(records)], inputs[len(records) :], rows)[1]

        if not self._both_strands:
            return run(data)
        both = run(data), run(reverse_complements(data))
        return average_outputs(self.trained.task, *both)

    def _run_network(self, data: Dataset) -> NDArray[np.float32]:
        """Compute the network's outputs for sequences, on both strands if requested."""
        if self._both_strands:
            return run_both_strands(self.trained, data, batch_size=self.batch_size)
        return run_model(self.trained.model, data, batch_size=self.batch_size)

    def _make_dataset(self, texts: list[bytes]) -> Dataset:
        """Return a dataset of sequences with the model's encoder."""
        encoder = self.trained.encoder
        return SequenceDataset({"sequence": texts}, encoder=encoder, labels=False)
