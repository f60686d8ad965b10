"""Meta-learning (Finn 2017): the gradient of a loss after an inner step."""

import numpy as np
import torch

from seqloom import nn, optim
from seqloom.nn import functional as F

INNER_RATE = 0.1


class Net(nn.Module):
    layers: list[nn.Linear]

    def __init__(self):
        self.layers = [nn.Linear(6, 16), nn.Linear(16, 3)]

    def loss(self, x, label):
        return F.cross_entropy(self.layers[1](F.gelu(self.layers[0](x))), label)


class Twin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        parts = [torch.nn.Linear(6, 16), torch.nn.Linear(16, 3)]
        self.layers = torch.nn.ModuleList(parts)

    def forward(self, x, label):
        hidden = torch.nn.functional.gelu(self.layers[0](x))
        return torch.nn.functional.cross_entropy(self.layers[1](hidden), label)


def batch(draw):
    """Return a task: records for adaptation, and records for its evaluation."""

    def records():
        x = draw.normal(size=(8, 6)).astype(np.float32)
        return x, draw.integers(0, 3, 8).astype(np.int64)

    (x, label), (later_x, later_label) = records(), records()
    return {"x": x, "label": label, "later_x": later_x, "later_label": later_label}


def optimizers():
    """The optimiser of the outer loop; the inner step needs no optimiser."""
    return optim.AdamW(weight_decay=0.0)


def adapted_loss(model, batch):
    """Return the loss of later records after one step on the first records."""
    _, grads = nn.value_and_grad(Net.loss)(model, batch["x"], batch["label"])
    adapted = {
        path: param.value - INNER_RATE * grads.wrt(param)
        for path, param in model.parameters()
    }
    later = batch["later_x"], batch["later_label"]
    return nn.functional_call(model, adapted, *later, method="loss")


def step(model, optimizer, batch):
    """Take one step of the outer loop."""
    loss, grads = nn.value_and_grad(adapted_loss)(model, batch)
    optimizer.step(1e-3, model, grads)
    return loss


def twin_optimizers(net):
    """The PyTorch optimiser of the outer loop."""
    return torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.0)


def twin_step(net, optimizer, batch):
    """Take one step of the outer loop in PyTorch."""
    params = dict(net.named_parameters())
    first = net(batch["x"], batch["label"])
    grads = torch.autograd.grad(first, list(params.values()), create_graph=True)
    adapted = {
        path: param - INNER_RATE * grad
        for (path, param), grad in zip(params.items(), grads, strict=True)
    }
    later = batch["later_x"], batch["later_label"]
    loss = torch.func.functional_call(net, adapted, later)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
