"""Faults that users of other tools report, each through the public functions."""

import numpy as np
import pytest

import seqloom as sl
from networks import Logistic
from seqloom.errors import FormatError
from seqloom.models import Regress, Trained

GENOME = "AACGTTGCAAGGCCTTATATATAGCGCGTACGATCCCCATTTGACTGACTGA"
COLUMNS = "#CHROM POS ID REF ALT QUAL FILTER INFO\n".replace(" ", "\t")
COMPLEMENT = str.maketrans("ACGT", "TGCA")
WIDTH = 9


@pytest.fixture
def home(tmp_path):
    (tmp_path / "g.fa").write_text(f">chr1\n{GENOME}\n>chrM\n{GENOME}\n")
    return tmp_path


@pytest.fixture(scope="module")
def model():
    """A network whose score depends on each base and its position."""
    encoder = sl.encode.OneHot("dna")
    network = Logistic(encoder.width * WIDTH, 1)
    network.bind(sl.tensor.backend("numpy"), sl.Key(5))
    return Trained(network.eval(), encoder, Regress(("level",)), batch_size=16)


def score(model, sequence):
    return float(sl.infer.predict(model, [sequence]).to_numpy()[0, 0])


def effects_of(model, home, *records, header="", **options):
    """Score records, such as ``chr1 21 A C``."""
    rows = [record.split() for record in records]
    lines = [f"{c}\t{p}\t.\t{ref}\t{alt}\t.\t.\t.\n" for c, p, ref, alt in rows]
    text = "##fileformat=VCFv4.3\n" + header + COLUMNS + "".join(lines)
    (home / "in.vcf").write_text(text)
    return sl.infer.variant_effects(
        model, home / "in.vcf", home / "g.fa", width=WIDTH, **options
    )


def window(model, start, ref, alt):
    """The score of an edited window, by slices of the genome (start from 0)."""
    edited = GENOME[start - 4 : start] + alt + GENOME[start + len(ref) :]
    return pytest.approx(score(model, edited[:WIDTH]), abs=1e-6)


def test_1_positions_count_from_1_in_vcf_and_from_0_in_columns(model, home):
    effects = effects_of(model, home, "chr1 21 A C")
    assert effects.starts.tolist() == [20]
    assert effects.to_dict()["pos"].tolist() == [21]
    assert effects["alternative_level"][0] == window(model, 20, "A", "C")


def test_1_a_position_that_counts_from_0_is_named_as_the_probable_cause(model, home):
    wrong = [f"chr1 {at} {GENOME[at]} N" for at in (8, 17, 18, 19, 20, 21)]
    with pytest.raises(FormatError, match="POS probably counts from 0; VCF counts from 1"):
        effects_of(model, home, *wrong)


def test_2_the_variant_is_base_half_the_width_of_an_even_window(home):
    table = {"chrom": ["chr1"], "pos": [21], "ref": ["A"], "alt": ["C"]}
    data = sl.data.VariantDataset(table, home / "g.fa", width=6)
    sequences = [item["sequence"].decode() for item in data]
    assert [text[3] for text in sequences] == ["A", "C"]
    assert sequences[0] == GENOME[17:23]


def test_3_the_minus_strand_is_complemented_after_the_edit(model, home):
    genes = {"name": ["g"], "chrom": ["chr1"], "start": [0], "stop": [52], "strand": ["-"]}
    effects = effects_of(model, home, "chr1 21 A C", genes=genes)
    edited = GENOME[16:20] + "C" + GENOME[21:25]
    expected = score(model, edited.translate(COMPLEMENT)[::-1])
    assert effects["alternative_level"][0] == pytest.approx(expected, abs=1e-6)


def test_4_a_different_reference_is_an_error_with_line_and_bases(model, home):
    match = r"in\.vcf: REF differs .* 1 of 2 records.*line 3, chr1:21: REF is C, .* has A"
    with pytest.raises(FormatError, match=match):
        effects_of(model, home, "chr1 21 C A", "chr1 22 T G")


def test_4_alleles_of_the_other_strand_are_counted(model, home):
    wrong = [
        f"chr1 {at + 1} {GENOME[at].translate(COMPLEMENT)} N"
        for at in (2, 6, 7, 10, 12, 23)
    ]
    match = (
        "the genome has REF on the other strand in 6.*probably those of the other strand"
    )
    with pytest.raises(FormatError, match=match):
        effects_of(model, home, *wrong)


def test_5_exchanged_alleles_are_counted_and_swapped_only_on_request(model, home):
    exchanged = [
        f"chr1 {at + 1} {'C' if GENOME[at] != 'C' else 'A'} {GENOME[at]}"
        for at in range(17, 23)
    ]
    match = "the genome has ALT in 6.*REF and ALT are probably exchanged"
    with pytest.raises(FormatError, match=match):
        effects_of(model, home, *exchanged)
    effects = effects_of(model, home, "chr1 21 C A", on_mismatch="swap")
    assert (effects.status, effects.refs, effects.alts) == (["swapped"], ["C"], ["A"])
    assert effects["reference_level"][0] == window(model, 20, "A", "A")


def test_5_a_palindromic_swap_is_not_guessed(model, home):
    effects = effects_of(model, home, "chr1 21 T A", on_mismatch="swap")
    assert effects.status == ["ambiguous_swap"]


def test_6_contig_names_are_matched_and_the_change_is_reported(model, home):
    effects = effects_of(model, home, "1 21 A C", "MT 21 A C")
    assert effects.status == ["ok", "ok"]
    report = effects.report["contig_names"]
    assert "chr was added for 1 contig" in report
    assert "chrM was used for MT" in report


def test_6_other_lengths_of_contigs_name_another_build(model, home):
    header = "##contig=<ID=chr1,length=99>\n"
    match = "chr1 has 99 bases in the header and 52 in the genome.*probably another build"
    with pytest.raises(FormatError, match=match):
        effects_of(model, home, "chr1 21 C A", header=header)


def test_6_a_genome_without_the_contigs_is_an_error(model, home):
    with pytest.raises(FormatError, match="none of the contigs chr7; the genome has chr1"):
        effects_of(model, home, "chr7 21 A C")


def test_7_each_kind_of_allele_has_a_row_with_its_reason(model, home):
    alts = "C,*,<DEL>,<NON_REF>,A[chr1:30[,T"
    effects = effects_of(model, home, f"chr1 21 A {alts}", "chr1 22 T .", "chr1 23 A <*>")
    assert effects.status == [
        *("ok", "spanning_deletion", "symbolic", "reference_block", "breakend", "ok"),
        *("missing", "reference_block"),
    ]
    assert ",".join(effects.alts[:6]) == alts


@pytest.mark.parametrize(
    "spelling",
    ["chr1 18 TAT T", "chr1 16 TATAT TAT", "chr1 21 ATA A", "chr1 17 ATATATAG ATATAG"],
)
def test_8_every_spelling_has_the_score_of_the_normal_form(model, home, spelling):
    normal = effects_of(model, home, "chr1 15 TTA T")
    other = effects_of(model, home, spelling)
    assert other.alleles == normal.alleles == ["chr1:15:TTA:T"]
    for name, values in normal.columns.items():
        assert other[name].tobytes() == values.tobytes()


def test_9_shifts_of_indels_are_averaged_over_both_ends_of_the_window(model, home):
    effects = effects_of(model, home, "chr1 30 A AGG", indels="both")
    left = score(model, GENOME[25:30] + "GG" + GENOME[30:32])
    right = score(model, GENOME[27:30] + "GG" + GENOME[30:34])
    expected = (left + right) / 2
    assert effects["alternative_level"][0] == pytest.approx(expected, abs=1e-6)


def test_10_a_deletion_is_filled_and_windows_at_contig_ends_follow_the_rule(model, home):
    effects = effects_of(model, home, "chr1 44 ACTG A", "chr1 1 A G", "chr1 52 A G")
    filled = GENOME[39:44] + GENOME[47:51]
    ends = ["NNNN" + "G" + GENOME[1:5], GENOME[47:51] + "G" + "NNNN"]
    expected = [score(model, text) for text in (filled, *ends)]
    assert effects["alternative_level"].tolist() == pytest.approx(expected, abs=1e-6)
    dropped = effects_of(model, home, "chr1 1 A G", "chr1 21 A C", edge="drop")
    assert dropped.status == ["edge", "ok"]
    match = r"in\.vcf, line 3, chr1:1: the window of 9 bases is not within the 52 bases"
    with pytest.raises(FormatError, match=match):
        effects_of(model, home, "chr1 1 A G", edge="error")
    with pytest.raises(FormatError, match="in 1 of 2 variants"):
        effects_of(model, home, "chr1 4 GT AA", edge="error", split_mnps=True)


def test_11_overlapping_records_are_scored_one_by_one(model, home):
    effects = effects_of(model, home, "chr1 21 ATA A", "chr1 22 T G")
    assert effects["alternative_level"][1] == window(model, 21, "T", "G")


def test_12_lower_case_is_read_and_invalid_bases_have_a_status(model, home):
    (home / "g.fa").write_text(f">chr1\n{GENOME.lower()}\n")
    effects = effects_of(model, home, "chr1 21 a c", "chr1 22 T R", "chr1 23 A J")
    assert effects.status[::2] == ["ok", "invalid_allele"]
    assert effects["alternative_level"][0] == window(model, 20, "A", "C")


def test_12_an_ambiguous_base_of_the_genome_accepts_its_bases(model, home):
    (home / "g.fa").write_text(f">chr1\n{GENOME[:20]}R{GENOME[21:]}\n")
    effects = effects_of(model, home, "chr1 21 A C")
    assert (effects.status, effects.report["reference"]["iupac"]) == (["ok"], 1)


def test_13_the_settings_are_in_the_header_of_the_output(model, home):
    effects = effects_of(model, home, "chr1 21 A C", reverse_complement=True)
    effects.save(home / "out.vcf")
    text = (home / "out.vcf").read_text()
    assert (
        "Settings: width 9, compare [difference], reverse_complement true, shifts [0]"
        in text
    )


def test_14_a_score_is_the_same_alone_and_with_any_number_of_threads(model, home):
    records = [
        f"chr1 {at + 1} {GENOME[at]} {'G' if GENOME[at] != 'G' else 'T'}"
        for at in range(5, 45)
    ]
    together = effects_of(model, home, *records, num_threads=2)
    for row, record in enumerate(records[::7]):
        alone = effects_of(model, home, record, num_threads=1)
        assert alone["difference_level"][0] == together["difference_level"][7 * row]


def test_37_a_file_with_a_poor_header_is_read_and_its_faults_are_counted(model, home):
    lines = ["##fileformat=VCFv4.2\r\n", "##contig=<ID=chr9>\r\n", COLUMNS]
    lines.append("chr1\t21\t.\tA\tC\t.\tlow\tXX=1;XX=2\r\n\n")
    (home / "in.vcf").write_bytes("".join(lines).encode())
    with sl.io.open_variants(home / "in.vcf", fields=["INFO/XX"]) as reader:
        (batch,) = reader.batches()
    found = set(reader.report.oddities)
    assert {"undeclared_contig", "undeclared_filter", "windows_line_end"} <= found
    assert {"undeclared_info", "repeated_info", "empty_line"} <= found
    effects = sl.infer.variant_effects(model, batch, home / "g.fa", width=WIDTH)
    assert np.isfinite(effects["difference_level"]).all()


def test_37_a_record_without_a_position_is_an_error_with_its_line(model, home):
    with pytest.raises(FormatError, match=r"in\.vcf: record 0, line 3, .*POS: .* found .x"):
        effects_of(model, home, "chr1 x A C")
