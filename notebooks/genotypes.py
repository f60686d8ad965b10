# %% [markdown]
# # Genotypes
#
# Predict a trait from a PLINK file. The steps are to compute statistics, train a network, compare it with a
# linear model, and find the variants that the network uses.
#
# The genotypes are simulated: 1,500 individuals and 600 variants, in linkage blocks of ten neighbours. Eight
# variants explain two thirds of the variance of a trait; the rest is noise.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

draw = np.random.default_rng(0)
INDIVIDUALS, BLOCKS, BLOCK_SIZE = 1500, 60, 10


def linked_variants():
    """Return linked variants: copies of one variant with a fifth of the alleles resampled."""
    frequency = draw.uniform(0.1, 0.5)
    first = draw.random((2, INDIVIDUALS, 1)) < frequency
    new = draw.random((2, INDIVIDUALS, BLOCK_SIZE)) < frequency
    return np.where(draw.random(new.shape) < 1 / 5, new, first).sum(axis=0)


codes = np.concatenate([linked_variants() for _ in range(BLOCKS)], axis=1).astype("int8")
causal = draw.choice(BLOCKS, 8, replace=False) * BLOCK_SIZE + draw.integers(
    0, BLOCK_SIZE, 8
)
effects = draw.choice([-1, 1], 8) * draw.uniform(0.6, 1.4, 8)
inherited = (codes[:, causal] - codes[:, causal].mean(axis=0)) @ effects
trait = inherited + draw.normal(0, inherited.std() * np.sqrt(0.5), INDIVIDUALS)

codes[draw.random(codes.shape) < 0.01] = -127  # missing
names = [f"i{number}" for number in range(INDIVIDUALS)]
properties = {"iid": names, "sid": [f"rs{number}" for number in range(BLOCKS * BLOCK_SIZE)]}
sl.io.to_bed("people.bed", codes, properties=properties)
with open("trait.txt", "w") as file:
    print("IID height", file=file)
    for name, value in zip(names, trait):
        print(name, f"{value:.4f}", file=file)

# %% [markdown]
# ## Compute statistics
#
# One pass over the file computes the statistics of each variant, for files of any size.

# %%
stats = sl.io.genotype_stats("people.bed")
print(stats)

# %% alt="Left: a histogram of allele frequencies between 0.1 and 0.5. Right: squared correlation between the first 60 variants, in six bright blocks along the diagonal."
values = sl.io.open_bed("people.bed").read(np.s_[:, :60])
values = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
axes[0].hist(stats.allele_frequency, bins=30)
axes[0].set(xlabel="frequency of allele 1", ylabel="variants")
picture = axes[1].imshow(np.corrcoef(values.T) ** 2, vmin=0, vmax=1)
axes[1].set(xlabel="variant", ylabel="variant", title="first 60 variants")
figure.colorbar(picture, label="r²")
plt.show()

# %% [markdown]
# ## Train
#
# The dataset joins trait and genotypes by the individual's id. Missing genotypes are replaced, and
# variants standardised, with means and variances of the training set.

# %%
labels = sl.data.Labels("trait.txt", label_column="height")
data = sl.data.GenotypeDataset("people.bed", labels)
train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), seed=0)
config = sl.models.GenotypeMLPConfig.for_data(train)
warnings.simplefilter("ignore", sl.errors.NoSkillWarning)  # the next section explains it
run = sl.train.fit(config, train, valid, test=test, out="runs/height", progress=False)
for name, value in run.test.metrics.items():
    print(f"{name:10} {value:8.3f}")

# %% alt="Scatter plot of predicted against true values of the trait for 300 test individuals: a cloud along the diagonal."
figure, axis = plt.subplots(figsize=(4.2, 3.8))
axis.plot(run.test.labels, run.test.scores.to_numpy()[:, 0], ".", alpha=0.6)
axis.axline((0, 0), slope=1, color="0.7", linestyle="--")
axis.set(xlabel="true trait", ylabel="predicted trait")
plt.show()

# %% [markdown]
# Two thirds of the variance are genetic, so the r² of a perfect model is about 0.67.
#
# ## Compare with linear models
#
# `fit` also fits ridge regression and the lasso on the training set. The validation set chooses their penalties.
# The p-value compares each model with the network, by a paired bootstrap of the 300 test individuals.

# %%
print(f"{'network':30} {run.test.metrics['r2']:.3f}")
for baseline in run.baselines:
    p = baseline.comparisons["test"].p
    print(f"{baseline.name:30} {baseline.metrics['test']['r2']:.3f}  p = {p:.2g}")

# %% [markdown]
# The lasso is better than the network, because only eight variants have an effect, and the lasso sets most
# weights to zero. Ridge regression and the network are about equal. The simulated trait is a sum of variant
# effects, as a linear model assumes. A network can be better if variants interact.
#
# ## Find the variants that the network uses
#
# Increase one variant at a time by one standard deviation in all test individuals. Compare the change of the
# prediction with the simulated effect.


# %% alt="Stem plot of the change of the prediction by variant: the largest changes are at the eight marked variants and their neighbours in the same block, with the right sign."
network = run.trained.model
batch = test.batch(range(len(test)))
inputs = batch["inputs"]
unchanged = network.logits(network.backend.tensor(inputs)).numpy()


def prediction_change(variant):
    """Return the change of the prediction for one standard deviation of a variant."""
    changed = inputs.copy()
    changed[:, variant] += 1
    return (network.logits(network.backend.tensor(changed)).numpy() - unchanged).mean()


changes = np.array([prediction_change(variant) for variant in range(BLOCKS * BLOCK_SIZE)])
plt.figure(figsize=(9, 3))
plt.vlines(range(len(changes)), 0, changes, linewidth=1)
sizes = effects * np.nanstd(np.where(codes < 0, np.nan, codes), axis=0)[causal]
plt.plot(causal, sizes / trait.std(), "v", color="C1")
plt.legend(["model", "simulation"])
plt.xlabel("variant")
plt.ylabel("change of the trait (SD)")
plt.show()

# %% [markdown]
# The model finds the right variants, with the right signs. The estimated effects are smaller, for two
# reasons: small weights generalise better, and linked variants share an effect.
#
# Next: [train on genotypes](../how-to/train-genotypes.md) explains covariates and other files;
# [statistics](../how-to/genotype-statistics.md) select variants.

# %% tags=["check"]
if run.test.metrics["r2"] < 0.35:
    raise ValueError(f"r2 {run.test.metrics['r2']:.2f}, expected about 0.5")
r2 = {it.name: it.metrics["test"]["r2"] for it in run.baselines}
if not r2["lasso, genotypes"] > r2["ridge regression, genotypes"] > 0.5:
    raise ValueError(f"r2 {r2}, expected that the lasso is the best")
