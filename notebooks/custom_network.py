# %% [markdown]
# # A network of your own
#
# This notebook writes a network of a few lines that reads both strands of DNA, trains it by `fit`, and then reads out of
# its weights the motif that it has found.
#
# The data come with seqloom. Four simulated chromosomes have intervals of which some are open: they hold a certain
# motif, on either strand, with a letter in twenty changed. We pretend not to know which motif.

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
# Parts of one chromosome resemble each other in real genomes, so each part gets chromosomes of its own.

# %%
train, valid, test = sl.data.split(data, (0.5, 0.25, 0.25), groups="chrom")
for part in (train, valid, test):
    print(len(part), "intervals of", *sorted(set(part.group("chrom"))))

# %% [markdown]
# ## The network
#
# One convolution scans for motifs. On the other strand a sequence reads backwards, with A for T and C for G: in the order
# A, C, G, T both are a flip of the array. The same filters read both, and the better match counts.

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

# %% alt="Loss and accuracy by epoch: the loss stays near 0.7 for some epochs, then falls quickly while the accuracy rises to nearly 1."
epochs = [row["epoch"] for row in run.history]
figure, axes = plt.subplots(1, 2, figsize=(9, 2.8))
for axis, name in zip(axes, ["loss", "accuracy"]):
    for part in ("train", "valid"):
        axis.plot(epochs, [row[f"{part}_{name}"] for row in run.history], label=part)
    axis.set(xlabel="epoch", ylabel=name)
axes[0].legend()
plt.show()

# %% [markdown]
# Not every interval can be told: where letters of the motif are changed, it looks like what chance writes elsewhere.
#
# ## What does it compute?
#
# `summary` calls the network on a sample and says what each layer gives and costs.

# %%
sample = network.backend.tensor(test.batch([0])["inputs"])
print(network.summary(sample))

# %% [markdown]
# A strand read by the same filters gives the same answer, by construction:

# %%
turned = sample[:, ::-1, ::-1]
print(np.abs((network(sample) - network(turned)).numpy()).max())

# %% [markdown]
# ## The motif
#
# We take the filter that the head weighs most towards "open", look where it matches best in each open interval of the test
# part, and count the letters there. The height of a column is its information in bits.

# %%
letters = test.batch(range(len(test)))
strands = [letters["inputs"], letters["inputs"][:, ::-1, ::-1].copy()]
matches = [network.motifs(network.backend.tensor(strand)).numpy() for strand in strands]
towards = network.head.weight.numpy()
effect = towards[data.classes.index("open")] - towards[data.classes.index("closed")]
best = int(effect.argmax())


def sites():
    """The best match of the best filter in each open interval."""
    for row in np.flatnonzero(letters["label"] == data.classes.index("open")):
        strand = int(matches[1][row, best].max() > matches[0][row, best].max())
        place = matches[strand][row, best].argmax()
        yield strands[strand][row, :, place : place + 9]


shares = np.mean(list(sites()), axis=0)
bits = 2 + (shares * np.log2(shares + 1e-9)).sum(axis=0)
print("".join("ACGT"[row] for row in shares.argmax(axis=0)))

# %% alt="A sequence logo of nine columns: seven tall letters spell the motif, TGACTCA or its reverse complement TGAGTCA, with two low columns beside them."
from matplotlib.patches import PathPatch
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

COLOURS = dict(zip("ACGT", ["#15803d", "#1d4ed8", "#d97706", "#b91c1c"]))
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
        axis.add_patch(PathPatch(path, color=COLOURS["ACGT"[row]], linewidth=0))
        bottom += height
axis.set(xlim=(0, 9), ylim=(0, 2), xlabel="position in the filter", ylabel="bits")
plt.show()

# %% [markdown]
# The motif that was written into the open intervals is `TGACTCA`; read from the other strand it is `TGAGTCA`.
#
# Next: [write networks](../how-to/custom-network.md) says what a field may hold;
# [train your own network](../how-to/custom-training.md) has losses and steps of your own.

# %% tags=["check"]
found = "".join("ACGT"[row] for row in shares.argmax(axis=0))
if run.test.metrics["accuracy"] < 0.8 or not ("TGACTCA" in found or "TGAGTCA" in found):
    raise ValueError(f"accuracy {run.test.metrics['accuracy']:.2f}, motif {found}")
