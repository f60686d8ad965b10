"""Functions that save and load a model of 1 GB with seqloom and other libraries."""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

import seqloom as sl
from benchmarks._measure import full_or_quick, peak_memory_increase

TENSORS, SIDE = full_or_quick(60, 12), 2091  # 60 matrices have 1.05 GB
SEQLOOM_NAME = "seqloom"
Arrays = dict[str, Any]


def make_weight_arrays() -> Arrays:
    """Create the weights of a model of 1 GB."""
    rng = np.random.default_rng(0)
    shape = (SIDE, SIDE)
    return {f"layer{n}": rng.standard_normal(shape, "f4") for n in range(TENSORS)}


class LargeModel(sl.nn.Module):
    """Module with the same number of parameters as the safetensors file."""

    layers: dict[str, sl.nn.Param]


def make_large_model(dtype: str = "float32") -> LargeModel:
    """Create an uninitialised module."""
    fill = sl.nn.Fill(0.0)
    params = {f"{n}": sl.nn.Param((SIDE, SIDE), fill, dtype=dtype) for n in range(TENSORS)}
    return LargeModel(params).bind("numpy", 0)


def save_functions(
    home: Path, arrays: Arrays
) -> dict[str, tuple[Path, Callable[[], object]]]:
    """Return the file and the save function of each library; each syncs its file."""
    tensors = {path: torch.from_numpy(array) for path, array in arrays.items()}
    found = {
        SEQLOOM_NAME: ("ours.safetensors", sl.record.Record(arrays).save),
        "safetensors.numpy": ("numpy.st", partial(safetensors.numpy.save_file, arrays)),
        "safetensors.torch": ("torch.st", partial(safetensors.torch.save_file, tensors)),
        "torch.save": ("torch.pt", partial(torch.save, tensors)),
        "floor: one write": ("floor", partial(_write_raw_bytes, arrays)),
    }
    return {
        name: (
            home / file,
            partial(_save_and_sync, save, home / file, is_synced=name == SEQLOOM_NAME),
        )
        for name, (file, save) in found.items()
    }


def load_functions(home: Path) -> dict[str, Callable[[], Arrays]]:
    """Return a function for each library that loads its file into NumPy arrays."""
    ours = home / "ours.safetensors"
    load = partial(torch.load, home / "torch.pt", weights_only=True)
    return {
        SEQLOOM_NAME: lambda: _convert_to_numpy(sl.record.load(ours)),
        f"{SEQLOOM_NAME}, mapped=True": lambda: _convert_to_numpy(
            sl.record.load(ours, mapped=True)
        ),
        "safetensors.numpy": lambda: safetensors.numpy.load_file(home / "numpy.st"),
        "safetensors.torch (mmap)": lambda: _convert_to_numpy(
            safetensors.torch.load_file(home / "torch.st")
        ),
        "torch.load, weights_only": lambda: _convert_to_numpy(load()),
        "torch.load, weights_only, mmap": lambda: _convert_to_numpy(load(mmap=True)),
    }


def read_all_pages(arrays: Arrays) -> float:
    """Read one number of every memory page of the arrays."""
    return sum(float(array.reshape(-1)[::1024].sum()) for array in arrays.values())


def _save_and_sync(save: Callable[[Path], object], path: Path, *, is_synced: bool) -> None:
    """Save, then sync the file and its folder, as seqloom does."""
    save(path)
    for each in () if is_synced else (path, path.parent):
        handle = os.open(each, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def _write_raw_bytes(arrays: Arrays, path: Path) -> None:
    """Write the bytes of the arrays without a file format."""
    with path.open("wb", buffering=0) as file:
        for array in arrays.values():
            file.write(array.data)


def _convert_to_numpy(arrays: Any) -> Arrays:
    """Return tensors as NumPy arrays, including those that are read on first use."""
    return {path: np.asarray(array) for path, array in arrays.items()}


def _list_memory_tasks(home: Path) -> dict[str, Callable[[], Callable[[], object]]]:
    """Return, for each task, a function that creates the function to measure."""

    def fit_module() -> Callable[[], object]:
        module = make_large_model()
        module.load_record(
            dict(zip(module.to_record(), make_weight_arrays().values(), strict=True))
        )
        return partial(module.to_record().save, home / "memory.safetensors")

    def fill_module(dtype: str) -> Callable[[], object]:
        module = make_large_model(dtype)
        keys = {"layer*": "layers.*"}
        file = home / "ours.safetensors"
        return lambda: module.load_record(sl.record.load(file), keys=keys)

    def save(name: str) -> Callable[[], object]:
        return save_functions(home, make_weight_arrays())[name][1]

    half = sl.record.Safetensors(precision=sl.record.Half())
    sides = load_functions(home)
    return {
        "save: seqloom, a module's record": fit_module,
        "save: seqloom, at half precision": lambda: partial(
            sl.record.Record(make_weight_arrays()).save, home / "memory.safetensors", half
        ),
        **{
            f"save: {name}": partial(save, name)
            for name in ("safetensors.numpy", "safetensors.torch", "torch.save")
        },
        "load: seqloom, a module": partial(fill_module, "float32"),
        "load: seqloom, a module in bfloat16": partial(fill_module, "bfloat16"),
        **{f"load: {name}": (lambda work=work: work) for name, work in sides.items()},
    }


MEMORY_TASKS = tuple(_list_memory_tasks(Path()))


def main(home: str, name: str) -> None:
    """Print the peak memory of one task in bytes."""
    work = _list_memory_tasks(Path(home))[name]()
    kept: list[object] = []
    print(json.dumps(peak_memory_increase(lambda: kept.append(work()))))


if __name__ == "__main__":
    main(*sys.argv[1:])
