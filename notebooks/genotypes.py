# %% [markdown]
# # Genotypes
#
# This notebook goes from a PLINK file to a predicted trait: it counts genotypes, looks for structure, trains, and shows
# which variants the model uses.
#
# The genotypes are simulated: 1,500 individuals by 600 variants, in blocks of ten neighbours that are inherited together.
# Eight variants decide two thirds of a trait; the rest of it is chance.

# %%
import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

draw = np.random.default_rng(0)
PEOPLE, BLOCKS, EACH = 1500, 60, 10


def block():
    """Copies of one variant, with a fifth of the alleles drawn anew."""
    frequency = draw.uniform(0.1, 0.5)
    first = draw.random((2, PEOPLE, 1)) < frequency
    new = draw.random((2, PEOPLE, EACH)) < frequency
    return np.where(draw.random(new.shape) < 1 / 5, new, first).sum(axis=0)


codes = np.concatenate([block() for _ in range(BLOCKS)], axis=1).astype("int8")
causal = draw.choice(BLOCKS, 8, replace=False) * EACH + draw.integers(0, EACH, 8)
effects = draw.choice([-1, 1], 8) * draw.uniform(0.6, 1.4, 8)
inherited = (codes[:, causal] - codes[:, causal].mean(axis=0)) @ effects
trait = inherited + draw.normal(0, inherited.std() * np.sqrt(0.5), PEOPLE)

codes[draw.random(codes.shape) < 0.01] = -127  # missing
names = [f"i{number}" for number in range(PEOPLE)]
properties = {"iid": names, "sid": [f"rs{number}" for number in range(BLOCKS * EACH)]}
sl.io.to_bed("people.bed", codes, properties=properties)
with open("trait.txt", "w") as file:
    print("IID height", file=file)
    for name, value in zip(names, trait):
        print(name, f"{value:.4f}", file=file)

# %% [markdown]
# ## Count
#
# One pass over the file gives the statistics of each variant, however large the file is.

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
# The dataset joins trait and genotypes by the individual's id. Missing genotypes become the mean of the training part,
# which also standardises the variants.

# %%
data = sl.data.GenotypeDataset("people.bed", "trait.txt", label_column="height")
train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), seed=0)
config = sl.models.GenotypeMLPConfig.for_data(train)
run = sl.train.fit(config, train, valid, test=test, out="runs/height", progress=False)
for name, value in run.test.metrics.items():
    print(f"{name:10} {value:8.3f}")

# %% alt="A scatter plot of predicted against true values of the trait for 300 test individuals: a cloud along the diagonal."
figure, axis = plt.subplots(figsize=(4.2, 3.8))
axis.plot(run.test.labels, run.test.scores.to_numpy()[:, 0], ".", alpha=0.6)
axis.axline((0, 0), slope=1, color="0.7", linestyle="--")
axis.set(xlabel="true trait", ylabel="predicted trait")
plt.show()

# %% [markdown]
# Two thirds of the variance are inherited, so an r² of 0.67 is the best that any model can reach.
#
# ## Which variants does it use?
#
# We raise a variant by one standard deviation in everybody of the test part, in memory, and look how the prediction
# changes. In the simulation that change is known.


# %% alt="Stems of the change of the prediction by variant: the highest ones stand at the eight marked variants and their neighbours in the same block, with the right sign."
network = run.trained.model
batch = test.batch(range(len(test)))
inputs = batch["inputs"]
before = network.logits(network.backend.tensor(inputs)).numpy()


def change(variant):
    """How the prediction changes by one standard deviation of a variant."""
    changed = inputs.copy()
    changed[:, variant] += 1
    return (network.logits(network.backend.tensor(changed)).numpy() - before).mean()


changes = np.array([change(variant) for variant in range(BLOCKS * EACH)])
plt.figure(figsize=(9, 3))
plt.vlines(range(len(changes)), 0, changes, linewidth=1)
sizes = effects * np.nanstd(np.where(codes < 0, np.nan, codes), axis=0)[causal]
plt.plot(causal, sizes / trait.std(), "v", color="C1")
plt.legend(["by the model", "in the simulation"])
plt.xlabel("variant")
plt.ylabel("change of the trait (SD)")
plt.show()

# %% [markdown]
# The model finds the right places and signs. Its effects are smaller: small weights predict other people better, and
# neighbours, which are inherited together, share an effect.
#
# Next: [train on genotypes](../how-to/train-genotypes.md) has covariates and other files;
# [statistics](../how-to/genotype-statistics.md) choose among variants.

# %% tags=["check"]
if run.test.metrics["r2"] < 0.35:
    raise ValueError(f"r2 {run.test.metrics['r2']:.2f}, expected about 0.5")
