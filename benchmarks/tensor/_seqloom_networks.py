"""Networks in seqloom: one step function for all backends, eager or compiled."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.tensor._modules import MODULE_OF_NETWORK
from benchmarks.tensor._networks import Arrays, MeasurementSetup, draw_batch, draw_weights
from seqloom import Key
from seqloom._threads import limit_blas
from seqloom.nn import value_and_grad
from seqloom.optim import AdamW
from seqloom.tensor import Tensor, autocast, backend, scope

LR = 1e-3


def train_step(model: Any, optimizer: AdamW, key: Key, lr: Any, batch: Any) -> Tensor:
    """Run the timed step: train on one batch, and return the loss."""
    loss, grads = value_and_grad(_compute_loss)(model, batch, key)
    optimizer.step(lr, model, grads)
    return loss


def train_step_in_bfloat16(
    model: Any, optimizer: AdamW, key: Key, lr: Any, batch: Any
) -> Tensor:
    """Train with matrix products in bfloat16, like ``fit(precision="bfloat16")``."""
    loss, grads = value_and_grad(_loss_in_bfloat16)(model, batch, key)
    optimizer.step(lr, model, grads)
    return loss


def _compute_loss(model: Any, batch: Any, key: Key) -> Tensor:
    return model.loss(batch, key)


def _loss_in_bfloat16(model: Any, batch: Any, key: Key) -> Tensor:
    # Allow slow dtypes, because the step must run on every CPU.
    with autocast("bfloat16", allow_slow=True):
        return model.loss(batch, key).astype("float32")


# Number of rows per batch in comparisons with an older commit.
ROWS_PER_BATCH = {"MLP": 64, "SequenceCNN": 64, "DeepSEA": 4, "encoder": 1}

TRAIN_STEP_OF_DTYPE = {"float32": train_step, "bfloat16": train_step_in_bfloat16}


class SeqloomTrainer:
    """A network on a backend of seqloom.

    Args:
        setup: Network and settings of the computation.
        on: Name of the backend, without the device.
        compiled: If True, the step is compiled with `compile`.
    """

    def __init__(self, setup: MeasurementSetup, *, on: str, compiled: bool) -> None:
        name = on if setup.device == "cpu" else f"{on}:{setup.device}"
        table = backend(name, num_threads=setup.threads)
        network = setup.network
        module = MODULE_OF_NETWORK[setup.name](setup.dropout, network.length)
        self.model = module.bind(table, Key(0)).load_record(draw_weights(network))
        self.optimizer, self.count = AdamW(), 0
        self.limit = limit_blas(setup.threads)
        self.limit.__enter__()  # thread limit of the whole process
        step = TRAIN_STEP_OF_DTYPE[setup.dtype]
        self.train = _compile_step(step) if compiled else step

    def prepare_batch(self, batch: Arrays) -> dict[str, Tensor]:
        """Return the batch as tensors; JAX uses 32-bit integers."""
        table = self.model.backend
        whole = "int32" if table.name.startswith("jax") else None
        types = {
            key: whole if each.dtype.kind == "i" else None for key, each in batch.items()
        }
        return {key: table.tensor(each, dtype=types[key]) for key, each in batch.items()}

    def step(self, batch: dict[str, Tensor]) -> float:
        """Train on one batch and return the loss."""
        with scope():
            return float(self._compute_step(batch))

    def start_step(self, batch: dict[str, Tensor]) -> None:
        """Train on one batch without waiting for the loss."""
        with scope():
            self._compute_step(batch)

    def wait_for_device(self) -> None:
        """Wait until the device has finished."""
        self.model.backend.sync()

    def _compute_step(self, batch: dict[str, Tensor]) -> Tensor:
        self.count += 1
        return self.train(self.model, self.optimizer, Key(0, self.count), LR, batch)


def _compile_step(step: Any) -> Any:
    from seqloom.tensor import compile as compile_step

    return compile_step(step)


def seqloom_cases() -> Iterator[tuple[str, Callable[[], Callable[[], float]]]]:
    """Yield a training step of each network, eager and compiled, with 1 and 2 threads."""
    for threads in (1, 2):
        for name, rows in ROWS_PER_BATCH.items():
            for compiled in (False, True):
                setup = MeasurementSetup(name=name, threads=threads, dropout=0.1, rows=rows)
                label = f"{name}, {'compiled' if compiled else 'eager'}, {threads}"
                yield label, partial(_prepare_step, setup, compiled=compiled)


def _prepare_step(setup: MeasurementSetup, *, compiled: bool) -> Callable[[], float]:
    side = SeqloomTrainer(setup, on="numpy", compiled=compiled)
    batch = side.prepare_batch(draw_batch(setup.network))
    return lambda: side.step(batch)
