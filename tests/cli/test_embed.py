"""``seqloom embed`` on the command line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").save("small")
    Path("p.fa").write_text(">P1 first\nMKTAYIAKQR\n>P2\nMSHH\n>P3\nMALWMRLLPLLALLALWG\n")
    return tmp_path


def type_command(*words):
    return subprocess.run(
        [sys.executable, "-m", "seqloom", "embed", *words],
        check=False,
        capture_output=True,
        text=True,
    )


def test_embed_writes_embeddings_of_every_record(folder):
    done = type_command("p.fa", "--model", "small", "--out", "e")
    assert done.returncode == 0, done.stderr
    assert "embeddings of 3 records: e" in done.stdout
    assert "waiting for input" in done.stdout
    model = sl.models.ESM2.load("small")
    tokens = sl.encode.Tokens("esm2")("MSHH")
    expected = model(tokens).numpy()[1:-1].mean(axis=0)
    np.testing.assert_allclose(sl.infer.load("e")["P2"], expected, rtol=1e-5, atol=1e-6)


def test_embeddings_of_all_backends_agree(call, folder):
    for backend in ("numpy", "torch"):
        words = ("p.fa", "--model", "small", "--out", backend, "--backend", backend)
        assert call("embed", *words).code == 0
    ours, theirs = (sl.infer.load(name).to_numpy() for name in ("numpy", "torch"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_embed_writes_several_layers_to_parquet(call, folder):
    words = ("--pool", "none", "--layers", "0", "-1", "--format", "parquet")
    done = call("embed", "p.fa", "--model", "small", "--out", "e", *words)
    assert done.code == 0, done.err
    assert sl.infer.load("e").get("P3", layer=0).shape == (18, 16)


def test_the_option_symbols_of_embed_accepts_proteins_with_stop_symbols(call, folder):
    Path("stop.fa").write_text(">a\nMKT\n>b\nMK*T\n")
    words = ("stop.fa", "--model", "small", "--out", "e")
    refused = call("embed", *words)
    assert refused.code == 2
    assert "symbols='zeros' or 'keep'" in refused.err
    assert call("embed", *words[:-1], "f", "--symbols", "keep").code == 0
    assert sl.infer.load("f").lengths.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--pool", "cls"), "pool: 'mean' in plan.json, 'cls' now"),
        (("--no-resume",), "contains embeddings"),
        (("--part", "3/2"), 'part="2/8" (--part 2/8)'),
        (("--max-tokens", "10"), "--max-length 8 --overlap 1"),
        (("--model", "none"), "none"),
        (("--dtype", "bfloat16"), 'use dtype="int8" or "float32" (--dtype)'),
    ],
)
def test_invalid_arguments_of_embed_print_one_line(call, folder, words, message):
    first = call("embed", "p.fa", "--model", "small", "--out", "e")
    assert first.code == 0
    out = "f" if "--max-tokens" in words else "e"
    model = () if "--model" in words else ("--model", "small")
    done = call("embed", "p.fa", *model, "--out", out, *words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_part_of_an_embedding_job_reports_the_missing_shards(call, folder, monkeypatch):
    words = ("p.fa", "--model", "small", "--out", "e", "--shard-size", "1")
    first = call("embed", *words, "--part", "2/2")
    assert "this part is complete; 2 of 3 shards remain for other parts: e" in first.out
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert call("embed", *words).code == 0
    monkeypatch.delenv("RANK")
    last = call("embed", *words, "--part", "1/2")
    assert "embeddings of 3 records: e" in last.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_the_error_of_embed_names_a_folder_that_cannot_be_written(call, folder):
    Path("e").mkdir(mode=0o500)
    done = call("embed", "p.fa", "--model", "small", "--out", "e")
    assert (done.code, "cannot be written" in done.err) == (2, True)
