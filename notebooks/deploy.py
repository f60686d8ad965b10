# %% [markdown]
# # Deploy a model to a server and a web page
#
# This notebook trains a model, exports it, runs the export without Python, and puts it on a web page on which
# sequences never leave the browser.

# %%
# !seqloom demo --files .
# !seqloom train train.fa.gz --labels train.tsv --epochs 8 --quiet --out runs/splice

# %% [markdown]
# ## Export
#
# The export is a folder, or one file if its name ends in `.zip`. It holds the operations of the network, its weights, what the
# encoder does, and the names of the classes. It holds no code.

# %%
# !seqloom export runs/splice --out splice.seqloom
# !ls -sh splice.seqloom
# !seqloom run inspect splice.seqloom

# %% [markdown]
# ## Run it without Python
#
# `seqloom run` becomes a program in Rust, one file that you can copy to a server. It reads FASTA and FASTQ itself,
# packed or not.

# %%
# !seqloom run splice.seqloom test.fa.gz > server.tsv
# !head -n 4 server.tsv

# %% [markdown]
# Does it say the same as Python does?

# %% alt="A scatter plot of scores by the program against scores by Python: all points lie on the diagonal."
import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

scores = sl.infer.predict("runs/splice", "test.fa.gz")
in_python = scores.to_numpy()
on_server = np.loadtxt("server.tsv", skiprows=1, usecols=(1, 2, 3), dtype="float32")
difference = np.abs(on_server - in_python).max()
print(f"{len(in_python):,} records, greatest difference {difference:.1e}")

figure, axis = plt.subplots(figsize=(4.6, 3.6))
for column, name in enumerate(scores.classes):
    axis.plot(in_python[:, column], on_server[:, column], ".", label=name, alpha=0.5)
axis.set(xlabel="score in Python", ylabel="score by seqloom run")
axis.legend()
plt.show()

# %% [markdown]
# ## How fast?
#
# `bench` says how long a batch takes, and how many records go through in a second on this machine.

# %%
# !seqloom run bench splice.seqloom test.fa.gz

# %% [markdown]
# ## One file for ONNX
#
# Programs that read ONNX take the model too; the second output is the scores. This needs the extra `onnx`, and the
# package `onnxruntime` to run it.

# %%
# !seqloom export runs/splice --onnx --out splice.onnx

# %%
import onnxruntime

model = sl.models.load("runs/splice")
data = sl.data.SequenceDataset("test.fa.gz", encoder=model.encoder)
session = onnxruntime.InferenceSession("splice.onnx")
wanted = [array.name for array in session.get_inputs()]
batch = data.batch(range(len(data)))
outputs, by_onnx = session.run(None, {name: batch[name] for name in wanted})
print(f"greatest difference {np.abs(by_onnx - in_python).max():.1e}")

# %% [markdown]
# ## On a web page
#
# In a clone of the repository, `make web` builds a page of static files into `web/dist`. Write the model as one file, put it there, and
# any server of files will do:

# %%
# !seqloom export runs/splice --out splice.seqloom.zip

# %% [markdown]
# ```text
# make web
# cp splice.seqloom.zip web/dist/
# python -m http.server --directory web/dist
# ```
#
# This is the page after a click on *Score*. The table has a line for each record; the letters below show where the
# model looked in the last one, an acceptor site. Everything was computed in the browser.
#
# ![The page in a browser: a model of three classes is open, a table gives the scores of eight sequences, and the letters of the last one are coloured by how far they speak for its class](../assets/browser-page.webp){ loading=lazy width=1400 height=2420 }
#
# Next: [export](../how-to/export.md) says which networks can be exported; [a server](../how-to/run-on-a-server.md),
# [C](../how-to/run-from-c.md) and [the browser](../how-to/run-in-a-browser.md) have pages of their own.

# %% tags=["check"]
if max(difference, np.abs(by_onnx - in_python).max()) > 1e-4:
    raise ValueError(f"the server differs by {difference}, or ONNX does")
