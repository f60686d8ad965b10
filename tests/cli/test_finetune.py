"""``seqloom train --finetune lora`` trains adapters for a folder of ESM-2."""

import numpy as np
import pytest

import seqloom as sl


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a base network, proteins and labels."""
    folder = tmp_path_factory.mktemp("finetune")
    config = sl.models.ESM2Config(layers=1, width=16, heads=4)
    config.init("numpy", sl.Key(3)).save(folder / "esm2")
    rng = np.random.default_rng(0)
    names = [f"p{number}" for number in range(40)]
    letters = {name: "".join(rng.choice([*"ACDEFGHIKL"], 12)) for name in names}
    fasta = "".join(f">{name}\n{text}\n" for name, text in letters.items())
    (folder / "p.fa").write_text(fasta)
    rows = [f"{name}\t{'yes' if 'A' in letters[name] else 'no'}" for name in names]
    (folder / "t.tsv").write_text("\n".join(["id\tlabel", *rows]) + "\n")
    return folder


def words(home, out, *more):
    base = ["train", home / "p.fa", "--labels", home / "t.tsv", "--out", out, "--epochs", 1]
    return [*base, *more]


def test_a_lora_run_needs_the_option_base_if_its_base_has_moved(call, home, tmp_path):
    adapters = ["--finetune", "lora", "--model", home / "esm2", "--rank", 2]
    assert call(*words(home, tmp_path / "run", *adapters)).code == 0
    written = sl.record.load(tmp_path / "run" / "model.safetensors")
    assert written["base.layers.0.fc1.down"].shape == (2, 16)
    assert not any(path.endswith("fc1.weight") for path in written)
    score = ["predict", tmp_path / "run", home / "p.fa", "--out"]
    assert call(*score, tmp_path / "one.tsv").code == 0
    (home / "esm2").rename(home / "elsewhere")
    lost = call(*score, tmp_path / "two.tsv")
    (home / "elsewhere").rename(home / "esm2")
    assert lost.code != 0
    assert "--base FOLDER" in lost.err
    found = call(*score, tmp_path / "two.tsv", "--base", home / "esm2")
    assert found.code == 0
    assert (tmp_path / "two.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--finetune", "lora"], "needs --model FOLDER"),
        (["--model", "esm2"], "--model: only with --finetune lora"),
        (["--rank", "2", "--model", "x"], "--model and --rank: only with --finetune lora"),
        (["--finetune", "lora", "--model", "x", "--alphabet", "dna"], "reads proteins"),
        (["--finetune", "lora", "--model", "x", "--rare", "zeros"], "--rare: not with"),
        (["--finetune", "lora", "--model", "nowhere"], "no such file"),
        (
            ["--finetune", "lora", "--model", "x", "--kernel-size", "3"],
            "omit --kernel-size",
        ),
    ],
)
def test_contradictory_options_of_finetuning_are_errors(call, home, tmp_path, more, said):
    found = call(*words(home, tmp_path / "run", *more))
    assert found.code != 0
    assert said in " ".join(found.err.split())
