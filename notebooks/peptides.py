# %% [markdown]
# # Peptides, and why families must not be cut
#
# Peptides of a database come in families: some were found, and many were made from them by changing a few residues. If
# near copies of a peptide are in the training part and in the test part, a network knows the answer by heart, and the
# accuracy flatters. This notebook measures by how much.
#
# The peptides are simulated. Active ones can form a helix with one greasy side: every third or fourth residue is
# hydrophobic, and the others are mostly K and R. Inactive ones have nearly the same residues in any order. Each of 200
# parents has six descendants, in which one residue in eight is another one.

# %%
import csv
import warnings

import numpy as np

draw = np.random.default_rng(3)
GREASY, CHARGED, OTHER = [*"AILVFW"], [*"KR"], [*"GSTNQEDHPY"]


def residue(angle, noise):
    """A residue for a place on the helix; noise moves the border of the greasy side."""
    if np.cos(angle) + draw.normal(0, noise) > 0.1:
        return draw.choice(GREASY)
    return draw.choice(CHARGED if draw.random() < 0.55 else OTHER)


def parent(active):
    """A helix turns by 100 degrees a residue; shuffled, it has no side."""
    length, turn = draw.integers(14, 29), draw.uniform(0, 2 * np.pi)
    letters = [residue(turn + np.radians(100) * at, 0.3) for at in range(length)]
    return letters if active else list(draw.permutation(letters))


def descendant(letters):
    """A copy in which one residue in eight is another one."""
    changed = draw.random(len(letters)) < 1 / 8
    new = draw.choice(GREASY + CHARGED + OTHER, len(letters))
    return "".join(np.where(changed, new, letters))


rows = []
for family in range(200):
    kind = "active" if family % 2 else "inactive"
    letters = parent(kind == "active")
    rows += [
        {
            "id": f"p{family}.{child}",
            "sequence": descendant(letters),
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
# ## One table
#
# A table with the columns `sequence` and `label` is a file of sequences. Lengths differ; batches are padded, and the
# network ignores the padding.

# %%
import seqloom as sl

encoder = sl.encode.OneHot("protein")
data = sl.data.SequenceDataset("peptides.csv", encoder=encoder)
print(data)
for row in (0, 6):
    print(rows[row]["label"], rows[row]["sequence"])

# %% alt="Left: lengths of both classes are alike, 14 to 28. Right: shares of residues of both classes are alike."
import matplotlib.pyplot as plt

texts = {
    kind: [row["sequence"] for row in rows if row["label"] == kind] for kind in data.classes
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3))
axes[0].hist([[len(text) for text in texts[kind]] for kind in texts], bins=range(14, 30))
axes[0].set(xlabel="residues", ylabel="peptides")
residues = "".join(GREASY + CHARGED + OTHER)
for number, kind in enumerate(texts):
    joined = "".join(texts[kind])
    shares = [joined.count(letter) / len(joined) for letter in residues]
    axes[1].bar(np.arange(len(residues)) + 0.4 * number - 0.2, shares, 0.4, label=kind)
axes[1].set_xticks(range(len(residues)), residues)
axes[1].set_ylabel("share")
axes[1].legend()
plt.show()

# %% [markdown]
# Neither lengths nor residues tell the classes apart: only the order does.
#
# ## Split twice
#
# The first split draws peptides. The second one keeps families together: `groups` names the family of each id.
# Of the few peptides that are equal to one in the training part `fit` would warn; near copies it does not see.


# %%
warnings.simplefilter("ignore", sl.errors.SeenRecordsWarning)


def judge(**how):
    """Trains on one split, and judges on its test part."""
    train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), seed=0, **how)
    config = sl.models.SequenceCNNConfig.for_data(train)
    return sl.train.fit(config, train, valid, test=test, epochs=20, progress=False)


families = {row["id"]: str(row["family"]) for row in rows}
by_peptide = judge()
by_family = judge(groups=families)
print("drawn by peptide:", by_peptide.test)
print("drawn by family: ", by_family.test)

# %% alt="Two bars of accuracy: drawn by peptide close to 1, drawn by family clearly lower; a line marks chance at a half."
names = ["drawn by peptide", "drawn by family"]
accuracies = [run.test.metrics["accuracy"] for run in (by_peptide, by_family)]
figure, axis = plt.subplots(figsize=(6, 2.2))
axis.barh(names, accuracies, color=["C1", "C0"])
axis.axvline(0.5, color="0.6", linestyle=":")
axis.bar_label(axis.containers[0], fmt=" %.2f")
axis.invert_yaxis()
axis.set(xlabel="accuracy on the test part", xlim=(0, 1.1))
plt.show()

# %% [markdown]
# The second number is what to expect for a peptide that resembles none of the database. The first one
# counts relatives of known peptides too.
#
# ## What has it learned?
#
# The hydrophobic moment says how one-sided a helix is. Nobody told the network of it. If it has learned the
# principle, its score rises with the moment, on families that it has not seen.


# %% alt="A scatter plot of score against hydrophobic moment for the test peptides: inactive ones lie low and left, active ones high and right."
def moment(text):
    """The length of the mean of hydrophobicities as vectors on the helix."""
    greasy = np.array([letter in GREASY for letter in text]) - 0.5
    return abs((greasy * np.exp(1j * np.radians(100) * np.arange(len(text)))).mean())


part = by_family.test
known = {row["id"]: row for row in rows}
tested = [known[name] for name in part.scores.ids]
moments = np.array([moment(row["sequence"]) for row in tested])
scores = part.scores.to_numpy()[:, data.classes.index("active")]
for number, kind in enumerate(data.classes):
    chosen = part.labels == number
    plt.plot(moments[chosen], scores[chosen], ".", label=kind, alpha=0.6)
plt.legend()
plt.xlabel("hydrophobic moment")
plt.ylabel("score for active")
plt.show()

# %% [markdown]
# Any score that tells the classes apart correlates with the moment, since active peptides have larger moments: that
# difference between the classes is in the correlation over all peptides. Within one class it is not. So we compute the
# correlation in each class too. Members of a family resemble each other, so the intervals draw whole families anew.


# %% alt="Three correlations with their intervals: 0.8 over all peptides, and about half of that within the active and within the inactive ones, with wide intervals above 0."
def correlation(chosen):
    """The correlation of moment and score over some peptides."""
    return np.corrcoef(moments[chosen], scores[chosen])[0, 1]


def interval(chosen):
    """The middle 95 % of the correlations of 1,000 draws of families, with replacement."""
    family = np.array([row["family"] for row in tested])
    members = [chosen[family[chosen] == name] for name in np.unique(family[chosen])]
    picks = draw.integers(0, len(members), (1000, len(members)))
    found = [correlation(np.concatenate([members[k] for k in pick])) for pick in picks]
    return np.percentile(found, [2.5, 97.5])


parts = {"all": np.arange(len(tested))}
parts |= {kind: np.flatnonzero(part.labels == k) for k, kind in enumerate(data.classes)}
found = {name: (correlation(chosen), *interval(chosen)) for name, chosen in parts.items()}
figure, axis = plt.subplots(figsize=(6, 2.2))
for row, (name, (middle, low, high)) in enumerate(found.items()):
    print(f"{name:8} {middle:5.2f}, 95 % interval {low:5.2f} to {high:5.2f}")
    axis.errorbar(middle, row, xerr=[[middle - low], [high - middle]], fmt="o", capsize=4)
axis.axvline(0, color="0.6", linestyle=":")
axis.set_yticks(range(len(found)), found)
axis.set(xlabel="correlation of moment and score", xlim=(-0.6, 1), ylim=(2.5, -0.5))
plt.show()

# %% [markdown]
# Within a class the correlation is about half of that over all: the rest of the first number is the difference between
# the classes. It is above 0 in both, so the score follows the moment among peptides of one label too. With about 20
# families in a class the intervals are wide.
#
# Next: [tasks](../how-to/tasks.md), and [embeddings](embeddings.md) of proteins by a language model.

# %% tags=["check"]
if not accuracies[0] > accuracies[1] > 0.6:
    raise ValueError(f"accuracies {accuracies}: by peptide more than by family, both > 0.6")
within = [found[kind][0] for kind in data.classes]
if not found["all"][0] > max(within) or min(within) < 0.15 or max(within) > 0.65:
    raise ValueError(f"correlations {found}: within a class about half of that over all")
