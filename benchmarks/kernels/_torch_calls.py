"""Calls of PyTorch kernels, with the arguments that its autograd passes."""

# These PyTorch functions accept positional arguments only.
# ruff: noqa: FBT003, PLR0917, SLF001

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks.kernels._cases import KMER_LENGTH, KernelCase, draw_inputs

Work = Callable[[], Any]
Make = Callable[..., Work]
EPS = 1e-5
aten: Any = torch.ops.aten


def prepare_call(case: KernelCase, threads: int, *, compiled: bool = False) -> Work:
    """Create the inputs of a case, and return the function to time."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    given = [torch.from_numpy(each) for each in draw_inputs(case)]
    if case.kind.startswith("fused"):
        function = (
            torch.compile(FUSED_CHAINS[case.kind]) if compiled else FUSED_CHAINS[case.kind]
        )
        return lambda: function(*given)
    return TORCH_CALL_OF_KERNEL[case.kind](case, *given)


def _prepare_operation(function: Callable[..., Any], *places: int) -> Make:
    """Return a function that prepares a call of one operation with selected inputs."""

    def prepare_inputs(_: KernelCase, *given: Any) -> Work:
        chosen = [given[place] for place in places]
        return lambda: function(*chosen)

    return prepare_inputs


def _prepare_random(function: Callable[..., Any]) -> Make:
    """Return a function that prepares a call of a random number generator."""

    def prepare_inputs(case: KernelCase, x: Any, _: Any) -> Work:
        return lambda: function(case.shape, dtype=x.dtype)

    return prepare_inputs


def _embedding_grad(_: KernelCase, weight: Any, ids: Any, grad: Any) -> Work:
    call = aten.embedding_dense_backward
    return lambda: call(grad, ids, len(weight), -1, False)


def _softmax_grad(_: KernelCase, x: Any, grad: Any) -> Work:
    kept = x.softmax(-1)
    return lambda: aten._softmax_backward_data(grad, kept, -1, x.dtype)


def _cross_entropy(_: KernelCase, logits: Any, labels: Any) -> Work:
    """Return the loss of each row, and the gradient of the summed losses."""
    one = torch.ones((), dtype=logits.dtype)

    def run_kernel() -> Any:
        shares = aten._log_softmax(logits, -1, False)
        losses, weight = aten.nll_loss_forward(shares, labels, None, 0, -100)
        grad = torch.ones_like(losses) * one
        back = aten.nll_loss_backward(grad, shares, labels, None, 0, -100, weight)
        return losses, aten._log_softmax_backward_data(back, shares, -1, logits.dtype)

    return run_kernel


def _layer_norm(_: KernelCase, x: Any, weight: Any, bias: Any, _grad: Any) -> Work:
    return lambda: aten.native_layer_norm(x, x.shape[-1:], weight, bias, EPS)


def _layer_norm_grad(_: KernelCase, x: Any, weight: Any, bias: Any, grad: Any) -> Work:
    size, all_three = x.shape[-1:], [True] * 3
    _made, *kept = aten.native_layer_norm(x, size, weight, bias, EPS)
    call = aten.native_layer_norm_backward
    return lambda: call(grad, x, size, *kept, weight, bias, all_three)


def _batch_norm(_: KernelCase, x: Any, weight: Any, bias: Any, _grad: Any) -> Work:
    call = aten.native_batch_norm
    return lambda: call(x, weight, bias, None, None, True, 0.1, EPS)[:2]


def _batch_norm_grad(_: KernelCase, x: Any, weight: Any, bias: Any, grad: Any) -> Work:
    _made, *kept = aten.native_batch_norm(x, weight, bias, None, None, True, 0.1, EPS)
    rest = (weight, None, None, *kept, True, EPS, [True] * 3)
    return lambda: aten.native_batch_norm_backward(grad, x, *rest)


def _max_pool(case: KernelCase, x: Any, _: Any) -> Work:
    size, wide = [1, case.shape[3]], x.unsqueeze(-2)
    return lambda: aten.max_pool2d_with_indices(wide, size, size)


def _max_pool_grad(case: KernelCase, x: Any, grad: Any) -> Work:
    size, wide = [1, case.shape[3]], x.unsqueeze(-2)
    _made, places = _max_pool(case, x, grad)()
    steps = (size, size, [0, 0], [1, 1], False, places)
    call = aten.max_pool2d_with_indices_backward
    return lambda: call(grad.unsqueeze(-2), wide, *steps)


def _adamw(_: KernelCase, *arrays: Any) -> Work:
    half = len(arrays) // 2
    params, grads = list(arrays[:half]), list(arrays[half:])
    moments = [[torch.zeros_like(each) for each in params] for _ in range(2)]
    steps = [torch.ones(()) for _ in params]
    rule: Any = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
    rule |= {"weight_decay": 0.01, "amsgrad": False, "maximize": False}

    step = aten._fused_adamw_

    def run_kernel() -> Any:
        step(params, grads, *moments, [], steps, **rule)
        return params

    return run_kernel


def _convolution(_: KernelCase, x: Any, weight: Any, _grad: Any) -> Work:
    call = F.conv1d if x.ndim == 3 else F.conv2d
    return lambda: call(x, weight)


def _convolution_grad(by: str) -> Make:
    """Return a function that prepares a call for the input or the weight gradient."""
    wanted = [by == "input", by == "weight", by == "weight"]

    def prepare_backward(_: KernelCase, x: Any, weight: Any, grad: Any) -> Work:
        ones, zeros = [1] * (x.ndim - 2), [0] * (x.ndim - 2)
        rest = ([len(weight)], ones, zeros, ones, False, zeros, 1, wanted)
        call = aten.convolution_backward
        return lambda: [each for each in call(grad, x, weight, *rest) if each is not None]

    return prepare_backward


def _attention_mask(case: KernelCase, mask: Any) -> Any:
    return mask if "masked" in case.kind else None


def _attention(case: KernelCase, q: Any, k: Any, v: Any, mask: Any, _grad: Any) -> Work:
    seen = _attention_mask(case, mask)
    return lambda: F.scaled_dot_product_attention(q, k, v, seen)


def _attention_grad(case: KernelCase, *arrays: Any) -> Work:
    q, k, v, mask, grad = arrays
    seen = (
        None
        if (own := _attention_mask(case, mask)) is None
        else torch.zeros(own.shape, dtype=q.dtype)
        .masked_fill(~own, -torch.inf)
        .expand(*q.shape[:3], k.shape[2])
    )
    kept = aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, False, attn_mask=seen
    )
    call = aten._scaled_dot_product_flash_attention_for_cpu_backward
    return lambda: call(grad, q, k, v, *kept, 0.0, False, attn_mask=seen)


def _packed_attention(
    _: KernelCase, q: Any, k: Any, v: Any, bounds: Any, _grad: Any
) -> Work:
    """Call attention for each sequence, because PyTorch cannot pack sequences on CPUs."""
    each = [_split_sequences((q, k, v), pair) for pair in pairwise(bounds)]
    made = torch.empty_like(q)

    def run_kernel() -> Any:
        for (start, end), part in zip(pairwise(bounds), each, strict=True):
            made[start:end] = F.scaled_dot_product_attention(*part)[0].transpose(0, 1)
        return made

    return run_kernel


def _packed_attention_grad(
    _: KernelCase, q: Any, k: Any, v: Any, bounds: Any, grad: Any
) -> Work:
    forward = aten._scaled_dot_product_flash_attention_for_cpu
    call = aten._scaled_dot_product_flash_attention_for_cpu_backward
    pairs = list(pairwise(bounds.tolist()))
    parts = [_split_sequences((grad, q, k, v), pair) for pair in pairs]
    kept = [forward(*part[1:], 0.0, False) for part in parts]
    made = [torch.empty_like(q) for _ in range(3)]

    def run_backward() -> Any:
        for (start, end), part, each in zip(pairs, parts, kept, strict=True):
            for into, found in zip(made, call(*part, *each, 0.0, False), strict=True):
                into[start:end] = found[0].transpose(0, 1)
        return made

    return run_backward


def _split_sequences(arrays: Any, pair: Any) -> list[Any]:
    """Split packed rows into sequences, each with the shape ``(1, h, l, d)``."""
    start, end = pair
    return [each[start:end].transpose(0, 1)[None] for each in arrays]


def _gelu_chain(x: Any, weight: Any, bias: Any, other: Any) -> Any:
    return F.gelu(x * weight + bias) + other


def _sigmoid_gate_chain(x: Any, weight: Any, bias: Any, other: Any) -> Any:
    gate = 1.0 / (1.0 + torch.exp(-(x * weight + bias)))
    return gate * x + (1.0 - gate) * other


def _norm_chain(x: Any, weight: Any, bias: Any, other: Any) -> Any:
    centred = x + other
    centred = centred - centred.mean(-1, keepdim=True)
    spread = torch.sqrt((centred * centred).mean(-1, keepdim=True) + EPS)
    return centred / spread * weight + bias


def _one_hot(_: KernelCase, letters: Any) -> Work:
    """Encode bases by four comparisons, which was the fastest of five methods."""
    bases = torch.tensor([*b"ACGT"], dtype=torch.uint8)[:, None]
    reads, length = letters.shape
    return lambda: torch.eq(letters[:, None], bases, out=torch.empty(reads, 4, length))


def _kmer_indices(letters: Any) -> Any:
    """Return the index of each 6-mer, computed from the indices of 2-mers and 3-mers."""
    digits = INDEX_OF_BASE[letters.int()]
    twos = torch.add(digits[:, 1:], digits[:, :-1], alpha=4)
    threes = torch.add(digits[:, 2:], twos[:, :-1], alpha=4)
    return torch.add(threes[:, 3:], threes[:, :-3], alpha=4**3)


def _kmer_counts(_: KernelCase, letters: Any) -> Work:
    one = torch.ones(())

    def run_kernel() -> Any:
        words = _kmer_indices(letters)
        return torch.zeros(len(words), 4**KMER_LENGTH).scatter_add_(
            1, words, one.expand(words.shape)
        )

    return run_kernel


INDEX_OF_BASE = torch.zeros(256, dtype=torch.int64).index_put_(
    (torch.tensor([*b"ACGT"]),), torch.arange(4)
)
FUSED_CHAINS = {
    "fused_gelu": _gelu_chain,
    "fused_chain": _sigmoid_gate_chain,
    "fused_norm": _norm_chain,
}
CONVOLUTION_KERNELS = ("conv1d", "conv2d")
TORCH_CALL_OF_KERNEL: dict[str, Make] = {
    "softmax": _prepare_operation(partial(torch.softmax, dim=-1), 0),
    "softmax_grad": _softmax_grad,
    "cross_entropy": _cross_entropy,
    "layer_norm": _layer_norm,
    "layer_norm_grad": _layer_norm_grad,
    "batch_norm": _batch_norm,
    "batch_norm_grad": _batch_norm_grad,
    "gelu": _prepare_operation(F.gelu, 0),
    "gelu_grad": _prepare_operation(aten.gelu_backward, 1, 0),
    "relu": _prepare_operation(torch.relu, 0),
    "relu_grad": _prepare_operation(partial(aten.threshold_backward, threshold=0), 1, 0),
    "max_pool1d": _max_pool,
    "max_pool1d_grad": _max_pool_grad,
    "dropout": _prepare_operation(partial(aten.native_dropout, p=0.1, train=True), 0),
    "normal": _prepare_random(torch.randn),
    "uniform": _prepare_random(torch.rand),
    "adamw": _adamw,
    "embedding": _prepare_operation(F.embedding, 1, 0),
    "embedding_grad": _embedding_grad,
    **dict.fromkeys(CONVOLUTION_KERNELS, _convolution),
    **{f"{name}_input_grad": _convolution_grad("input") for name in CONVOLUTION_KERNELS},
    **{f"{name}_weight_grad": _convolution_grad("weight") for name in CONVOLUTION_KERNELS},
    **dict.fromkeys(("attention", "attention_masked"), _attention),
    **dict.fromkeys(("attention_grad", "attention_masked_grad"), _attention_grad),
    "attention_varlen": _packed_attention,
    "attention_varlen_grad": _packed_attention_grad,
    "encode_one_hot": _one_hot,
    "encode_kmers": _prepare_operation(_kmer_indices, 0),
    "encode_kmer_counts": _kmer_counts,
}
