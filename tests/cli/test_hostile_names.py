"""Control characters in ids, class names and file names are never sent to the terminal."""

import re
from pathlib import Path

import numpy as np
import pytest

import seqloom.cli
from seqloom.io import to_bed

HOSTILE_ID = "i\x1b]0;title\x07\x9b31m\u202e[red]"
HOSTILE_FASTA = f">{HOSTILE_ID}\n{'ACGT' * 9}\n" * 2
HOSTILE_CLASSES = [f"class{n}{HOSTILE_ID}" for n in range(2)]
CONTROL_CHARACTERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# An argument that begins with @ is a file in a folder with a hostile name.
COMMAND_LINES = {
    "inspect": "inspect @two.fa",
    "index": "index @two.fa",
    "convert": "convert @two.fa @[red].fa",
    "an id that occurs twice": "train @two.fa --labels @two.tsv --out @run",
    "an unknown letter": "train @letters.fa --alphabet dna --labels @one.tsv --out @run",
    "no such file": "inspect @absent.fa",
    "a cut file": "inspect @cut.fq",
    "a class": "train @many.fa --labels @many.tsv --out @run --epochs 1 --valid @many.fa",
    "a bed": "bed inspect @x.bed",
    "bed stats": "bed stats @x.bed",
    "bed convert": "bed convert @x.bed @y.npy",
    "bed subset": "bed subset @x.bed @y.bed --keep @two.tsv",
    "an unknown word": "inspect @two.fa @two.fa",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose name and files contain control characters."""
    folder = tmp_path / f"{HOSTILE_ID}\nerror: forged"
    folder.mkdir()
    monkeypatch.chdir(folder)
    many = [f"m{n}" for n in range(20)]
    texts = {
        "two.fa": HOSTILE_FASTA,
        "two.tsv": f"id\tlabel\n{HOSTILE_ID}\t{HOSTILE_ID}\n",
        "one.tsv": f"id\tlabel\n{HOSTILE_ID}\tyes\nj\tno\n",
        "letters.fa": f">{HOSTILE_ID}\nACGTJ\n>j\nACGT\n",
        "cut.fq": f"@{HOSTILE_ID}\nACGT\n+\nII",
        "many.fa": "".join(f">{name}\n{'ACGT' * 9}\n" for name in many),
        "many.tsv": "id\tlabel\n"
        + "".join(f"{name}\t{HOSTILE_CLASSES[n % 2]}\n" for n, name in enumerate(many)),
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    to_bed("x.bed", np.zeros((2, 2), "int8"))
    Path("x.fam").write_text(f"f {HOSTILE_ID} 0 0 1 {HOSTILE_ID}\nf b 0 0 2 1\n")
    Path("x.bim").write_text(
        "".join(f"{HOSTILE_ID} {HOSTILE_ID} 0 {n} A C\n" for n in range(2))
    )
    return folder


@pytest.mark.parametrize("words", COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_no_command_prints_terminal_control_characters(folder, call, words):
    named = [folder / word[1:] if word[0] == "@" else word for word in words.split()]
    said = call(*named)
    assert said.out + said.err
    assert not CONTROL_CHARACTERS.findall(said.out + said.err)
    assert "\nerror: forged" not in said.out + said.err


def test_commands_print_only_with_the_shared_console():
    sources = Path(seqloom.cli.__file__).parent.glob("*.py")
    makes = re.compile(r"= Console\(|[( ]Console\(\w")
    assert not [path.name for path in sources if makes.search(path.read_text("utf-8"))]
