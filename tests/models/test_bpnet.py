"""BPNet and ChromBPNet compute the outputs and losses of bpnet-lite on the same weights."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from bpnet_files import FOLDER, expected_arrays, one_hot
from seqloom.errors import ArgumentError, RecordError, ShapeError
from seqloom.models import BPNetConfig, ChromBPNet, ChromBPNetConfig

F = sl.nn.functional
BACKENDS = ["numpy", "torch", "jax"]


@pytest.fixture(scope="module")
def expected():
    return expected_arrays()


def assert_close(found, expected):
    """Compare a tensor or array with the array of bpnet-lite."""
    found = found.numpy() if hasattr(found, "numpy") else found
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def tensors(model, *arrays):
    """Return arrays as tensors of the network's backend."""
    return [model.backend.tensor(np.ascontiguousarray(array)) for array in arrays]


@pytest.mark.parametrize("name", BACKENDS)
def test_bpnet_has_the_outputs_of_bpnet_lite(expected, name):
    if name != "numpy":
        pytest.importorskip(name)
    model = sl.models.load_bpnet(FOLDER / "bpnet.pt", name)
    x, controls = tensors(model, one_hot(expected["codes"]), expected["controls"])
    outputs = model(x, controls=controls)
    assert_close(outputs.profile, expected["profile"])
    assert_close(outputs.counts, expected["counts"])


def test_a_small_trimming_gives_the_outputs_of_bpnet_lite_at_the_edges(expected):
    model = sl.models.load_bpnet(FOLDER / "bpnet.pt", trimming=20)
    x, controls = tensors(model, one_hot(expected["codes"]), expected["controls"])
    profile, counts = model(x, controls=controls)
    assert_close(profile, expected["short_profile"])
    assert_close(counts, expected["short_counts"])


def test_the_losses_are_those_of_bpnet_lite(expected):
    model = sl.models.load_bpnet(FOLDER / "bpnet.pt")
    x, controls = tensors(model, one_hot(expected["codes"]), expected["controls"])
    found = [
        F.profile_loss(
            model.logits(x, controls=controls), expected["tracks"], weight
        ).item()
        for weight in (0.0, 0.7)
    ]
    profile, counts, total = expected["losses"]
    np.testing.assert_allclose(found, [profile, total], rtol=1e-5)
    logs = model(x, controls=controls).counts
    sums = expected["tracks"].sum(axis=(1, 2))[:, None]
    np.testing.assert_allclose(F.log1p_mse_loss(logs, sums).item(), counts, rtol=1e-5)


@pytest.mark.parametrize("name", BACKENDS)
def test_chrombpnet_files_give_the_outputs_of_bpnet_lite(expected, name):
    if name != "numpy":
        pytest.importorskip(name)
    pytest.importorskip("h5py")
    model = sl.models.load_chrombpnet(
        FOLDER / "accessibility.h5", FOLDER / "bias.h5", backend=name
    )
    (x,) = tensors(model, one_hot(expected["codes"]))
    profile, counts = model(x)
    assert_close(profile, expected["chrom_profile"])
    assert_close(counts, expected["chrom_counts"])


def test_a_state_dict_of_both_networks_gives_the_same_outputs(expected):
    model = sl.models.load_chrombpnet(FOLDER / "chrombpnet.pt")
    (x,) = tensors(model, one_hot(expected["codes"]))
    assert_close(model(x).profile, expected["chrom_profile"])


def test_the_joined_outputs_contain_both_outputs(expected):
    model = sl.models.load_bpnet(FOLDER / "bpnet.pt")
    x, controls = tensors(model, one_hot(expected["codes"]), expected["controls"])
    joined = model.logits(x, controls=controls).numpy().reshape(4, -1).astype(np.float64)
    logits = expected["profile"].reshape(4, -1)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    total = np.exp(joined).sum(axis=1, keepdims=True)
    assert_close(np.log(total), expected["counts"])
    np.testing.assert_allclose(
        np.exp(joined) / total, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5
    )


def test_the_default_trimming_removes_all_positions_that_the_ends_affect():
    model = BPNetConfig(tracks=1, channels=4, layers=3).init("numpy", sl.Key(1))
    margin = model.config.margin
    x = np.random.default_rng(0).random((1, 4, 2 * margin + 30)).astype(np.float32)
    wide = np.pad(x, [(0, 0), (0, 0), (50, 50)], constant_values=9.0)
    inner, outer = (model(*tensors(model, it)).profile.numpy() for it in (x, wide))
    np.testing.assert_allclose(outer[:, :, 50:-50], inner, rtol=1e-4, atol=1e-5)


def test_controls_are_zeros_by_default_but_required_in_training(expected):
    model = sl.models.load_bpnet(FOLDER / "bpnet.pt")
    x, zeros = tensors(model, one_hot(expected["codes"]), 0 * expected["controls"])
    assert np.array_equal(model.logits(x).numpy(), model.logits(x, controls=zeros).numpy())
    with pytest.raises(ShapeError, match=r"controls is missing; expected an array \(4, 2"):
        model.train().logits(x)


@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_a_compiled_network_has_the_same_outputs(expected, name):
    if name != "numpy":
        pytest.importorskip(name)
    model = sl.models.load_bpnet(FOLDER / "bpnet.pt", name)
    x, controls = tensors(model, one_hot(expected["codes"]), expected["controls"])
    run = sl.tensor.compile(lambda net, x, controls: net.logits(x, controls=controls))
    assert_close(run(model, x, controls), model.logits(x, controls=controls).numpy())


def test_the_bias_network_does_not_change_in_training():
    config = ChromBPNetConfig(BPNetConfig(1, 4, 1), BPNetConfig(1, 4, 2))
    model = config.init("numpy", sl.Key(0))
    before = model.to_record()
    random = np.random.default_rng(0)
    x = one_hot(random.integers(0, 4, (8, 140)))
    y = random.poisson(1.0, (8, 1, 34)).astype(np.float32)
    objective = sl.train.Objective(loss=F.profile_loss)
    sl.train.fit(model, {"x": x, "y": y}, objective=objective, epochs=2)
    after = model.to_record()
    changed = {path.split(".")[0] for path in after if (after[path] != before[path]).any()}
    assert changed == {"accessibility"}


def test_matched_counts_have_the_mean_of_the_regions():
    model = BPNetConfig(1, 4, 1).init("numpy", sl.Key(2))
    random = np.random.default_rng(0)
    x = one_hot(random.integers(0, 4, (70, 120)))
    tracks = random.poisson(3.0, (70, 1, 22)).astype(np.float32)
    before = model(*tensors(model, x))
    after = model.match_counts(x, tracks)(*tensors(model, x))
    mean = np.log1p(tracks.sum(axis=(1, 2))).mean()
    assert after.counts.mean().item() == pytest.approx(mean, abs=1e-5)
    assert np.array_equal(before.profile.numpy(), after.profile.numpy())


def test_matched_counts_of_a_network_with_controls_use_the_controls(expected):
    model = sl.models.load_bpnet(FOLDER / "bpnet.pt").train()
    x, tracks, controls = (
        one_hot(expected["codes"]),
        expected["tracks"],
        expected["controls"],
    )
    model.match_counts(x, tracks, controls=controls)
    x, controls = tensors(model, x, controls)
    mean = np.log1p(tracks.sum(axis=(1, 2))).mean()
    assert model(x, controls=controls).counts.mean().item() == pytest.approx(mean, abs=1e-5)


def test_matched_counts_need_arrays_of_equal_numbers_of_regions():
    model = BPNetConfig(1, 4, 1).init("numpy")
    before = model.counts.bias.numpy().copy()
    x = np.zeros((2, 4, 150), np.float32)
    for inputs, tracks, message in (
        (
            x,
            np.ones((7, 3, 52)),
            r"tracks must have the shape \(2, 1, 52\), got \(7, 3, 52\)",
        ),
        (
            x[:0],
            np.ones((0, 1, 52)),
            r"x must have at least one sequence, got .* \(0, 4, 150",
        ),
        (x[0], np.ones((2, 1, 52)), "BPNet reads one-hot DNA"),
    ):
        with pytest.raises(ShapeError, match=message):
            model.match_counts(inputs, tracks)
    assert np.array_equal(model.counts.bias.numpy(), before)


def test_effects_of_variants_are_differences_of_log_counts_and_profiles(tmp_path):
    random = np.random.default_rng(5)
    text = "".join(random.choice(list("ACGT"), 600))
    (tmp_path / "genome.fa").write_text(f">chr1\n{text}\n")
    config = ChromBPNetConfig(BPNetConfig(1, 4, 1), BPNetConfig(1, 4, 2))
    model, width = config.init("numpy", sl.Key(4)).eval(), 200
    variants = [
        ("chr1", at + 1, text[at], "ACGT"["ACGT".index(text[at]) - 1])
        for at in range(110, 480, 7)
    ]
    (tmp_path / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=600>\n"
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        + "".join(f"{c}\t{p}\t.\t{r}\t{a}\t.\t.\t.\n" for c, p, r, a in variants)
    )
    effects = sl.infer.variant_effects(
        model, tmp_path / "v.vcf", tmp_path / "genome.fa", width=width
    )
    pairs = [
        (text[p - 101 : p + 99], text[p - 101 : p - 1] + a + text[p : p + 99])
        for _, p, _, a in variants
    ]
    encode = sl.encode.OneHot("dna")
    one, other = (
        model.logits(*tensors(model, np.stack([encode(it[i].encode()) for it in pairs])))
        for i in (0, 1)
    )
    expected = (other - one).numpy().mean(axis=2)[:, 0]
    found = effects.columns["difference_output_0"]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_exported_network_has_the_same_outputs(tmp_path):
    config = ChromBPNetConfig(BPNetConfig(2, 4, 1), BPNetConfig(2, 4, 2))
    model, encoder = config.init("numpy", sl.Key(4)).eval(), sl.encode.OneHot("dna")
    codes = np.random.default_rng(0).integers(0, 4, (3, 150))
    texts = ["".join("ACGT"[code] for code in row) for row in codes]
    sl.export.save(model, tmp_path / "model", encoder=encoder, length=150)
    (tmp_path / "a.fa").write_text("".join(f">{t}\n{t}\n" for t in texts))
    found = sl.infer.predict(tmp_path / "model", tmp_path / "a.fa").to_numpy()
    expected = model.logits(*tensors(model, one_hot(codes))).numpy()
    assert_close(found, expected.reshape(3, -1))


def test_a_pickled_network_is_refused_with_the_line_that_saves_its_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Conv1d(4, 2, 21), tmp_path / "network.torch")
    line = r"torch\.save\(torch\.load\('old\.pt', weights_only=False\)\.state_dict\(\), "
    with pytest.raises(RecordError, match=line):
        sl.models.load_bpnet(tmp_path / "network.torch")


def test_another_file_is_refused_with_its_layers(tmp_path):
    sl.record.Record({"conv.weight": np.zeros(3)}).save(tmp_path / "a.safetensors")
    with pytest.raises(RecordError, match=r"not a BPNet .* because it has conv\.weight"):
        sl.models.load_bpnet(tmp_path / "a.safetensors")
    with pytest.raises(RecordError, match="has two networks"):
        sl.models.load_bpnet(FOLDER / "chrombpnet.pt")
    with pytest.raises(RecordError, match="has one network"):
        sl.models.load_chrombpnet(FOLDER / "bpnet.pt")


def write_changed(path, change, name="bpnet.pt"):
    """Write the arrays of a file of bpnet-lite after a change; return the path."""
    arrays = {key: np.asarray(it) for key, it in sl.record.load(FOLDER / name).items()}
    sl.record.Record(change(arrays)).save(path)
    return path


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("norm.weight", np.ones(3), "has the array norm.weight, which a BPNet lacks"),
        ("fconv.weight", np.ones(75), r"profile.weight must .*, 75\), got \(75,\)"),
        ("fconv.weight", np.ones((2, 2, 75)), r"profile.weight .* got \(2, 2, 75\)"),
        ("fconv.weight", np.ones((2, 5, 25)), r"profile.weight .* got \(2, 5, 25\)"),
        ("iconv.weight", np.ones((3, 4, 15)), "first.weight"),
        ("iconv.weight", np.ones(()), "first.weight"),
        ("linear.scale", np.ones(3), "counts.scale"),
    ],
)
def test_a_file_with_other_layers_is_refused_with_its_path(tmp_path, name, array, message):
    path = write_changed(tmp_path / "a.safetensors", lambda it: it | {name: array})
    with pytest.raises(RecordError, match=rf"a\.safetensors: .*{message}"):
        sl.models.load_bpnet(path)


def test_an_error_in_the_bias_file_has_the_path_of_this_file(tmp_path):
    changes: dict[str, Any] = {
        "good": lambda it: it,
        "bad": lambda it: {key: it[key] for key in it if key != "linear.weight"},
    }
    paths = {
        name: write_changed(tmp_path / f"{name}.safetensors", change)
        for name, change in changes.items()
    }
    for one, other in (("good", "bad"), ("bad", "good")):
        with pytest.raises(RecordError, match=r"bad\.safetensors: has no array for counts"):
            sl.models.load_chrombpnet(paths[one], bias=paths[other])


@pytest.mark.parametrize("group", ["optimizer_weights/Adam/m", "optimizer/vars"])
def test_the_state_of_the_optimiser_is_skipped(tmp_path, group):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "bias.h5"
    path.write_bytes((FOLDER / "bias.h5").read_bytes())
    with h5py.File(path, "a") as file:
        file[f"{group}/bpnet_1st_conv/kernel:0"] = np.ones((21, 4, 3), np.float32)
    found, expected = (
        sl.models.load_bpnet(it).to_record() for it in (path, FOLDER / "bias.h5")
    )
    assert all(np.array_equal(found[key], expected[key]) for key in expected)


def test_control_tracks_of_a_dataset_are_refused_by_chrombpnet():
    arrays = {"inputs": np.zeros((1, 4, 200)), "tracks": np.zeros((1, 1, 100))}
    data: Any = SimpleNamespace(
        batch=lambda _: arrays | {"controls": np.zeros((1, 2, 200))},
        lengths=[200],
        encoder=sl.encode.OneHot("dna"),
    )
    with pytest.raises(ArgumentError, match=r"has 2; open it without controls$"):
        ChromBPNetConfig.for_data(data)


def test_networks_that_do_not_fit_together_are_refused():
    parts = [BPNetConfig(tracks).init("numpy") for tracks in (1, 2)]
    with pytest.raises(
        ArgumentError, match=r"equal tracks .* got tracks 1 and 2, controls"
    ):
        ChromBPNet.of(*parts)
    with pytest.raises(ArgumentError, match="bias trims 557 positions, more than the 77"):
        ChromBPNetConfig(BPNetConfig(1, layers=8), BPNetConfig(1, layers=4))


def test_an_encoder_of_proteins_is_refused():
    with pytest.raises(ArgumentError, match="BPNet reads one-hot DNA"):
        BPNetConfig(1).check_encoder(sl.encode.OneHot("protein"))
