"""Torch's fused updates as operations that torch.compile takes whole.

With a learning rate that is a tensor, as it is in a compiled step, torch's own fused
updates tell the compiler nothing of what they do; these say what they write.
"""

import torch
from torch import Tensor

from seqloom.tensor.backends._torch._operation import operation


@operation("adamw", mutates=("params", "first", "second"))
def adamw_(
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
def sgd_(
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
