# %% [markdown]
# # Protein embeddings
#
# Compute embeddings with a protein language model, and train a small network (a head) on them. The language
# model runs once; a head trains in a second.
#
# This notebook uses a small ESM-2 with **random weights**, so that it needs no download. The notebook shows
# the method, but not the accuracy of ESM-2. To use trained weights, replace `small` by the folder of the
# weights: see [compute embeddings](../how-to/embeddings.md). The proteins are simulated: three families
# of 150 proteins that differ in their proportions of hydrophobic, charged and other residues.

# %%
import numpy as np
import seqloom as sl

sl.models.ESM2Config(layers=3, width=64, heads=4).init("numpy", sl.Key(1)).save("small")

draw = np.random.default_rng(0)
RESIDUE_GROUPS = ["AILMFVWY", "DEKRH", "NQSTGPC"]  # hydrophobic, charged, other
PROTEIN_FAMILIES = {
    "membrane": [0.60, 0.12, 0.28],
    "nuclear": [0.34, 0.38, 0.28],
    "secreted": [0.38, 0.20, 0.42],
}


def random_protein(shares):
    """Return a protein of 60 to 200 residues with approximately these group shares."""
    shares = draw.dirichlet(np.array(shares) * 60)
    kinds = draw.choice(3, draw.integers(60, 201), p=shares)
    return "".join(draw.choice([*RESIDUE_GROUPS[kind]]) for kind in kinds)


with open("proteins.fa", "w") as fasta, open("labels.tsv", "w") as table:
    print("id", "label", sep="\t", file=table)
    for family, shares in PROTEIN_FAMILIES.items():
        for number in range(150):
            name = f"{family[0]}{number}"
            print(f">{name}", random_protein(shares), sep="\n", file=fasta)
            print(name, family, sep="\t", file=table)

# %% [markdown]
# ## Compute embeddings
#
# Sequences are packed end to end, without padding. The folder contains one row per record, in file order. If
# the job is interrupted, the same call resumes it.

# %%
model = sl.models.ESM2.load("small")
summary = sl.infer.embed(model, "proteins.fa", out="embeddings")
print(f"{summary.records} proteins, {summary.tokens} tokens")

embeddings = sl.infer.load("embeddings")
print(embeddings["m0"][:5], embeddings.to_numpy().shape)

# %% [markdown]
# ## Plot the embeddings
#
# The first two principal components form a map.

# %% alt="Points in three colours on two principal components: the three families form clouds that overlap a little."
import matplotlib.pyplot as plt

data = sl.data.EmbeddingDataset(embeddings, labels="labels.tsv")
rows = embeddings.to_numpy()
centred = rows - rows.mean(axis=0)
axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
x, y = axes @ centred.T
for number, family in enumerate(data.classes):
    is_family = np.asarray(data.labels) == number
    plt.plot(x[is_family], y[is_family], ".", label=family, alpha=0.7)
plt.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.xlabel("first component")
plt.ylabel("second component")
plt.show()

# %% [markdown]
# ## Train a head
#
# A folder of embeddings and a table of labels form a dataset.

# %%
train, valid, test = sl.data.split(data, (0.6, 0.2, 0.2), stratify=True, seed=0)
config = sl.models.HeadConfig.for_data(train)
run = sl.train.fit(config, train, valid, test=test, out="runs/head", progress=False)
print(run.test)

# %% alt="Left: training and validation loss by epoch, both falling. Right: heat map of the scores with one row per test protein and one column per family; each third of the rows is dark in a different column."
figure, axes = plt.subplots(1, 2, figsize=(9, 3))
for split in ("train", "valid"):
    axes[0].plot([row[f"{split}_loss"] for row in run.history], label=split)
axes[0].set(xlabel="epoch", ylabel="loss")
axes[0].legend()
order = np.argsort(run.test.labels, kind="stable")
scores = run.test.scores.to_numpy()[order]
picture = axes[1].imshow(scores, aspect="auto", vmin=0, vmax=1, interpolation="nearest")
axes[1].set_xticks(range(3), data.classes)
axes[1].set(ylabel="test protein, by family")
figure.colorbar(picture, label="score")
plt.show()

# %% [markdown]
# ## Score other proteins
#
# Embed the proteins with the same model, and predict. The head records which model computed its embeddings,
# and rejects embeddings of other models.

# %%
with open("new.fa", "w") as fasta:
    print(">x", random_protein(PROTEIN_FAMILIES["membrane"]), sep="\n", file=fasta)
    print(">y", random_protein(PROTEIN_FAMILIES["nuclear"]), sep="\n", file=fasta)
sl.infer.embed(model, "new.fa", out="new")
scores = sl.infer.predict(run, "new")
for name, row in zip(scores.ids, scores.to_numpy()):
    print(name, scores.classes[row.argmax()], f"{row.max():.2f}")

# %% [markdown]
# The three families differ only in their composition, which even a random network preserves. Trained weights
# also represent the order of residues: evaluate them on your task.
#
# Next: [embeddings on several devices](../how-to/distributed-embeddings.md), or
# [fine-tuning](../how-to/fine-tune.md), which trains adapters in the network.

# %% tags=["check"]
if run.test.metrics["accuracy"] < 0.75:
    raise ValueError(f"accuracy {run.test.metrics['accuracy']:.2f}, expected about 0.9")
