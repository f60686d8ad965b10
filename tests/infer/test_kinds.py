"""Tests of the registry of input kinds."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError
from seqloom.infer import Kind, _kinds, register_kind
from seqloom.infer._kinds import (
    find_encoder_kind,
    find_files_kind,
    find_kind_of_data,
    get_kind,
)

DNA_ENCODER = sl.encode.OneHot("dna")


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Restore the registry of input kinds after the test."""
    monkeypatch.setattr(_kinds, "REGISTERED_KINDS", [])


@pytest.fixture
def files(tmp_path):
    """A path for each input kind that is recognised by its files."""
    sl.io.to_bed(tmp_path / "x.bed", np.array([[0, 1], [2, 1]], np.int8))
    (tmp_path / "x.bed").rename(tmp_path / "no-suffix")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/plan.json").write_text("{}")
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    names = {"genotypes": "no-suffix", "embeddings": "folder", "sequences": "a.fa"}
    return {kind: tmp_path / name for kind, name in names.items()}


def reads(name="reads", **fields):
    """An input kind of files that end in .reads."""

    def recognises(files):
        return all(file.suffix == ".reads" for file in files)

    return Kind(name=name, open=sl.data.SequenceDataset, recognises=recognises, **fields)


def test_input_files_are_recognised_by_their_content(files):
    for name, file in files.items():
        assert find_files_kind([file]).name == name
    assert find_files_kind([files["sequences"]], ["intervals"]).name == "intervals"


def test_the_source_of_a_dataset_has_the_name_of_its_input_type(files):
    parts = {"chrom": ["a"], "start": [0], "stop": [2]}
    made = [
        sl.data.SequenceDataset(files["sequences"]),
        sl.data.IntervalDataset(files["sequences"], parts),
        sl.data.EmbeddingDataset({"x": np.zeros(8)}),
    ]
    assert [data.kind for data in made] == ["sequences", "intervals", "embeddings"]
    assert made[0][:1].kind == "sequences"
    assert all(_kinds.get_kind(data).name == data.kind for data in made)


def test_the_encoder_determines_the_input_type_of_a_model(files):
    register_kind(reads())
    encoder = sl.encode.OneHot("dna")
    assert find_encoder_kind(encoder).name == "sequences"
    assert find_encoder_kind(object()).name == "sequences"
    assert find_encoder_kind(sl.data.GenotypeEncoder()).name == "genotypes"
    # A sequence model does not read genotypes, even if a file looks like genotypes.
    assert find_kind_of_data(encoder, files["genotypes"])[0].name == "sequences"
    kind, paths = find_kind_of_data(encoder, ["a.reads", Path("b.reads")])
    assert (kind.name, paths) == ("reads", [Path("a.reads"), Path("b.reads")])
    assert find_kind_of_data(encoder, ["ACGT", 1])[0].name == "sequences"


def test_the_input_format_that_was_registered_last_is_checked_first():
    register_kind(reads("first"))
    register_kind(reads("second"))
    assert find_files_kind([Path("a.reads")]).name == "second"
    register_kind(reads("second", noun="reads"))
    assert find_files_kind([Path("a.reads")]).noun == "reads"


def test_an_input_format_that_replaces_another_is_checked_first():
    for name in ("first", "second", "first"):
        register_kind(reads(name))
    assert find_files_kind([Path("a.reads")]).name == "first"
    assert [*_kinds.find_kinds()][-2:] == ["second", "first"]


def test_the_default_input_format_is_checked_last():
    register_kind(reads("first"))
    register_kind(reads("sequences", files="own"))
    assert find_files_kind([Path("a.reads")]).name == "first"
    assert find_encoder_kind(DNA_ENCODER) is find_files_kind([Path("a.fa")])
    assert find_encoder_kind(DNA_ENCODER).files == "own"


def test_an_empty_list_of_files_counts_as_sequences():
    register_kind(reads())
    assert (
        find_kind_of_data(DNA_ENCODER, [])[0].name
        == find_files_kind([]).name
        == "sequences"
    )


def test_no_alphabet_is_reported_for_files_without_records():
    def open_none(_, **__):
        return sl.data.SequenceDataset(["ACGT"])[:0]

    kind = Kind(name="none", open=open_none, recognises=lambda _: True)
    with pytest.raises(
        ArgumentError, match=r"^x\.none, y\.none: no records, so the alphabet"
    ):
        kind.guess_alphabet([Path("x.none"), Path("y.none")], {})


def test_the_file_list_of_a_genotype_input_has_bed_bim_and_fam(files):
    file = files["genotypes"]
    listed = find_files_kind([file]).list_files([file])
    assert listed == [file, file.with_suffix(".bim"), file.with_suffix(".fam")]


SOURCE_OF_FORMAT_PLUGIN = """
import seqloom as sl
WAVE = sl.infer.Kind(
    name="wave", open=sl.data.SequenceDataset, files="waves", options=frozenset({"rate"}),
    recognises=lambda files: all(file.suffix == ".wave" for file in files),
)
"""


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Install the package wave-format for one test; its input kind is not loaded yet."""

    def write(text=SOURCE_OF_FORMAT_PLUGIN, entry="wave = wave_format:WAVE"):
        facts = tmp_path / "site/wave_format-1.dist-info"
        facts.mkdir(parents=True, exist_ok=True)
        (facts / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: wave-format\nVersion: 1\n"
        )
        (facts / "entry_points.txt").write_text(f"[seqloom.kinds]\n{entry}\n")
        (facts.parent / "wave_format.py").write_text(text)
        sys.modules.pop("wave_format", None)
        monkeypatch.syspath_prepend(facts.parent)
        _kinds.find_installed_kinds.cache_clear()

    yield write
    sys.modules.pop("wave_format", None)
    _kinds.find_installed_kinds.cache_clear()


def find_of_dataset():
    data = sl.data.SequenceDataset(["ACGT"])
    data.kind = "wave"
    return get_kind(data)


@pytest.mark.parametrize(
    "find",
    [
        lambda: find_files_kind([Path("x.wave")]),
        lambda: find_kind_of_data(DNA_ENCODER, "x.wave")[0],
        find_of_dataset,
    ],
    ids=["files", "data", "dataset"],
)
def test_an_input_format_of_an_installed_package_is_found(install, find):
    install()
    assert find().name == "wave"


def test_options_of_a_format_plugin_are_checked(install):
    sequences = find_encoder_kind(DNA_ENCODER)
    install()
    with pytest.raises(ArgumentError, match=r"^--rate: only for waves, but FILES are seq"):
        sequences.check_options([Path("a.fa")], {"rate": 1})


@pytest.mark.parametrize(
    ("text", "entry", "reason"),
    [
        ("import missing_module", "wave = wave_format:WAVE", "No module named 'missing_mo"),
        (
            SOURCE_OF_FORMAT_PLUGIN,
            "wave = wave_format:WAVES",
            "module 'wave_format' has no attribute 'WAV",
        ),
        ("WAVE = 5", "wave = wave_format:WAVE", "kind must be a seqloom.infer.Kind, got 5"),
    ],
)
def test_the_error_for_a_broken_format_plugin_names_its_package(
    install, text, entry, reason
):
    install(text, entry)
    for _ in range(2):
        with pytest.raises(ArgumentError) as error:
            find_files_kind([Path("a.fa")])
        assert str(error.value).startswith(
            "the kind of input 'wave' of the package wave-format cannot be loaded from "
            f"its entry point {entry[7:]}: {reason}"
        )
        assert error.value.__cause__ is not None
    install()
    assert find_files_kind([Path("x.wave")]).name == "wave"


def test_a_registered_format_replaces_that_of_a_package(install):
    install()
    register_kind(reads("wave"))
    assert find_files_kind([Path("a.reads")]).name == "wave"
    assert find_files_kind([Path("a.wave")]).name == "sequences"


def test_a_registered_format_is_checked_before_that_of_a_package(install):
    install()
    register_kind(Kind(name="all", open=sl.data.SequenceDataset, recognises=lambda _: True))
    assert find_files_kind([Path("a.wave")]).name == "all"


def test_registering_an_object_that_is_not_a_kind_is_an_error():
    with pytest.raises(ArgumentError, match=r"must be a seqloom\.infer\.Kind, got 'reads'"):
        register_kind("reads")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("sequences", "length", "--length: only with --intervals BED"),
        ("sequences", "covariates", "--covariates: only for genotypes (a PLINK .bed), but"),
        ("genotypes", "rna_as_dna", "--rna-as-dna: only for sequences, but FILES are geno"),
        ("embeddings", "ids", "--ids: only for sequences, but FILES are a folder of emb"),
        ("intervals", "ids", "--ids: not with --intervals: clean the genome first"),
    ],
)
def test_an_option_of_another_input_format_is_an_error(files, name, option, message):
    kind = _kinds.find_kinds()[name]
    file = files.get(name, files["sequences"])
    chosen = {kind.by_option: ["p.bed"]} if kind.by_option else {}
    kind.check_options([file], {**chosen, "epochs": 1})
    with pytest.raises(ArgumentError) as error:
        kind.check_options([file], {**chosen, option: 1, "epochs": 1})
    assert message in str(error.value)


def test_scoring_embeddings_with_a_sequence_model_is_an_error():
    kind = _kinds.find_kinds()["embeddings"]
    with pytest.raises(ArgumentError, match=r"^m: the model reads sequences, but FILES"):
        kind.check_model("m", sl.encode.OneHot("dna"))
    kind.check_model("m", sl.data.EmbeddingEncoder(width=8))


@pytest.fixture
def beads(monkeypatch, tmp_path):
    """The file format of the example in the documentation, with a file and its labels."""
    home = Path(__file__).parents[2] / "examples"
    monkeypatch.syspath_prepend(home)
    module = importlib.import_module("custom_format")
    register_kind(module.BEADS)
    rng = np.random.default_rng(0)
    lines, rows = ["beads 1"], ["id\tlabel"]
    for number in range(120):
        letters = "".join(rng.choice([*("ACGT" if number % 2 else "AACGTT")], 24))
        lines.append(f"r{number} {'-'.join(letters[i : i + 4] for i in range(0, 24, 4))}")
        rows.append(f"r{number}\t{'even' if number % 2 else 'rich'}")
    (tmp_path / "a.beads").write_text("\n".join(lines) + "\n")
    (tmp_path / "a.tsv").write_text("\n".join(rows) + "\n")
    fasta = [f">{it.split()[0]}\n{it.split()[1].replace('-', '')}\n" for it in lines[1:]]
    (tmp_path / "a.fa").write_text("".join(fasta))
    return tmp_path


def test_a_custom_format_can_be_trained_on_and_scored(beads):
    data = find_files_kind([beads / "a.beads"]).open(
        [beads / "a.beads"], labels=beads / "a.tsv", encoder=DNA_ENCODER
    )
    usual = sl.data.SequenceDataset(
        beads / "a.fa", labels=beads / "a.tsv", encoder=DNA_ENCODER
    )
    config = sl.models.SequenceCNNConfig.for_data(data)
    run, other = (
        sl.train.fit(config, train, epochs=1, out=beads / name)
        for name, train in (("beads", data), ("fasta", usual))
    )
    scores = sl.infer.predict(beads / "beads", beads / "a.beads")
    assert scores.ids == usual.ids
    # FASTA with the same records results in exactly the same scores.
    np.testing.assert_array_equal(scores, sl.infer.predict(other, beads / "a.fa"))
    assert sl.infer.evaluate(run, data)["n"] == len(usual)
