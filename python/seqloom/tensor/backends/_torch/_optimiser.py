"""Updates of parameters: torch's fused ones, in the memory that the caller owns.

With a learning rate that is a tensor, as it is in a compiled step, torch's fused updates
tell the compiler nothing of what they do; `operation` says what they write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from seqloom.tensor.backends._torch._host import operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Tensors = list[Tensor]


def adamw(
    params: Tensors,
    grads: Tensors,
    first: Tensors,
    second: Tensors,
    lr: float | Tensor,
    step: float | Tensor,
    *,
    betas: tuple[float, float],
    eps: float,
    decays: Sequence[float],
) -> tuple[Tensors, Tensors, Tensors]:
    """AdamW in place; `step` counts from 1."""
    params, grads, first, second = map(_to_rows, (params, grads, first, second))
    count = _to_step(step, params[0])
    for decay, positions in _by_decay(decays):
        lists = (
            [arrays[i] for i in positions] for arrays in (params, grads, first, second)
        )
        _fused_adamw(*lists, _rate(lr), count, *betas, decay, eps)
    return params, first, second


def sgd(
    params: Tensors,
    grads: Tensors,
    momenta: Tensors,
    lr: float | Tensor,
    *,
    momentum: float,
    nesterov: bool,
    decays: Sequence[float],
) -> tuple[Tensors, Tensors]:
    """Gradient descent with momentum in place."""
    params, grads, momenta = map(_to_rows, (params, grads, momenta))
    for decay, positions in _by_decay(decays):
        buffers = [momenta[i] for i in positions] if momentum else []
        moved = [params[i] for i in positions], [grads[i] for i in positions]
        _fused_sgd(*moved, buffers, _rate(lr), momentum, decay, nesterov)
    return params, momenta


def clip_by_global_norm(grads: Tensors, max_norm: float | Tensor) -> tuple[Tensors, Tensor]:
    """Scales all gradients down so that their common norm is at most `max_norm`."""
    norms = torch._foreach_norm(grads)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    share = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    return list(torch._foreach_mul(grads, share)), norm  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]


def _to_rows(tensors: Tensors) -> Tensors:
    """Returns tensors with rows in order: torch's fused updates ignore strides."""
    return [tensor.contiguous() for tensor in tensors]


def _to_step(step: float | Tensor, like: Tensor) -> Tensor:
    """The step's number as the kernels read it."""
    if isinstance(step, Tensor):
        return step.to(device=like.device, dtype=torch.float32)
    return torch.full((), float(step), dtype=torch.float32, device=like.device)


def _rate(lr: float | Tensor) -> Tensor:
    """The learning rate as a tensor of float32 on the CPU, or where it is."""
    return lr.float() if isinstance(lr, Tensor) else torch.tensor(lr, dtype=torch.float32)


def _by_decay(decays: Sequence[float]) -> Iterator[tuple[float, list[int]]]:
    """The positions of each decay: one call for all of them."""
    for decay in sorted(set(decays)):
        yield decay, [i for i, number in enumerate(decays) if number == decay]


@operation("adamw", mutates=("params", "first", "second"))
def _fused_adamw(
    params: list[Tensor],
    grads: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    lr: Tensor,
    step: Tensor,
    beta1: float,
    beta2: float,
    decay: float,
    eps: float,
) -> None:
    """AdamW in place."""
    torch._fused_adamw_(  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
        *(params, grads, first, second, list[Tensor](), [step] * len(params)),
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=decay,
        eps=eps,
        amsgrad=False,
        maximize=False,
    )


@operation("sgd", mutates=("params", "momenta"))
def _fused_sgd(
    params: list[Tensor],
    grads: list[Tensor],
    momenta: list[Tensor],
    lr: Tensor,
    momentum: float,
    decay: float,
    nesterov: bool,  # an operation of torch has no keywords alone
) -> None:
    """Gradient descent with momentum in place."""
    torch._fused_sgd_(  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
        *(params, grads, momenta),
        weight_decay=decay,
        momentum=momentum,
        lr=lr,
        dampening=0.0,
        nesterov=nesterov,
        maximize=False,
        is_first_step=False,
    )
