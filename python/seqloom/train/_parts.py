"""Training, validation and test sets: datasets, arrays or loaders, and their batches."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import check_aligned_columns, quote
from seqloom.data import DataLoader, Dataset, PadCollator
from seqloom.errors import ArgumentError, ShapeError
from seqloom.infer._forward import Forward, find_label_name
from seqloom.models import Examples
from seqloom.models._examples import count_positions, noun_of
from seqloom.models._training_facts import LearnedEncoder, encode_with
from seqloom.nn import Config, Module
from seqloom.tensor import Tensor
from seqloom.train._ranks import Ranks
from seqloom.train._settings import FitSettings
from seqloom.train._values import Batches

# A function that receives the number of arrays in a tuple and returns their names.
Names: TypeAlias = Callable[[int], list[str]]


class Arrays:
    """Arrays in memory by name; each record is one row of every array."""

    supports_threads = True
    noun = "records"
    encoder = None

    def __init__(self, columns: dict[str, NDArray[Any]]) -> None:
        self.columns = columns
        self.task: str | None = None
        self.classes: tuple[str, ...] = ()
        sizes = {name: len(column) for name, column in columns.items()}
        if len(set(sizes.values())) != 1:
            raise ShapeError(
                f"the arrays must have a row for each record, got unequal sizes: {sizes}"
            )

    @property
    def ids(self) -> list[str]:
        """The ids of the records: their indices as strings."""
        return [str(position) for position in range(len(self))]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """An array of ones, because all records of an array have the same length."""
        return np.ones(len(self), np.int64)

    @property
    def labels(self) -> NDArray[Any] | None:
        """The labels: the array whose name is label, labels, y or target."""
        name = find_label_name(self.columns)
        return None if name is None else self.columns[name]

    def batch(self, indices: Any) -> dict[str, Any]:
        """Return the records with the given indices, as a batch."""
        rows = np.asarray(indices)
        return {name: column[rows] for name, column in self.columns.items()}

    def __getitems__(self, indices: Any) -> dict[str, Any]:
        """Return the records with the given indices, as a batch for a loader."""
        return self.batch(list(indices))

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Return one record."""
        return {name: column[index] for name, column in self.columns.items()}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def fingerprint(self) -> str:
        """Return a hash of the arrays."""
        digest = hashlib.blake2b(digest_size=16)
        for name, column in self.columns.items():
            digest.update(f"{name} {column.dtype} {column.shape}".encode())
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()


class BatchCollator:
    """A collator for `Arrays`, whose selected rows already are a batch."""

    supports_threads = True

    def __call__(self, rows: Any) -> Any:
        return rows


class LoaderBatches:
    """The batches of a user's loader or another iterable, read again in each epoch."""

    noun = "records"
    encoder = None
    labels = None
    task = None
    classes = ()

    def __init__(self, loader: Any, names: Names) -> None:
        self.loader, self._names = loader, names

    def epoch(self, number: int, *, done: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the batches of an epoch after the first `done` batches."""
        parts = (getattr(self.loader, it, None) for it in ("sampler", "batch_sampler"))
        for part in (self.loader, *parts):
            set_epoch: Any = getattr(part, "set_epoch", None)
            if set_epoch is not None:
                set_epoch(number)
        return (
            name_arrays(batch, self._names) for batch in islice(self.loader, done, None)
        )

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        length = _length_of(self.loader)
        if length is None:
            raise ArgumentError(
                "the default schedule needs the number of batches, but "
                f"{quote(self.loader)} has no length; give a schedule, such as "
                "lr=sl.optim.Constant(1e-3)"
            )
        return length

    @property
    def samples(self) -> int:
        """The number of records; 0 if the loader does not report it."""
        return _length_of(getattr(self.loader, "dataset", None)) or 0

    def fingerprint(self) -> Any:
        """Return the fingerprint of the dataset, if any, or the loader's class name."""
        dataset: Any = getattr(self.loader, "dataset", None)
        if hasattr(dataset, "fingerprint"):
            return dataset.fingerprint()
        return type(self.loader).__qualname__


Data: TypeAlias = Examples | LoaderBatches


@dataclass(frozen=True, slots=True)
class Parts:
    """The training, validation and test sets; the validation and test sets may be None."""

    train: Data
    valid: Data | None
    test: Data | None

    def list_named(self) -> Iterator[tuple[str, Data]]:
        """Yield the sets that are not None, with their names."""
        pairs = {"training": self.train, "validation": self.valid, "test": self.test}
        yield from ((name, part) for name, part in pairs.items() if part is not None)

    @property
    def noun(self) -> str:
        """The plural noun for the training records, such as "sequences"."""
        return "records" if isinstance(self.train, LoaderBatches) else noun_of(self.train)

    def list_examples(self) -> Iterator[tuple[str, Examples]]:
        """Yield the sets that are not batches of a loader, with their names."""
        for name, part in self.list_named():
            if not isinstance(part, LoaderBatches):
                yield name, part

    def fit_encoder(self) -> "Parts":
        """Fit the encoder on the training set if it learns, and use it for all sets."""
        encoder = self.train.encoder
        if not isinstance(encoder, LearnedEncoder) or encoder.is_fitted:
            return self
        learned, wholes = encoder.fit(self.train), dict[int, Any]()

        def with_encoder(part: Any) -> Any:
            """Return a set with this encoder, such that subsets still share one dataset."""
            whole = part.whole if isinstance(part, Dataset) else part
            if id(whole) not in wholes:
                wholes[id(whole)] = encode_with(learned, whole)
            found = wholes[id(whole)]
            return found if whole is part else found.select(part.indices)

        valid, test = self.valid, self.test
        return Parts(
            with_encoder(self.train),
            None if valid is None else with_encoder(valid),
            None if test is None else with_encoder(test),
        )


def names_for(model: Module | Config, *, has_step: bool) -> Names:
    """Return a function that gives names to the arrays of a tuple: inputs, then labels."""

    def names(count: int) -> list[str]:
        if has_step:
            return [str(position) for position in range(count)]
        asked = Forward.of(model.build() if isinstance(model, Config) else model).inputs
        if count - 1 > len(asked):
            raise ArgumentError(
                f"a tuple of {count} arrays has {count - 1} inputs and labels, but "
                f"{type(model).__name__} has {len(asked)} inputs; pass a dict, or an "
                "Objective with a step"
            )
        return [*asked[: count - 1], "label"]

    return names


def as_part(given: Any, names: Names) -> Any:
    """Convert data to one of three forms: a dataset, `Arrays` or `LoaderBatches`."""
    value: Any = given
    if value is None or (hasattr(value, "batch") and hasattr(value, "lengths")):
        return value
    is_array = hasattr(value, "shape") and hasattr(value, "__getitem__")
    is_tuple = isinstance(given, tuple) and all(map(_is_array, value))
    if is_array or is_tuple or _is_table(value):
        named = name_arrays(value, names)
        check_aligned_columns(named)
        return Arrays({it: _to_numpy(it, named[it]) for it in named})
    is_text = isinstance(given, (str, bytes, Mapping, type))
    if is_text or not hasattr(value, "__iter__"):
        return value  # `check_examples` raises an error with advice for other types
    if iter(value) is value:
        raise ArgumentError(
            f"{quote(value)} is an iterator, which is empty after one epoch; give a list, "
            "a loader, or an object whose __iter__ starts again"
        )
    return LoaderBatches(value, names)


def count_samples(part: Data) -> int:
    """Return the number of records of a set; 0 if a loader does not report its length."""
    return part.samples if isinstance(part, LoaderBatches) else len(part)


def count_batches(part: Data, batches: Batches) -> int:
    """Return the number of batches of an epoch; 0 if a loader reports no length."""
    if isinstance(part, LoaderBatches):
        return _length_of(part.loader) or 0
    size = batches.batch_size
    return len(part) // size if batches.drop_last else -(-len(part) // size)


def _length_of(value: Any) -> int | None:
    """Return the length of a value; None if `__len__` is missing or raises an error."""
    # The `__len__` of a loader calls `__len__` of its dataset, which may be missing.
    try:
        return len(value)
    except TypeError:
        return None


def name_arrays(batch: Any, names: Names) -> dict[str, Any]:
    """Return the arrays of a batch by name; `names` returns the names for a tuple."""
    if isinstance(batch, Mapping):
        return dict(cast("Mapping[str, Any]", batch))
    if isinstance(batch, (tuple, list)):
        arrays = cast("list[Any]", batch)
        return dict(zip(names(len(arrays)), arrays, strict=True))
    if hasattr(batch, "shape"):
        return {"inputs": batch}
    raise ArgumentError(
        f"a batch must be a dict, a tuple or a list of arrays, got {quote(batch)}"
    )


def _is_table(value: Any) -> bool:
    """Return whether a value is a dict of arrays or lists by name."""
    columns: Any = value
    if not isinstance(value, Mapping) or not columns:
        return False
    return all(
        isinstance(name, str) and (isinstance(it, list) or _is_array(it))
        for name, it in columns.items()
    )


def _is_array(value: Any) -> bool:
    """Return whether a value is an array with at least one axis, of any library."""
    return len(getattr(value, "shape", ())) > 0


def _to_numpy(name: str, values: Any) -> NDArray[Any]:
    """Convert one of a user's arrays to NumPy."""
    if hasattr(values, "detach") and not isinstance(values, Tensor):
        values = values.detach().cpu()
    array = np.asarray(values)
    if array.dtype.kind not in "biufc" and "float" not in str(array.dtype):
        raise ArgumentError(
            f"the array {name!r} must contain numbers, got elements of {array.dtype}"
        )
    return array


def make_loader(
    train: Data, settings: FitSettings, ranks: Ranks
) -> DataLoader | LoaderBatches:
    """Create a loader whose order of records depends only on the seed and the epoch."""
    if isinstance(train, LoaderBatches):
        return train
    collate: Callable[[Any], Any] | None = None
    if isinstance(train, Arrays):
        collate = BatchCollator()
    elif np.ptp(count_positions(train)):
        is_last = getattr(train.encoder, "channels", None) == "last"
        collate = PadCollator(axis=0 if is_last else -1)
    # Records are not sorted by length. If classes have different lengths, sorted
    # batches would contain a single class, and the statistics of batch normalisation
    # would be wrong.
    whole = DataLoader(
        train,
        batch_size=settings.batches.batch_size,
        shuffle=True,
        drop_last=settings.batches.drop_last,
        seed=settings.seed,
        collate_fn=collate,
        rank=0,
        world_size=1,
    )
    if not ranks.are_several:
        return whole
    return DataLoader(
        whole.dataset, batch_sampler=RankBatches(whole, ranks), collate_fn=whole.collate_fn
    )


def read_batches(
    loader: DataLoader | LoaderBatches,
    settings: FitSettings,
    ranks: Ranks,
    *,
    epoch: int,
    done: int,
) -> Iterator[dict[str, Any]]:
    """Return the batches of an epoch after the first `done` batches."""
    if isinstance(loader, LoaderBatches):
        return loader.epoch(epoch, done=done)
    loader.set_epoch(epoch)
    if done >= len(loader):
        return iter(())
    if done:
        # The loader's position is a number of records, or, with several processes, a
        # number of batches, because the loader then has a batch sampler.
        records = min(done * settings.batches.batch_size, len(loader.dataset))
        position = done if ranks.are_several else records
        loader.load_state_dict({**loader.state_dict(), "position": position})
    return iter(loader)


@dataclass(slots=True)
class RankBatches:
    """The batches of a loader, divided by record among n processes."""

    # Together, the processes read the same batch as a single process would, so a run
    # can be resumed with another number of processes.
    whole: DataLoader
    ranks: Ranks

    def __len__(self) -> int:
        return len(self.whole)

    def __iter__(self) -> Iterator[list[Any]]:
        for rows in self.whole.batch_sampler:
            # Every process must take part in every step. A process without records of a
            # batch computes with another record of weight 0.
            yield rows[self.ranks.number :: self.ranks.world] or rows[:1]

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, counted from 0, of the next iteration."""
        self.whole.set_epoch(epoch)


def read_in_order(part: Data, size: int) -> Iterator[dict[str, Any]]:
    """Yield the batches of a loader, or batches of the records of a dataset."""
    if isinstance(part, LoaderBatches):
        yield from part.epoch(0)
        return
    for start in range(0, len(part), size):
        yield part.batch(np.arange(start, min(start + size, len(part))))
