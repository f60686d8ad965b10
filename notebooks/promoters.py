# %% [markdown]
# # Promoters from two FASTA files
#
# Often each class has a file of its own, and there is no table. This notebook trains on two such files, and then
# scans a longer sequence for the place where a promoter is.
#
# The sequences are simulated, so that you can run this anywhere. A promoter has a TATA box about 30 letters before the
# start of transcription and a few letters that prefer the start itself. One in seven promoters has no box, as
# in real genomes there are promoters without one.

# %%
import numpy as np

draw = np.random.default_rng(1)
WIDTH, START = 100, 70  # a window, and where transcription starts in it
BOX = ["T", "A", "T", "A", "AT", "A", "AT", "AG"]
INITIATOR = ["CT", "A", "ACGT", "AT"]


def background(length):
    """Letters with a little more A and T than C and G."""
    return draw.choice([*"ACGT"], length, p=[0.28, 0.22, 0.22, 0.28])


def promoter():
    """A window about a start of transcription."""
    letters = background(WIDTH)
    letters[START - 1 : START + 3] = [draw.choice([*choice]) for choice in INITIATOR]
    if draw.random() < 6 / 7:
        place = START - 30 + draw.integers(-3, 4)
        letters[place : place + 8] = [draw.choice([*choice]) for choice in BOX]
    return letters


def write(name, windows):
    """Writes a FASTA file."""
    with open(name, "w") as file:
        for number, letters in enumerate(windows):
            print(f">{number}", "".join(letters), sep="\n", file=file)


write("promoter.fa", [promoter() for _ in range(1500)])
write("other.fa", [background(WIDTH) for _ in range(3000)])

# %% [markdown]
# ## Read both files as one dataset
#
# `labels="file"` makes the name of each file the class of its records.

# %%
import seqloom as sl

encoder = sl.encode.OneHot("dna")
data = sl.data.SequenceDataset(["promoter.fa", "other.fa"], labels="file", encoder=encoder)
print(data)

# %% [markdown]
# A picture of all promoters shows what is to be learned: each line is a record, each colour a letter.

# %% alt="Two panels of coloured letters, one line a record. Promoters show a dark stripe about position minus 30 and a thin one at the start; the other class is noise."
import matplotlib.pyplot as plt

letters = data.batch(range(len(data)))
codes = letters["inputs"].argmax(axis=1)
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
for axis, name in zip(axes, ["promoter", "other"]):
    rows = codes[letters["label"] == data.classes.index(name)][:60]
    axis.imshow(
        rows,
        aspect="auto",
        interpolation="nearest",
        cmap="PuOr",
        extent=(-START, WIDTH - START, 60, 0),
    )
    axis.set(title=name, xlabel="position from the start")
axes[0].set_ylabel("record")
plt.show()

# %% [markdown]
# ## Train and judge
#
# Three parts: one to learn from, one to choose the epoch by, one to judge on at the end.

# %%
train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), stratify=True, seed=0)
config = sl.models.SequenceCNNConfig.for_data(train)
run = sl.train.fit(
    config, train, valid, test=test, epochs=15, out="runs/promoters", progress=False
)
print(run.test)
print(f"AUROC {run.test.metrics['auroc']:.3f}")

# %% [markdown]
# The curve shows the choice that a threshold makes: how many promoters are found, and how many of the others are taken
# for promoters.

# %% alt="Left: the ROC curve rises steeply to about 0.9. Right: histograms of the scores of both classes; most promoters are near 1 and most others near 0, a few promoters lie low."
scores = run.test.scores.to_numpy()[:, data.classes.index("promoter")]
is_promoter = run.test.labels == data.classes.index("promoter")
thresholds = np.linspace(1, 0, 201)
found = [(scores[is_promoter] >= threshold).mean() for threshold in thresholds]
false = [(scores[~is_promoter] >= threshold).mean() for threshold in thresholds]

figure, axes = plt.subplots(1, 2, figsize=(9, 3))
axes[0].plot(false, found)
axes[0].plot([0, 1], [0, 1], color="0.8", linestyle="--")
axes[0].set(xlabel="others taken for promoters", ylabel="promoters found")
axes[1].hist([scores[is_promoter], scores[~is_promoter]], bins=25, stacked=True)
axes[1].legend(["promoter", "other"], loc="upper center")
axes[1].set(xlabel="score for promoter", ylabel="records")
plt.show()

# %% [markdown]
# ## Scan a longer sequence
#
# A sequence of 4,000 letters has three promoters. `sl.data.windows` cuts it into overlapping windows where it
# lies in the file, without a copy.

# %%
long = background(4000)
starts = [703, 1857, 3204]
for start in starts:
    window = promoter()
    while "".join(window[START - 33 : START - 26]).count("TA") < 2:  # one with a box
        window = promoter()
    long[start - START : start - START + WIDTH] = window
write("long.fa", [long])

windows = sl.data.windows("long.fa", WIDTH, 1, encoder=run.trained.encoder)
scan = sl.infer.predict(run.trained, windows).to_numpy()[:, data.classes.index("promoter")]
place = np.arange(len(scan)) + START
peaks = []
for here in place[scan.argsort()[::-1]].tolist():  # the highest ones, 20 letters apart
    if all(abs(here - other) > 20 for other in peaks):
        peaks.append(here)
print(f"{len(scan)} windows; the five highest peaks are at", sorted(peaks[:5]))
print("the true starts are at", starts)

# %% [markdown]
# The log-odds, `log(p / (1 - p))`, spread what is close to 0 or 1.

# %% alt="The log-odds along 4,000 letters: most windows lie far below zero, some reach it, and the highest peaks stand at the three marked starts."
odds = np.log(scan / (1 - scan))
plt.figure(figsize=(9, 2.8))
plt.plot(place, odds, linewidth=1)
plt.plot(starts, [odds.max() + 1] * 3, "v", color="C1")
plt.axhline(0, color="0.7", linestyle=":")
plt.legend(["log-odds", "true start"], loc="center left", bbox_to_anchor=(1, 0.5))
plt.xlabel("position")
plt.ylabel("log-odds for promoter")
plt.show()

# %% [markdown]
# A window is a promoter only where box and start stand at their places in it, so the peaks are narrow. Some other windows
# have a box by chance and score above zero: in a genome nearly all windows are no promoters, so choose a high threshold
# there, and judge on data with as few promoters as your genome has.
#
# Next: [labels](../how-to/labels.md) from tables, headers and files; [parts of a genome](../how-to/intervals.md).

# %% tags=["check"]
if run.test.metrics["auroc"] < 0.93:
    raise ValueError(f"AUROC {run.test.metrics['auroc']:.3f}, expected about 0.97")
