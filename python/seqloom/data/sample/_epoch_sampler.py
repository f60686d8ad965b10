"""Our order for PyTorch's own loader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_flag, as_seed, check_sized
from seqloom.data._order import find_rank
from seqloom.data._position import Position
from seqloom.data._state import VERSION, check_integer, check_state
from seqloom.data.loader._arguments import Batching
from seqloom.data.loader._epoch_order import EpochOrder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sized


class EpochSampler:
    """Gives ``torch.utils.data.DataLoader`` our order, each position with its epoch.

    The dataset then draws the augmentation of that epoch, in persistent workers too, so
    the batches are those of our ``DataLoader`` with the same seed. The k-th pass is epoch
    k.

    Args:
        dataset: What is sampled, or anything of its length.
        shuffle: Whether each epoch has an order of its own.
        seed: Seed of the random order.
        rank: Which of several processes this is; None asks ``torch.distributed``.
        world_size: How many processes share an epoch.
        even_ranks: What happens to items that cannot be dealt evenly: ``"pad"``, ``"drop"``
            or ``"error"``.

    Raises:
        ArgumentError: An argument makes no sense.

    Examples:
        >>> sampler = EpochSampler(range(5), seed=1)
        >>> first, second = list(sampler), list(sampler)
        >>> sorted(first) == sorted(second), first == second
        (True, False)
        >>> second[0].epoch
        1
    """

    def __init__(
        self,
        dataset: Sized,
        *,
        shuffle: bool = True,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        even_ranks: str = "pad",
    ) -> None:
        check_sized("dataset", dataset)
        self._dataset = dataset
        self._batching = Batching(batch_size=None, shuffle=as_flag("shuffle", shuffle))
        self._seed = as_seed(seed)
        self._ranks = (rank, world_size, even_ranks)
        find_rank(rank, world_size, even_ranks)
        self._at = self._next = [0, 0]

    def __len__(self) -> int:
        return len(self._order())

    def __iter__(self) -> Iterator[Position]:
        # An epoch begins with its first step: trainers make an iterator too many.
        at = self._at = self._next
        self._next = [at[0] + 1, 0]
        epoch = at[0]
        for request in self._order().requests(epoch, at[1]):
            at[1] = request.position
            yield Position(request.content, epoch=epoch)
        at[:] = [epoch + 1, 0]

    def _order(self) -> EpochOrder:
        """Returns the order of an epoch, by the dataset's length and the rank of now."""
        return EpochOrder(
            size=len(self._dataset),
            batching=self._batching,
            rank=find_rank(*self._ranks),
            seed=self._seed,
        )

    def set_epoch(self, epoch: int) -> None:
        """Makes the next ``iter`` this epoch.

        Args:
            epoch: Its number, from 0.

        Raises:
            ArgumentError: The number is below 0.

        Examples:
            >>> sampler = EpochSampler(range(3), shuffle=False)
            >>> sampler.set_epoch(4)
            >>> [position.epoch for position in sampler]
            [4, 4, 4]
        """
        check_integer("epoch", epoch)
        self._at = self._next = [epoch, 0]

    def state_dict(self) -> dict[str, Any]:
        """Says which position comes next, as far as the loader has asked.

        PyTorch's loader asks ahead of the batches that it hands out; our ``DataLoader`` has
        the state of the batch in hand.

        Returns:
            What ``load_state_dict`` takes.

        Examples:
            >>> EpochSampler(range(3)).state_dict()["position"]
            0
        """
        epoch, position = self._at
        return {"version": VERSION, "epoch": epoch, "position": position} | self._identity()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next ``iter`` go on where a state was taken.

        Args:
            state: What ``state_dict`` gave.

        Raises:
            ArgumentError: It is no whole state, or of another order.

        Examples:
            >>> sampler = EpochSampler(range(3), shuffle=False)
            >>> sampler.load_state_dict({**sampler.state_dict(), "position": 2})
            >>> list(sampler)
            [2]
        """
        check_state(state, self._identity())
        self._at = self._next = [int(state["epoch"]), int(state["position"])]

    def _identity(self) -> dict[str, Any]:
        """Names what a state belongs to."""
        size, shuffle = len(self._dataset), self._batching.shuffle
        return {"size": size, "seed": self._seed, "shuffle": shuffle}
