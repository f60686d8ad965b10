# %% [markdown]
# # Splice sites
#
# This notebook trains a network on real splice sites, judges it on the official test set, and shows
# which letters it uses. The data come with seqloom: windows of 60 letters around the middle, from
# primate genes. The middle is a donor site (`EI`, the exon ends), an acceptor site (`IE`, the exon begins),
# or neither (`N`).

# %%
# !seqloom demo --files .

# %% [markdown]
# ## Look at the data
#
# The table `train.tsv` gives each sequence its class, by id.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

encoder = sl.encode.OneHot("dna")
data = sl.data.SequenceDataset("train.fa.gz", labels="train.tsv", encoder=encoder)
print(data)

# %% [markdown]
# `inputs` has a row for each letter and a column for each position. Its mean over a class is the share of each
# letter at each position.

# %% alt="Three plots of letter shares by position. Donors have GT right after the middle, acceptors have AG before it and many C and T further left; the third class shows nothing."
everything = data.batch(range(len(data)))
position = np.arange(-30, 30)
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
for axis, name in zip(axes, data.classes):
    chosen = everything["label"] == data.classes.index(name)
    for letter, shares in zip("ACGT", everything["inputs"][chosen].mean(axis=0)):
        axis.plot(position, shares, label=letter)
    axis.set(title=name, xlabel="position")
axes[0].set_ylabel("share of the letter")
axes[-1].legend(ncols=2)
plt.show()

# %% [markdown]
# Donors have `GT` after the middle, acceptors `AG` before it and a stretch of C and T further left. This is what
# biology says, so the labels fit the sequences.
#
# ## Train
#
# A tenth of the records chooses the epoch that is kept. Every class counts alike.

# %%
train, valid = sl.data.split(data, (0.9, 0.1), groups="sequence", seed=0)
config = sl.models.SequenceCNNConfig.for_data(train)
run = sl.train.fit(
    config,
    train,
    valid,
    epochs=20,
    objective=sl.train.Objective(class_weight="balanced"),
    out="runs/splice",
    progress=False,
)
print(f"the weights of epoch {run.best_epoch} of {len(run.history)} are kept")

# %% alt="Two curves of loss by epoch: both fall quickly, the validation loss levels off above the training loss."
epochs = [row["epoch"] for row in run.history]
for part in ("train", "valid"):
    plt.plot(epochs, [row[f"{part}_loss"] for row in run.history], label=part)
plt.axvline(run.best_epoch, color="0.7", linestyle=":", label="kept")
plt.legend()
plt.xlabel("epoch")
plt.ylabel("loss")
plt.show()

# %% [markdown]
# ## Judge
#
# `load` brings the network back with its encoder and its classes. The test file has 1,186 windows. Some of
# them stand in the training file too: the official parts overlap. `evaluate` warns of them, and says how the model
# does on the others.

# %%
model = sl.models.load("runs/splice")
labels = sl.data.Labels("test.tsv", classes=model.classes)
test = sl.data.SequenceDataset("test.fa.gz", labels=labels, encoder=model.encoder)
with warnings.catch_warnings(record=True) as found:
    metrics = sl.infer.evaluate(model, test)
for name, value in metrics.items():
    print(f"{name:18} {value:8.3f}")
print(found[0].message)

# %% alt="A table of true classes against predicted classes; nearly all records lie on its diagonal."
found = sl.infer.predict(model, test).to_numpy().argmax(axis=1)
counts = np.zeros((3, 3), int)
np.add.at(counts, (test.labels, found), 1)

figure, axis = plt.subplots(figsize=(4, 3.4))
axis.imshow(counts / counts.sum(axis=1, keepdims=True), vmax=1.3)
for row, column in np.ndindex(3, 3):
    axis.text(column, row, counts[row, column], ha="center", va="center")
axis.set_xticks(range(3), model.classes)
axis.set_yticks(range(3), model.classes)
axis.set(xlabel="predicted", ylabel="true")
plt.show()

# %% [markdown]
# ## Which letters does it use?
#
# `explain` replaces one letter by `N`, which means "any letter", and says by how much the log-odds of a class fall
# (occlusion). Averaged over 60 test records of a class, this shows the positions that the network needs.


# %% alt="Two bar plots of the fall of the log-odds by position: both classes have high bars at the two or three letters about the middle, acceptors also lower ones left of it."
figure, axes = plt.subplots(1, 2, figsize=(10, 3), sharey=True)
for axis, name in zip(axes, ["EI", "IE"]):
    rows = np.flatnonzero(test.labels == model.classes.index(name))[:60]
    found = sl.infer.explain(model, sl.data.Subset(test, rows), target=name)
    axis.bar(position, np.mean(found.weights, axis=0))
    axis.set(title=name, xlabel="position that is hidden")
axes[0].set_ylabel("fall of the log-odds")
plt.show()

# %% [markdown]
# The network looks at the two letters of each site first, and at the letters near them. It was not told where
# the site is. [See which letters matter](../how-to/attributions.md) colours the letters of single
# sequences, and replaces each by each other one.
#
# Next: [the tutorial](../tutorial.md) explains each step, and [deploy a model](deploy.md) takes this model to a
# server and a web page.

# %% tags=["check"]
if metrics["accuracy"] < 0.93:
    raise ValueError(f"accuracy {metrics['accuracy']:.3f}, expected about 0.96")
