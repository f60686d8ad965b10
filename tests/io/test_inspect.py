import json
import os

import pytest

from seqloom._demo import path
from seqloom.errors import FileError
from seqloom.io import inspect


@pytest.fixture
def summary(tmp_path):
    def write_and_inspect(text):
        (tmp_path / "a.fa").write_text(text)
        return inspect(tmp_path / "a.fa")

    return write_and_inspect


def test_the_demo_file_is_what_its_readme_says():
    found = inspect(path("train.fa.gz"))
    assert (found.records, found.shortest, found.longest) == (2000, 60, 60)
    assert (found.format, found.compression, found.alphabet) == ("fasta", "gzip", "dna")
    assert found.file_bytes == path("train.fa.gz").stat().st_size


def test_gc_counts_plain_bases_of_both_cases(summary):
    assert summary(">a\nGCgcATatNN\n>b\n" + "A" * 1000 + "\n").gc == 4 / 1008


def test_letters_outside_and_lower_case_are_counted(summary):
    found = summary(">a\nacNNRT" + "A" * 1000 + "\n")
    assert (found.outside, found.lower_case) == ({"N": 2, "R": 1}, 2)


def test_ids_that_stand_twice_are_counted_and_named(summary):
    found = summary(">a\nA\n>b\nA\n>a\nA\n>a\nA\n>c\nA\n>c\nA\n")
    assert (found.duplicate_ids, found.duplicate_examples) == (3, ("a", "c"))


def test_the_histogram_counts_every_record_once(summary):
    found = summary("".join(f">s{n}\n{'A' * n}\n" for n in range(1, 60)))
    assert sum(each.records for each in found.histogram) == 59
    assert (found.histogram[0].start, found.histogram[-1].stop) == (1, 59)
    assert all(
        a.stop + 1 == b.start
        for a, b in zip(found.histogram, found.histogram[1:], strict=False)
    )


def test_one_very_long_sequence_does_not_flatten_the_histogram(summary):
    text = "".join(f">s{n}\n{'A' * n}\n" for n in range(10, 60)) + f">x\n{'A' * 9000}\n"
    assert sum(each.records > 0 for each in summary(text).histogram) > 2


def test_an_unclear_alphabet_is_no_failure(summary):
    found = summary(">a\nACGT\n")
    assert (found.alphabet, found.gc) == (None, 0.5)


def test_letters_are_counted_in_either_case_the_commonest_first(summary):
    found = summary(">a\nGGg\n>b\nTa\nT\n")
    assert list(found.letters.items()) == [("G", 3), ("T", 2), ("A", 1)]
    assert found.facts()["letters"] == "6: G 50.0 %, T 33.3 %, A 16.7 %"


def test_few_of_many_letters_are_shown(summary):
    words = summary(">a\nMEEPQSDPSVEPPLSQETFSDLWKLLPE\n").facts()["letters"]
    assert words.startswith("28: E ")
    assert words.endswith(", 7 more")


@pytest.mark.parametrize("letters", ["ACGT" * 300, "ACGU"])
def test_dna_and_rna_have_gc(summary, letters):
    assert summary(f">a\n{letters}\n").facts()["GC"] == "50.0 %"


def test_letters_of_no_alphabet_have_no_gc(summary):
    assert summary(">a\nAC1GT\n").gc is None


def test_a_protein_has_no_gc(summary):
    found = summary(">a\nMEEPQSDPSV\n")
    assert (found.alphabet, found.gc, found.outside) == ("protein", None, {})


def test_json_holds_the_summary(summary):
    found = summary(">a\nACGU\n").to_dict()
    assert json.loads(json.dumps(found))["alphabet"] == "rna"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.fa")
    with pytest.raises(FileError, match=r"a\.fa: a pipe can be read once only; save it"):
        inspect(tmp_path / "a.fa")


def test_a_device_is_refused():
    with pytest.raises(FileError, match="a device can be read once only"):
        inspect(os.devnull)
