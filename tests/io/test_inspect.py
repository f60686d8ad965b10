import json
import os
import xml.etree.ElementTree as ET

import pytest

from seqloom._demo import example_path
from seqloom.errors import FileError
from seqloom.io import inspect


@pytest.fixture
def summary(tmp_path):
    def write_and_inspect(text):
        (tmp_path / "a.fa").write_text(text)
        return inspect(tmp_path / "a.fa")

    return write_and_inspect


def test_the_summary_of_the_demo_fasta_matches_its_readme():
    found = inspect(example_path("train.fa.gz"))
    assert (found.records, found.shortest, found.longest) == (2000, 60, 60)
    assert (found.format, found.compression, found.alphabet) == ("fasta", "gzip", "dna")
    assert found.file_bytes == example_path("train.fa.gz").stat().st_size


def test_gc_content_counts_unambiguous_bases_of_upper_and_lower_case(summary):
    assert summary(">a\nGCgcATatNN\n>b\n" + "A" * 1000 + "\n").gc == 4 / 1008


def test_inspect_counts_ambiguity_codes_and_lower_case_residues(summary):
    found = summary(">a\nacNNRT" + "A" * 1000 + "\n")
    assert (found.outside, found.lower_case) == ({"N": 2, "R": 1}, 2)


def test_inspect_counts_and_names_duplicate_ids(summary):
    found = summary(">a\nA\n>b\nA\n>a\nA\n>a\nA\n>c\nA\n>c\nA\n")
    assert (found.duplicate_ids, found.duplicate_examples) == (3, ("a", "c"))


def test_the_length_histogram_counts_each_record_once(summary):
    found = summary("".join(f">s{n}\n{'A' * n}\n" for n in range(1, 60)))
    assert sum(each.records for each in found.histogram) == 59
    assert (found.histogram[0].start, found.histogram[-1].stop) == (1, 59)
    assert all(
        a.stop + 1 == b.start
        for a, b in zip(found.histogram, found.histogram[1:], strict=False)
    )


def test_one_very_long_sequence_does_not_flatten_the_length_histogram(summary):
    text = "".join(f">s{n}\n{'A' * n}\n" for n in range(10, 60)) + f">x\n{'A' * 9000}\n"
    assert sum(each.records > 0 for each in summary(text).histogram) > 2


def test_inspect_accepts_sequences_of_an_uncertain_alphabet(summary):
    found = summary(">a\nACGT\n")
    assert (found.alphabet, found.gc) == (None, 0.5)


def test_inspect_reports_dna_despite_a_few_other_characters(summary):
    found = summary(">a\n" + "ACGT" * 300 + "JEE\n")
    said = "looks like dna with other characters, 3 of 1,203: E 2, J 1"
    assert (found.alphabet, found.facts()["alphabet"]) == ("dna", said)


def test_inspect_counts_residues_case_insensitively(summary):
    found = summary(">a\nGGg\n>b\nTa\nT\n")
    assert list(found.letters.items()) == [("G", 3), ("T", 2), ("A", 1)]
    assert found.facts()["residues"] == "6: G 50.0 %, T 33.3 %, A 16.7 %"


def test_inspect_prints_only_the_most_frequent_residues(summary):
    words = summary(">a\nMEEPQSDPSVEPPLSQETFSDLWKLLPE\n").facts()["residues"]
    assert words.startswith("28: E ")
    assert words.endswith(", 7 more")


@pytest.mark.parametrize("letters", ["ACGT" * 300, "ACGU"])
def test_inspect_reports_the_gc_content_of_dna_and_rna(summary, letters):
    assert summary(f">a\n{letters}\n").facts()["GC"] == "50.0 %"


def test_inspect_reports_no_gc_content_for_an_unknown_alphabet(summary):
    assert summary(">a\nAC1GT\n").gc is None


def test_inspect_reports_no_gc_content_for_proteins(summary):
    found = summary(">a\nMEEPQSDPSV\n")
    assert (found.alphabet, found.gc, found.outside) == ("protein", None, {})


def test_the_summary_of_a_sequence_file_can_be_written_as_json(summary):
    found = summary(">a\nACGU\n").to_dict()
    assert json.loads(json.dumps(found))["alphabet"] == "rna"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_inspecting_a_pipe_is_an_immediate_error(tmp_path):
    os.mkfifo(tmp_path / "a.fa")
    with pytest.raises(FileError, match=r"a\.fa: a pipe can only be read once; save it"):
        inspect(tmp_path / "a.fa")


def test_inspecting_a_device_file_is_an_error():
    with pytest.raises(FileError, match="a device can only be read once"):
        inspect(os.devnull)


FASTQ_TEXT = "@a\nACGT\n+\nIIII\n@b\nAC\n+\n!5\n"


def test_inspect_summarises_qualities_in_the_given_encoding(tmp_path):
    (tmp_path / "a.fq").write_text(FASTQ_TEXT)
    found = inspect(tmp_path / "a.fq").quality
    assert (found.lowest, found.highest, found.possible) == ("!", "I", ("phred33",))
    assert found.mean == (40 * 4 + 0 + 20) / 6
    assert {each.score: each.records for each in found.by_read if each.records} == {
        40: 1,
        10: 1,
    }


@pytest.mark.parametrize(
    ("letters", "possible"),
    [
        ("!J", ("phred33",)),
        (";h", ("phred33", "solexa")),
        ("@h", ("phred33", "phred64", "solexa")),
    ],
)
def test_inspect_lists_all_quality_encodings_that_fit(tmp_path, letters, possible):
    (tmp_path / "a.fq").write_text(f"@a\nAC\n+\n{letters}\n")
    assert set(inspect(tmp_path / "a.fq").quality.possible) == set(possible)


def test_statistics_by_read_position_equal_those_of_plain_python(tmp_path):
    (tmp_path / "a.fq").write_text(FASTQ_TEXT)
    first, *_, last = inspect(tmp_path / "a.fq").positions
    assert (first.start, first.stop, first.letters) == (0, 0, {"A": 2})
    assert (first.mean_quality, first.quartiles) == (20.0, (0, 0, 40))
    assert (last.start, last.letters, last.mean_quality) == (3, {"T": 1}, 40.0)


def test_position_bins_of_long_sequences_count_every_residue(tmp_path):
    (tmp_path / "a.fa").write_text(f">a\n{'AC' * 900}\n>b\n{'g-' * 300}\n")
    positions = inspect(tmp_path / "a.fa").positions
    assert (positions[0].start, positions[0].stop, positions[-1].stop) == (0, 3, 1799)
    counts = [each.letters for each in positions]
    assert sum(sum(each.values()) for each in counts) == 2400
    assert sum(each.get("-", 0) for each in counts) == 300


def test_inspect_draws_all_plots_in_one_svg(tmp_path):
    (tmp_path / "a.fq").write_text(FASTQ_TEXT)
    inspect(tmp_path / "a.fq").plot(tmp_path / "a.svg")
    picture = ET.parse(tmp_path / "a.svg").getroot()  # noqa: S314 - ours
    titles = [it.text for it in picture.iter() if it.get("class") == "title"]
    assert titles == [
        "lengths",
        "quality by position, encoding phred33",
        "mean quality of a sequence",
        "residues",
    ]


def test_the_json_summary_contains_qualities_by_position(tmp_path):
    (tmp_path / "a.fq").write_text(FASTQ_TEXT)
    found = json.loads(json.dumps(inspect(tmp_path / "a.fq").to_dict()))
    assert found["quality"]["encoding"] == "phred33"
    assert found["positions"][0]["letters"] == {"A": 2}
