"""Networks in JAX: plain functions, and one jitted step that reuses the state's memory."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.tensor._networks import (
    DILATED_LAYERS,
    HEADS,
    LAYERS,
    Arrays,
    MeasurementSetup,
    draw_weights,
    middle_positions,
)

LR, DECAY, BETAS, EPS = 1e-3, 0.01, (0.9, 0.999), 1e-8
CONVOLUTION_AXES = ("NCH", "OIH", "NCH")
Tensors = dict[str, jax.Array]


class JaxTrainer:
    """A network with AdamW, with the whole step in `jax.jit`.

    Args:
        setup: Network and settings of the computation.
    """

    def __init__(self, setup: MeasurementSetup) -> None:
        self.device = jax.devices(setup.device)[0]
        jax.config.update("jax_default_device", self.device)
        weights = draw_weights(setup.network)
        arrays = {path: jnp.array(each) for path, each in weights.items()}
        self.averages = {path: each for path, each in arrays.items() if "running" in path}
        self.params = {path: each for path, each in arrays.items() if "running" not in path}
        zeros = partial(jax.tree.map, jnp.zeros_like)
        self.state = (zeros(self.params), zeros(self.params), jnp.zeros((), jnp.int32))
        self.key = jax.random.key(0)
        loss = partial(LOSS_OF_NETWORK[setup.name], rate=setup.dropout)
        loss = _loss_in_bfloat16(loss) if setup.dtype == "bfloat16" else loss
        self.jitted = jax.jit(_jit_step(loss), donate_argnums=(0, 1, 2))

    def prepare_batch(self, batch: Arrays) -> Tensors:
        """Return the batch as JAX arrays."""
        return {key: jnp.array(each) for key, each in batch.items()}

    def step(self, batch: Tensors) -> float:
        """Train on one batch and return the loss."""
        return float(self._compute_step(batch))

    def start_step(self, batch: Tensors) -> None:
        """Train on one batch without waiting for the loss."""
        self._compute_step(batch)

    def wait_for_device(self) -> None:
        """Wait until the device has finished."""
        jax.block_until_ready(self.params)

    def _compute_step(self, batch: Tensors) -> Any:
        loss, self.params, self.averages, self.state = self.jitted(
            self.params, self.averages, self.state, self.key, batch
        )
        return loss


def _loss_in_bfloat16(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loss with weights and inputs in bfloat16, because JAX has no autocast."""

    def cast_to_bfloat16(arrays: Tensors) -> Tensors:
        return {
            key: each.astype(jnp.bfloat16) if each.dtype == jnp.float32 else each
            for key, each in arrays.items()
        }

    def compute_loss(params: Tensors, averages: Tensors, batch: Any, key: Any) -> Any:
        value, averages = loss(
            cast_to_bfloat16(params), averages, cast_to_bfloat16(batch), key
        )
        return value.astype(jnp.float32), averages

    return compute_loss


def _jit_step(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return one jitted function of a training step: loss, gradients and AdamW."""

    def step(params: Tensors, averages: Tensors, state: Any, key: Any, batch: Any) -> Any:
        key = jax.random.fold_in(key, state[2])
        follow = jax.value_and_grad(loss, has_aux=True)
        (value, averages), grads = follow(params, averages, batch, key)
        params, state = _adamw(params, grads, state)
        return value, params, averages, state

    return step


def _adamw(params: Tensors, grads: Tensors, state: Any) -> tuple[Tensors, Any]:
    first, second, count = state
    count += 1
    (keep, keep_square), step = BETAS, count.astype(jnp.float32)
    squares = jax.tree.map(jnp.square, grads)
    first = jax.tree.map(partial(_running_average, keep), first, grads)
    second = jax.tree.map(partial(_running_average, keep_square), second, squares)

    def update_parameter(p: Any, m: Any, v: Any) -> Any:
        root = jnp.sqrt(v / (1 - keep_square**step)) + EPS
        return p * (1 - LR * DECAY) - LR / (1 - keep**step) * m / root

    return jax.tree.map(update_parameter, params, first, second), (first, second, count)


def _running_average(keep: float, old: Any, new: Any) -> Any:
    return keep * old + (1 - keep) * new


def _linear(p: Tensors, path: str, x: Any) -> Any:
    return x @ p[f"{path}.weight"].T + p[f"{path}.bias"]


def _dropout(x: Any, rate: float, key: Any) -> Any:
    if rate == 0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def _cross_entropy(logits: Any, labels: Any) -> Any:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -chosen.mean()


def _mlp_loss(p: Tensors, averages: Tensors, batch: Any, key: Any, rate: float) -> Any:
    keys = jax.random.split(key)
    x = _dropout(jax.nn.relu(_linear(p, "first", batch["x"])), rate, keys[0])
    x = _dropout(jax.nn.relu(_linear(p, "second", x)), rate, keys[1])
    return _cross_entropy(_linear(p, "third", x), batch["label"]), averages


def _conv(x: Any, kernel: Any, padding: int, dilation: int = 1) -> Any:
    around, apart = [(padding, padding)], (dilation,)
    return lax.conv_general_dilated(
        x, kernel, (1,), around, rhs_dilation=apart, dimension_numbers=CONVOLUTION_AXES
    )


def _max_pool(x: Any, size: int) -> Any:
    window = (1, 1, size)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")


def _cnn_loss(p: Tensors, averages: Tensors, batch: Any, key: Any, rate: float) -> Any:
    x, found = batch["x"], {}
    for number, pool in enumerate((1, 2, 2)):
        path = f"blocks.{number}"
        kernel = p[f"{path}.conv.weight"]
        x = _conv(x, kernel, kernel.shape[2] // 2)
        x, new = _batch_norm(p, averages, f"{path}.norm", x)
        found |= new
        x = jax.nn.gelu(x, approximate=False)
        x = _max_pool(x, pool) if pool > 1 else x
    x = _dropout(x.reshape(x.shape[0], -1), rate, key)
    return _cross_entropy(_linear(p, "head", x), batch["label"]), found


def _batch_norm(p: Tensors, averages: Tensors, path: str, x: Any) -> Any:
    mean, var = x.mean((0, 2)), x.var((0, 2))
    scale = p[f"{path}.weight"] * lax.rsqrt(var + 1e-5)
    out = (x - mean[:, None]) * scale[:, None] + p[f"{path}.bias"][:, None]
    count = x.shape[0] * x.shape[2]
    batch = {"mean": mean, "var": var * count / (count - 1)}
    paths = {f"{path}.running_{name}": value for name, value in batch.items()}
    return out, {path: 0.9 * averages[path] + 0.1 * new for path, new in paths.items()}


def _deepsea_loss(p: Tensors, averages: Tensors, batch: Any, key: Any, rate: float) -> Any:
    x, keys = batch["x"], jax.random.split(key, 3)
    layers = zip((("first", 4), ("second", 4), ("third", 1)), keys, strict=True)
    for (path, pool), each in layers:
        x = jax.nn.relu(_conv(x, p[f"{path}.weight"], 0) + p[f"{path}.bias"][:, None])
        x = _dropout(_max_pool(x, pool) if pool > 1 else x, rate, each)
    x = jax.nn.relu(_linear(p, "hidden", x.reshape(x.shape[0], -1)))
    logits, label = _linear(p, "head", x), batch["label"]
    return (jax.nn.softplus(logits) - logits * label).mean(), averages


def _encoder_loss(p: Tensors, averages: Tensors, batch: Any, key: Any, rate: float) -> Any:
    keys = jax.random.split(key, LAYERS + 1)
    x = _dropout(p["letters"][batch["x"]] + p["places"], rate, keys[-1])
    for number in range(LAYERS):
        x = _transformer_block(p, f"blocks.{number}", x, rate, keys[number])
    logits = _linear(p, "head", _layer_norm(p, "norm", x))
    return _cross_entropy(logits, batch["label"]), averages


def _transformer_block(p: Tensors, path: str, x: Any, rate: float, key: Any) -> Any:
    keys = jax.random.split(key, 3)
    seen = _attention(p, path, _layer_norm(p, f"{path}.norm1", x), rate, keys[0])
    x = x + _dropout(_linear(p, f"{path}.mix", seen), rate, keys[1])
    fed = _linear(p, f"{path}.up", _layer_norm(p, f"{path}.norm2", x))
    fed = jax.nn.gelu(fed, approximate=False)
    return x + _dropout(_linear(p, f"{path}.down", fed), rate, keys[2])


def _attention(p: Tensors, path: str, x: Any, rate: float, key: Any) -> Any:
    rows, places, width = x.shape
    parts = _linear(p, f"{path}.attend", x).reshape(rows, places, 3, HEADS, -1)
    q, k, v = jnp.moveaxis(parts, 2, 0)
    scores = jnp.einsum("nlhd,nshd->nhls", q, k) * q.shape[-1] ** -0.5
    shares = _dropout(jax.nn.softmax(scores), rate, key)
    return jnp.einsum("nhls,nshd->nlhd", shares, v).reshape(rows, places, width)


def _dilated_loss(p: Tensors, averages: Tensors, batch: Any, key: Any, rate: float) -> Any:
    del key, rate

    def conv(path: str, x: Any, dilation: int = 1) -> Any:
        kernel = p[f"{path}.weight"]
        x = _conv(x, kernel, dilation * (kernel.shape[2] // 2), dilation)
        return x + p[f"{path}.bias"][:, None]

    x = jax.nn.relu(conv("first", batch["x"]))
    for number in range(DILATED_LAYERS):
        x = x + jax.nn.relu(conv(f"layers.{number}", x, 2 ** (number + 1)))
    profile = conv("profile", x)[:, 0, middle_positions(x.shape[-1])].astype(jnp.float32)
    by_position = (batch["profile"] * jax.nn.log_softmax(profile)).sum(-1)
    error = _linear(p, "count", x.mean(-1)) - batch["count"]
    return (error * error).mean() - by_position.mean(), averages


def _layer_norm(p: Tensors, path: str, x: Any) -> Any:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * p[f"{path}.weight"] + p[f"{path}.bias"]


LOSS_OF_NETWORK: dict[str, Any] = {
    "MLP": _mlp_loss,
    "SequenceCNN": _cnn_loss,
    "DeepSEA": _deepsea_loss,
    "encoder": _encoder_loss,
    "dilated": _dilated_loss,
}
