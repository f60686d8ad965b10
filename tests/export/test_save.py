"""The files that sl.export.save writes, and the scores computed from these files."""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import seqloom as sl
from exported import Run, batch_of, graph, manifest, operations
from seqloom._rust import _native
from seqloom.errors import ArgumentError, ExportError, FileError, RunFolderError
from seqloom.infer._forward import Forward
from seqloom.models._examples import find_input_settings

DEMO_GENOTYPES = Path(sl.__file__).parent / "_demo/genotypes"
DNA_ENCODER = sl.encode.OneHot("dna")
TWO_CLASSES = sl.models.Classify(("no", "yes"))
SEQUENCES = ["ACGTACGTAC", "GGCATTACGGATTACA", "ACGTTGCAAC", "TTTTACGTNN"]


def scrambled(config, seed=0):
    """A network in evaluation mode with random weights and statistics."""
    model, rng = config.init("numpy").eval(), np.random.default_rng(seed)
    drawn = {
        path: rng.uniform(0.1, 1, size=each.shape).astype("f4")
        for path, each in model.to_record().items()
        if each.dtype.kind == "f"
    }
    return model.load_record(drawn, strict=False)


def cnn(**options: Any):
    options = {"channels": 4, "outputs": 2, **options}
    return scrambled(sl.models.SequenceCNNConfig(**options))


def expected(model, batch, encoder):
    """Return the result of the evaluation loop for a batch."""
    return Forward.of(model)(model, batch, encoder=encoder).numpy()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "model.seqloom"


def test_an_export_contains_the_documented_files_and_facts(place):
    sl.export.save(cnn(), place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    facts = manifest(place)
    assert {it.name for it in place.iterdir()} == {"export.json", *facts["files"]}
    assert facts["task"] == {"name": "classify", "columns": ["no", "yes"]}
    wanted = {"layout": "padded", "length": None, "batch_size": 256, "pool": None}
    assert {name: facts[name] for name in wanted} == wanted


def test_the_manifest_of_an_export_contains_hashes_of_all_files(place):
    sl.export.save(cnn(), place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    facts = manifest(place)
    for name, digest in facts["files"].items():
        assert hashlib.sha256((place / name).read_bytes()).hexdigest() == digest
    text = (place / "export.json").read_text()
    bare = text.replace(facts["checksum"], "0" * 64)
    assert hashlib.sha256(bare.encode()).hexdigest() == facts["checksum"]


def test_exported_weights_have_the_names_and_values_of_the_model(place):
    model = cnn()
    sl.export.save(model, place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    found, record = load_file(place / "model.safetensors"), model.to_record()
    counts = {it for it in record if it.endswith("num_batches_tracked")}
    assert found.keys() == record.keys() - counts
    assert all(found[it].tobytes() == np.asarray(record[it]).tobytes() for it in found)


def test_an_export_scores_a_padded_batch_bitwise_like_predict(place):
    model = cnn()
    sl.export.save(model, place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    batch = batch_of(DNA_ENCODER, SEQUENCES)
    assert Run(place)(batch).tobytes() == expected(model, batch, DNA_ENCODER).tobytes()


def test_an_export_scores_an_unpadded_batch_bitwise_like_predict(place):
    model = cnn()
    sl.export.save(model, place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    batch = batch_of(DNA_ENCODER, SEQUENCES[::2])
    del batch["mask"]
    found = Run(place, "graph-unpadded.json")(batch)
    assert found.tobytes() == expected(model, batch, DNA_ENCODER).tobytes()


def test_a_network_of_fixed_length_has_one_graph_without_a_mask(place):
    model = cnn(length=10)
    sl.export.save(model, place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    assert [it["name"] for it in graph(place)["inputs"]] == ["inputs"]
    assert graph(place)["inputs"][0]["shape"] == ["batch", 4, 10]
    assert not (place / "graph-unpadded.json").exists()
    assert manifest(place)["length"] == 10
    batch = batch_of(DNA_ENCODER, SEQUENCES[::2])
    del batch["mask"]
    assert Run(place)(batch).tobytes() == expected(model, batch, DNA_ENCODER).tobytes()


@pytest.mark.parametrize(
    "encoder",
    [
        sl.encode.Integer("dna"),
        sl.encode.Tokens("dna"),
        sl.encode.Kmer(3),
        sl.encode.Kmer(2, counts=True),
        sl.encode.OneHot("dna", dtype="uint8"),
    ],
    ids=str,
)
def test_every_sequence_encoder_can_be_exported(place, encoder):
    reading: Any = find_input_settings(encoder)
    reading["length"] = 1 if reading["inputs"] == "counts" else None
    model = scrambled(sl.models.SequenceCNNConfig(outputs=2, **reading))
    sl.export.save(model, place, encoder=encoder, task=TWO_CLASSES)
    lengths = encoder.places([len(it) for it in SEQUENCES])
    longest = int(lengths.max())
    inputs = encoder.batch(SEQUENCES, length=longest)
    batch = {"inputs": inputs, "lengths": lengths}
    mask = (np.arange(longest) < lengths[:, None]).astype("f4")
    batch |= {} if mask.all() else {"mask": mask}
    run = Run(place)
    kind = run.graph["inputs"][0]["dtype"]
    assert json.loads((place / "encoder.json").read_text())["kernel"]["dtype"] == kind
    found = run({**batch, "inputs": inputs.astype(kind)})
    assert found.tobytes() == expected(model, batch, encoder).tobytes()


def genotype_run(tmp_path):
    data = sl.data.GenotypeDataset(
        DEMO_GENOTYPES / "example.bed", DEMO_GENOTYPES / "trait.txt"
    )
    config = sl.models.GenotypeMLPConfig.for_data(data)
    return sl.train.fit(config, data, epochs=2, out=tmp_path / "run")


def test_an_exported_genotype_model_is_bitwise_equal_to_predict(tmp_path, place):
    run = genotype_run(tmp_path)
    sl.export.save(tmp_path / "run", place)
    trained = sl.models.load(tmp_path / "run")
    x = np.random.default_rng(0).normal(size=(5, len(trained.encoder.variants)))
    batch = {"inputs": x.astype("f4")}
    found = Run(place)(batch)
    assert found.tobytes() == expected(run.trained.model, batch, None).tobytes()
    facts = manifest(place)
    assert facts["task"]["name"] == "regress"
    assert facts["task"]["mean"] == [*trained.task.to_dict()["mean"]]
    assert facts["batch_size"] == trained.batch_size


def test_exported_tables_map_genotype_codes_to_the_inputs_of_the_model(tmp_path, place):
    genotype_run(tmp_path)
    sl.export.save(tmp_path / "run", place)
    encoder = sl.models.load(tmp_path / "run").encoder
    arrays = load_file(place / "encoder.safetensors")
    codes = np.random.default_rng(0).integers(0, 255, (3, -(-len(encoder.variants) // 4)))
    wanted = encoder.decode(codes.astype("u1"))
    found = encoder.decode(codes.astype("u1"), tables=arrays["tables"])
    assert found.tobytes() == wanted.tobytes()
    ids, ends = arrays["id_text"].tobytes(), arrays["id_ends"]
    assert ids[ends[0] : ends[1]].decode() == encoder.variants.ids[0]


def test_an_exported_zip_contains_the_files_uncompressed(tmp_path, place):
    sl.export.save(cnn(), place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    sl.export.save(cnn(), tmp_path / "model.zip", encoder=DNA_ENCODER, task=TWO_CLASSES)
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        entries = archive.infolist()
        assert {it.filename for it in entries} == {it.name for it in place.iterdir()}
        assert all(it.compress_type == zipfile.ZIP_STORED for it in entries)
        assert all(archive.read(it) == (place / it.filename).read_bytes() for it in entries)


def test_exporting_a_model_twice_gives_the_same_bytes(tmp_path):
    for name in ("one.zip", "two.zip"):
        sl.export.save(cnn(), tmp_path / name, encoder=DNA_ENCODER, task=TWO_CLASSES)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_an_export_stores_tied_weights_once(place):
    class Tied(sl.nn.Module):
        one: sl.nn.Linear
        two: sl.nn.Linear

        def __init__(self):
            self.one, self.two = sl.nn.Linear(4, 4), sl.nn.Linear(4, 4)
            self.two.weight = self.one.weight

        def __call__(self, x):
            return self.two(self.one(x))

    model = Tied().bind("numpy", sl.Key(0))
    sl.export.save(model, place, inputs=("batch", 4))
    assert set(load_file(place / "model.safetensors")) == {
        "one.weight",
        "one.bias",
        "two.bias",
    }


def test_exporting_does_not_change_the_network(place):
    model = cnn().train()
    before = {path: np.array(it) for path, it in model.to_record().items()}
    sl.export.save(model, place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    assert model.training
    after = model.to_record()
    assert all(before[it].tobytes() == np.asarray(after[it]).tobytes() for it in before)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_exporting_a_network_does_not_change_its_backend(place, backend):
    pytest.importorskip(backend)
    model = cnn(length=10)
    there = cnn(length=10).to(backend)
    sl.export.save(there, place, encoder=DNA_ENCODER, task=TWO_CLASSES)
    assert there.backend.name == backend
    batch = batch_of(DNA_ENCODER, SEQUENCES[::2])
    del batch["mask"]
    assert Run(place)(batch).tobytes() == expected(model, batch, DNA_ENCODER).tobytes()


def test_exporting_into_a_folder_with_other_files_is_an_error(place):
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="not an export"):
        sl.export.save(cnn(), place, encoder=DNA_ENCODER, overwrite=True)
    assert (place / "notes.txt").read_text() == "mine"


def test_an_export_is_replaced_only_with_overwrite(place):
    sl.export.save(cnn(), place, encoder=DNA_ENCODER)
    with pytest.raises(RunFolderError, match="overwrite"):
        sl.export.save(cnn(), place, encoder=DNA_ENCODER)
    sl.export.save(cnn(length=10), place, encoder=DNA_ENCODER, overwrite=True)
    assert not (place / "graph-unpadded.json").exists()
    assert [it.name for it in place.parent.iterdir()] == [place.name]


def test_an_exported_zip_is_replaced_only_with_overwrite(tmp_path):
    path = tmp_path / "model.zip"
    sl.export.save(cnn(), path, encoder=DNA_ENCODER)
    with pytest.raises(RunFolderError, match="overwrite"):
        sl.export.save(cnn(), path, encoder=DNA_ENCODER)
    sl.export.save(cnn(), path, encoder=DNA_ENCODER, overwrite=True)


def test_exporting_a_folder_to_the_path_of_a_file_is_an_error(place):
    place.write_text("mine")
    with pytest.raises(FileError, match="is a file"):
        sl.export.save(cnn(), place, encoder=DNA_ENCODER)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_exporting_into_a_read_only_folder_is_an_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="cannot be written"):
        sl.export.save(cnn(), tmp_path / "model", encoder=DNA_ENCODER)


def test_exporting_a_module_without_encoder_needs_input_shapes(place):
    with pytest.raises(ArgumentError, match="inputs="):
        sl.export.save(cnn(), place)


def test_exporting_a_trained_model_with_another_encoder_is_an_error(place):
    trained = sl.models.Trained(cnn(), DNA_ENCODER, TWO_CLASSES, 256)
    with pytest.raises(ArgumentError, match="omit encoder and task"):
        sl.export.save(trained, place, encoder=DNA_ENCODER)
    with pytest.raises(ExportError, match="not from sl"):
        sl.export.save(cnn(), place, encoder=lambda letters: letters)


def test_an_exported_graph_names_operations_and_source_lines(place):
    sl.export.save(cnn(), place, encoder=DNA_ENCODER)
    assert operations(place)[0] == "conv1d"
    assert graph(place)["operations"][0]["line"].startswith("_sequence_layers.py:")


def test_exported_weight_names_start_at_the_exported_network(place):
    class Outer(sl.nn.Module):
        inner: sl.nn.Linear

        def __init__(self, inner):
            self.inner = inner

        def __call__(self, x):
            return self.inner(x) * 2

    inner = sl.nn.Linear(4, 2).bind("numpy", sl.Key(0))
    sl.export.save(Outer(inner), place, inputs=("batch", 4))
    assert set(load_file(place / "model.safetensors")) == {"inner.weight", "inner.bias"}


class Scales(sl.nn.Module):
    constants: list[sl.nn.Param]

    def __init__(self):
        self.constants = [sl.nn.Param((3,), sl.nn.Fill(2.0))]

    def __call__(self, x):
        return x * np.full(3, 5, "f4") * self.constants[0].value


def test_an_exported_weight_may_have_the_name_of_a_constant(place):
    sl.export.save(Scales().bind("numpy", sl.Key(0)).eval(), place, inputs=("batch", 3))
    found = Run(place)({"inputs": np.ones((1, 3), "f4")}, batch=1)
    np.testing.assert_array_equal(found, np.full((1, 3), 10))


def test_an_exported_embedding_model_reads_arrays(tmp_path):
    rng = np.random.default_rng(0)
    rows = {f"r{number}": rng.normal(size=6).astype("f4") for number in range(8)}
    labels = {name: "ab"[number % 2] for number, name in enumerate(rows)}
    data = sl.data.EmbeddingDataset(rows, labels=labels)
    run = sl.train.fit(sl.models.HeadConfig.for_data(data), data, epochs=1)
    sl.export.save(run, tmp_path / "model")
    model = _native.ExportedModel(str(tmp_path / "model"))
    x = np.stack(list(rows.values()))
    (found,) = model.run({"inputs": x}, 1)
    network: Any = run.trained.model
    wanted = network.logits(network.backend.tensor(x)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert manifest(tmp_path / "model")["task"]["columns"] == ["a", "b"]
