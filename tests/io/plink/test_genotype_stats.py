import copy
import os
from pathlib import Path

import bed_reader
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from plink19 import is_printed, needs_plink, run, table
from seqloom.errors import ArgumentError, FormatError, OutOfRangeError
from seqloom.io import genotype_stats, open_bed

PLINK_DATA_FOLDER = Path(os.environ.get("SEQLOOM_DATA", "none")) / "plink"
PLINK_SETS = sorted(
    path
    for path in PLINK_DATA_FOLDER.glob("*.bed")
    if all(path.with_suffix(suffix).is_file() for suffix in (".fam", ".bim"))
)
CHROMOSOME_NAMES = ("0", "1", "22", "X", "Y", "XY", "MT")


def write_set(path, values, *, major="SNP", **properties):
    """Write a PLINK set with bed_reader."""
    bed_reader.to_bed(path, np.asarray(values, "int8"), properties=properties, major=major)
    return path


def draw_values(rng, shape, missing=0.1):
    """Generate genotypes of variants with different frequencies."""
    values = rng.binomial(2, rng.uniform(0, 1, shape[1]), shape).astype("int8")
    values[rng.random(shape) < missing] = -127
    return values


def draw_set(path, rng, *, individuals=61, each=20, names=CHROMOSOME_NAMES, major="SNP"):
    """Write a random set with every sex, families, and variants on every chromosome."""
    chromosome = np.repeat(names, each)
    return write_set(
        path,
        draw_values(rng, (individuals, len(chromosome))),
        major=major,
        sex=rng.choice([0, 1, 2], individuals),
        father=rng.choice(["0", "p"], individuals, p=[0.8, 0.2]),
        mother=rng.choice(["0", "m"], individuals, p=[0.8, 0.2]),
        pheno=rng.choice(["-9", "1", "2"], individuals),
        chromosome=chromosome,
        bp_position=np.arange(len(chromosome)),
        allele_1=["A"] * len(chromosome),
        allele_2=["C"] * len(chromosome),
    )


def rows_of(stats):
    """Return the chromosome of each variant."""
    return {sid: number for number, sid in enumerate(stats.sid)}


def check_like_plink(bed, out, *, nonfounders=False):
    """Compare all statistics that PLINK also prints."""
    everybody = ("--nonfounders",) if nonfounders else ()
    run(bed, out, "--freq", "--hardy", *everybody)
    run(bed, f"{out}.counts", "--freq", "counts", *everybody)
    run(bed, f"{out}.x", "--freqx", "--nonfounders")
    stats = genotype_stats(bed, nonfounders=nonfounders, num_threads=2)
    at = rows_of(stats)
    check_frequencies(stats, at, table(out, "frq"), table(f"{out}.counts", "frq.counts"))
    check_hardy(stats, at, table(out, "hwe"))
    check_genotypes(stats, at, table(f"{out}.x", "frqx"))


def check_frequencies(stats, at, frequencies, counts):
    """Compare the frequency of A1, and the number of alleles."""
    rows = [at[sid] for sid in frequencies["SNP"]]
    assert sorted(rows) == list(range(len(at)))
    assert [str(n) for n in stats.alleles[rows]] == list(frequencies["NCHROBS"])
    for row, text in zip(rows, frequencies["MAF"], strict=True):
        assert is_printed(stats.allele_frequency[row], text.replace("NA", "nan"))
    rows = [at[sid] for sid in counts["SNP"]]
    a1 = np.nan_to_num(stats.allele_frequency[rows] * stats.alleles[rows])
    assert [f"{n:.0f}" for n in a1] == list(counts["C1"])


def check_hardy(stats, at, tests):
    """Compare the p-values in the lines ALL (cases and controls together)."""
    is_all = np.char.startswith(tests["TEST"].astype(str), "ALL")
    for sid, text in zip(tests["SNP"][is_all], tests["P"][is_all], strict=True):
        assert is_printed(stats.hardy_p[at[sid]], text)


def check_genotypes(stats, at, counts):
    """Compare genotype counts on chromosomes with two copies."""
    names = {"hom_a1": "HOM A1", "het": "HET", "hom_a2": "HOM A2"}
    rows = np.array([at[sid] for sid in counts["SNP"]], int)
    is_two = ~np.isin(counts["CHR"], ["23", "24"])
    for name, heading in (*names.items(), ("missing", "MISSING")):
        found = getattr(stats, name)[rows[is_two]]
        assert [str(n) for n in found] == list(counts[f"C({heading})"][is_two])


@needs_plink
@pytest.mark.skipif(not PLINK_SETS, reason="SEQLOOM_DATA has no PLINK sets")
@pytest.mark.parametrize("bed", PLINK_SETS, ids=lambda path: path.stem)
def test_genotype_statistics_of_real_beds_equal_those_of_plink(bed, tmp_path):
    check_like_plink(bed, tmp_path / "out")


@needs_plink
@pytest.mark.parametrize("nonfounders", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_sexes_and_families_are_counted_like_in_plink(tmp_path, seed, nonfounders):
    bed = draw_set(tmp_path / "x.bed", np.random.default_rng(seed))
    check_like_plink(bed, tmp_path / "out", nonfounders=nonfounders)


@needs_plink
@pytest.mark.parametrize(
    "names", [("23", "24", "25", "26"), ("chrX", "chrY", "chrM"), ("x", "y", "M", "chr5")]
)
def test_chromosomes_are_recognised_by_number_or_name(tmp_path, names):
    bed = draw_set(tmp_path / "x.bed", np.random.default_rng(7), names=names)
    run(bed, tmp_path / "out", "--freq")
    stats = genotype_stats(bed)
    at = rows_of(stats)
    found = table(tmp_path / "out", "frq")
    rows = [at[sid] for sid in found["SNP"]]
    assert [str(n) for n in stats.alleles[rows]] == list(found["NCHROBS"])


@needs_plink
def test_hardy_weinberg_p_values_equal_those_of_plink(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.binomial(2, np.geomspace(1e-4, 0.5, 40), (60_000, 40)).astype("int8")
    values[: 60_000 // 3, 20:25] = 1
    values[: 60_000 // 40, 25:35] *= 2
    chromosome = ["1"] * 40
    bed = write_set(tmp_path / "x.bed", values % 3, chromosome=chromosome)
    run(bed, tmp_path / "out", "--hardy")
    stats = genotype_stats(bed)
    at = rows_of(stats)
    check_hardy(stats, at, table(tmp_path / "out", "hwe"))
    assert (stats.hardy_p < 1e-300).any()


@needs_plink
def test_hardy_weinberg_mid_p_values_equal_those_of_plink(tmp_path):
    bed = draw_set(tmp_path / "x.bed", np.random.default_rng(8))
    run(bed, tmp_path / "out", "--hardy", "midp")
    stats = genotype_stats(bed, mid_p=True)
    check_hardy(stats, rows_of(stats), table(tmp_path / "out", "hwe"))


def reference(values, *, count_a1=True):
    """Compute counts, mean and variance with NumPy; NaN without genotypes."""
    values = np.where(values == -127, np.nan, values.astype(float))
    values = values if count_a1 else 2 - values
    with np.errstate(invalid="ignore"):
        known = (~np.isnan(values)).sum(axis=0)
        mean = np.nansum(values, axis=0) / known
        variance = np.nansum((values - mean) ** 2, axis=0) / known
    return known, mean, variance


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.tuples(st.integers(1, 300), st.integers(1, 40)),
    seed=st.integers(0, 99),
    major=st.sampled_from(["SNP", "individual"]),
    count_a1=st.booleans(),
    threads=st.integers(1, 2),
)
def test_genotype_counts_mean_and_variance_match_the_genotypes(
    tmp_path, shape, seed, major, count_a1, threads
):
    values = draw_values(np.random.default_rng(seed), shape)
    bed = write_set(tmp_path / "x.bed", values, major=major)
    source = open_bed(bed, count_A1=count_a1, skip_format_check=True)
    stats = genotype_stats(source, num_threads=threads)
    known, mean, variance = reference(values, count_a1=count_a1)
    np.testing.assert_array_equal(stats.count, known)
    np.testing.assert_array_equal(stats.missing, shape[0] - known)
    np.testing.assert_array_equal(stats.individual_missing, (values == -127).sum(axis=1))
    np.testing.assert_allclose(stats.mean, mean, atol=1e-12)
    np.testing.assert_allclose(stats.allele_frequency, mean / 2, atol=1e-12)
    np.testing.assert_allclose(stats.variance, variance, atol=1e-12)


@pytest.mark.parametrize("major", ["SNP", "individual"])
def test_statistics_of_selected_individuals_equal_those_of_a_subset_bed(tmp_path, major):
    rng = np.random.default_rng(1)
    whole = draw_set(tmp_path / "x.bed", rng, major=major)
    bed, chosen = bed_reader.open_bed(whole), rng.permutation(61)[:23]
    properties = {
        name: column[chosen]
        if name in ("iid", "fid", "father", "mother", "sex")
        else column
        for name, column in bed.properties.items()
        if name != "pheno"
    }
    part = write_set(tmp_path / "y.bed", bed.read(dtype="int8")[chosen], **properties)
    found, wanted = genotype_stats(whole, individuals=chosen), genotype_stats(part)
    for name, column in wanted.to_dict().items():
        np.testing.assert_array_equal(found.to_dict()[name], column)
    np.testing.assert_array_equal(found.individual_missing, wanted.individual_missing)
    np.testing.assert_array_equal(found.iid, wanted.iid)


def test_genotype_statistics_of_no_individuals_are_nan(tmp_path):
    bed = write_set(tmp_path / "x.bed", draw_values(np.random.default_rng(0), (5, 9)))
    stats = genotype_stats(bed, individuals=[])
    assert not stats.count.any()
    assert np.isnan(stats.mean).all()
    assert "no genotypes" in str(stats)


def test_individuals_of_unknown_sex_and_parents_count_as_diploid_founders(tmp_path):
    bed = draw_set(tmp_path / "x.bed", np.random.default_rng(5))
    unknown: dict[str, None] = dict.fromkeys(("sex", "father", "mother", "chromosome"))
    stats = genotype_stats(open_bed(bed, properties=unknown))
    np.testing.assert_array_equal(stats.alleles, 2 * stats.count)
    assert stats.chromosome is None
    assert not np.isnan(stats.hardy_p).any()


def test_equally_likely_genotype_counts_count_half_in_mid_p(tmp_path):
    bed = write_set(tmp_path / "x.bed", [[0], [0], [1], [0]])
    assert genotype_stats(bed).hardy_p == [1]
    assert genotype_stats(bed, mid_p=True).hardy_p == [0.5]


def test_hardy_weinberg_p_of_haploid_chromosomes_is_that_of_no_genotypes(tmp_path):
    bed = draw_set(tmp_path / "x.bed", np.random.default_rng(1), names=("Y", "MT", "24"))
    assert (genotype_stats(bed).hardy_p == 1).all()
    assert (genotype_stats(bed, mid_p=True).hardy_p == 0.5).all()


@pytest.mark.parametrize("count", [13, 15, 16])
def test_fam_row_counts_that_differ_within_one_bed_byte_are_detected(tmp_path, count):
    values = np.full((14, 80), 1)
    values[13, ::2] = 0
    bed = write_set(tmp_path / "x.bed", values)
    lines = [f"f i{number} 0 0 0 0\n" for number in range(count)]
    bed.with_suffix(".fam").write_text("".join(lines))
    if count < 14:
        with pytest.raises(FormatError, match=r"\.fam is too short"):
            genotype_stats(bed)
    else:
        with pytest.warns(UserWarning, match=r"\.fam is too long"):
            genotype_stats(bed)
    unchecked = open_bed(bed, skip_format_check=True)
    assert (genotype_stats(unchecked).hom_a1 == max(count - 14, 0)).all()


def test_genotype_statistics_of_a_truncated_bed_are_an_error(tmp_path):
    bed = write_set(tmp_path / "x.bed", draw_values(np.random.default_rng(0), (9, 50)))
    bed.write_bytes(bed.read_bytes()[:-1])
    with pytest.raises(FormatError, match="expected 153 bytes"):
        genotype_stats(bed)


def test_selecting_an_individual_twice_is_an_error(tmp_path):
    bed = write_set(tmp_path / "x.bed", np.zeros((4, 3)))
    with pytest.raises(ArgumentError, match="must not select an individual twice"):
        genotype_stats(bed, individuals=[1, -3])
    with pytest.raises(OutOfRangeError):
        genotype_stats(bed, individuals=[4])


def test_genotype_statistics_report_progress_to_the_last_variant(tmp_path):
    bed = write_set(tmp_path / "x.bed", draw_values(np.random.default_rng(0), (1, 300_000)))
    told = []
    genotype_stats(bed, on_progress=lambda *now: told.append(now))
    assert told == [(262_144, 300_000), (300_000, 300_000)]


def test_the_table_of_genotype_statistics_has_full_precision(tmp_path):
    bed = draw_set(tmp_path / "x.bed", np.random.default_rng(2))
    stats = genotype_stats(bed)
    stats.to_tsv(tmp_path / "x.tsv")
    heading, *rows = [
        line.split("\t") for line in (tmp_path / "x.tsv").read_text().splitlines()
    ]
    columns = dict(zip(heading, zip(*rows, strict=True), strict=True))
    p = [np.nan if text == "NA" else float(text) for text in columns["hardy_p"]]
    np.testing.assert_array_equal(p, stats.hardy_p)
    assert list(columns["sid"]) == stats.sid.tolist()


def test_a_pickled_open_bed_gives_equal_genotype_statistics(tmp_path):
    bed = open_bed(draw_set(tmp_path / "x.bed", np.random.default_rng(2)))
    again = genotype_stats(copy.copy(bed))
    np.testing.assert_array_equal(again.het, genotype_stats(bed).het)
