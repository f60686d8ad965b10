"""Networks in PyTorch: plain functions, and a training step with autograd."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.tensor._networks import (
    DILATED_LAYERS,
    HEADS,
    LAYERS,
    Arrays,
    MeasurementSetup,
    draw_weights,
    middle_positions,
)

LR = 1e-3
Tensors = dict[str, Tensor]


class TorchTrainer:
    """A network, eager or compiled, with the fused AdamW of PyTorch.

    Args:
        setup: Network and settings of the computation.
        compiled: If True, the loss is compiled with `torch.compile`.
    """

    def __init__(self, setup: MeasurementSetup, *, compiled: bool) -> None:
        if setup.device == "cpu":
            torch.set_num_threads(setup.threads)
        self.setup = setup
        self.tensors = {
            path: torch.tensor(each, device=setup.device)
            for path, each in draw_weights(setup.network).items()
        }
        trained = [each for path, each in self.tensors.items() if "running" not in path]
        for each in trained:
            each.requires_grad_()
        loss = partial(LOSS_OF_NETWORK[setup.name], rate=setup.dropout)
        self.loss = torch.compile(loss) if compiled else loss
        self.optimizer = torch.optim.AdamW(trained, lr=LR, fused=True)

    def prepare_batch(self, batch: Arrays) -> Tensors:
        """Return the batch as tensors on the device; on a CPU, without copying."""
        device = self.setup.device
        return {key: torch.from_numpy(each).to(device) for key, each in batch.items()}

    def step(self, batch: Tensors) -> float:
        """Train on one batch and return the loss."""
        return self._compute_step(batch).item()

    def start_step(self, batch: Tensors) -> None:
        """Train on one batch without waiting for the loss."""
        self._compute_step(batch)

    def wait_for_device(self) -> None:
        """Wait until the device has finished."""
        if self.setup.device != "cpu":
            torch.cuda.synchronize()

    def _compute_step(self, batch: Tensors) -> Tensor:
        self.optimizer.zero_grad()
        is_half = self.setup.dtype == "bfloat16"
        with torch.autocast(self.setup.device, torch.bfloat16, enabled=is_half):
            loss = self.loss(self.tensors, batch)
        loss.backward()
        self.optimizer.step()
        return loss


def _linear_layer(p: Tensors, path: str, x: Tensor) -> Tensor:
    return F.linear(x, p[f"{path}.weight"], p[f"{path}.bias"])


def _mlp_loss(p: Tensors, batch: Tensors, rate: float) -> Tensor:
    x = F.dropout(F.relu(_linear_layer(p, "first", batch["x"])), rate)
    x = F.dropout(F.relu(_linear_layer(p, "second", x)), rate)
    return F.cross_entropy(_linear_layer(p, "third", x), batch["label"])


def _cnn_loss(p: Tensors, batch: Tensors, rate: float) -> Tensor:
    x = batch["x"]
    for number, pool in enumerate((1, 2, 2)):
        path = f"blocks.{number}"
        kernel = p[f"{path}.conv.weight"]
        x = F.conv1d(x, kernel, padding=kernel.shape[2] // 2)
        x = F.gelu(_batch_norm(p, f"{path}.norm", x))
        x = F.max_pool1d(x, pool) if pool > 1 else x
    return F.cross_entropy(
        _linear_layer(p, "head", F.dropout(x.flatten(1), rate)), batch["label"]
    )


def _batch_norm(p: Tensors, path: str, x: Tensor) -> Tensor:
    mean, var = p[f"{path}.running_mean"], p[f"{path}.running_var"]
    return F.batch_norm(x, mean, var, p[f"{path}.weight"], p[f"{path}.bias"], training=True)


def _deepsea_loss(p: Tensors, batch: Tensors, rate: float) -> Tensor:
    x = batch["x"]
    for path, pool in (("first", 4), ("second", 4), ("third", 1)):
        x = F.relu(F.conv1d(x, p[f"{path}.weight"], p[f"{path}.bias"]))
        x = F.dropout(F.max_pool1d(x, pool) if pool > 1 else x, rate)
    x = F.relu(_linear_layer(p, "hidden", x.flatten(1)))
    return F.binary_cross_entropy_with_logits(_linear_layer(p, "head", x), batch["label"])


def _encoder_loss(p: Tensors, batch: Tensors, rate: float) -> Tensor:
    x = F.dropout(F.embedding(batch["x"], p["letters"]) + p["places"], rate)
    for number in range(LAYERS):
        x = _transformer_block(p, f"blocks.{number}", x, rate)
    logits = _linear_layer(p, "head", _layer_norm(p, "norm", x))
    return F.cross_entropy(logits.flatten(0, 1), batch["label"].flatten())


def _transformer_block(p: Tensors, path: str, x: Tensor, rate: float) -> Tensor:
    seen = _attention(p, path, _layer_norm(p, f"{path}.norm1", x), rate)
    x = x + F.dropout(_linear_layer(p, f"{path}.mix", seen), rate)
    fed = F.gelu(_linear_layer(p, f"{path}.up", _layer_norm(p, f"{path}.norm2", x)))
    return x + F.dropout(_linear_layer(p, f"{path}.down", fed), rate)


def _attention(p: Tensors, path: str, x: Tensor, rate: float) -> Tensor:
    rows, places, width = x.shape
    parts = _linear_layer(p, f"{path}.attend", x).view(rows, places, 3, HEADS, -1)
    q, k, v = parts.permute(2, 0, 3, 1, 4)
    seen = F.scaled_dot_product_attention(q, k, v, dropout_p=rate)
    return seen.transpose(1, 2).reshape(rows, places, width)


def _dilated_loss(p: Tensors, batch: Tensors, rate: float) -> Tensor:
    del rate
    x = F.relu(_conv(p, "first", batch["x"]))
    for number in range(DILATED_LAYERS):
        x = x + F.relu(_conv(p, f"layers.{number}", x, dilation=2 ** (number + 1)))
    profile = _conv(p, "profile", x)[:, 0, middle_positions(x.shape[-1])]
    by_position = (batch["profile"] * F.log_softmax(profile, -1)).sum(-1)
    error = _linear_layer(p, "count", x.mean(-1)) - batch["count"]
    return (error * error).mean() - by_position.mean()


def _conv(p: Tensors, path: str, x: Tensor, dilation: int = 1) -> Tensor:
    kernel = p[f"{path}.weight"]
    padding = dilation * (kernel.shape[2] // 2)
    return F.conv1d(x, kernel, p[f"{path}.bias"], padding=padding, dilation=dilation)


def _layer_norm(p: Tensors, path: str, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], p[f"{path}.weight"], p[f"{path}.bias"])


LOSS_OF_NETWORK: dict[str, Any] = {
    "MLP": _mlp_loss,
    "SequenceCNN": _cnn_loss,
    "DeepSEA": _deepsea_loss,
    "encoder": _encoder_loss,
    "dilated": _dilated_loss,
}


class TorchProducts:
    """Matrix products of a step, computed by the BLAS of PyTorch.

    Args:
        shapes: Shapes of the two factors of each product, with the number of products.
        threads: Number of threads that PyTorch may use.
    """

    def __init__(self, shapes: list[Any], threads: int) -> None:
        torch.set_num_threads(threads)
        self.work = [
            (torch.ones(a), torch.ones(b), torch.empty((*a[:-1], b[-1])), times)
            for a, b, times in shapes
        ]

    def prepare_batch(self, batch: Arrays) -> Arrays:
        """Return the batch, which is not used."""
        return batch

    def step(self, batch: Any) -> float:
        """Compute all matrix products once."""
        del batch
        for one, other, out, times in self.work:
            for _ in range(times):
                torch.matmul(one, other, out=out)
        return float(np.nan)
