# %% [markdown]
# # Promoters: one FASTA file for each class
#
# Train on two FASTA files, one for each class, and scan a longer sequence for promoters.
#
# The sequences are simulated. A promoter has a TATA box about 30 bases before the transcription start site,
# and an initiator motif at the start site. One in seven promoters has no TATA box, because some promoters in real genomes lack it.

# %%
import numpy as np

draw = np.random.default_rng(1)
WIDTH, START = 100, 70  # width of a window, and position of the start site in it
TATA_BOX = ["T", "A", "T", "A", "AT", "A", "AT", "AG"]
INITIATOR = ["CT", "A", "ACGT", "AT"]


def random_bases(length):
    """Return random bases with slightly more A and T than C and G."""
    return draw.choice([*"ACGT"], length, p=[0.28, 0.22, 0.22, 0.28])


def promoter():
    """Return a window around a transcription start site."""
    window = random_bases(WIDTH)
    window[START - 1 : START + 3] = [draw.choice([*choice]) for choice in INITIATOR]
    if draw.random() < 6 / 7:
        box = START - 30 + draw.integers(-3, 4)
        window[box : box + 8] = [draw.choice([*choice]) for choice in TATA_BOX]
    return window


def write_fasta(name, windows):
    """Write a FASTA file."""
    with open(name, "w") as file:
        for number, window in enumerate(windows):
            print(f">{number}", "".join(window), sep="\n", file=file)


write_fasta("promoter.fa", [promoter() for _ in range(1500)])
write_fasta("other.fa", [random_bases(WIDTH) for _ in range(3000)])

# %% [markdown]
# ## Load both files as one dataset
#
# With `labels="file"`, the file name is the class of each record.

# %%
import seqloom as sl

encoder = sl.encode.OneHot("dna")
data = sl.data.SequenceDataset(["promoter.fa", "other.fa"], labels="file", encoder=encoder)
print(data)

# %% [markdown]
# The plot shows 60 records of each class: each line is a record, each colour a base.

# %% alt="Two heat maps of bases with one line per record. Promoters have a dark stripe near position -30 and a thin one at the start site; the other class is noise."
import matplotlib.pyplot as plt

batch = data.batch(range(len(data)))
bases = batch["inputs"].argmax(axis=1)
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
for axis, name in zip(axes, ["promoter", "other"]):
    rows = bases[batch["label"] == data.classes.index(name)][:60]
    axis.imshow(
        rows,
        aspect="auto",
        interpolation="nearest",
        cmap="PuOr",
        extent=(-START, WIDTH - START, 60, 0),
    )
    axis.set(title=name, xlabel="position relative to the start site")
axes[0].set_ylabel("record")
plt.show()

# %% [markdown]
# ## Train and evaluate
#
# Split the data into a training set, a validation set that determines the best epoch, and a test set.

# %%
train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), stratify=True, seed=0)
config = sl.models.SequenceCNNConfig.for_data(train)
run = sl.train.fit(
    config, train, valid, test=test, epochs=15, out="runs/promoters", progress=False
)
print(run.test)
print(f"AUROC {run.test.metrics['auroc']:.3f}")

# %% [markdown]
# The ROC curve shows the effect of the threshold: the fraction of promoters found, and the fraction of other
# sequences that are false positives.

# %% alt="Left: the ROC curve rises steeply to about 0.9. Right: histograms of the scores of both classes; most promoters are near 1, most other sequences near 0, and a few promoters have low scores."
scores = run.test.scores.to_numpy()[:, data.classes.index("promoter")]
is_promoter = run.test.labels == data.classes.index("promoter")
thresholds = np.linspace(1, 0, 201)
true_positives = [(scores[is_promoter] >= threshold).mean() for threshold in thresholds]
false_positives = [(scores[~is_promoter] >= threshold).mean() for threshold in thresholds]

figure, axes = plt.subplots(1, 2, figsize=(9, 3))
axes[0].plot(false_positives, true_positives)
axes[0].plot([0, 1], [0, 1], color="0.8", linestyle="--")
axes[0].set(xlabel="false positive rate", ylabel="true positive rate")
axes[1].hist([scores[is_promoter], scores[~is_promoter]], bins=25, stacked=True)
axes[1].legend(["promoter", "other"], loc="upper center")
axes[1].set(xlabel="score for promoter", ylabel="records")
plt.show()

# %% [markdown]
# ## Scan a longer sequence
#
# This sequence of 4,000 bases contains three promoters. `sl.data.windows` reads overlapping windows from the
# file without copying it.

# %%
long = random_bases(4000)
starts = [703, 1857, 3204]
for start in starts:
    window = promoter()
    while "".join(window[START - 33 : START - 26]).count("TA") < 2:  # needs a TATA box
        window = promoter()
    long[start - START : start - START + WIDTH] = window
write_fasta("long.fa", [long])

windows = sl.data.windows("long.fa", WIDTH, 1, encoder=run.trained.encoder)
scan = sl.infer.predict(run.trained, windows).to_numpy()[:, data.classes.index("promoter")]
position = np.arange(len(scan)) + START
peaks = []
for start in position[scan.argsort()[::-1]].tolist():  # highest first, 20 bases apart
    if all(abs(start - peak) > 20 for peak in peaks):
        peaks.append(start)
print(f"{len(scan)} windows; the five highest peaks are at", sorted(peaks[:5]))
print("the true start sites are at", starts)

# %% [markdown]
# The log-odds, `log(p / (1 - p))`, spread scores close to 0 or 1.

# %% alt="The log-odds along 4,000 bases: most windows are far below zero, some reach it, and the highest peaks are at the three marked start sites."
odds = np.log(scan / (1 - scan))
plt.figure(figsize=(9, 2.8))
plt.plot(position, odds, linewidth=1)
plt.plot(starts, [odds.max() + 1] * 3, "v", color="C1")
plt.axhline(0, color="0.7", linestyle=":")
plt.legend(["log-odds", "true start site"], loc="center left", bbox_to_anchor=(1, 0.5))
plt.xlabel("position")
plt.ylabel("log-odds for promoter")
plt.show()

# %% [markdown]
# The peaks are narrow, because a window has a high score only if the TATA box and the start site are at the
# expected positions. Some other windows contain a TATA box by chance and have positive log-odds. In a genome
# nearly all windows are not promoters: choose a high threshold, and evaluate on data with a realistic
# proportion of promoters.
#
# Next: [labels](../how-to/labels.md) from tables, headers and files; [genomic
# intervals](../how-to/intervals.md).

# %% tags=["check"]
if run.test.metrics["auroc"] < 0.93:
    raise ValueError(f"AUROC {run.test.metrics['auroc']:.3f}, expected about 0.97")
