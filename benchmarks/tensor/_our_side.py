"""Our side: one step function for every backend, as it is or compiled."""

from typing import Any

from benchmarks.tensor._modules import MODULES
from benchmarks.tensor._networks import Arrays
from seqloom import Key
from seqloom._threads import limit_blas
from seqloom.nn import value_and_grad
from seqloom.optim import AdamW
from seqloom.tensor import Tensor, backend, scope

LR = 1e-3


def train(model: Any, optimizer: AdamW, key: Key, lr: Any, batch: Any) -> Tensor:
    """Learns from one batch and gives its loss: the step that is measured."""
    loss, grads = value_and_grad(_loss_of)(model, batch, key)
    optimizer.step(lr, model, grads)
    return loss


def _loss_of(model: Any, batch: Any, key: Key) -> Tensor:
    return model.loss(batch, key)


class OurSide:
    """A network on one of our backends.

    Args:
        name: The network.
        weights: The first weights by path.
        on: The backend's name.
        threads: The threads of its kernels.
        dropout: The share that is dropped.
        compiled: Whether the step goes through `compile`.
    """

    def __init__(
        self,
        name: str,
        weights: Arrays,
        *,
        on: str,
        threads: int,
        dropout: float,
        compiled: bool,
    ) -> None:
        table = backend(on, num_threads=threads)
        self.model = MODULES[name](dropout).bind(table, Key(0)).load_record(weights)
        self.optimizer, self.count = AdamW(), 0
        self.limit = limit_blas(threads)
        self.limit.__enter__()  # for as long as the process lives
        self.train = _compiled() if compiled else train

    def prepare(self, batch: Arrays) -> dict[str, Tensor]:
        """The batch as tensors; jax has 32-bit integers."""
        table = self.model.backend
        whole = "int32" if table.name.startswith("jax") else None
        types = {
            key: whole if each.dtype.kind == "i" else None for key, each in batch.items()
        }
        return {key: table.tensor(each, dtype=types[key]) for key, each in batch.items()}

    def step(self, batch: dict[str, Tensor]) -> float:
        """Learns from one batch and gives its loss."""
        self.count += 1
        with scope():
            loss = self.train(self.model, self.optimizer, Key(0, self.count), LR, batch)
            return float(loss)


def _compiled() -> Any:
    """The same step as one program."""
    from seqloom.tensor import compile as compile_step

    return compile_step(train)
