# %% [markdown]
# # From peaks and a bigWig to a model
#
# Train BPNet (Avsec et al., 2021) on reads of both strands around peaks, and look at observed and predicted reads. Then
# score variants in binding sites.
#
# The genome is simulated, so that the truth is known. Each peak has zero to two copies of the motif ACCGTAG. Around
# each copy, reads of the plus strand are on its left, and reads of the minus strand on its right, as in ChIP-exo.

# %%
import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

rng = np.random.default_rng(0)
PEAKS, SPACING = 900, 400
genome = rng.integers(0, 4, SPACING * (PEAKS + 1))
rates = np.full((2, genome.size), 0.02)  # reads of a base, on each strand
sites = []
with open("peaks.bed", "w") as file:
    for number in range(PEAKS):
        middle = SPACING * (number + 1)
        print("chr1", middle - 50, middle + 50, f"peak{number}", sep="\t", file=file)
        copies = np.sort(rng.integers(middle - 40, middle + 26, number % 3))
        for start in (copies + 7 * np.arange(copies.size)).tolist():  # without overlaps
            genome[start : start + 7] = [0, 1, 1, 2, 3, 0, 2]
            rates[0, start - 12 : start] += 0.6
            rates[1, start + 7 : start + 19] += 0.6
            sites.append(start)

text = "".join("ACGT"[code] for code in genome)
with open("genome.fa", "w") as file:
    print(f">chr1\n{text}", file=file)
for strand, rate in zip(("plus", "minus"), rates):
    with sl.io.TrackWriter(f"{strand}.bw", {"chr1": genome.size}) as writer:
        writer.write_values("chr1", 0, rng.poisson(rate))

# %% [markdown]
# ## Open sequences and tracks
#
# The pair `("plus.bw", "minus.bw")` has the two strands of one signal. A reverse complement exchanges them. The network
# reads 200 bases, and predicts the reads of the middle 120. `jitter` moves both by up to 10 bases.

# %%
data = sl.data.IntervalDataset(
    "genome.fa",
    "peaks.bed",
    encoder=sl.encode.OneHot("dna"),
    augment=sl.augment.ReverseComplement(),
    width=200,
    jitter=10,
    tracks={"chip": ("plus.bw", "minus.bw")},
    target_width=120,
    missing=0,
)
print(data)
print({name: getattr(value, "shape", value) for name, value in data[0].items()})

# %% [markdown]
# ## Train
#
# Peaks with similar sequences stay in one set. The loss is that of BPNet: the multinomial likelihood of the positions,
# and the squared error of the logarithm of the count.

# %%
train, valid, test = sl.data.split(data, (0.7, 0.15, 0.15), groups="homology", seed=0)
config = sl.models.BPNetConfig(tracks=2, channels=16, layers=3, trimming=40)
run = sl.train.fit(
    config, train, valid, test=test.plain(), epochs=25, batch_size=32, lr=5e-3, seed=0,
    out="chip", progress=False,
)  # fmt: skip
print({name: round(value, 2) for name, value in run.test.metrics.items()})

# %% [markdown]
# ## Look at a peak
#
# The network has never read this peak, and predicts where the reads are on each strand.

# %% alt="Reads of a peak with two sites. Bars of observed reads and lines of predicted reads: the plus strand is above zero, left of each site, and the minus strand below zero, right of each site."
scores = sl.infer.predict(run, test.plain())
observed = test.plain().to_numpy()["tracks"]
row = int(observed.sum((1, 2)).argmax())
task = run.trained.task
predicted = task.counts(task.activate(scores.outputs))[row]
start = test.plain()[row]["start"] + 40
positions = np.arange(start, start + 120)
figure, axis = plt.subplots(figsize=(8, 3))
for strand, sign, colour in ((0, 1, "C0"), (1, -1, "C1")):
    axis.bar(positions, sign * observed[row, strand], width=1, color=colour, alpha=0.4)
    axis.plot(positions, sign * predicted[strand], color=colour, label=data.classes[strand])
axis.set(xlabel=f"position on chr1, {scores.names[row]}", ylabel="reads")
axis.legend()
plt.show()

# %% [markdown]
# The file `chip/report.html` has such pictures, with intervals of the metrics. `seqloom predict` or `predict_tracks`
# writes the predictions as bigWig files for a genome browser:

# %%
windows = sl.data.IntervalDataset(
    "genome.fa", "peaks.bed", encoder=data.encoder, width=200, strand=False
)
print([path.name for path in sl.infer.predict_tracks(run, windows, "predicted.bw")])

# %% [markdown]
# ## What does a variant do?
#
# In each site, G at the fourth base becomes T; other variants are 60 bases before a site. `log_ratio` is the binary
# logarithm of the ratio of reads, and `jensen_shannon` is the distance of the two profiles.

# %% alt="Histogram of the log ratio: variants in sites are far below zero, other variants near zero."
table = {"chrom": [], "start": [], "ref": [], "alt": []}
inside = {start + base for start in sites for base in range(7)}
others = [start - 60 for start in sites if start - 60 not in inside]
for start in [*(start + 3 for start in sites), *others]:
    other = {"A": "C", "C": "A", "G": "T", "T": "G"}[text[start]]
    for column, value in zip(table, ("chr1", start, text[start], other)):
        table[column].append(value)
effects = sl.infer.variant_effects(
    run, table, "genome.fa", width=200, compare=("log_ratio", "jensen_shannon")
)
change = effects["log_ratio_chip+"]
in_site, outside = change[: len(sites)], change[len(sites) :]
figure, axis = plt.subplots(figsize=(6, 3))
bins = np.linspace(change.min(), change.max(), 40)
axis.hist(in_site, bins, alpha=0.6, label="in a site")
axis.hist(outside, bins, alpha=0.6, label="60 bases before a site")
axis.set(xlabel="log ratio of reads, plus strand", ylabel="variants")
axis.legend()
plt.show()

# %% [markdown]
# Next: [Choose intervals for training](../how-to/regions.md) adds negatives with the G+C content of peaks, and checks
# sets for leaks. [Train on genomic intervals](../how-to/intervals.md) describes intervals, tracks and cut sites.

# %% tags=["check"]
if run.test.metrics["pearson"] < 0.6:
    raise ValueError(f"Pearson correlation {run.test.metrics['pearson']:.2f}")
if np.median(in_site) > np.median(outside) - 0.3:
    raise ValueError(f"median effects {np.median(in_site)} and {np.median(outside)}")
