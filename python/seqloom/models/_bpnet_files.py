"""Files of BPNet and ChromBPNet that bpnet-lite and chrombpnet wrote."""

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from seqloom.errors import RecordError, SeqloomError
from seqloom.models._bpnet import COUNT_SCALE, PROFILE_KERNEL, BPNet, BPNetConfig
from seqloom.models._chrombpnet import ChromBPNet
from seqloom.record import Record, load
from seqloom.tensor import Backend

_PARTS = ("bias", "accessibility")
# Groups of the optimiser's state in the files of Keras 2 and 3.
_OPTIMISER_GROUPS = ("optimizer_weights.", "optimizer.")
# Paths of layers in bpnet-lite, and in chrombpnet.
_LITE_LAYERS = {
    "iconv": "first",
    "rconvs": "layers",
    "fconv": "profile",
    "linear": "counts",
}
_KERAS_LAYER = re.compile(
    "(wo_bias_)?(?:bpnet_)?(1st_conv|[0-9]+conv|prof_out_precrop|logcount_predictions)"
)
_KERAS_LAYERS = {
    "1st_conv": "first",
    "prof_out_precrop": "profile",
    "logcount_predictions": "counts",
}
# The parts of a file, each with its arrays by path; a single network has the name "".
_Parts = dict[str, dict[str, Any]]


def load_bpnet(
    path: str | os.PathLike[str],
    backend: Backend | str = "numpy",
    *,
    trimming: int | None = None,
) -> BPNet:
    """Load a BPNet from a file of bpnet-lite or chrombpnet.

    Nothing is unpickled. A file that contains a whole pickled network raises an error
    with the line of Python that saves its ``state_dict()``.

    Args:
        path: A ``state_dict()`` of bpnet-lite, as a file of torch.save or safetensors; or
            a network of chrombpnet, ``chrombpnet_nobias.h5`` or ``bias_model_scaled.h5``.
        backend: A backend or its name.
        trimming: The `trimming` of the network, which files do not contain; default: as
            in `BPNetConfig`.

    Returns:
        The network in evaluation mode.

    Raises:
        MissingExtraError: The file is an ``.h5`` file, and h5py is not installed.
        MissingFileError: The file does not exist.
        RecordError: The file is not a BPNet, or needs code to be loaded.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> state = {
        ...     "iconv.weight": np.zeros((8, 4, 21)),
        ...     "iconv.bias": np.zeros(8),
        ...     "fconv.weight": np.zeros((1, 8, 75)),
        ...     "fconv.bias": np.zeros(1),
        ...     "linear.weight": np.zeros((1, 8)),
        ...     "linear.bias": np.zeros(1),
        ... }
        >>> sl.record.Record(state).save("bpnet.safetensors")
        >>> load_bpnet("bpnet.safetensors").config.channels
        8
    """
    return _build(path, _read_one(path), backend=backend, trimming=trimming)


def load_chrombpnet(
    path: str | os.PathLike[str],
    bias: str | os.PathLike[str] | None = None,
    *,
    backend: Backend | str = "numpy",
    trimming: int | None = None,
) -> ChromBPNet:
    """Load a ChromBPNet from files of bpnet-lite or chrombpnet.

    Args:
        path: File of the accessibility network, as in `load_bpnet`; without `bias`, a
            file of both networks, such as a ``state_dict()`` of bpnet-lite's ChromBPNet.
        bias: File of the bias network; None if `path` has both networks.
        backend: A backend or its name.
        trimming: The `trimming` of both networks; default: as in `BPNetConfig`.

    Returns:
        The network in evaluation mode; the bias network is frozen.

    Raises:
        MissingExtraError: A file is an ``.h5`` file, and h5py is not installed.
        MissingFileError: A file does not exist.
        RecordError: A file is not a BPNet, or needs code to be loaded.

    Examples:
        >>> import seqloom as sl
        >>> names = {"first": "iconv", "profile": "fconv", "counts": "linear"}
        >>> network = sl.models.BPNetConfig(tracks=1, channels=8, layers=0).init("numpy")
        >>> state = {
        ...     f"{names[path.split('.')[0]]}.{path.split('.')[1]}": array
        ...     for path, array in network.to_record().items()
        ... }
        >>> sl.record.Record(state).save("network.safetensors")
        >>> model = load_chrombpnet("network.safetensors", bias="network.safetensors")
        >>> model.accessibility.config.channels
        8
    """
    if bias is None:
        parts = _read_parts(path)
    else:
        parts = {"bias": _read_one(bias), "accessibility": _read_one(path)}
    if parts.keys() != set(_PARTS):
        raise RecordError(f"{path}: has one network; pass the file of the other as bias=")
    paths = {"bias": bias or path, "accessibility": path}
    networks = [
        _build(paths[name], parts[name], backend=backend, trimming=trimming)
        for name in _PARTS
    ]
    return ChromBPNet.of(*networks).eval()


def _read_one(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arrays of a file with one network."""
    parts = _read_parts(path)
    if len(parts) > 1:
        raise RecordError(f"{path}: has two networks; load_chrombpnet(path) reads both")
    return next(iter(parts.values()))


def _read_parts(path: str | os.PathLike[str]) -> _Parts:
    """Return the arrays of each network of a file, by the paths of `BPNet`."""
    record = load(path)
    parts: _Parts = {}
    unknown: list[str] = []
    is_lite = any(key.rpartition("iconv.")[1] for key in record)
    for key in record:
        if key.startswith(_OPTIMISER_GROUPS):
            continue
        part, new = _rename_lite(key) if is_lite else _rename_keras(key)
        if not new:
            unknown.append(key)
            continue
        arrays = parts.setdefault(part, {})
        if new in arrays:
            raise RecordError(f"{path}: has two arrays for {new} of a network")
        arrays[new] = np.asarray(record[key]) if is_lite else np.asarray(record[key]).T
    if not parts:
        raise RecordError(_describe_unknown(path, record))
    if unknown:
        raise RecordError(
            f"{path}: has the array {unknown[0]}, which a BPNet lacks; export a network "
            "without further layers"
        )
    return parts


def _rename_lite(key: str) -> tuple[str, str]:
    """Return the part and path of an array of bpnet-lite; the path is empty if unknown."""
    first, _, rest = key.partition(".")
    part, key = (first, rest) if first in _PARTS else ("", key)
    layer, _, rest = key.partition(".")
    return part, f"{_LITE_LAYERS[layer]}.{rest}" if layer in _LITE_LAYERS else ""


def _rename_keras(key: str) -> tuple[str, str]:
    """Return the part and path of an array of chrombpnet; the path is empty if unknown."""
    *_, name, kind = ["", *key.split(".")]
    match = _KERAS_LAYER.fullmatch(name)
    if match is None or kind not in {"kernel", "bias"}:
        return "", ""
    layer = match[2]
    path = _KERAS_LAYERS.get(layer) or f"layers.{int(layer.removesuffix('conv')) - 1}"
    part = _PARTS[match[1] is not None]
    return part, f"{path}.{'weight' if kind == 'kernel' else kind}"


def _describe_unknown(path: str | os.PathLike[str], record: Record) -> str:
    names = ", ".join([*record][:4]) or "no arrays"
    return (
        f"{path}: is not a BPNet of bpnet-lite or chrombpnet, because it has {names}; "
        "expected layers such as iconv or bpnet_1st_conv"
    )


def _build(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any],
    *,
    backend: Backend | str,
    trimming: int | None,
) -> BPNet:
    """Return a network with the sizes of the arrays, in evaluation mode."""
    needed = ("first.weight", "profile.weight", "counts.weight")
    if missing := [name for name in needed if name not in arrays]:
        raise RecordError(f"{path}: has no array for {missing[0]} of a BPNet")
    channels = len(np.atleast_1d(arrays["first.weight"]))
    shape = arrays["profile.weight"].shape
    tracks, inputs, *_ = *shape, 0, 0
    if shape[1:] != (max(channels, inputs), PROFILE_KERNEL):
        raise RecordError(
            f"{path}: profile.weight must have the shape (tracks, channels + controls, "
            f"{PROFILE_KERNEL}), got {shape}"
        )
    config = BPNetConfig(
        tracks,
        channels,
        layers=sum(key.startswith("layers.") for key in arrays) // 2,
        controls=inputs - channels,
        trimming=trimming,
        profile_bias="profile.bias" in arrays,
        count_bias="counts.bias" in arrays,
    )
    scaled = {
        name: array / COUNT_SCALE if name.startswith("counts.") else array
        for name, array in arrays.items()
    }
    network = config.init(backend)
    try:
        return network.load_record(scaled).eval()
    except SeqloomError as error:
        raise RecordError(f"{path}: {error}") from error
