# %% [markdown]
# # Batches in a PyTorch loop
#
# Use seqloom only to load data, in a plain PyTorch training loop. This notebook also measures the time that
# the loop waits for data, interrupts an epoch, and resumes with the next batch.

# %%
# !seqloom demo --files .

# %%
import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl
import torch

encoder = sl.encode.OneHot("dna")
data = sl.data.SequenceDataset("train.fa.gz", labels="train.tsv", encoder=encoder)
loader = sl.data.DataLoader(data, batch_size=64, shuffle=True, output="torch")
batch = next(iter(loader))
for name in ("inputs", "label"):
    print(name, batch[name].dtype, tuple(batch[name].shape))

# %% [markdown]
# ## Write the loop
#
# Only the batches come from seqloom. `GPUMonitor` measures the time spent waiting for batches.

# %%
torch.manual_seed(0)
network = torch.nn.Sequential(
    torch.nn.Conv1d(4, 32, 9, padding="same"),
    torch.nn.ReLU(),
    torch.nn.Conv1d(32, 32, 9, padding="same"),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Dropout(0.2),
    torch.nn.Linear(32 * 60, 3),
)
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
losses = []


def train_on_batch(batch):
    """Train on one batch."""
    loss = torch.nn.functional.cross_entropy(network(batch["inputs"]), batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())


with sl.infer.GPUMonitor() as monitor:
    for _ in range(5):
        for batch in monitor.wait_for(loader):
            train_on_batch(batch)
print(f"{len(losses)} steps")
print(monitor.check_bottleneck())

# %% alt="Left: the loss of each step falls from 1.1 to about 0.1. Right: bars of the time by category; computation on the device takes most of it."
shares = monitor.get_summary()["shares"]
figure, axes = plt.subplots(1, 2, figsize=(9, 2.8))
axes[0].plot(losses)
axes[0].set(xlabel="step", ylabel="loss")
axes[1].barh(list(shares), list(shares.values()))
axes[1].invert_yaxis()
axes[1].set(xlabel="fraction of the time", xlim=(0, 1))
plt.show()

# %% [markdown]
# ## Evaluate
#
# The test file is read with the same encoder and the same order of classes.

# %%
labels = sl.data.Labels("test.tsv", classes=data.classes)
test = sl.data.SequenceDataset("test.fa.gz", labels=labels, encoder=encoder)
network.eval()
correct = []
with torch.no_grad():
    for batch in sl.data.DataLoader(test, batch_size=256, output="torch"):
        correct += (network(batch["inputs"]).argmax(dim=1) == batch["label"]).tolist()
accuracy = np.mean(correct)
print(f"accuracy {accuracy:.3f} on {len(correct)} records")

# %% [markdown]
# ## Stop and resume
#
# The `state_dict` of a loader is a small dict of numbers. A new loader with this state returns the remaining
# batches, in the same order.


# %%
def ids_of(batches):
    """Return the ids of all batches in order."""
    return [name for batch in batches for name in batch["id"]]


first = sl.data.DataLoader(data, batch_size=64, shuffle=True, seed=5)
running = iter(first)
before = ids_of(next(running) for _ in range(10))
state = first.state_dict()
print({name: state[name] for name in ("epoch", "position", "seed")})

again = sl.data.DataLoader(data, batch_size=64, shuffle=True, seed=5)
again.load_state_dict(state)
after = ids_of(again)
whole = ids_of(sl.data.DataLoader(data, batch_size=64, shuffle=True, seed=5))
print(f"{len(before)} records before, {len(after)} after")
print("same order as a full pass:", before + after == whole)

# %% [markdown]
# ## Change the number of workers
#
# The order depends only on seed and epoch, so the batches are the same with two workers as without workers.

# %%
parallel = sl.data.DataLoader(data, batch_size=64, shuffle=True, seed=5, num_workers=2)
by_workers = ids_of(parallel)
print("same order:", by_workers == whole)

# %% [markdown]
# Next: [Lightning, transformers and accelerate](../how-to/other-trainers.md) accept the same loader;
# [`fit`](../how-to/custom-training.md#train-a-pytorch-network) trains PyTorch networks without a loop.

# %% tags=["check"]
if accuracy < 0.9 or before + after != whole or by_workers != whole:
    raise ValueError(f"accuracy {accuracy:.3f}, or batches that differ")
