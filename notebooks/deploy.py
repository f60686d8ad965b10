# %% [markdown]
# # Deploy a model to a server and a web page
#
# Train a model, export it, and run it without Python. Then publish the model on a web page that keeps all
# sequences in the browser.

# %%
# !seqloom demo --files .
# !seqloom train train.fa.gz --labels train.tsv --epochs 8 --quiet --out runs/splice

# %% [markdown]
# ## Export
#
# The export is a folder, or one file if its name ends in `.zip`. The export contains the operations of the
# network, its weights, the settings of the encoder and the class names, but no code.

# %%
# !seqloom export runs/splice --out splice.seqloom
# !ls -sh splice.seqloom
# !seqloom run inspect splice.seqloom

# %% [markdown]
# ## Run the model without Python
#
# `seqloom run` starts a Rust program, a single file that you can copy to a server. The program reads FASTA
# and FASTQ files, compressed or not.

# %%
# !seqloom run splice.seqloom test.fa.gz > server.tsv
# !head -n 4 server.tsv

# %% [markdown]
# Compare the scores with those of Python:

# %% alt="Scatter plot of scores of the program against scores in Python: all points are on the diagonal."
import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

scores = sl.infer.predict("runs/splice", "test.fa.gz")
in_python = scores.to_numpy()
on_server = np.loadtxt("server.tsv", skiprows=1, usecols=(1, 2, 3), dtype="float32")
difference = np.abs(on_server - in_python).max()
print(f"{len(in_python):,} records, maximum difference {difference:.1e}")

figure, axis = plt.subplots(figsize=(4.6, 3.6))
for column, name in enumerate(scores.classes):
    axis.plot(in_python[:, column], on_server[:, column], ".", label=name, alpha=0.5)
axis.set(xlabel="score in Python", ylabel="score of seqloom run")
axis.legend()
plt.show()

# %% [markdown]
# ## Measure the speed
#
# `bench` prints the time per batch and the number of records per second on this machine.

# %%
# !seqloom run bench splice.seqloom test.fa.gz

# %% [markdown]
# ## Export to ONNX
#
# ONNX programs can run the model as well; the second output contains the scores. The export needs the package
# `onnx`, and this example the package `onnxruntime`.

# %%
# !seqloom export runs/splice --onnx --out splice.onnx

# %%
import onnxruntime

model = sl.models.load("runs/splice")
data = sl.data.SequenceDataset("test.fa.gz", encoder=model.encoder)
session = onnxruntime.InferenceSession("splice.onnx")
names = [array.name for array in session.get_inputs()]
batch = data.batch(range(len(data)))
outputs, by_onnx = session.run(None, {name: batch[name] for name in names})
print(f"maximum difference {np.abs(by_onnx - in_python).max():.1e}")

# %% [markdown]
# ## Publish a web page
#
# In a clone of the repository, `make web` builds static files into `web/dist`. Export the model as one file,
# copy it into `web/dist`, and serve that folder:

# %%
# !seqloom export runs/splice --out splice.seqloom.zip

# %% [markdown]
# ```text
# make web
# cp splice.seqloom.zip web/dist/
# python -m http.server --directory web/dist
# ```
#
# The screenshot shows the page after a click on *Score*. The table has a row for each record. The residues
# below the table are coloured by their effect on the score of the last record, an acceptor site. All scores
# were computed in the browser.
#
# ![The web page with a model of three classes: a table of scores for eight sequences, and the residues of the last sequence coloured by their effect on its class](../assets/browser-page.webp){ loading=lazy width=900 height=1564 }
#
# Next: [export](../how-to/export.md) lists the supported networks. [Run on a
# server](../how-to/run-on-a-server.md), [from C](../how-to/run-from-c.md) or [in a
# browser](../how-to/run-in-a-browser.md) have more details.

# %% tags=["check"]
if max(difference, np.abs(by_onnx - in_python).max()) > 1e-4:
    raise ValueError(f"the server differs by {difference}, or ONNX does")
