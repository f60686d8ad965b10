"""Several augmentations as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom._arguments import quote
from seqloom._rust import _native
from seqloom.augment._augmentation import Augmentation
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, init=False)
class Compose(Augmentation):
    """Applies augmentations one after the other.

    Member ``i`` gets the key folded with ``i``: two equal members draw different numbers.

    Args:
        members: The augmentations, in order.

    Raises:
        ArgumentError: A member is not an augmentation of ``sl.augment``.

    Examples:
        >>> from seqloom import Key
        >>> from seqloom.augment import Crop, ReverseComplement
        >>> both = Compose([Crop(4, mode="centre"), ReverseComplement(p=1)])
        >>> both(b"AAACGG", Key(0))
        b'CGTT'
    """

    members: tuple[Augmentation, ...]

    def __init__(self, members: Iterable[Augmentation]) -> None:
        if not hasattr(members, "__iter__"):
            raise ArgumentError(
                f"Compose takes a list of augmentations, got {quote(members)}"
            )
        object.__setattr__(self, "members", tuple(members))
        self.__post_init__()

    def kernel(self) -> _native.Augmenter:
        """Makes the kernel."""
        kernels = [_make_kernel(member) for member in self.members]
        return _native.Augmenter.compose(kernels)


def _make_kernel(member: object) -> _native.Augmenter:
    """Makes the kernel of a member."""
    if not isinstance(member, Augmentation) or not member.has_kernel:
        raise ArgumentError(
            f"members of Compose must be augmentations of sl.augment, got {quote(member)}"
        )
    return member.kernel()
