"""CUDA attention over packed sequences; without a GPU, only the shapes are tested."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

import cuda_device
from seqloom.tensor import backend
from seqloom.tensor.backends._torch import _packed_attention as device

SEQUENCE_BOUNDS = [0, 3, 3, 70, 134, 135]
MAX_SEQUENCE_LENGTH = 67
FLOAT_DTYPES = [torch.float16, torch.bfloat16, torch.float32]
GPU_CAPABILITIES = [(8, 0), (7, 5)]

causal_or_not = pytest.mark.parametrize("causal", [False, True])
half = pytest.mark.parametrize("dtype", FLOAT_DTYPES[:2])
any_type = pytest.mark.parametrize("dtype", FLOAT_DTYPES)


@any_type
@causal_or_not
@pytest.mark.parametrize("kind", GPU_CAPABILITIES)
def test_the_cuda_kernels_accept_the_shapes_and_types_that_seqloom_passes(
    kind, causal, dtype, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=0: kind)
    monkeypatch.setattr(device, "_to_aligned", lambda x: x.contiguous())
    called = {"_flash_packed": 0, "_efficient_packed": 0}
    for name in called:
        monkeypatch.setattr(device, name, count_calls(called, name, getattr(device, name)))
    with FakeTensorMode():
        q = torch.empty(135, 2, 16, device="cuda", dtype=dtype)
        ends = torch.empty(6, device="cuda", dtype=torch.int32)
        given = q, q, q, ends
        out, lse = implementation_of(device.attend_on_cuda)(
            *given, MAX_SEQUENCE_LENGTH, None, causal
        )
        grads = implementation_of(device.attend_on_cuda_grad)(
            q, *given, out, lse, 67, None, causal
        )
    assert (out.shape, out.dtype) == (q.shape, dtype)
    assert (lse.shape, lse.dtype) == ((2, 135), torch.float32)
    assert [(x.shape, x.dtype) for x in grads] == [(q.shape, dtype)] * 3
    by_flash = dtype is not torch.float32 and kind == (8, 0) and device.has_varlen_attn()
    assert called == {
        "_flash_packed": int(by_flash),
        "_efficient_packed": int(not by_flash),
    }


def implementation_of(operation: Any) -> Any:
    """Return the implementation of an operation, because torch does not run operations on
    meta tensors.
    """
    return operation.__wrapped__


def count_calls(called: dict[str, int], name: str, function: Any) -> Any:
    """Return a wrapper of a function that counts its calls."""

    def call(*args: Any) -> Any:
        called[name] += 1
        return function(*args)

    return call


@pytest.mark.parametrize(
    ("width", "dtype", "served"),
    [
        (16, torch.float16, True),
        (20, torch.float16, False),
        (20, torch.float32, True),
        (6, torch.float32, False),
        (16, torch.float64, False),
    ],
)
def test_heads_of_unsupported_width_use_the_default_implementation(width, dtype, served):
    with FakeTensorMode():
        q = torch.empty(9, 2, width, device="cuda", dtype=dtype)
        assert device.has_cuda_kernel(q, q, q, scale=None) is served


def test_without_varlen_attention_the_memory_efficient_kernel_is_used(monkeypatch):
    monkeypatch.setattr(device, "has_varlen_attn", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device=0: (9, 0))
    with FakeTensorMode():
        q = torch.empty(9, 2, 16, device="cuda", dtype=torch.float16)
        assert not device.uses_flash(q, q)


def draw(dtype: Any, seed: int = 0) -> list[Any]:
    made = torch.Generator().manual_seed(seed)
    return [
        torch.randn(135, 2, 16, generator=made).to(cuda_device.DEVICE_NAME, dtype)
        for _ in range(4)
    ]


def run_with_gradients(
    arrays: Any, *, causal: bool = False, longest: int = MAX_SEQUENCE_LENGTH
) -> list[Any]:
    """Return the attention output, and the gradients of queries, keys and values."""
    b: Any = backend(cuda_device.TORCH)
    q, k, v, grad = arrays
    ends = torch.tensor(SEQUENCE_BOUNDS, dtype=torch.int32, device=cuda_device.DEVICE_NAME)
    rule = {"max_seqlen": longest, "causal": causal}
    out, lse = b.attention_varlen(q, k, v, ends, **rule)
    return [out, *b.attention_varlen_grad(grad, q, k, v, ends, out, lse, **rule)]


def compute_expected(arrays: Any, *, causal: bool) -> list[Any]:
    """Return the expected output and gradients, computed per sequence in float64."""
    parts: list[list[Any]] = [[], [], [], []]
    for start, end in pairwise(SEQUENCE_BOUNDS):
        rows = [x[start:end].double().cpu().transpose(0, 1) for x in arrays]
        leaves = [row.requires_grad_() for row in rows[:3]]
        out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
        grads = torch.autograd.grad(out, leaves, rows[3])
        for part, found in zip(parts, (out.detach(), *grads), strict=True):
            part.append(found.transpose(0, 1))
    return [torch.cat(part) for part in parts]


@cuda_device.on_device
@any_type
@causal_or_not
def test_packed_attention_on_a_device_equals_attention_per_sequence(causal, dtype):
    arrays = draw(dtype)
    error = {torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}[dtype]
    pairs = zip(
        run_with_gradients(arrays, causal=causal),
        compute_expected(arrays, causal=causal),
        strict=True,
    )
    for mine, wanted in pairs:
        torch.testing.assert_close(mine.double().cpu(), wanted, rtol=error, atol=error)


@cuda_device.on_device
@any_type
@pytest.mark.parametrize("number", [float("nan"), float("inf"), 6e4])
def test_a_packed_sequence_does_not_change_its_neighbours_on_a_device(number, dtype):
    torch.use_deterministic_algorithms(mode=True)
    try:
        clean, mixed = draw(dtype), draw(dtype)
        for array in mixed:
            array[3:70, :, 1] = number
        for mine, wanted in zip(
            run_with_gradients(mixed), run_with_gradients(clean), strict=True
        ):
            assert torch.equal(mine[:3], wanted[:3])
            assert torch.equal(mine[70:], wanted[70:])
    finally:
        torch.use_deterministic_algorithms(mode=False)


@cuda_device.on_device
@any_type
def test_unaligned_arrays_give_equal_results_on_a_device(dtype):
    arrays = draw(dtype)
    moved = []
    for array in arrays:
        room = torch.empty(array.numel() + 1, dtype=dtype, device=cuda_device.DEVICE_NAME)
        room[1:] = array.ravel()
        moved.append(room[1:].view(array.shape))
    for mine, wanted in zip(
        run_with_gradients(moved), run_with_gradients(arrays), strict=True
    ):
        torch.testing.assert_close(mine, wanted)


@cuda_device.on_cuda
@any_type
def test_packed_attention_never_waits_for_the_device(dtype):
    arrays = draw(dtype)
    run_with_gradients(arrays)
    b: Any = backend(cuda_device.TORCH)
    ends = torch.tensor(SEQUENCE_BOUNDS, dtype=torch.int32, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        out, lse = b.attention_varlen(*arrays[:3], ends, max_seqlen=MAX_SEQUENCE_LENGTH)
        b.attention_varlen_grad(
            arrays[3], *arrays[:3], ends, out, lse, max_seqlen=MAX_SEQUENCE_LENGTH
        )
    finally:
        torch.cuda.set_sync_debug_mode("default")


@cuda_device.on_cuda  # on a CPU, the kernel raises an error
@any_type
def test_a_sequence_longer_than_max_seqlen_is_nan_on_a_device(dtype):
    assert run_with_gradients(draw(dtype), longest=60)[0].isnan().all()


@cuda_device.on_device
@half
def test_a_model_compiled_for_a_device_uses_the_kernel(dtype):
    b: Any = backend(cuda_device.TORCH)
    q, k, v, _ = draw(dtype)
    ends = torch.tensor(SEQUENCE_BOUNDS, dtype=torch.int32, device=cuda_device.DEVICE_NAME)

    def attend(q: Any, k: Any, v: Any) -> Any:
        return b.attention_varlen(q, k, v, ends, max_seqlen=MAX_SEQUENCE_LENGTH)[0] * 2

    compiled = torch.compile(attend, fullgraph=True)
    np.testing.assert_array_equal(
        compiled(q, k, v).float().cpu().numpy(), attend(q, k, v).float().cpu().numpy()
    )
