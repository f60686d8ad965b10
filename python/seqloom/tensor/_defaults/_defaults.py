"""All default bodies in one class, and the names of them all."""

from seqloom.tensor._defaults._batch_norm import BatchNorms
from seqloom.tensor._defaults._convolution import Convolutions
from seqloom.tensor._defaults._elementary import Elementary
from seqloom.tensor._defaults._loss import Losses
from seqloom.tensor._defaults._making import Making
from seqloom.tensor._defaults._norm import Norms
from seqloom.tensor._defaults._optimiser import Updates
from seqloom.tensor._defaults._packed import PackedAttention
from seqloom.tensor._defaults._pooling import Pooling
from seqloom.tensor._defaults._recurrent import Recurrence
from seqloom.tensor._defaults._series import Series
from seqloom.tensor._defaults._sets import Sets
from seqloom.tensor._defaults._standard import Standard
from seqloom.tensor._defaults._unfold import Columns


class ArrayFunctions(
    PackedAttention,
    Recurrence,
    Losses,
    Norms,
    BatchNorms,
    Pooling,
    Columns,
    Convolutions,
    Updates,
    Elementary,
    Series,
    Sets,
    Making,
):
    """The functions of a backend over its arrays: required names and default bodies.

    Examples:
        >>> "softmax" in EXTENSION
        True
    """


EXTENSION = frozenset(
    name
    for each in ArrayFunctions.__mro__
    if each is not Standard
    for name in vars(each)
    if name[0] != "_" and each is not object
)
