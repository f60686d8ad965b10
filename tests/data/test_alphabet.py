import pytest

from seqloom._demo import path
from seqloom.data import guess_alphabet
from seqloom.errors import ArgumentError


@pytest.mark.parametrize(
    ("letters", "alphabet"),
    [
        ("ACGTN" * 200, "dna"),
        ("acgt" * 250, "dna"),
        ("ACGT" * 300 + "RYK", "dna"),
        ("ACGUN", "rna"),
        ("MEEPQSDPSV", "protein"),
        ("MKT*", "protein"),
        ("ACDGHKMNRSTVWY" * 100, "protein"),
    ],
    ids=[
        "dna",
        "lower case",
        "codes",
        "rna",
        "protein",
        "stop",
        "codes that are amino acids",
    ],
)
def test_letters_decide_the_alphabet(fasta, letters, alphabet):
    assert guess_alphabet(fasta({"a": letters})) == alphabet


@pytest.mark.parametrize("letters", ["ACGT", "ACGTN" * 199, "MKRTGVSD"])
def test_few_letters_that_fit_both_are_an_error_that_says_how_to_go_on(fasta, letters):
    with pytest.raises(
        ArgumentError, match=r"a\.fa: DNA and protein both fit .*--alphabet dna"
    ):
        guess_alphabet(fasta({"a": letters}))


def test_letters_of_no_alphabet_are_an_error(fasta):
    with pytest.raises(ArgumentError, match="no alphabet holds all of the letters"):
        guess_alphabet(fasta({"a": "ACGT-MEEPQ"}))


def test_all_files_are_looked_at(fasta):
    files = [fasta({"a": "ACGT" * 999}), fasta({"b": "MEEPQSD"}, "b.fa")]
    assert guess_alphabet(files) == "protein"


def test_the_demo_is_dna():
    assert guess_alphabet([path("train.fa.gz"), path("test.fa.gz")]) == "dna"
