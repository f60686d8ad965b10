"""Specification 2: PLINK files become arrays and batches.

Deviation from the specification: the native functions of ``bed_reader`` are not
included; the module ``compat.bed_reader`` lists them.
"""

import os

import bed_reader
import numpy as np
import pytest

import seqloom as sl
from genotype_oracle import assert_equal_in_float32, standardised
from plink19 import is_printed, needs_plink, run, table
from seqloom.errors import SeqloomError
from seqloom.io import create_bed, open_bed, to_bed

RNG = np.random.default_rng(3)
GENOTYPES = RNG.integers(0, 3, (13, 70)).astype("int8")
GENOTYPES[RNG.random(GENOTYPES.shape) < 0.1] = -127
GENOTYPES_WITH_NAN = np.where(GENOTYPES == -127, np.nan, GENOTYPES.astype(float))
BED_PROPERTIES = {
    "iid": [f"s{i}" for i in range(13)],
    "pheno": [f"{i / 10}" for i in range(13)],
    "sid": [f"rs{i}" for i in range(70)],
    "allele_1": ["A"] * 70,
    "allele_2": ["C"] * 70,
}


@pytest.fixture(params=["SNP", "individual"])
def bed(tmp_path, request):
    path = tmp_path / "a.bed"
    bed_reader.to_bed(path, GENOTYPES, properties=BED_PROPERTIES, major=request.param)
    return path


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_dtype_and_order_reads_the_values_of_bed_reader(bed, dtype, order):
    found = open_bed(bed).read(dtype=dtype, order=order)
    with bed_reader.open_bed(bed) as theirs:
        expected = theirs.read(dtype=dtype, order=order)
    np.testing.assert_array_equal(found, expected)
    assert found.flags["C_CONTIGUOUS" if order == "C" else "F_CONTIGUOUS"]


@pytest.mark.parametrize(
    "index",
    [
        None,
        5,
        -2,
        slice(3, 40, 7),
        [4, 4, -1],
        np.arange(70) % 3 == 0,
        np.s_[2, :],
        np.s_[[1, 0], 4:9],
        (None, np.array([5, 3])),
    ],
    ids=str,
)
def test_every_type_of_index_reads_the_values_of_bed_reader(bed, index):
    with bed_reader.open_bed(bed) as theirs:
        expected = theirs.read(index)
    np.testing.assert_array_equal(open_bed(bed).read(index), expected)


def test_a_missing_genotype_is_minus_127_in_int8_and_nan_in_floats(bed):
    is_missing = GENOTYPES == -127
    assert np.array_equal(open_bed(bed).read(dtype="int8") == -127, is_missing)
    assert np.array_equal(np.isnan(open_bed(bed).read()), is_missing)


def test_count_a1_false_counts_the_other_allele(bed):
    found = open_bed(bed, count_A1=False).read()
    np.testing.assert_array_equal(found, 2 - GENOTYPES_WITH_NAN)


def test_the_out_array_receives_the_genotypes(bed):
    out = np.empty((13, 70), np.float32, order="F")
    assert open_bed(bed).read(out=out) is out
    np.testing.assert_array_equal(out, GENOTYPES_WITH_NAN)


@pytest.mark.parametrize("form", ["csc", "csr"])
def test_a_sparse_read_equals_a_dense_read(bed, form):
    found = open_bed(bed).read_sparse(np.s_[:, :9], format=form).toarray()
    np.testing.assert_array_equal(found, open_bed(bed).read(np.s_[:, :9]))


def test_the_twelve_properties_of_a_bed_can_be_read_replaced_or_hidden(bed):
    ours = open_bed(bed)
    with bed_reader.open_bed(bed) as theirs:
        for name in ("fid", "iid", "father", "mother", "sex", "pheno"):
            assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()
        for name in (
            "chromosome",
            "sid",
            "cm_position",
            "bp_position",
            "allele_1",
            "allele_2",
        ):
            assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()
    assert open_bed(bed, properties={"sid": None}).sid is None
    own = [f"v{i}" for i in range(70)]
    assert open_bed(bed, properties={"sid": own}).sid.tolist() == own


def test_genotype_files_can_be_written_at_once_or_line_by_line(tmp_path):
    to_bed(tmp_path / "whole.bed", GENOTYPES, properties=BED_PROPERTIES)
    with create_bed(tmp_path / "stream.bed", 13, 70, properties=BED_PROPERTIES) as writer:
        for column in GENOTYPES.T:
            writer.write(column)
    for suffix in ("bed", "fam", "bim"):
        assert (tmp_path / f"whole.{suffix}").read_bytes() == (
            tmp_path / f"stream.{suffix}"
        ).read_bytes()
    with bed_reader.open_bed(tmp_path / "whole.bed") as theirs:
        np.testing.assert_array_equal(theirs.read(dtype="int8"), GENOTYPES)


def test_a_failed_line_by_line_write_leaves_the_old_genotype_files(tmp_path):
    to_bed(tmp_path / "a.bed", GENOTYPES, properties=BED_PROPERTIES)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="70"):  # noqa: SIM117 - the writer ends inside
        with create_bed(tmp_path / "a.bed", 13, 70, properties=BED_PROPERTIES) as writer:
            writer.write(GENOTYPES[:, 0])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_seqloom_compat_has_the_functions_of_bed_reader(bed):
    import seqloom.compat.bed_reader as ours

    with ours.open_bed(bed) as opened:
        np.testing.assert_array_equal(opened.read(dtype="int8"), GENOTYPES)
    names = ("to_bed", "create_bed", "get_num_threads", "sample_file", "subset_f64_f64")
    assert all(callable(getattr(ours, name)) for name in names)


@needs_plink
def test_counts_frequencies_and_p_values_equal_those_of_plink(tmp_path):
    to_bed(tmp_path / "a.bed", GENOTYPES, properties=BED_PROPERTIES)
    stats = sl.io.genotype_stats(tmp_path / "a.bed")
    out = run(tmp_path / "a.bed", tmp_path / "p", "--freq", "--hardy")
    frequencies, hardy = table(out, "frq")["MAF"], table(out, "hwe")
    p = hardy["P"][hardy["TEST"] == "ALL(NP)"] if "ALL(NP)" in hardy["TEST"] else hardy["P"]
    assert all(map(is_printed, stats.allele_frequency.tolist(), frequencies))
    assert all(map(is_printed, stats.hardy_p.tolist(), p))


@pytest.mark.parametrize("by", ["sample", "variant"])
def test_a_dataset_standardises_genotypes_with_the_formula(bed, by):
    data = sl.data.GenotypeDataset(bed, by=by)
    items = np.stack([item["inputs"] for item in data])
    expected = standardised(GENOTYPES_WITH_NAN)
    assert_equal_in_float32(items, expected if by == "sample" else expected.T)


def test_imputation_uses_only_training_samples(bed):
    train, valid = sl.data.split(sl.data.GenotypeDataset(bed), (0.5, 0.5), seed=0)
    expected = standardised(
        GENOTYPES_WITH_NAN[valid.indices], GENOTYPES_WITH_NAN[train.indices]
    )
    items = np.stack([item["inputs"] for item in valid])
    assert_equal_in_float32(items, expected)


def test_phenotypes_are_joined_by_id_and_a_missing_phenotype_is_an_error(bed):
    table = {f"s{i}": float(i) for i in reversed(range(13))}
    data = sl.data.GenotypeDataset(bed, table)
    assert [item["label"] for item in data] == list(range(13))
    del table["s4"]
    with pytest.raises(SeqloomError, match="s4"):
        sl.data.GenotypeDataset(bed, table)


def test_an_ambiguous_case_coding_is_an_error_that_names_the_option(bed):
    table = {f"s{i}": [0, 1, 2][i % 3] for i in range(13)}
    with pytest.raises(SeqloomError, match="coding"):
        sl.data.GenotypeDataset(bed, sl.data.Labels(table, task="classify"))


def test_a_header_line_in_a_fam_file_is_an_error(bed):
    fam = bed.with_suffix(".fam")
    fam.write_text("FID IID PAT MAT SEX PHENOTYPE\n" + fam.read_text())
    with pytest.raises(SeqloomError, match="header"):
        _ = open_bed(bed).iid


@pytest.mark.parametrize("change", [-1, 1])
def test_a_truncated_or_extended_bed_is_an_error(bed, change):
    content = bed.read_bytes()
    bed.write_bytes(content[:-1] if change < 0 else content + b"\0")
    with pytest.raises(ValueError, match=r"a\.bed"):
        open_bed(bed).read()


@pytest.mark.parametrize("bit", range(16))
def test_a_flipped_bit_of_the_magic_number_is_an_error(bed, bit):
    content = bytearray(bed.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    bed.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.bed"):
        open_bed(bed).read()


@pytest.mark.parametrize("index", [70, -71, np.s_[13, 0]], ids=str)
def test_an_index_out_of_range_is_an_index_error(bed, index):
    with pytest.raises(IndexError):
        open_bed(bed).read(index)


def test_the_number_of_threads_is_an_argument_or_an_environment_variable(monkeypatch):
    from seqloom.compat.bed_reader import get_num_threads

    monkeypatch.setenv("PST_NUM_THREADS", "3")
    assert get_num_threads() == 3
    assert get_num_threads(2) == 2
    monkeypatch.delenv("PST_NUM_THREADS")
    assert 1 <= get_num_threads() <= (os.cpu_count() or 1)


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.bed"):
        open_bed(tmp_path / "none.bed")


def test_genotypes_have_the_same_bits_for_any_number_of_workers(bed):
    data = sl.data.GenotypeDataset(bed)
    alone = sl.data.DataLoader(data, 4, shuffle=True)
    together = sl.data.DataLoader(data, 4, shuffle=True, num_workers=2)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_equal(one, other)


def test_a_constant_variant_is_encoded_as_zero(tmp_path):
    values = GENOTYPES.copy()
    values[:, 7] = 2
    to_bed(tmp_path / "a.bed", values, properties=BED_PROPERTIES)
    data = sl.data.GenotypeDataset(tmp_path / "a.bed")
    assert all(item["inputs"][7] == 0 for item in data)


def test_a_file_url_reads_the_same_values_as_the_path(bed):
    np.testing.assert_array_equal(open_bed(bed.as_uri()).read(), GENOTYPES_WITH_NAN)


def test_variants_are_selected_by_id_in_the_given_order(bed):
    data = sl.data.GenotypeDataset(
        bed, variants=["rs7", "rs3"], impute=None, standardize=None
    )
    items = np.stack([item["inputs"] for item in data])
    np.testing.assert_array_equal(items, GENOTYPES_WITH_NAN[:, [7, 3]])


def test_beta_density_weights_scale_variants_with_the_formula(bed):
    data = sl.data.GenotypeDataset(bed, standardize=("beta", 1, 25))
    items = np.stack([item["inputs"] for item in data])
    assert_equal_in_float32(items, standardised(GENOTYPES_WITH_NAN, how=("beta", 1, 25)))


def test_a_model_matches_its_variants_by_id(tmp_path, bed):
    traits = {f"s{i}": float(i) for i in range(13)}
    data = sl.data.GenotypeDataset(bed, traits)
    run = sl.train.fit(
        sl.models.GenotypeMLPConfig.for_data(data), data, epochs=1, progress=False
    )
    order = RNG.permutation(70)
    shuffled = {name: np.asarray(values)[order] for name, values in BED_PROPERTIES.items()
                if len(values) == 70}  # fmt: skip
    to_bed(
        tmp_path / "b.bed", GENOTYPES[:, order], properties={**BED_PROPERTIES, **shuffled}
    )
    ours = sl.infer.predict(run, bed).to_numpy()
    np.testing.assert_array_equal(
        sl.infer.predict(run, tmp_path / "b.bed").to_numpy(), ours
    )


def test_an_unknown_sex_and_a_byte_order_mark_are_not_errors(bed):
    fam = bed.with_suffix(".fam")
    fam.write_bytes(b"\xef\xbb\xbf" + fam.read_bytes())
    assert open_bed(bed).iid[0] == "s0"


def test_a_genotype_dataset_can_be_pickled(bed):
    import pickle

    data = sl.data.GenotypeDataset(bed)
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 - written here
    np.testing.assert_array_equal(again[3]["inputs"], data[3]["inputs"])
