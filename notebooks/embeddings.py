# %% [markdown]
# # Embeddings of proteins, and a head on them
#
# A protein language model turns each sequence into a row of numbers, and a small network (a head) learns a task from these rows.
# The large network computes once; heads train in a second.
#
# Here the language model is ESM-2 in a small shape with **random weights**, so that this page needs no download: it
# shows the way, and not how good ESM-2 is. With trained weights, name their folder in place of `small`, as
# [the page on embeddings](../how-to/embeddings.md) says. The proteins are simulated too: three families of 150, each with
# its own shares of hydrophobic, charged and other residues.

# %%
import numpy as np
import seqloom as sl

sl.models.ESM2Config(layers=3, width=64, heads=4).init("numpy", sl.Key(1)).save("small")

draw = np.random.default_rng(0)
KINDS = ["AILMFVWY", "DEKRH", "NQSTGPC"]  # hydrophobic, charged, other
FAMILIES = {
    "membrane": [0.60, 0.12, 0.28],
    "nuclear": [0.34, 0.38, 0.28],
    "secreted": [0.38, 0.20, 0.42],
}


def protein(shares):
    """A chain of 60 to 200 residues with roughly these shares of kinds."""
    shares = draw.dirichlet(np.array(shares) * 60)
    kinds = draw.choice(3, draw.integers(60, 201), p=shares)
    return "".join(draw.choice([*KINDS[kind]]) for kind in kinds)


with open("proteins.fa", "w") as fasta, open("labels.tsv", "w") as table:
    print("id", "label", sep="\t", file=table)
    for family, shares in FAMILIES.items():
        for number in range(150):
            name = f"{family[0]}{number}"
            print(f">{name}", protein(shares), sep="\n", file=fasta)
            print(name, family, sep="\t", file=table)

# %% [markdown]
# ## Compute
#
# Sequences are packed end to end, so that nothing is computed for padding. The folder gets a row for each record, in the order
# of the file; started again, the same call goes on where it was stopped.

# %%
model = sl.models.ESM2.load("small")
summary = sl.infer.embed(model, "proteins.fa", out="embeddings")
print(f"{summary.records} proteins, {summary.tokens} tokens")

embeddings = sl.infer.load("embeddings")
print(embeddings["m0"][:5], embeddings.to_numpy().shape)

# %% [markdown]
# ## Look
#
# The two directions in which the rows differ most (principal components) make a map.

# %% alt="Points in three colours on two principal components: the three families form clouds that overlap a little."
import matplotlib.pyplot as plt

data = sl.data.EmbeddingDataset(embeddings, labels="labels.tsv")
rows = embeddings.to_numpy()
centred = rows - rows.mean(axis=0)
axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
x, y = axes @ centred.T
for number, family in enumerate(data.classes):
    chosen = np.asarray(data.labels) == number
    plt.plot(x[chosen], y[chosen], ".", label=family, alpha=0.7)
plt.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.xlabel("first component")
plt.ylabel("second component")
plt.show()

# %% [markdown]
# ## Train a head
#
# A folder of embeddings and a table of labels are a dataset like any other.

# %%
train, valid, test = sl.data.split(data, (0.6, 0.2, 0.2), stratify=True, seed=0)
config = sl.models.HeadConfig.for_data(train)
run = sl.train.fit(config, train, valid, test=test, out="runs/head", progress=False)
print(run.test)

# %% alt="Left: loss by epoch, falling for both parts. Right: scores of the test proteins as a picture with one row a protein and one column a family; each third of the rows is dark in its own column."
figure, axes = plt.subplots(1, 2, figsize=(9, 3))
for part in ("train", "valid"):
    axes[0].plot([row[f"{part}_loss"] for row in run.history], label=part)
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
# Embed them by the same model, then predict. A head knows which model its embeddings came from, and refuses those
# of another one.

# %%
with open("new.fa", "w") as fasta:
    print(">x", protein(FAMILIES["membrane"]), sep="\n", file=fasta)
    print(">y", protein(FAMILIES["nuclear"]), sep="\n", file=fasta)
sl.infer.embed(model, "new.fa", out="new")
scores = sl.infer.predict(run, "new")
for name, row in zip(scores.ids, scores.to_numpy()):
    print(name, scores.classes[row.argmax()], f"{row.max():.2f}")

# %% [markdown]
# Even a random network keeps the composition of a protein, and that is all these families differ by. What trained
# weights add is the order of residues: judge them on a task of yours.
#
# Next: [embeddings on a cluster](../how-to/distributed-embeddings.md), or [adapters](../how-to/fine-tune.md), which
# change the network itself.

# %% tags=["check"]
if run.test.metrics["accuracy"] < 0.75:
    raise ValueError(f"accuracy {run.test.metrics['accuracy']:.2f}, expected about 0.9")
