"""A generator and a critic, each trained by its own optimiser."""

import numpy as np
import torch

from seqloom import nn, optim
from seqloom.nn import functional as F


class MLP(nn.Module):
    first: nn.Linear
    second: nn.Linear

    def __call__(self, x):
        return self.second(F.relu(self.first(x)))


class Net(nn.Module):
    generator: MLP
    critic: MLP

    def __init__(self):
        self.generator = MLP(nn.Linear(4, 16), nn.Linear(16, 12))
        self.critic = MLP(nn.Linear(12, 16), nn.Linear(16, 1))


class MLPTwin(torch.nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.first = torch.nn.Linear(sizes[0], sizes[1])
        self.second = torch.nn.Linear(sizes[1], sizes[2])

    def forward(self, x):
        return self.second(self.first(x).relu())


class Twin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.critic = MLPTwin(4, 16, 12), MLPTwin(12, 16, 1)


def batch(draw):
    """Return real vectors and noise."""
    real = draw.normal(1.0, 0.5, (16, 12)).astype(np.float32)
    return {"real": real, "noise": draw.normal(size=(16, 4)).astype(np.float32)}


def optimizers():
    """Return an optimiser for the critic, and an optimiser for the generator."""
    return optim.AdamW(weight_decay=0.0), optim.SGD(momentum=0.9)


def critic_loss(critic, real, made):
    """Return the hinge loss of real and generated vectors."""
    return F.relu(1 - critic(real)).mean() + F.relu(1 + critic(made)).mean()


def generator_loss(generator, critic, noise):
    """Return the critic's score of generated vectors."""
    return -critic(generator(noise)).mean()


def step(model, optimizers, batch):
    """Train the critic, then the generator; return the sum of the losses."""
    of_critic, of_generator = optimizers
    made = model.generator(batch["noise"])
    first, grads = nn.value_and_grad(critic_loss)(model.critic, batch["real"], made)
    of_critic.step(1e-3, model.critic, grads)
    train_generator = nn.value_and_grad(generator_loss)
    second, grads = train_generator(model.generator, model.critic, batch["noise"])
    of_generator.step(1e-3, model.generator, grads)
    return first + second


def twin_optimizers(net):
    """Return the PyTorch optimisers."""
    return (
        torch.optim.AdamW(net.critic.parameters(), lr=1e-3, weight_decay=0.0),
        torch.optim.SGD(net.generator.parameters(), lr=1e-3, momentum=0.9),
    )


def twin_step(net, optimizers, batch):
    """Train the critic and the generator in PyTorch."""
    made = net.generator(batch["noise"]).detach()
    first = (1 - net.critic(batch["real"])).relu().mean()
    first = first + (1 + net.critic(made)).relu().mean()
    _move(net, first, optimizers[0])
    second = -net.critic(net.generator(batch["noise"])).mean()
    _move(net, second, optimizers[1])
    return first + second


def _move(net, loss, optimizer):
    net.zero_grad()
    loss.backward()
    optimizer.step()
