# %% [markdown]
# # A custom network
#
# Write a small network that reads both strands of DNA, train it with `fit`, and extract the motif that it has
# learned.
#
# The data are part of seqloom: intervals on four simulated chromosomes. Open intervals contain a motif on
# either strand, with one base in twenty mutated. The goal is to find the motif.

# %%
# !seqloom demo --files .

# %%
import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

data = sl.data.IntervalDataset(
    "genome.fa.gz",
    "peaks.bed",
    labels="name",
    width=80,
    jitter=8,
    encoder=sl.encode.OneHot("dna"),
)
print(data)

# %% [markdown]
# Regions of one chromosome are similar in real genomes, so each set contains different chromosomes.

# %%
train, valid, test = sl.data.split(data, (0.5, 0.25, 0.25), groups="chrom")
for subset in (train, valid, test):
    print(len(subset), "intervals of", *sorted(set(subset.group("chrom"))))

# %% [markdown]
# ## Write the network
#
# One convolution scans for motifs. The network applies the convolution to the sequence and to its reverse
# complement, and uses the better match. In the order A, C, G, T, the reverse complement of a one-hot array is
# the array with both axes reversed.

# %%
from seqloom import nn
from seqloom.nn import functional as F


class BothStrands(nn.Module):
    motifs: nn.Conv1d
    head: nn.Linear

    def __init__(self, filters=4, width=9):
        self.motifs = nn.Conv1d(4, filters, width)
        self.head = nn.Linear(filters, 2)

    def __call__(self, x):
        forward = self.motifs(x).max(axis=2)
        backward = self.motifs(x[:, ::-1, ::-1]).max(axis=2)
        return self.head(F.relu(sl.tensor.maximum(forward, backward)))


network = BothStrands()
run = sl.train.fit(
    network,
    train,
    valid,
    test=test,
    epochs=40,
    lr=0.02,
    batch_size=32,
    out="runs/motif",
    progress=False,
)
print(run.test)

# %% alt="Loss and accuracy by epoch: the loss stays near 0.7 for some epochs and then falls quickly, while the accuracy rises to nearly 1."
epochs = [row["epoch"] for row in run.history]
figure, axes = plt.subplots(1, 2, figsize=(9, 2.8))
for axis, name in zip(axes, ["loss", "accuracy"]):
    for split in ("train", "valid"):
        axis.plot(epochs, [row[f"{split}_{name}"] for row in run.history], label=split)
    axis.set(xlabel="epoch", ylabel=name)
axes[0].legend()
plt.show()

# %% [markdown]
# Some intervals cannot be classified: a mutated motif looks like a random match elsewhere.
#
# ## Print a summary
#
# `summary` runs the network on a sample, and lists the output shape, the number of parameters and the cost of
# each layer.

# %%
sample = network.backend.tensor(test.batch([0])["inputs"])
print(network.summary(sample))

# %% [markdown]
# By construction, a sequence and its reverse complement have the same output:

# %%
reverse = sample[:, ::-1, ::-1]
print(np.abs((network(sample) - network(reverse)).numpy()).max())

# %% [markdown]
# ## Extract the motif
#
# Take the filter with the largest weight for the class `open`. Find the best match of this filter in each open interval
# of the test set, and count the bases there. The height of a column in the logo is its information content in
# bits.

# %%
batch = test.batch(range(len(test)))
strands = [batch["inputs"], batch["inputs"][:, ::-1, ::-1].copy()]
matches = [network.motifs(network.backend.tensor(strand)).numpy() for strand in strands]
weights = network.head.weight.numpy()
effect = weights[data.classes.index("open")] - weights[data.classes.index("closed")]
best = int(effect.argmax())


def best_matches():
    """Yield the best match of the best filter in each open interval."""
    for row in np.flatnonzero(batch["label"] == data.classes.index("open")):
        strand = int(matches[1][row, best].max() > matches[0][row, best].max())
        start = matches[strand][row, best].argmax()
        yield strands[strand][row, :, start : start + 9]


shares = np.mean(list(best_matches()), axis=0)
bits = 2 + (shares * np.log2(shares + 1e-9)).sum(axis=0)
print("".join("ACGT"[row] for row in shares.argmax(axis=0)))

# %% alt="Sequence logo of nine columns: seven tall letters spell the motif, TGACTCA or its reverse complement TGAGTCA; the other two columns are low."
from matplotlib.patches import PathPatch
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

BASE_COLOURS = dict(zip("ACGT", ["#15803d", "#1d4ed8", "#d97706", "#b91c1c"]))
figure, axis = plt.subplots(figsize=(6, 2.6))
for column, (heights, total) in enumerate(zip(shares.T, bits)):
    bottom = 0.0
    for row in heights.argsort():
        height = heights[row] * total
        path = TextPath((0, 0), "ACGT"[row], size=1)
        box = path.get_extents()
        move = (
            Affine2D()
            .translate(-box.x0, -box.y0)
            .scale(0.9 / box.width, height / box.height)
        )
        path = path.transformed(move.translate(column + 0.05, bottom))
        axis.add_patch(PathPatch(path, color=BASE_COLOURS["ACGT"[row]], linewidth=0))
        bottom += height
axis.set(xlim=(0, 9), ylim=(0, 2), xlabel="position in the filter", ylabel="bits")
plt.show()

# %% [markdown]
# The simulated motif is `TGACTCA`; its reverse complement is `TGAGTCA`.
#
# Next: [write a custom network](../how-to/custom-network.md) explains the fields of a module; [train a custom
# network](../how-to/custom-training.md) explains custom losses and steps.

# %% tags=["check"]
motif = "".join("ACGT"[row] for row in shares.argmax(axis=0))
if run.test.metrics["accuracy"] < 0.8 or not ("TGACTCA" in motif or "TGAGTCA" in motif):
    raise ValueError(f"accuracy {run.test.metrics['accuracy']:.2f}, motif {motif}")
