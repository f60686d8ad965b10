"""``seqloom inspect``."""

import json

import pytest

from seqloom import _demo
from seqloom.io import inspect

TRAIN = _demo.path("train.fa.gz")


def test_the_table_says_what_the_file_holds(call):
    said = call("inspect", TRAIN)
    assert (said.code, said.err) == (0, "")
    for words in ("gzip", "2,000", "120,000", "all 60", "dna", "52.7 %", "C 26.5 %"):
        assert words in said.out


def test_json_is_the_summary_and_nothing_else(call):
    said = call("inspect", TRAIN, "--json")
    assert json.loads(said.out) == json.loads(json.dumps(inspect(TRAIN).to_dict()))


@pytest.mark.parametrize(("encoding", "block"), [("utf-8", "█"), ("ascii", "#")])
def test_the_longest_bar_stands_for_most_records(
    call, tmp_path, monkeypatch, encoding, block
):
    monkeypatch.setattr("rich.console.Console.encoding", encoding)
    lengths = [10] * 4 + [100] * 2
    fasta = "".join(f">s{i}\n{'A' * length}\n" for i, length in enumerate(lengths))
    (tmp_path / "a.fa").write_text(fasta)
    lines = call("inspect", tmp_path / "a.fa").out.splitlines()
    bars = [line.count(block) for line in lines if block in line]
    assert bars == [40, 20]
