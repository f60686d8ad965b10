"""Exported models run in NumPy, based only on the format's documentation."""

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

import seqloom as sl
from seqloom.export._content import write_manifest

NUMPY = sl.tensor.backend("numpy")


def manifest(folder):
    """Return the content of export.json."""
    return json.loads(Path(folder, "export.json").read_text())


def graph(folder, name="graph.json"):
    """Return a graph as plain values."""
    return json.loads(Path(folder, name).read_text())


def operations(folder, name="graph.json"):
    """Return the names of a graph's operations."""
    return [it["name"] for it in graph(folder, name)["operations"]]


def append_operation(folder, name, *args, shape, dtype="float32", **options):
    """Append an operation to the outputs of an export, and update the hashes."""
    facts = manifest(folder)
    files = {it: Path(folder, it).read_bytes() for it in facts.pop("files")}
    for file in [it for it in files if it.startswith("graph")]:
        table = json.loads(files[file])
        (output,) = table["outputs"]
        made = {"value": output["value"] + 1, "dtype": dtype, "shape": shape}
        call = {"name": name, "args": [{"value": output["value"]}, *args]}
        table["operations"].append({**call, "options": options, "outputs": [made]})
        output["value"] += 1
        files[file] = json.dumps(table).encode()
        Path(folder, file).write_bytes(files[file])
    own = {"checksum", "format", "version", "written_by"}
    facts = {name: it for name, it in facts.items() if name not in own}
    Path(folder, "export.json").write_bytes(write_manifest(facts, files))


class Run:
    """One run of a graph: its values, and the named sizes."""

    def __init__(self, folder, name="graph.json"):
        self.graph = graph(folder, name)
        self.weights = load_file(Path(folder, "model.safetensors"))
        self.values, self.sizes = {}, {}

    def __call__(self, arrays, **sizes):
        """Compute the outputs; every shape and dtype must match its declaration."""
        self.sizes |= sizes
        for it in self.graph["inputs"]:
            self.keep(it, arrays[it["name"]])
        for it in self.graph["weights"]:
            self.keep(it, self.weights[it["name"]])
        for it in self.graph["operations"]:
            made = self.call(it)
            made = made if isinstance(made, (list, tuple)) else [made]
            for declared, array in zip(it["outputs"], made, strict=True):
                self.keep(declared, array)
        (output,) = self.graph["outputs"]
        return self.values[output["value"]]

    def call(self, operation):
        args = [self.argument(it) for it in operation["args"]]
        if operation["name"] in {"index", "slice_update", "slice_add", "scatter_index"}:
            args[1] = tuple(args[1])
        options = {name: self.argument(it) for name, it in operation["options"].items()}
        listed = {name: tuple(it) for name, it in options.items() if isinstance(it, list)}
        options |= listed
        return getattr(NUMPY, operation["name"])(*args, **options)

    def keep(self, declared, array):
        """Compare an array with its declaration, and record named sizes."""
        assert str(array.dtype) == declared["dtype"], declared
        assert len(array.shape) == len(declared["shape"]), declared
        for size, wanted in zip(array.shape, declared["shape"], strict=True):
            known = (
                self.sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            )
            assert size == known, (declared, array.shape, self.sizes)
        self.values[declared["value"]] = array

    def argument(self, it) -> Any:
        if isinstance(it, list):
            return [self.argument(part) for part in it]
        if not isinstance(it, dict):
            return it
        kind = next(iter(it))
        return getattr(self, f"read_{kind}")(it)

    def read_value(self, it):
        return self.values[it["value"]]

    def read_size(self, it):
        product = prod(self.sizes[name] for name in it["size"])
        return product * it["times"] // it["over"] + it["plus"]

    def read_slice(self, it):
        return slice(*map(self.argument, it["slice"]))

    def read_dtype(self, it):
        return np.dtype(it["dtype"])

    def read_float(self, it):
        return float(it["float"])

    def read_ellipsis(self, _):
        return Ellipsis

    def read_newaxis(self, _):
        return None


def batch_of(encoder, records, dtype="float32"):
    """Encode residues as the inputs of a padded graph."""
    lengths = np.array([len(it) for it in records])
    longest = int(lengths.max())
    mask = (np.arange(longest) < lengths[:, None]).astype("f4")
    inputs = encoder.batch(records, length=longest).astype(dtype)
    return {"inputs": inputs, "mask": mask, "lengths": lengths}
