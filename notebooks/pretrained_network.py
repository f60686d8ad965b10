# %% [markdown]
# # Fine-tune a pretrained network
#
# Load a published network from an ONNX file, check its outputs, and fine-tune it on few labelled records.
# This notebook needs the packages `onnx` and `torch`.
#
# To avoid a download, the first cells create the published network. A PyTorch network is trained on 1,700
# records to distinguish splice sites from other sequences, and exported to ONNX.

# %%
# !seqloom demo --files .

# %%
import warnings

import numpy as np
import seqloom as sl
import torch

# Some test windows also occur in the training file; do not warn in each evaluation.
warnings.simplefilter("ignore", sl.errors.SeenRecordsWarning)
encoder = sl.encode.OneHot("dna")
data = sl.data.SequenceDataset("train.fa.gz", labels="train.tsv", encoder=encoder)
public, private = sl.data.split(data, (0.85, 0.15), stratify=True, seed=0)
records = public.batch(range(len(public)))
x = torch.from_numpy(records["inputs"])
is_site = torch.from_numpy((records["label"] != data.classes.index("N")).astype("int64"))

torch.manual_seed(0)
published = torch.nn.Sequential(
    torch.nn.Conv1d(4, 32, 9, padding="same"),
    torch.nn.ReLU(),
    torch.nn.Conv1d(32, 32, 9, padding="same"),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(32 * 60, 32),
    torch.nn.ReLU(),
    torch.nn.Linear(32, 2),
)
optimizer = torch.optim.AdamW(published.parameters(), lr=1e-3)
for _ in range(6):
    for rows in torch.randperm(len(x)).split(64):
        loss = torch.nn.functional.cross_entropy(published(x[rows]), is_site[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

with warnings.catch_warnings(action="ignore"):
    torch.onnx.export(
        published.eval(),
        (x[:1],),
        "published.onnx",
        input_names=["bases"],
        output_names=["scores"],
        dynamic_axes={"bases": {0: "records"}},
        dynamo=False,
    )

# %% [markdown]
# ## Load the network
#
# An ONNX file does not describe how sequences are encoded, so pass the encoder and the length. The weights
# become parameters of a module; no code from the file is executed.

# %%
network = sl.models.from_onnx("published.onnx", encoder=encoder, length=60)
for path, weight in network.parameters():
    print(f"{path:12} {weight.shape}")

# %% [markdown]
# ## Check the outputs
#
# First compare the outputs with those of the original network, on the 1,186 records of the test file.

# %% alt="Scatter plot of outputs in seqloom against outputs in PyTorch: all points are on the diagonal."
import matplotlib.pyplot as plt

labels = sl.data.Labels("test.tsv", classes=data.classes)
test = sl.data.SequenceDataset("test.fa.gz", labels=labels, encoder=encoder)
inputs = test.batch(range(len(test)))["inputs"]
outputs = network.logits(network.backend.tensor(inputs)).numpy()
with torch.no_grad():
    expected = published(torch.from_numpy(inputs)).numpy()
difference = np.abs(outputs - expected).max()
print(f"maximum difference {difference:.1e}")

figure, axis = plt.subplots(figsize=(4, 3.6))
axis.plot(expected[:, 1], outputs[:, 1], ".", alpha=0.4)
axis.axline((0, 0), slope=1, color="0.7", linestyle="--")
axis.set(xlabel="output in PyTorch", ylabel="output in seqloom")
plt.show()

# %% [markdown]
# ## Fine-tune the network
#
# The new task has three classes: donor, acceptor and neither. The published network has two outputs. Use the
# 32 values before its last layer as features, and add a new head. The graph contains the names of all
# tensors.

# %%
last = network.graph.nodes[-1]
print(last.operator, "reads", last.inputs[0])


class FineTuned(sl.nn.Module):
    features: sl.nn.Module
    head: sl.nn.Linear

    def __init__(self):
        self.features = sl.models.from_onnx(
            "published.onnx", encoder=encoder, length=60, output=last.inputs[0]
        )
        self.head = sl.nn.Linear(32, 3)

    def __call__(self, x):
        return self.head(self.features.logits(x))


# %% [markdown]
# How much does pretraining help? Train on 30 to 240 records, with the fine-tuned network and with seqloom's
# default network from random weights, three times each. The seed determines the records, the initial weights
# of new layers, and the order of training. The published network is the same in all runs.


# %%
SEEDS = range(3)


def train_and_evaluate(model, count, seed):
    """Train on some records, and return the accuracy on the test file."""
    shares = (count / len(private), 1 - count / len(private))
    subset = sl.data.split(private, shares, stratify=True, seed=seed)[0]
    options = {"epochs": 20, "lr": 2e-3, "batch_size": 16, "seed": seed, "progress": False}
    run = sl.train.fit(model, subset, **options)
    return sl.infer.evaluate(run.trained, test)["accuracy"]


counts = [30, 60, 120, 240]
config = sl.models.SequenceCNNConfig.for_data(private)
finetuned = np.array(
    [
        [train_and_evaluate(FineTuned().bind("numpy", seed), n, seed) for seed in SEEDS]
        for n in counts
    ]
)
scratch = np.array(
    [[train_and_evaluate(config, n, seed) for seed in SEEDS] for n in counts]
)
print("records  fine-tuned      from random weights   (minimum and maximum of the seeds)")
for n, first, second in zip(counts, finetuned, scratch):
    print(f"{n:7}  {first.min():.2f} to {first.max():.2f}", end="    ")
    print(f"{second.min():.2f} to {second.max():.2f}")

# %% alt="Accuracy by number of records, with a point for each seed and a line through the means: the fine-tuned network is much better with 30 records; with 240 both are equal."
for number, (name, accuracies) in enumerate(
    {"fine-tuned": finetuned, "from random weights": scratch}.items()
):
    plt.plot(counts, accuracies.mean(axis=1), "-", color=f"C{number}", label=name)
    plt.plot(counts, accuracies, "o", color=f"C{number}", alpha=0.6)
plt.axhline(np.mean(test.labels == data.classes.index("N")), color="0.6", linestyle=":")
plt.text(counts[-1], 0.52, "most frequent class", ha="right", color="0.4")
plt.xscale("log")
plt.xticks(counts, counts)
plt.minorticks_off()
plt.xlabel("labelled records")
plt.ylabel("accuracy on the test file")
plt.legend()
plt.show()

# %% [markdown]
# The published network distinguishes splice sites from other sequences, but not donors from acceptors; few
# records are enough to learn this difference. With 30 to 60 records, the published network is better by more
# than the variation between seeds. With 240 records, the two networks are equally good.
#
# The results have limits. Three seeds show the effect of the choice of records, but are too few for an
# interval. With 1,186 test records, the 95 % interval is ±0.02 for an accuracy of 0.9, and ±0.03 for 0.6. The
# comparison is also a best case, because both data sets come from the same file. A network for another
# species or task may help less.
#
# Next: [supported ONNX operators](../how-to/from-onnx.md#supported-operators); [port a
# network](../how-to/port-a-network.md) that is published as arrays.

# %% tags=["check"]
if difference > 1e-4 or finetuned[0].min() < scratch[0].max() or finetuned[-1].min() < 0.85:
    raise ValueError(f"difference {difference}, accuracies {finetuned} and {scratch}")
