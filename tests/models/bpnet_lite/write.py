"""Write networks of bpnet-lite with random weights, and their outputs and losses.

Run in an environment with bpnet-lite 1.1.0: ``python tests/models/bpnet_lite/write.py``.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

FOLDER = Path(__file__).parent
RANDOM = np.random.default_rng(46)
COUNT_WEIGHT = 0.7
CHANNELS = 3


def write_chrombpnet(path, *, layers, prefix):
    """Write random weights in the layout of chrombpnet, which is that of Keras 2."""
    head = prefix and f"{prefix}bpnet_"
    shapes: dict[str, tuple[int, ...]] = {f"{prefix}bpnet_1st_conv": (21, 4, CHANNELS)}
    for number in range(1, layers + 1):
        shapes[f"{prefix}bpnet_{number}conv"] = (3, CHANNELS, CHANNELS)
    shapes[f"{head}prof_out_precrop"] = (75, CHANNELS, 1)
    shapes[f"{head}logcount_predictions"] = (CHANNELS, 1)
    with h5py.File(path, "w") as file:
        for name, shape in shapes.items():
            group = file.create_group(f"model_weights/{name}/{name}")
            kernel = RANDOM.normal(size=shape, scale=0.3).astype(np.float32)
            bias = RANDOM.normal(size=shape[-1:], scale=0.3).astype(np.float32)
            group.create_dataset("kernel:0", data=kernel)
            group.create_dataset("bias:0", data=bias)


def _save_arrays(arrays, torch):
    expected: Any = {
        name: np.asarray(torch.as_tensor(array).detach()) for name, array in arrays.items()
    }
    np.savez_compressed(FOLDER / "expected.npz", **expected)


def main():
    """Write all files of the folder."""
    lite: Any = import_module("bpnetlite")
    torch.manual_seed(46)
    torch.set_grad_enabled(False)
    codes = RANDOM.integers(0, 4, (4, 150))
    x = torch.tensor(np.eye(4, dtype=np.float32)[codes].transpose(0, 2, 1))
    controls = torch.tensor(RANDOM.poisson(0.2, (4, 2, 150)).astype(np.float32))
    arrays: dict[str, Any] = {"codes": codes.astype(np.uint8), "controls": controls}

    model = lite.BPNet(CHANNELS, 2, n_outputs=2, n_control_tracks=2, verbose=False)
    torch.save(model.state_dict(), FOLDER / "bpnet.pt")
    profile, counts = model(x, controls)
    tracks = torch.tensor(RANDOM.poisson(0.6, profile.shape).astype(np.float32))
    losses = vars(lite.losses)["_mixture_loss"](tracks, profile, counts, COUNT_WEIGHT)
    distances = (
        lite.performance.jensen_shannon_distance(
            profile.reshape(4, -1), tracks.reshape(4, -1)
        )
        ** 0.5
    )
    arrays |= {"profile": profile, "counts": counts, "tracks": tracks}
    arrays |= {"losses": torch.stack(losses), "distances": distances}

    short = lite.BPNet(
        CHANNELS, 2, n_outputs=2, n_control_tracks=2, trimming=20, verbose=False
    )
    short.load_state_dict(model.state_dict())
    arrays["short_profile"], arrays["short_counts"] = short(x, controls)

    write_chrombpnet(FOLDER / "bias.h5", layers=1, prefix="")
    write_chrombpnet(FOLDER / "accessibility.h5", layers=2, prefix="wo_bias_")
    model = lite.ChromBPNet.from_chrombpnet(
        str(FOLDER / "bias.h5"), str(FOLDER / "accessibility.h5")
    )
    torch.save(model.state_dict(), FOLDER / "chrombpnet.pt")
    arrays["chrom_profile"], arrays["chrom_counts"] = model(x)
    _save_arrays(arrays, torch)


main()
