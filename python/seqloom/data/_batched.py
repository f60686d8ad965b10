"""What map-style datasets of sequences make batches by."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer, as_seed
from seqloom._key import Key
from seqloom.data._columns import encode_columns, plain
from seqloom.data._drafter import Drafter, Shape, can_draft
from seqloom.data._encoded import apply_augment
from seqloom.data._encoder import check_augment
from seqloom.data._epoch import Epoch
from seqloom.data._ids import Ids
from seqloom.data._numbered import NumberedItems
from seqloom.data._position import positions
from seqloom.errors import ArgumentError, LetterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._encoded import Letters
    from seqloom.data._records import Records


class SequenceBatches(NumberedItems):
    """Sequences by number, as the columns of batches.

    Args:
        paths: The files they come from.
        encoder: Encodes letters as numbers.
        augment: Changes letters before, as epoch and ordinal say.
        seed: Seed of the augmentation.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
        >>> isinstance(SequenceDataset("a.fa"), SequenceBatches)
        True
    """

    def __init__(
        self, paths: tuple[str, ...], *, encoder: Any, augment: Any, seed: int
    ) -> None:
        super().__init__()
        self.paths: tuple[str, ...] = paths
        self.encoder = encoder
        self.augment = check_augment(augment, encoder)
        self.seed = as_seed(seed)
        # What no random number enters is the same in every epoch.
        self._epoch = Epoch() if self._is_random else None

    @property
    def _is_random(self) -> bool:
        """Whether an item depends on its epoch."""
        return self.augment is not None

    @abstractmethod
    def _fetch(
        self, rows: NDArray[np.int64], epoch: int, num_threads: int
    ) -> tuple[list[str], Letters]:
        """Fetches ids, and letters as they are before augmentation."""

    @abstractmethod
    def _locate_letter(self, error: LetterError, row: int, epoch: int) -> LetterError:
        """Adds to an error where the letter stands."""

    def _memory_records(self) -> Records | None:
        """Gives the records where threads read them without the interpreter."""
        return None

    def batch(
        self,
        indices: ArrayLike,
        *,
        epoch: int | None = None,
        length: int | None = None,
        multiple: int = 1,
        out: NDArray[Any] | None = None,
        num_threads: int = 1,
    ) -> dict[str, Any]:
        """Fetches several sequences at once, as columns.

        Args:
            indices: Which ones: positions, or a mask of True and False.
            epoch: The epoch that augmentation is for; None takes the one that was set
                last.
            length: Positions in ``inputs``; None takes the longest sequence of the batch.
            multiple: The longest is rounded up to a multiple of this.
            out: Where ``inputs`` are written; memory of its own if None.
            num_threads: How many threads may work.

        Returns:
            ``id`` (``Ids``), ``inputs`` (sequences, channels, positions) or
            ``sequence`` (a list; with ``quality`` where files are FASTQ), ``file`` (a
            list), ``ordinal``, ``label`` where there are labels, and ``lengths``; ``mask``
            (sequences, positions), 1 where a letter stands and 0 elsewhere, if there is
            padding.

        Raises:
            ArgumentError: Indices are not integers.
            OutOfRangeError: There is no such sequence.
            ShapeError: A sequence is longer than ``length``.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> batch = SequenceDataset("a.fa", encoder=OneHot("dna")).batch([0, 1])
            >>> batch["inputs"].shape, batch["mask"].tolist()[1]
            ((2, 4, 4), [1.0, 1.0, 0.0, 0.0])
        """
        if length is not None:
            length = as_integer("length", length)
        multiple = as_integer("multiple", multiple, least=1)
        num_threads = as_integer("num_threads", num_threads, least=1)
        return self._columns(
            positions(indices, len(self)),
            self._current(epoch),
            length=length,
            multiple=multiple,
            out=out,
            num_threads=num_threads,
        )

    @property
    def can_draft(self) -> bool:
        """Whether threads can make batches without the interpreter.

        They can where letters are held in memory and are not augmented, and the encoder
        is ours.
        """
        is_plain = self.augment is None and can_draft(self.encoder)
        return is_plain and self._memory_records() is not None

    def drafter(self, *, length: int | None = None, multiple: int = 1) -> Drafter:
        """Prepares for batches that threads make without the interpreter.

        Args:
            length: Positions in ``inputs``, as for ``batch``.
            multiple: The longest is rounded up to a multiple of this.

        Returns:
            What makes them.

        Raises:
            ArgumentError: Python is needed; ``can_draft`` says so.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
            >>> data.drafter(multiple=8).make(np.array([1]))["inputs"].shape
            (1, 4, 8)
        """
        records = self._memory_records()
        store = None if records is None else records.store.native
        if records is None or store is None or not self.can_draft:
            raise ArgumentError("this dataset's batches need Python: use batch()")
        return Drafter(
            self.encoder,
            store,
            records.extents(self.encoder),
            # A copy: who changes it must not change the ids.
            lambda rows: self._about(rows.copy(), 0) | self._labels_of(rows),
            lambda rows, error: self._explain_letter(rows, 0, error),
            Shape(length, multiple),
            records.kept,
        )

    def _columns(
        self,
        rows: NDArray[np.int64],
        epoch: int,
        *,
        num_threads: int = 1,
        out: NDArray[Any] | None = None,
        **shape: Any,
    ) -> dict[str, Any]:
        """Puts the columns of a batch together."""
        if out is None and self.can_draft:
            return self.drafter(**shape).make(rows, num_threads)
        about = self._about(rows, epoch)
        names, letters = self._fetch(rows, epoch, num_threads)
        if self.augment is not None:
            keys = Key(self.seed, epoch).each(about["ordinal"])
            letters = apply_augment(self.augment, letters, keys, num_threads=num_threads)
        batch: dict[str, Any] = {"id": Ids.of(names)}
        if self.encoder is None:
            return batch | plain(letters) | about | self._labels_of(rows)
        options: dict[str, Any] = {"num_threads": num_threads, "out": out, **shape}
        try:
            encoded = encode_columns(self.encoder, letters, names, **options)
        except LetterError as error:
            raise self._explain_letter(rows, epoch, error) from None
        batch["inputs"] = encoded.pop("inputs")
        return batch | about | self._labels_of(rows) | encoded

    def _explain_letter(
        self, rows: NDArray[np.int64], epoch: int, error: LetterError
    ) -> LetterError:
        """Adds to an error where in its file the letter stands, if the encoder says."""
        if error.record is None or error.position is None:
            return error
        return self._locate_letter(error, int(rows[error.record]), epoch)

    def _labels_of(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Takes labels, where there are any."""
        return {} if self.labels is None else {"label": self.labels[rows]}

    def to_numpy(self) -> dict[str, Any]:
        """Fetches everything at once.

        Returns:
            What ``batch`` gives for all sequences, in order.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGGCC\\n")
            >>> SequenceDataset("a.fa", encoder=OneHot("dna")).to_numpy()["inputs"].shape
            (2, 4, 4)
        """
        return self._columns(np.arange(len(self)), self._current(None))
