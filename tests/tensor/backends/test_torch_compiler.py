"""PyTorch's compiler is only imported when a step is compiled."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

STEP_SCRIPT = """
import sys
import seqloom as sl
from seqloom import nn
B = sl.tensor.backend("torch", num_threads=1)
model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2)).bind(B, sl.Key(0))
optimizer = sl.optim.AdamW()
def step(model, optimizer, key, x):
    loss, grads = nn.value_and_grad(lambda model: (model(x, key=key) ** 2).mean())(model)
    optimizer.step(1e-3, model, grads)
    return loss
x = B.tensor([[1.0, 2.0, 3.0]])
step(model, optimizer, sl.Key(1), x)
print("torch._dynamo" in sys.modules)
"""


def test_an_uncompiled_step_does_not_import_the_torch_compiler():
    printed = subprocess.check_output([sys.executable, "-c", STEP_SCRIPT], text=True)
    assert printed.strip() == "False"
