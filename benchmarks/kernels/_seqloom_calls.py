"""Calls of seqloom kernels, with the arguments that the NumPy backend passes."""

# Each function has one positional parameter per input of its case.
# ruff: noqa: PLR0917

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.kernels._cases import (
    KMER_LENGTH,
    SEQUENCE_LENGTHS,
    KernelCase,
    draw_inputs,
    make_kernel_cases,
)
from seqloom import Key
from seqloom._ragged import Ragged
from seqloom.encode import Kmer, OneHot
from seqloom.nn import functional as F
from seqloom.tensor import backend, compile as compile_step, exp, sqrt

Work = Callable[[], Any]
Make = Callable[..., Work]
EPS = 1e-5
CONVOLUTION_OPTIONS: Any = {"stride": 1, "padding": 0}


def prepare_call(case: KernelCase, threads: int) -> Work:
    """Create the inputs of a case, and return the function to time."""
    b: Any = backend("numpy", num_threads=threads)
    return SEQLOOM_CALL_OF_KERNEL[case.kind](b, case, *draw_inputs(case))


def seqloom_cases() -> Iterator[tuple[str, Callable[[], Work]]]:
    """Yield each case twice: with one thread and with two threads."""
    for threads in (1, 2):
        for case in make_kernel_cases():
            yield f"{case.label}, {threads}", partial(prepare_call, case, threads)


def _prepare_kernel(name: str, *places: int, **options: Any) -> Make:
    """Return a function that prepares a call of one kernel with selected inputs."""

    def prepare_inputs(b: Any, _: KernelCase, *given: Any) -> Work:
        call, chosen = getattr(b, name), [given[place] for place in places]
        return lambda: call(*chosen, **options)

    return prepare_inputs


def _prepare_gradient(name: str, *, of_output: bool) -> Make:
    """Return a function that prepares a call of a gradient kernel."""

    def prepare_inputs(b: Any, _: KernelCase, x: np.ndarray, grad: np.ndarray) -> Work:
        kept = getattr(b, name)(x) if of_output else x
        return lambda: getattr(b, f"{name}_grad")(grad, kept)

    return prepare_inputs


def _prepare_random(name: str) -> Make:
    """Return a function that prepares a call of a random number generator."""

    def prepare_inputs(b: Any, case: KernelCase, *_: Any) -> Work:
        call, options = getattr(b, name), {"dtype": case.dtype}
        return lambda: call(Key(0), case.shape, **options)

    return prepare_inputs


def _dropout(b: Any, _: KernelCase, x: Any, _grad: Any) -> Work:
    return lambda: b.dropout(x, Key(0), 0.1)


def _embedding_grad(b: Any, _: KernelCase, weight: Any, ids: Any, grad: Any) -> Work:
    return lambda: b.embedding_grad(grad, ids, rows=len(weight))


def _layer_norm_grad(
    b: Any, _: KernelCase, x: Any, weight: Any, bias: Any, grad: Any
) -> Work:
    _made, *kept = b.layer_norm(x, weight, bias, eps=EPS)
    return lambda: b.layer_norm_grad(grad, x, weight, *kept)


def _batch_norm(b: Any, _: KernelCase, x: Any, weight: Any, bias: Any, _grad: Any) -> Work:
    """Return only outputs and means, because PyTorch does not return variances."""
    return lambda: b.batch_norm(x, weight, bias, eps=EPS)[:2]


def _batch_norm_grad(
    b: Any, _: KernelCase, x: Any, weight: Any, bias: Any, grad: Any
) -> Work:
    _made, *kept = b.batch_norm(x, weight, bias, eps=EPS)
    return lambda: b.batch_norm_grad(grad, x, weight, None, *kept, eps=EPS)


def _max_pool(b: Any, case: KernelCase, x: Any, _: Any) -> Work:
    size = case.shape[3]
    return lambda: b.max_pool1d(x, kernel=size, stride=size)


def _max_pool_grad(b: Any, case: KernelCase, x: Any, grad: Any) -> Work:
    _, places = _max_pool(b, case, x, grad)()
    return lambda: b.max_pool1d_grad(grad, places, x.shape)


def _adamw(b: Any, _: KernelCase, *arrays: np.ndarray) -> Work:
    half = len(arrays) // 2
    params, grads = list(arrays[:half]), list(arrays[half:])
    first, second = ([np.zeros_like(each) for each in params] for _ in range(2))
    rule: Any = {"betas": (0.9, 0.999), "eps": 1e-8, "decays": [0.01] * half}
    return lambda: b.adamw(params, grads, first, second, 1e-3, 1, **rule)[0]


def _convolution_input_grad(name: str) -> Make:
    def prepare_backward(b: Any, _: KernelCase, x: Any, weight: Any, grad: Any) -> Work:
        call = getattr(b, f"{name}_input_grad")
        return lambda: call(grad, weight, x.shape, **CONVOLUTION_OPTIONS)

    return prepare_backward


def _convolution_weight_grad(name: str) -> Make:
    def prepare_backward(b: Any, _: KernelCase, x: Any, weight: Any, grad: Any) -> Work:
        call = getattr(b, f"{name}_weight_grad")
        return lambda: call(x, grad, weight.shape, **CONVOLUTION_OPTIONS)

    return prepare_backward


def _attention(b: Any, case: KernelCase, q: Any, k: Any, v: Any, mask: Any, _: Any) -> Work:
    seen = mask if "masked" in case.kind else None
    return lambda: b.attention(q, k, v, seen)[0]


def _attention_grad(b: Any, case: KernelCase, *arrays: Any) -> Work:
    q, k, v, mask, grad = arrays
    seen = mask if "masked" in case.kind else None
    kept = b.attention(q, k, v, seen)
    return lambda: b.attention_grad(grad, q, k, v, seen, None, *kept)


def _packed_attention(
    b: Any, _: KernelCase, q: Any, k: Any, v: Any, bounds: Any, _grad: Any
) -> Work:
    return lambda: b.attention_varlen(q, k, v, bounds, max_seqlen=max(SEQUENCE_LENGTHS))[0]


def _packed_attention_grad(
    b: Any, _: KernelCase, q: Any, k: Any, v: Any, bounds: Any, grad: Any
) -> Work:
    longest = {"max_seqlen": max(SEQUENCE_LENGTHS)}
    kept = b.attention_varlen(q, k, v, bounds, **longest)
    return lambda: b.attention_varlen_grad(grad, q, k, v, bounds, *kept, **longest)


def _prepare_compiled(function: Callable[..., Any]) -> Make:
    def prepare_inputs(b: Any, _: KernelCase, *arrays: np.ndarray) -> Work:
        tensors, program = [b.tensor(each) for each in arrays], compile_step(function)

        return lambda: program(*tensors)

    return prepare_inputs


def _gelu_chain(x: Any, weight: Any, bias: Any, other: Any) -> Any:
    return F.gelu(x * weight + bias) + other


def _sigmoid_gate_chain(x: Any, weight: Any, bias: Any, other: Any) -> Any:
    gate = 1.0 / (1.0 + exp(-(x * weight + bias)))
    return gate * x + (1.0 - gate) * other


def _norm_chain(x: Any, weight: Any, bias: Any, other: Any) -> Any:
    centred = x + other
    centred = centred - centred.mean(axis=-1, keepdims=True)
    spread = sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPS)
    return centred / spread * weight + bias


def _prepare_encoder(encoder: OneHot | Kmer) -> Make:
    """Return a function that prepares a call of an encoder for packed sequencing reads."""

    def prepare_inputs(_b: Any, _: KernelCase, letters: np.ndarray) -> Work:
        reads, length = letters.shape
        rows = Ragged(letters.reshape(-1), np.arange(reads + 1) * length)
        return lambda: encoder.batch(rows)

    return prepare_inputs


CONVOLUTION_KERNELS = ("conv1d", "conv2d")
SEQLOOM_CALL_OF_KERNEL: dict[str, Make] = {
    "softmax": _prepare_kernel("softmax", 0),
    "softmax_grad": _prepare_gradient("softmax", of_output=True),
    "cross_entropy": _prepare_kernel("cross_entropy", 0, 1),
    "layer_norm": _prepare_kernel("layer_norm", 0, 1, 2, eps=EPS),
    "layer_norm_grad": _layer_norm_grad,
    "batch_norm": _batch_norm,
    "batch_norm_grad": _batch_norm_grad,
    "gelu": _prepare_kernel("gelu", 0),
    "gelu_grad": _prepare_gradient("gelu", of_output=False),
    "relu": _prepare_kernel("relu", 0),
    "relu_grad": _prepare_gradient("relu", of_output=True),
    "max_pool1d": _max_pool,
    "max_pool1d_grad": _max_pool_grad,
    "dropout": _dropout,
    "normal": _prepare_random("normal"),
    "uniform": _prepare_random("uniform"),
    "adamw": _adamw,
    "embedding": _prepare_kernel("embedding", 0, 1),
    "embedding_grad": _embedding_grad,
    **{
        name: _prepare_kernel(name, 0, 1, **CONVOLUTION_OPTIONS)
        for name in CONVOLUTION_KERNELS
    },
    **{f"{name}_input_grad": _convolution_input_grad(name) for name in CONVOLUTION_KERNELS},
    **{
        f"{name}_weight_grad": _convolution_weight_grad(name)
        for name in CONVOLUTION_KERNELS
    },
    "attention": _attention,
    "attention_grad": _attention_grad,
    "attention_masked": _attention,
    "attention_masked_grad": _attention_grad,
    "attention_varlen": _packed_attention,
    "attention_varlen_grad": _packed_attention_grad,
    "fused_gelu": _prepare_compiled(_gelu_chain),
    "fused_chain": _prepare_compiled(_sigmoid_gate_chain),
    "fused_norm": _prepare_compiled(_norm_chain),
    "encode_one_hot": _prepare_encoder(OneHot("dna")),
    "encode_kmers": _prepare_encoder(Kmer(KMER_LENGTH)),
    "encode_kmer_counts": _prepare_encoder(Kmer(KMER_LENGTH, counts=True)),
}
