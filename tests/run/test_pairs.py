"""The outputs of both reads of a pair are added, from one interleaved file or two files."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from exported_networks import Recurrent, ready
from seqloom.infer._forward import Forward

DNA_ENCODER = sl.encode.OneHot("dna")
BINARY_TASK = sl.models.Classify(("no", "yes"))


@pytest.fixture(scope="module")
def paired(tmp_path_factory):
    """A network, and its export for pairs of 12 bases, truncated or padded."""
    network, path = ready(Recurrent()), tmp_path_factory.mktemp("paired") / "model"
    options: Any = {"length": 12, "crop": "pad", "pair": "sum", "batch_size": 4}
    sl.export.save(network, path, encoder=DNA_ENCODER, task=BINARY_TASK, **options)
    return network, path


def records(count, mate):
    rng = np.random.default_rng(mate)
    lengths = rng.integers(5, 20, count)
    return ["".join(rng.choice(list("ACGT"), length)) for length in lengths]


def write(path, rows, mate):
    lines = (f"@r{i}/{mate}\n{row}\n+\n{'I' * len(row)}\n" for i, row in enumerate(rows))
    path.write_text("".join(lines))
    return path


def outputs(network, rows):
    """Return the outputs of the network for single records, truncated or padded to 12."""
    found = []
    for row in rows:
        letters = row[:12]
        inputs = DNA_ENCODER.batch([letters], length=12)
        mask = (np.arange(12) < len(letters)).astype("f4")[None]
        batch = {"inputs": inputs, "mask": mask}
        found.append(Forward.of(network)(network, batch, encoder=DNA_ENCODER).numpy()[0])
    return np.array(found)


def test_the_outputs_of_both_mates_are_added(program, paired, tmp_path):
    network, export = paired
    one, two = records(11, 1), records(11, 2)
    files = write(tmp_path / "1.fq", one, 1), write(tmp_path / "2.fq", two, 2)
    found = program("predict", export, *files, "--out", tmp_path / "a.tsv")
    assert found.stderr.decode().startswith("scored 11 pairs")
    scores = sl.infer.Scores.read_tsv(tmp_path / "a.tsv")
    wanted = BINARY_TASK.activate(outputs(network, one) + outputs(network, two))
    assert scores.ids == [f"r{i}/1" for i in range(11)]
    np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-6)


def test_mates_may_alternate_in_one_file(program, paired, tmp_path):
    _, export = paired
    one, two = records(11, 1), records(11, 2)
    files = write(tmp_path / "1.fq", one, 1), write(tmp_path / "2.fq", two, 2)
    texts = [path.read_text().splitlines() for path in files]
    both = [text[4 * i : 4 * i + 4] for i in range(11) for text in texts]
    (tmp_path / "both.fq").write_text("\n".join(line for it in both for line in it) + "\n")
    apart = program(export, *files)
    found = program("predict", export, tmp_path / "both.fq", "--interleaved")
    assert (found.returncode, found.stdout) == (0, apart.stdout)


def test_the_error_names_the_file_that_ends_first(program, paired, tmp_path):
    _, export = paired
    write(tmp_path / "1.fq", records(5, 1), 1)
    write(tmp_path / "2.fq", records(7, 2), 2)
    for first, second, mate in (("1", "2", "2"), ("2", "1", "2")):
        found = program(export, f"{first}.fq", f"{second}.fq", cwd=tmp_path)
        said = found.stderr.decode()
        assert found.returncode == 2
        assert (
            f"1.fq: ends after 5 records, but 2.fq continues with record 5 (r5/{mate})"
            in said
        )


def test_paired_reads_of_different_fragments_are_an_error(program, paired, tmp_path):
    _, export = paired
    write(tmp_path / "1.fq", records(3, 1), 1)
    lines = write(tmp_path / "2.fq", records(3, 2), 2).read_text().replace("@r1/", "@q1/")
    (tmp_path / "2.fq").write_text(lines)
    found = program(export, "1.fq", "2.fq", cwd=tmp_path)
    assert found.stderr.decode() == (
        "error: 1.fq and 2.fq: pair 1: expected two reads of one fragment, found 'r1/1' "
        "and 'q1/2'; both files must have the same order\n"
    )


def test_a_single_file_for_read_pairs_is_an_error(program, paired, tmp_path):
    _, export = paired
    write(tmp_path / "1.fq", records(3, 1), 1)
    found = program(export, "1.fq", cwd=tmp_path)
    assert "expected two files for each, R1 R2, got 1 files" in found.stderr.decode()
