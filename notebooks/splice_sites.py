# %% [markdown]
# # Splice sites
#
# Train a network on real splice sites, evaluate it on the official test set, and find the bases that it uses.
# The data are part of seqloom: windows of 60 bases from primate genes. The middle of a window is a donor site
# (`EI`: an exon ends), an acceptor site (`IE`: an exon starts), or neither (`N`).

# %%
# !seqloom demo --files .

# %% [markdown]
# ## Load the data
#
# The table `train.tsv` contains the class of each sequence, by id.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

encoder = sl.encode.OneHot("dna")
data = sl.data.SequenceDataset("train.fa.gz", labels="train.tsv", encoder=encoder)
print(data)

# %% [markdown]
# `inputs` has one row for each base and one column for each position. The mean over a class is the frequency
# of each base at each position.

# %% alt="Three plots of base frequencies by position. Donors have GT right after the middle, acceptors have AG before it and many C and T further left; the third class has no pattern."
batch = data.batch(range(len(data)))
position = np.arange(-30, 30)
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
for axis, name in zip(axes, data.classes):
    is_class = batch["label"] == data.classes.index(name)
    for base, frequencies in zip("ACGT", batch["inputs"][is_class].mean(axis=0)):
        axis.plot(position, frequencies, label=base)
    axis.set(title=name, xlabel="position")
axes[0].set_ylabel("frequency of the base")
axes[-1].legend(ncols=2)
plt.show()

# %% [markdown]
# Donors have `GT` after the middle. Acceptors have `AG` before the middle and a stretch of C and T further left.
# These patterns are the known splice-site motifs, so the labels are plausible.
#
# ## Train
#
# A tenth of the records is the validation set, which determines the best epoch. The loss gives all classes
# the same weight.

# %%
train, valid = sl.data.split(data, (0.9, 0.1), groups="similar", seed=0)
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
print(f"best epoch: {run.best_epoch} of {len(run.history)}")

# %% alt="Two curves of loss by epoch: both fall quickly, the validation loss levels off above the training loss."
epochs = [row["epoch"] for row in run.history]
for part in ("train", "valid"):
    plt.plot(epochs, [row[f"{part}_loss"] for row in run.history], label=part)
plt.axvline(run.best_epoch, color="0.7", linestyle=":", label="best epoch")
plt.legend()
plt.xlabel("epoch")
plt.ylabel("loss")
plt.show()

# %% [markdown]
# ## Evaluate
#
# `load` restores the network with its encoder and its classes. The test file has 1,186 windows. Some test
# windows also occur in the training file: `evaluate` warns about these duplicates, and reports the accuracy
# without them.

# %%
model = sl.models.load("runs/splice")
labels = sl.data.Labels("test.tsv", classes=model.classes)
test = sl.data.SequenceDataset("test.fa.gz", labels=labels, encoder=model.encoder)
with warnings.catch_warnings(record=True) as caught:
    metrics = sl.infer.evaluate(model, test)
for name, value in metrics.items():
    print(f"{name:18} {value:8.3f}")
print(caught[0].message)

# %% alt="Confusion matrix: nearly all records are on its diagonal."
predicted = sl.infer.predict(model, test).to_numpy().argmax(axis=1)
counts = np.zeros((3, 3), int)
np.add.at(counts, (test.labels, predicted), 1)

figure, axis = plt.subplots(figsize=(4, 3.4))
axis.imshow(counts / counts.sum(axis=1, keepdims=True), vmax=1.3)
for row, column in np.ndindex(3, 3):
    axis.text(column, row, counts[row, column], ha="center", va="center")
axis.set_xticks(range(3), model.classes)
axis.set_yticks(range(3), model.classes)
axis.set(xlabel="predicted", ylabel="true")
plt.show()

# %% [markdown]
# ## Find the bases that matter
#
# `explain` replaces each base by `N` (any base) and measures how much the log-odds of a class fall
# (occlusion). The mean over 60 test records of a class shows the important positions.


# %% alt="Two bar plots of the decrease of the log-odds by position: both classes have high bars at the two or three bases around the middle, acceptors also have lower bars left of it."
figure, axes = plt.subplots(1, 2, figsize=(10, 3), sharey=True)
for axis, name in zip(axes, ["EI", "IE"]):
    rows = np.flatnonzero(test.labels == model.classes.index(name))[:60]
    explanation = sl.infer.explain(model, sl.data.Subset(test, rows), target=name)
    axis.bar(position, np.mean(explanation.weights, axis=0))
    axis.set(title=name, xlabel="hidden position")
axes[0].set_ylabel("decrease of the log-odds")
plt.show()

# %% [markdown]
# The network relies most on the two bases of each site and on their neighbours. The training labels do not state the position of the site. [Attributions](../how-to/attributions.md) highlight the residues of single
# sequences, and can score every substitution.
#
# Next: [the tutorial](../tutorial.md) explains each step, and [deploy a model](deploy.md) runs this model on
# a server and a web page.

# %% tags=["check"]
if metrics["accuracy"] < 0.93:
    raise ValueError(f"accuracy {metrics['accuracy']:.3f}, expected about 0.96")
