"""The individuals of a .fam, found by their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Key = tuple[str, str] | str


@dataclass(frozen=True, eq=False)
class People:
    """Individuals by number."""

    path: str
    fids: NDArray[Any]
    iids: NDArray[Any]
    phenotypes: NDArray[Any] | None = field(default=None)

    def __len__(self) -> int:
        return len(self.iids)

    @cached_property
    def names(self) -> list[str]:
        """Ids: those of individuals, or FID:IID where these are not unique."""
        iids: list[str] = self.iids.tolist()
        if self._is_unique:
            return iids
        pairs = zip(self.fids.tolist(), iids, strict=True)
        return [f"{fid}:{iid}" for fid, iid in pairs]

    @cached_property
    def _is_unique(self) -> bool:
        """Whether an individual's own id names it."""
        return len(set(self.iids.tolist())) == len(self.iids)

    @cached_property
    def _by_pair(self) -> dict[Key, int]:
        """Positions by both ids."""
        return self._number_keys(
            list(zip(self.fids.tolist(), self.iids.tolist(), strict=True))
        )

    @cached_property
    def _by_iid(self) -> dict[Key, int]:
        """Positions by an individual's own id."""
        return self._number_keys(self.iids.tolist())

    def _number_keys(self, keys: Sequence[Key]) -> dict[Key, int]:
        """Numbers keys, each of which must stand once."""
        numbers = {key: number for number, key in enumerate(keys)}
        if len(numbers) == len(keys):
            return numbers
        first: dict[Key, int] = {}
        double = next(key for at, key in enumerate(keys) if first.setdefault(key, at) != at)
        is_pair = isinstance(double, tuple)
        shown = " ".join(double) if is_pair else double
        advice = "" if is_pair else "; a table with FID and IID tells them apart"
        raise LabelError(
            f"{self.path}: the id {shown!r} occurs twice, so rows of a table cannot be "
            f"assigned by it{advice}"
        )

    def check_unique(self) -> None:
        """Refuses two individuals with the same ids: labels would be for both."""
        if not self._is_unique:
            _ = self._by_pair

    def find(self, keys: Sequence[Key]) -> list[int | None]:
        """Finds individuals by (FID, IID), or by IID."""
        if not keys:
            return []
        known: dict[Any, int] = (
            self._by_pair if isinstance(keys[0], tuple) else self._by_iid
        )
        return [known.get(key) for key in keys]
