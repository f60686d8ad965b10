"""Tests that compare ESM-2 with int8 linear layers and ESM-2 in float32."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, BackendError, ConfigError
from seqloom.models import ESM2, ESM2Config
from seqloom.models._esm2_config import check_dtype
from seqloom.nn import Int8Linear
from seqloom.tensor import backend

PROTEIN_LENGTHS = (40, 230, 7, 120)
MIN_COSINE_SIMILARITY = 0.999


def draw(seed=3):
    rng = np.random.default_rng(seed)
    proteins = [[0, *rng.integers(4, 24, length), 2] for length in PROTEIN_LENGTHS]
    bounds = np.cumsum([0, *map(len, proteins)])
    return np.concatenate(proteins), bounds, max(map(len, proteins))


def make(size, *, layers, uneven):
    """Return a random network whose layers preserve the scale of their inputs."""
    # If uneven, some channels are up to 60 times as large as others, as in trained
    # networks. The weights of the next layer are divided by the same factors, so the
    # outputs are equal.
    config = ESM2Config.of(size)
    config = ESM2Config(layers=layers, width=config.width, heads=config.heads)
    network, rng = config.init("numpy", sl.Key(0)), np.random.default_rng(1)
    record = {path: np.array(values) for path, values in network.to_record().items()}
    for number in range(layers):
        at, width = f"layers.{number}.", config.width
        for name in ("qkv", "out", "fc1", "fc2"):
            weight = record[f"{at}{name}.weight"]
            weight /= np.sqrt((weight**2).mean() * weight.shape[1])
        if uneven:
            for norm, name in (("norm1", "qkv"), ("norm2", "fc1")):
                large = draw_factors(rng, width)
                record[f"{at}{norm}.weight"] *= large
                record[f"{at}{norm}.bias"] *= large
                record[f"{at}{name}.weight"] /= large
            large = draw_factors(rng, width)
            record[f"{at}qkv.weight"][-width:] *= large[:, None]
            record[f"{at}qkv.bias"][-width:] *= large
            record[f"{at}out.weight"] /= large
    return network.load_record(record).eval()


def draw_factors(rng, width):
    factors = np.ones(width, "f4")
    factors[rng.choice(width, 6, replace=False)] = rng.uniform(20, 60, 6)
    return factors


def cosines(found, exact):
    norms = np.linalg.norm(found, axis=-1) * np.linalg.norm(exact, axis=-1)
    return (found * exact).sum(axis=-1) / norms


@pytest.mark.parametrize("name", ["numpy", "torch"])
@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
@pytest.mark.parametrize(
    ("size", "layers"),
    [("8M", 6), pytest.param("35M", 12, marks=pytest.mark.soak)],
)
def test_int8_embeddings_are_close_to_float32(size, layers, uneven, name, tmp_path):
    network = make(size, layers=layers, uneven=uneven)
    network.save(tmp_path)
    exact = network(*draw()).numpy()
    small = ESM2.load(tmp_path, name, dtype="int8")
    found = cosines(small(*draw()).numpy(), exact)
    assert MIN_COSINE_SIMILARITY <= found.min() < 1.0


def test_int8_embeddings_need_calibration_if_channels_are_uneven():
    network = make("8M", layers=3, uneven=True)
    exact = network(*draw()).numpy()
    sl.nn.quantize_int8(network, targets="layers.*")
    assert cosines(network(*draw()).numpy(), exact).min() < MIN_COSINE_SIMILARITY


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("esm")
    ESM2Config(layers=2, width=48, heads=4).init("numpy", sl.Key(1)).save(folder)
    return folder


def test_int8_esm2_has_8_bit_layers_and_float32_heads(small):
    network = ESM2.load(small, dtype="int8")
    paths = [path for path, _ in network.named(Int8Linear)]
    names = ("qkv", "out", "fc1", "fc2")
    assert paths == [f"layers.{number}.{name}" for number in (0, 1) for name in names]
    assert network.lm_head.dense.weight.value.dtype == np.float32


@pytest.mark.parametrize("threads", [1, 2])
def test_int8_results_are_bitwise_equal_in_any_layout(small, threads):
    network = ESM2.load(small, dtype="int8")
    other = ESM2.load(small, backend("numpy", num_threads=threads), dtype="int8")
    ids, bounds, longest = draw()
    packed = np.split(network(ids, bounds, longest).numpy(), bounds[1:-1])
    proteins = np.split(ids, bounds[1:-1])
    turned = np.concatenate(proteins[::-1]), np.cumsum([0, *map(len, proteins[::-1])])
    found = np.split(other(*turned, longest).numpy(), turned[1][1:-1])[::-1]
    for protein, expected, again in zip(proteins, packed, found, strict=True):
        np.testing.assert_array_equal(again, expected)
        np.testing.assert_array_equal(other(protein).numpy(), expected)


def test_a_padded_batch_logits_and_contacts_work_as_in_float32(small):
    exact, network = ESM2.load(small), ESM2.load(small, dtype="int8")
    ids = np.array([[0, 20, 15, 7, 2], [0, 4, 2, 1, 1]])
    for found, wanted in (
        (network(ids), exact(ids)),
        (network.logits(network(ids)), exact.logits(exact(ids))),
    ):
        keep = ids != 1
        assert cosines(found.numpy()[keep], wanted.numpy()[keep]).min() > 0.99


def test_int8_on_a_backend_without_kernels_is_rejected(small):
    with pytest.raises(BackendError, match='"numpy" or "torch" on a CPU'):
        ESM2.load(small, "jax", dtype="int8")


def test_int8_on_a_device_is_rejected():
    cuda: Any = SimpleNamespace(name="torch:cuda", device="cuda:0")
    with pytest.raises(BackendError, match="needs a CPU, got the device 'cuda:0'"):
        check_dtype(cuda, "int8")


def test_an_unknown_dtype_is_rejected_by_name(small):
    with pytest.raises(ArgumentError, match=r"dtype.*'int4'"):
        ESM2.load(small, dtype="int4")


def test_int8_layers_cannot_be_saved_for_transformers(small, tmp_path):
    network = ESM2.load(small, dtype="int8")
    with pytest.raises(ArgumentError, match=r"to_record\(\)\.save"):
        network.save(tmp_path)


def test_an_int8_record_loads_into_an_int8_network(small, tmp_path):
    network = ESM2.load(small, dtype="int8")
    network.to_record().save(tmp_path / "int8.safetensors")
    other = ESM2Config(layers=2, width=48, heads=4).init("numpy", sl.Key(2))
    sl.nn.quantize_int8(other, targets="layers.*")
    other.load_record(sl.record.load(tmp_path / "int8.safetensors"))
    np.testing.assert_array_equal(other(*draw()).numpy(), network(*draw()).numpy())


def test_an_embedding_job_resumes_only_with_equal_weights_and_dtype(small, tmp_path):
    (tmp_path / "p.fa").write_text(">a\nMKTAYIAKQR\n>b\nMSHHWGYGKH\n")

    def embed(dtype, name="numpy"):
        network = ESM2.load(small, name, dtype)
        return sl.infer.embed(network, str(tmp_path / "p.fa"), out=tmp_path / "out")

    assert embed("int8").computed == 1
    # Rounded weights may differ between backends, but the plan has the original
    # checksum.
    assert embed("int8", "torch").computed == 0
    with pytest.raises(ConfigError, match=r"model: .*:int8"):
        embed("float32")
