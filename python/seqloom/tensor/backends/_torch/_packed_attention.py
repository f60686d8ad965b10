"""Attention over packed sequences: Rust kernels on a CPU, PyTorch kernels on CUDA.

On a CPU, the Rust kernels use the memory of the tensors. The Rust kernels are faster
than one call of a PyTorch kernel per sequence, even with half precision, which they
convert to float32 and back.

On CUDA, half precision uses ``torch.nn.attention.varlen`` on GPUs since Ampere. The
varlen kernel processes the keys in order, so that the rounding of a sequence does not
depend on its neighbours in the batch. Float32 and older GPUs use the memory-efficient
kernel. Neither CUDA kernel reads past the end of a sequence or waits for the device.
"""

from __future__ import annotations

import math
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from seqloom.tensor.backends._torch._kernels import get_numpy, register, to_array, to_tensor

aten = torch.ops.aten
_HALF_DTYPES = frozenset({torch.float16, torch.bfloat16})
# dtypes that the CPU kernels support
_CPU_DTYPES = _HALF_DTYPES | {torch.float32, torch.float64}
_STRIDE_ALIGNMENT = 16  # in bytes
_MAX_FLASH_WIDTH = 256  # maximum width of a head
_AMPERE_CAPABILITY = (8, 0)
Sequences = tuple[Tensor, Tensor, int, int]  # bounds and maximum length, each twice


@register("attention_varlen")
def attend_on_cpu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    max_seqlen: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """Return the attention output ``(total, h, d)`` and the log-sum-exp ``(h, total)``."""
    arrays = [to_array(upcast(array)) for array in (q, k, v, cu_seqlens)]
    rule = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    out, lse = get_numpy().attention_varlen(*arrays, **rule)
    return to_tensor(out).to(v.dtype), to_tensor(lse)


@register("attention_varlen_grad")
def attend_on_cpu_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    out: Tensor,
    lse: Tensor,
    max_seqlen: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``attend_on_cpu`` with respect to q, k and v."""
    arrays = [to_array(upcast(array)) for array in (grad, q, k, v, cu_seqlens, out, lse)]
    rule = {"max_seqlen": max_seqlen, "scale": scale, "causal": causal}
    by_q, by_k, by_v = map(to_tensor, get_numpy().attention_varlen_grad(*arrays, **rule))
    return by_q.to(q.dtype), by_k.to(k.dtype), by_v.to(v.dtype)


def has_cpu_kernel(*arrays: Tensor) -> bool:
    """Return whether the CPU kernels support these arrays: on a CPU, of one float dtype."""
    kinds = {array.dtype for array in arrays}
    on_cpu = all(array.device.type == "cpu" for array in arrays)
    return on_cpu and len(kinds) == 1 and kinds <= _CPU_DTYPES


def upcast(x: Tensor) -> Tensor:
    """Convert half precision to float32; return other arrays unchanged."""
    return x.float() if x.dtype in _HALF_DTYPES else x


@attend_on_cpu.register_fake
def fake_results(q: Tensor, _k: Tensor, v: Tensor, *_rule: object) -> tuple[Tensor, Tensor]:
    """Return uninitialised tensors with the shapes of the output and the log-sum-exp."""
    sums = torch.float32 if q.dtype in _HALF_DTYPES else q.dtype
    return q.new_empty(v.shape), q.new_empty(q.shape[1::-1], dtype=sums)


@attend_on_cpu_grad.register_fake
def fake_gradients(
    _grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *_rule: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Return uninitialised tensors with the shapes of the gradients."""
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def has_cuda_kernel(
    q: Tensor, k: Tensor, v: Tensor, *others: Tensor, scale: float | None
) -> bool:
    """Return whether a CUDA kernel supports these arrays and this scale."""
    arrays = q, k, v, *others
    alike = all((x.dtype, x.device) == (q.dtype, q.device) for x in arrays)
    if not alike or q.device.type != "cuda" or torch.version.hip is not None:
        return False
    is_known = q.dtype in _HALF_DTYPES or q.dtype is torch.float32
    widths = q.shape[-1], v.shape[-1]
    whole = all(width and width * q.itemsize % _STRIDE_ALIGNMENT == 0 for width in widths)
    return is_known and whole and 0 not in q.shape and (scale is None or scale > 0)


@register("attention_varlen_cuda")
def attend_on_cuda(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    max_seqlen: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """Return the attention output ``(total, h, d)`` and the log-sum-exp ``(h, total)``."""
    forward = _flash_packed if uses_flash(q, v) else _efficient_packed
    sizes = _to_bounds(cu_seqlens, max_seqlen, q)
    out, lse = forward(list(map(_to_aligned, (q, k, v))), sizes, scale, causal)
    # The kernel does not compute positions beyond `max_seqlen`, so set them to NaN.
    is_longer = cu_seqlens.diff().max() > max_seqlen
    return torch.where(is_longer, math.nan, out), lse


@register("attention_varlen_cuda_grad")
def attend_on_cuda_grad(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: Tensor,
    out: Tensor,
    lse: Tensor,
    max_seqlen: int,
    scale: float | None,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``attend_on_cuda`` with respect to q, k and v."""
    backward = _flash_packed_grad if uses_flash(q, v) else _efficient_packed_grad
    arrays = list(map(_to_aligned, (grad, q, k, v, out, lse)))
    return backward(arrays, _to_bounds(cu_seqlens, max_seqlen, q), scale, causal)


attend_on_cuda.register_fake(fake_results)
attend_on_cuda_grad.register_fake(fake_gradients)


def _to_bounds(cu_seqlens: Tensor, max_seqlen: int, q: Tensor) -> Sequences:
    """Convert the sequence bounds and the maximum length to arguments of the kernels."""
    bounds, longest = cu_seqlens.int(), max(min(max_seqlen, q.shape[0]), 1)
    return bounds, bounds, longest, longest


def _to_aligned(x: Tensor) -> Tensor:
    """Return a contiguous array whose address is aligned for the kernels."""
    x = x.contiguous()
    return x if x.data_ptr() % _STRIDE_ALIGNMENT == 0 else x.clone()


def uses_flash(q: Tensor, v: Tensor) -> bool:
    """Return whether flash attention supports these arrays."""
    width = q.shape[-1]
    if q.dtype not in _HALF_DTYPES or width != v.shape[-1] or width > _MAX_FLASH_WIDTH:
        return False
    allowed = torch.backends.cuda.flash_sdp_enabled() and has_varlen_attn()
    return allowed and torch.cuda.get_device_capability(q.device) >= _AMPERE_CAPABILITY


@cache
def has_varlen_attn() -> bool:
    """Return whether this torch version has ``varlen_attn`` with `num_splits`."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return False
    return "num_splits" in signature(varlen_attn).parameters


def _flash_packed(
    arrays: list[Tensor], sizes: Sequences, scale: float | None, causal: bool
) -> tuple[Tensor, Tensor]:
    """Run the flash attention kernel."""
    from torch.nn.attention import varlen

    attend: Any = varlen.varlen_attn
    window, aux = (-1, 0 if causal else -1), varlen.AuxRequest(lse=True)
    return attend(
        *arrays, *sizes, return_aux=aux, scale=scale, window_size=window, num_splits=1
    )


def _flash_packed_grad(
    arrays: list[Tensor], sizes: Sequences, scale: float | None, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the backward kernel of `_flash_packed`, without dropout."""
    state = torch.zeros(2, dtype=torch.uint64, device=arrays[0].device)
    unused = torch.empty(0, dtype=torch.uint64, device=arrays[0].device)
    return aten._flash_attention_backward(  # noqa: SLF001
        *arrays, *sizes, 0.0, causal, state, unused, scale=scale
    )


def _efficient_packed(
    arrays: list[Tensor], sizes: Sequences, scale: float | None, causal: bool
) -> tuple[Tensor, Tensor]:
    """Run the memory-efficient kernel, whose log-sum-exp has one row per sequence."""
    q, k, v = (array[None] for array in arrays)
    out, lse, *_ = aten._efficient_attention_forward(  # noqa: SLF001
        q, k, v, None, *sizes, 0.0, int(causal), True, scale=scale
    )
    owner, at = _locate_rows(sizes[0], q.shape[1], sizes[2])
    return out[0], lse[owner, :, at].T.contiguous()


def _efficient_packed_grad(
    arrays: list[Tensor], sizes: Sequences, scale: float | None, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the backward kernel of `_efficient_packed`, with a fixed order of summation."""
    *inputs, out, lse = arrays
    rows = _pad_rows(lse, sizes)
    state = torch.zeros((), dtype=torch.int64, device=out.device)
    planes = [array[None] for array in inputs]
    found = aten._efficient_attention_backward(  # noqa: SLF001
        *(*planes, None, out[None], *sizes, rows, 0.0, state, state, int(causal), False),
        scale=scale,
        num_splits_key=1,
    )
    return found[0][0], found[1][0], found[2][0]


def _pad_rows(lse: Tensor, sizes: Sequences) -> Tensor:
    """Return the log-sum-exp ``(h, total)`` with one padded row per sequence."""
    bounds, _, longest, _ = sizes
    owner, at = _locate_rows(bounds, lse.shape[1], longest)
    shape = len(bounds) - 1, lse.shape[0], longest + -longest % 32
    rows = lse.new_full(shape, math.inf)
    rows[owner, :, at] = lse.T
    return rows


def _locate_rows(cu_seqlens: Tensor, total: int, longest: int) -> tuple[Tensor, Tensor]:
    """Return the index of each row's sequence, and the row's position in the sequence."""
    rows = torch.arange(total, dtype=cu_seqlens.dtype, device=cu_seqlens.device)
    owner = torch.searchsorted(cu_seqlens[1:], rows, right=True)
    owner = owner.clamp(max=cu_seqlens.shape[0] - 2)
    return owner, (rows - cu_seqlens[owner]).clamp(max=longest - 1)
