# %% [markdown]
# # Peptides: keep families together in a split
#
# Databases contain families of peptides: natural peptides, and variants made from them by changing a few
# residues. If a family has members in both the training set and the test set, the network can memorise the
# family, and its accuracy is overestimated. This notebook measures the overestimation.
#
# The peptides are simulated. Active peptides can form an amphipathic helix: every third or fourth residue is
# hydrophobic, and most of the others are K and R. Inactive peptides have nearly the same residues in random
# order. Each of 200 parents has six variants, in which one residue in eight is mutated.

# %%
import csv
import warnings

import numpy as np

draw = np.random.default_rng(3)
HYDROPHOBIC, CHARGED, OTHER = [*"AILVFW"], [*"KR"], [*"GSTNQEDHPY"]


def residue_at(angle, noise):
    """Return a residue for an angle on the helix; noise moves the hydrophobic boundary."""
    if np.cos(angle) + draw.normal(0, noise) > 0.1:
        return draw.choice(HYDROPHOBIC)
    return draw.choice(CHARGED if draw.random() < 0.55 else OTHER)


def random_peptide(active):
    """Return a peptide helix; in an active peptide, one side is hydrophobic."""
    length, turn = draw.integers(14, 29), draw.uniform(0, 2 * np.pi)
    residues = [residue_at(turn + np.radians(100) * at, 0.3) for at in range(length)]
    return residues if active else list(draw.permutation(residues))


def mutated_copy(residues):
    """Return a copy in which one residue in eight is mutated."""
    is_mutated = draw.random(len(residues)) < 1 / 8
    mutations = draw.choice(HYDROPHOBIC + CHARGED + OTHER, len(residues))
    return "".join(np.where(is_mutated, mutations, residues))


rows = []
for family in range(200):
    kind = "active" if family % 2 else "inactive"
    residues = random_peptide(kind == "active")
    rows += [
        {
            "id": f"p{family}.{child}",
            "sequence": mutated_copy(residues),
            "label": kind,
            "family": family,
        }
        for child in range(6)
    ]
with open("peptides.csv", "w", newline="") as file:
    table = csv.DictWriter(file, rows[0])
    table.writeheader()
    table.writerows(rows)

# %% [markdown]
# ## Load one table
#
# A table with the columns `sequence` and `label` is a sequence file. The peptides differ in length: batches
# are padded, and the network ignores the padding.

# %%
import seqloom as sl

encoder = sl.encode.OneHot("protein")
data = sl.data.SequenceDataset("peptides.csv", encoder=encoder)
print(data)
for row in (0, 6):
    print(rows[row]["label"], rows[row]["sequence"])

# %% alt="Left: lengths of both classes are similar, 14 to 28. Right: residue frequencies of both classes are similar."
import matplotlib.pyplot as plt

texts = {
    kind: [row["sequence"] for row in rows if row["label"] == kind] for kind in data.classes
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3))
axes[0].hist([[len(text) for text in texts[kind]] for kind in texts], bins=range(14, 30))
axes[0].set(xlabel="residues", ylabel="peptides")
residues = "".join(HYDROPHOBIC + CHARGED + OTHER)
for number, kind in enumerate(texts):
    joined = "".join(texts[kind])
    shares = [joined.count(residue) / len(joined) for residue in residues]
    axes[1].bar(np.arange(len(residues)) + 0.4 * number - 0.2, shares, 0.4, label=kind)
axes[1].set_xticks(range(len(residues)), residues)
axes[1].set_ylabel("frequency")
axes[1].legend()
plt.show()

# %% [markdown]
# Neither the lengths nor the residues distinguish the classes; only the order of the residues does.
#
# ## Split in two ways
#
# The first split assigns peptides at random. The second split keeps families together: `groups` contains the family
# of each id. `fit` would warn about the few test peptides that equal a training peptide, but it does not
# detect near duplicates.


# %%
warnings.simplefilter("ignore", sl.errors.SeenRecordsWarning)


def train_and_test(**options):
    """Train on one split, and return the run with its test metrics."""
    train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), seed=0, **options)
    config = sl.models.SequenceCNNConfig.for_data(train)
    return sl.train.fit(config, train, valid, test=test, epochs=20, progress=False)


families = {row["id"]: str(row["family"]) for row in rows}
by_peptide = train_and_test()
by_family = train_and_test(groups=families)
print("split by peptide:", by_peptide.test)
print("split by family: ", by_family.test)

# %% alt="Two bars of accuracy: close to 1 for the split by peptide, clearly lower for the split by family; a line marks chance at 0.5."
names = ["split by peptide", "split by family"]
accuracies = [run.test.metrics["accuracy"] for run in (by_peptide, by_family)]
figure, axis = plt.subplots(figsize=(6, 2.2))
axis.barh(names, accuracies, color=["C1", "C0"])
axis.axvline(0.5, color="0.6", linestyle=":")
axis.bar_label(axis.containers[0], fmt=" %.2f")
axis.invert_yaxis()
axis.set(xlabel="accuracy on the test set", xlim=(0, 1.1))
plt.show()

# %% [markdown]
# For a peptide without relatives in the database, expect the accuracy of the split by family. The accuracy of
# the split by peptide also counts relatives of training peptides.
#
# ## What has the network learned?
#
# The hydrophobic moment measures how amphipathic a helix is. The network does not receive the moment as
# input. If the network has learned this principle, its score rises with the moment on families that were not
# used for training.


# %% alt="Scatter plot of score against hydrophobic moment for the test peptides: inactive peptides are at the lower left, active peptides at the upper right."
def hydrophobic_moment(text):
    """Return the length of the mean hydrophobicity vector on the helix."""
    weights = np.array([residue in HYDROPHOBIC for residue in text]) - 0.5
    return abs((weights * np.exp(1j * np.radians(100) * np.arange(len(text)))).mean())


test = by_family.test
row_of_id = {row["id"]: row for row in rows}
tested = [row_of_id[name] for name in test.scores.ids]
moments = np.array([hydrophobic_moment(row["sequence"]) for row in tested])
scores = test.scores.to_numpy()[:, data.classes.index("active")]
for number, kind in enumerate(data.classes):
    is_class = test.labels == number
    plt.plot(moments[is_class], scores[is_class], ".", label=kind, alpha=0.6)
plt.legend()
plt.xlabel("hydrophobic moment")
plt.ylabel("score for active")
plt.show()

# %% [markdown]
# Active peptides have larger moments. Any score that distinguishes the classes therefore correlates with the
# moment over all peptides, but not within one class. Compute the correlation within each class as well.
# Members of a family are similar, so the bootstrap intervals resample whole families.


# %% alt="Three correlations with their intervals: 0.8 over all peptides, and about half of that within active and within inactive peptides, with wide intervals above 0."
def score_correlation(subset):
    """Return the correlation of moment and score over the given peptides."""
    return np.corrcoef(moments[subset], scores[subset])[0, 1]


def confidence_interval(subset):
    """Return the 95 % bootstrap interval of the correlation, from 1,000 resamples."""
    family = np.array([row["family"] for row in tested])
    members = [subset[family[subset] == name] for name in np.unique(family[subset])]
    picks = draw.integers(0, len(members), (1000, len(members)))
    samples = [
        score_correlation(np.concatenate([members[k] for k in pick])) for pick in picks
    ]
    return np.percentile(samples, [2.5, 97.5])


subsets = {"all": np.arange(len(tested))}
subsets |= {kind: np.flatnonzero(test.labels == k) for k, kind in enumerate(data.classes)}
results = {
    name: (score_correlation(rows), *confidence_interval(rows))
    for name, rows in subsets.items()
}
figure, axis = plt.subplots(figsize=(6, 2.2))
for row, (name, (middle, low, high)) in enumerate(results.items()):
    print(f"{name:8} {middle:5.2f}, 95 % interval {low:5.2f} to {high:5.2f}")
    axis.errorbar(middle, row, xerr=[[middle - low], [high - middle]], fmt="o", capsize=4)
axis.axvline(0, color="0.6", linestyle=":")
axis.set_yticks(range(len(results)), results)
axis.set(xlabel="correlation of moment and score", xlim=(-0.6, 1), ylim=(2.5, -0.5))
plt.show()

# %% [markdown]
# Within a class, the correlation is about half of the correlation over all peptides: the other half reflects
# the difference between the classes. The correlation is positive in both classes, so the score depends on the
# moment among peptides of the same label too. With about 20 families per class, the intervals are wide.
#
# Next: [tasks](../how-to/tasks.md), and [embeddings](embeddings.md) of proteins by a language model.

# %% tags=["check"]
if not accuracies[0] > accuracies[1] > 0.6:
    raise ValueError(f"accuracies {accuracies}: by peptide more than by family, both > 0.6")
within = [results[kind][0] for kind in data.classes]
if not results["all"][0] > max(within) or min(within) < 0.15 or max(within) > 0.65:
    raise ValueError(f"correlations {results}: within a class about half of that over all")
