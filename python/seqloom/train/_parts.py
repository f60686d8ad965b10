"""The parts of the data: datasets, arrays in memory or a loader, and their batches."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import check_rows, quote
from seqloom.data import DataLoader, Dataset, PadCollator
from seqloom.errors import ArgumentError, ShapeError
from seqloom.infer._forward import Forward, label_name
from seqloom.models import Examples
from seqloom.models._examples import count_positions, noun_of
from seqloom.models._training_facts import LearnedEncoder, encode_with
from seqloom.nn import Config, Module
from seqloom.tensor import Tensor
from seqloom.train._ranks import Ranks
from seqloom.train._settings import Settings
from seqloom.train._values import Batches

# From the number of arrays of a tuple to their names.
Names: TypeAlias = Callable[[int], list[str]]


class Arrays:
    """Arrays in memory by name; a row of each belongs to one record."""

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
                f"the arrays must have as many rows, got {sizes}; a row is a record"
            )

    @property
    def ids(self) -> list[str]:
        """The records' positions."""
        return [str(position) for position in range(len(self))]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """One for each record: rows of an array are of one length."""
        return np.ones(len(self), np.int64)

    @property
    def labels(self) -> NDArray[Any] | None:
        """The array that has the name of labels."""
        name = label_name(self.columns)
        return None if name is None else self.columns[name]

    def batch(self, indices: Any) -> dict[str, Any]:
        """Take the rows at some positions."""
        rows = np.asarray(indices)
        return {name: column[rows] for name, column in self.columns.items()}

    def __getitems__(self, indices: Any) -> dict[str, Any]:
        """Take rows for a loader, which are a batch already."""
        return self.batch(list(indices))

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Take one row."""
        return {name: column[index] for name, column in self.columns.items()}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def fingerprint(self) -> str:
        """Identify the content by a hash."""
        digest = hashlib.blake2b(digest_size=16)
        for name, column in self.columns.items():
            digest.update(f"{name} {column.dtype} {column.shape}".encode())
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()


class WholeRows:
    """Collates rows of arrays: they are a batch already."""

    supports_threads = True

    def __call__(self, rows: Any) -> Any:
        return rows


class LoaderBatches:
    """The batches of a user's loader, or of another iterable, read anew in each epoch."""

    noun = "records"
    encoder = None
    labels = None
    task = None
    classes = ()

    def __init__(self, loader: Any, names: Names) -> None:
        self.loader, self._names = loader, names

    def epoch(self, number: int, *, done: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the batches of an epoch after the first `done` ones."""
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
        """How many records there are; 0 where the loader does not know."""
        return _length_of(getattr(self.loader, "dataset", None)) or 0

    def fingerprint(self) -> Any:
        """Identify the data: by the fingerprint of the dataset, else by the class."""
        dataset: Any = getattr(self.loader, "dataset", None)
        if hasattr(dataset, "fingerprint"):
            return dataset.fingerprint()
        return type(self.loader).__qualname__


Data: TypeAlias = Examples | LoaderBatches


@dataclass(frozen=True, slots=True)
class Parts:
    """The training, validation and test part; the last two may be None."""

    train: Data
    valid: Data | None
    test: Data | None

    def list_named(self) -> Iterator[tuple[str, Data]]:
        """Yield the parts that are not None, with their names."""
        pairs = {"training": self.train, "validation": self.valid, "test": self.test}
        yield from ((name, part) for name, part in pairs.items() if part is not None)

    @property
    def noun(self) -> str:
        """What the training records are called, in the plural."""
        return "records" if isinstance(self.train, LoaderBatches) else noun_of(self.train)

    def list_examples(self) -> Iterator[tuple[str, Examples]]:
        """Yield the parts that are not batches of a loader, with their names."""
        for name, part in self.list_named():
            if not isinstance(part, LoaderBatches):
                yield name, part

    def fit_encoder(self) -> "Parts":
        """Fit an encoder that learns to the training part, and uses it for all parts."""
        encoder = self.train.encoder
        if not isinstance(encoder, LearnedEncoder) or encoder.is_fitted:
            return self
        learned, wholes = encoder.fit(self.train), dict[int, Any]()

        def seen(part: Any) -> Any:
            """Return a part with this encoder; parts of one dataset stay parts of one."""
            whole = part.whole if isinstance(part, Dataset) else part
            if id(whole) not in wholes:
                wholes[id(whole)] = encode_with(learned, whole)
            found = wholes[id(whole)]
            return found if whole is part else found.select(part.indices)

        valid, test = self.valid, self.test
        return Parts(
            seen(self.train),
            None if valid is None else seen(valid),
            None if test is None else seen(test),
        )


def names_for(model: Module | Config, *, has_step: bool) -> Names:
    """Return the function that names the arrays of a tuple: inputs, then labels."""

    def names(count: int) -> list[str]:
        if has_step:
            return [str(position) for position in range(count)]
        asked = Forward.of(model.build() if isinstance(model, Config) else model).inputs
        if count - 1 > len(asked):
            raise ArgumentError(
                f"a tuple of {count} arrays is {count - 1} inputs and labels, but "
                f"{type(model).__name__} asks for {len(asked)} inputs; give a dict of "
                "arrays by name, or objective=Objective(step=function(model, batch, key))"
            )
        return [*asked[: count - 1], "label"]

    return names


def as_part(given: Any, names: Names) -> Any:
    """Bring data into one of three forms: a dataset, `Arrays` or `LoaderBatches`."""
    value: Any = given
    if value is None or (hasattr(value, "batch") and hasattr(value, "lengths")):
        return value
    is_array = hasattr(value, "shape") and hasattr(value, "__getitem__")
    is_tuple = isinstance(given, tuple) and all(map(_is_array, value))
    if is_array or is_tuple or _is_table(value):
        named = name_arrays(value, names)
        check_rows(named)
        return Arrays({it: _to_numpy(it, named[it]) for it in named})
    is_text = isinstance(given, (str, bytes, Mapping, type))
    if is_text or not hasattr(value, "__iter__"):
        return value  # `check_examples` says how to make a dataset of it
    if iter(value) is value:
        raise ArgumentError(
            f"{quote(value)} is an iterator, which is empty after one epoch; give a list, "
            "a loader, or an object whose __iter__ begins anew"
        )
    return LoaderBatches(value, names)


def count_samples(part: Data) -> int:
    """Count the records of a part; 0 where a loader does not know."""
    return part.samples if isinstance(part, LoaderBatches) else len(part)


def count_batches(part: Data, batches: Batches) -> int:
    """Count the batches of an epoch; 0 where a loader does not know."""
    if isinstance(part, LoaderBatches):
        return _length_of(part.loader) or 0
    size = batches.batch_size
    return len(part) // size if batches.drop_last else -(-len(part) // size)


def _length_of(value: Any) -> int | None:
    """Return a length; None where there is none, or only a `__len__` that raises."""
    # A loader of an iterable dataset has a `__len__`, which asks that of the dataset.
    try:
        return len(value)
    except TypeError:
        return None


def name_arrays(batch: Any, names: Names) -> dict[str, Any]:
    """Return the arrays of a batch by name; those of a tuple take the names in order."""
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
    """Return whether a value is a dict of arrays or list by name."""
    columns: Any = value
    if not isinstance(value, Mapping) or not columns:
        return False
    return all(
        isinstance(name, str) and (isinstance(it, list) or _is_array(it))
        for name, it in columns.items()
    )


def _is_array(value: Any) -> bool:
    """Return whether a value is an array of NumPy, torch or another library, with rows."""
    return len(getattr(value, "shape", ())) > 0


def _to_numpy(name: str, values: Any) -> NDArray[Any]:
    """Return a column as NumPy's array."""
    if hasattr(values, "detach") and not isinstance(values, Tensor):
        values = values.detach().cpu()
    array = np.asarray(values)
    if array.dtype.kind not in "biufc" and "float" not in str(array.dtype):
        raise ArgumentError(
            f"the array {name!r} must hold numbers, got elements of {array.dtype}"
        )
    return array


def make_loader(
    train: Data, settings: Settings, ranks: Ranks
) -> DataLoader | LoaderBatches:
    """Make the loader, whose order depends on the seed and the epoch alone."""
    if isinstance(train, LoaderBatches):
        return train
    collate: Callable[[Any], Any] | None = None
    if isinstance(train, Arrays):
        collate = WholeRows()
    elif np.ptp(count_positions(train)):
        is_last = getattr(train.encoder, "channels", None) == "last"
        collate = PadCollator(axis=0 if is_last else -1)  # of the positions in one record
    # Not sorted by length: where lengths tell classes apart, such batches are of one class,
    # and batch normalisation then learns other averages than evaluation uses.
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
        whole.dataset, batch_sampler=Shares(whole, ranks), collate_fn=whole.collate_fn
    )


def read_batches(
    loader: DataLoader | LoaderBatches,
    settings: Settings,
    ranks: Ranks,
    *,
    epoch: int,
    done: int,
) -> Iterator[dict[str, Any]]:
    """Read the batches of an epoch after the first `done` ones."""
    if isinstance(loader, LoaderBatches):
        return loader.epoch(epoch, done=done)
    loader.set_epoch(epoch)
    if done >= len(loader):
        return iter(())
    if done:
        # The position in a loader is a number of records; among several processes the
        # loader has a batch sampler, and its position is a number of batches.
        records = min(done * settings.batches.batch_size, len(loader.dataset))
        position = done if ranks.are_several else records
        loader.load_state_dict({**loader.state_dict(), "position": position})
    return iter(loader)


@dataclass(slots=True)
class Shares:
    """The batches of a loader, of which a process takes every so-many-th record."""

    # All batches together are those of one process: a run goes on with another number of
    # processes, from any step.
    whole: DataLoader
    ranks: Ranks

    def __len__(self) -> int:
        return len(self.whole)

    def __iter__(self) -> Iterator[list[Any]]:
        for rows in self.whole.batch_sampler:
            # Each process makes each step: one without a record takes another's, which
            # does not count.
            yield rows[self.ranks.number :: self.ranks.world] or rows[:1]

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass this epoch."""
        self.whole.set_epoch(epoch)


def read_in_order(part: Data, size: int) -> Iterator[dict[str, Any]]:
    """Yield the batches of a loader, or the records of a part in batches of a size."""
    if isinstance(part, LoaderBatches):
        yield from part.epoch(0)
        return
    for start in range(0, len(part), size):
        yield part.batch(np.arange(start, min(start + size, len(part))))
