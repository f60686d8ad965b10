"""seqloom-run writes exactly the output of `predict`, and the same messages."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo
from seqloom.errors import SeqloomError

DATA_FOLDER = Path(os.environ.get("SEQLOOM_DATA", "shared/data"))
# Tables of sequences can be read only in Python.
TABLE_SUFFIXES = {".tsv", ".csv", ".txt", ".yml", ".md"}


def sequence_files():
    """Return all files of the shared data that may contain sequences."""
    folders = ("fastx", "protein", "splice")
    paths = (
        path for folder in folders for path in sorted((DATA_FOLDER / folder).rglob("*"))
    )
    return [it for it in paths if it.is_file() and it.suffix not in TABLE_SUFFIXES]


# Python arguments in error messages about odd files, and the command-line options for
# them.
DATASET_CALL_TEMPLATE = "SequenceDataset(data, encoder=model.encoder, {})"
OPTION_FOR_PYTHON_ARGUMENT = {
    DATASET_CALL_TEMPLATE.format('whitespace="strip"'): "--whitespace strip",
    DATASET_CALL_TEMPLATE.format('comments="skip"'): "--comments skip",
    DATASET_CALL_TEMPLATE.format('ids="number"'): "--ids number",
    ', or on_error="skip" of open_sequences (seqloom convert --on-error skip) '
    "skips the record": "",
}


def said_by_python(trained, path, out):
    """Return the table of `predict`, or its message with command-line options."""
    try:
        sl.infer.predict(trained, path, num_threads=1).to_tsv(out)
    except SeqloomError as error:
        text = str(error)
        for python, typed in OPTION_FOR_PYTHON_ARGUMENT.items():
            text = text.replace(python, typed)
        return None, text
    return out.read_bytes(), ""


def check(program, exported, kind, path, tmp_path, threads):
    trained, export = exported(kind)
    table, fault = said_by_python(trained, path, tmp_path / "python.tsv")
    found = program("predict", export, path, "--threads", threads, "--quiet")
    if table is None:
        said = found.stderr.decode()
        assert (found.returncode, said) == (2, f"error: {fault}\n")
    else:
        assert (found.returncode, found.stdout) == (0, table)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["splice", "counts", "lstm", "dilated"])
def test_a_score_table_is_identical_to_that_of_predict(
    program, exported, tmp_path, kind, threads
):
    path = _demo.example_path("test.fa.gz")
    check(program, exported, kind, path, tmp_path, threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_table_of_genotypes_is_identical_to_that_of_predict(
    program, exported, tmp_path, threads
):
    path = _demo.example_path("genotypes/example.bed")
    check(program, exported, "genotypes", path, tmp_path, threads)


@pytest.mark.parametrize("kind", ["counts", "lstm", "dilated"])
@pytest.mark.parametrize("name", ["sanger_93.fastq", "example.fastq.bgz", "tricky.fastq"])
def test_scores_of_different_lengths_are_identical_to_those_of_predict(
    program, exported, tmp_path, kind, name
):
    path = DATA_FOLDER / "fastx" / "quality" / name
    if not path.exists():
        pytest.skip("SEQLOOM_DATA does not name the shared data")
    check(program, exported, kind, path, tmp_path, 2)


@pytest.mark.soak
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["splice", "counts", "lstm", "dilated"])
def test_all_files_are_scored_as_by_predict(program, exported, tmp_path, kind, threads):
    paths = sequence_files()
    assert len(paths) > 150
    for path in paths:
        if path.stat().st_size < 1 << 20 or kind == "counts":
            check(program, exported, kind, path, tmp_path, threads)


@pytest.mark.soak
@pytest.mark.parametrize("threads", [1, 2])
def test_all_bed_files_are_scored_as_by_predict(program, tmp_path, threads):
    for path in sorted((DATA_FOLDER / "plink").glob("*.bed")):
        data = sl.data.GenotypeDataset(path, labels=False)
        encoder = data.encoder.fit(data)
        config = sl.models.GenotypeMLPConfig(variants=int(data.lengths[0]), outputs=1)
        task = sl.models.Regress(("trait",))
        trained = sl.models.Trained(config.init("numpy").eval(), encoder, task, 64)
        sl.export.save(trained, tmp_path / "model", overwrite=True)
        kinds = {"": (trained, tmp_path / "model")}
        check(program, kinds.get, "", path, tmp_path, threads)


@pytest.mark.parametrize(("kind", "longest"), [("splice", 0), ("lstm", 32)])
def test_records_keep_the_order_of_the_input(program, exported, tmp_path, kind, longest):
    _, export = exported(kind)
    each = range(4, longest, 4) if longest else [15]
    rows = (f">r{row}\n{'ACGT' * each[row % len(each)]}\n" for row in range(20_000))
    (tmp_path / "a.fa").write_text("".join(rows))
    outs = tmp_path / "whole.tsv", tmp_path / "cut.tsv"
    for out, memory in zip(outs, ("4G", "4M"), strict=True):
        words = ("predict", export, tmp_path / "a.fa", "--out", out, "--memory", memory)
        assert program(*words).returncode == 0
    whole, cut = map(sl.infer.Scores.read_tsv, outs)
    assert cut.ids == whole.ids == [f"r{row}" for row in range(20_000)]
    if longest:  # other lengths have other padding, which may change the rounding
        np.testing.assert_allclose(cut, whole, rtol=0, atol=1e-6)
    else:
        assert np.array_equal(cut, whole)


def test_several_files_are_scored_in_order(program, exported, tmp_path):
    _, export = exported("splice")
    text = gzip.decompress(_demo.example_path("test.fa.gz").read_bytes()).split(b">")[1:]
    parts = text[:100], text[100:300]
    for number, part in enumerate(parts):
        (tmp_path / f"{number}.fa").write_bytes(b"".join(b">" + it for it in part))
    (tmp_path / "both.fa").write_bytes(b"".join(b">" + it for it in text[:300]))
    apart = program(export, tmp_path / "0.fa", tmp_path / "1.fa")
    assert apart.stdout == program(export, tmp_path / "both.fa").stdout
    assert apart.stdout.count(b"\n") == 301


def test_seqloom_run_reads_standard_input(program, exported):
    _, export = exported("splice")
    path = _demo.example_path("test.fa.gz")
    piped = program(export, "-", input=path.read_bytes())
    assert (piped.returncode, piped.stdout) == (0, program(export, path).stdout)


def test_ids_that_are_not_utf8_look_like_in_python(program, exported, tmp_path):
    trained, export = exported("lstm")
    (tmp_path / "a.fa").write_bytes(b">\xffa\xe9 rest\nACGT\n>caf\xc3\xa9\nAC\n")
    sl.infer.predict(trained, tmp_path / "a.fa").to_tsv(tmp_path / "a.tsv")
    assert program(export, tmp_path / "a.fa").stdout == (tmp_path / "a.tsv").read_bytes()


def test_missing_alleles_are_matched_like_in_python(program, exported, tmp_path):
    trained, export = exported("genotypes")
    bed = sl.io.open_bed(_demo.example_path("genotypes/example.bed"))
    values = np.ascontiguousarray(bed.read(dtype="int8")[:4])
    lacks = {"allele_1": (values == 0).all(0), "allele_2": (values == 2).all(0)}
    properties = {"sid": bed.sid, "iid": bed.iid[:4]}
    for name, lack in lacks.items():
        properties[name] = np.where(
            lack, np.array("0"), np.asarray(bed.property_item(name))
        )
    assert sum(lack.sum() for lack in lacks.values()) > 100
    sl.io.to_bed(tmp_path / "a.bed", values, properties=properties)
    sl.infer.predict(trained, tmp_path / "a.bed").to_tsv(tmp_path / "a.tsv")
    assert program(export, tmp_path / "a.bed").stdout == (tmp_path / "a.tsv").read_bytes()


@pytest.mark.parametrize("suffix", ["fam", "bim"])
def test_a_header_in_a_table_of_genotypes_is_an_error(program, exported, tmp_path, suffix):
    header = {"fam": "FID IID PAT MAT SEX PHENOTYPE\n", "bim": "CHR SNP CM BP A1 A2\n"}
    bed = sl.io.open_bed(_demo.example_path("genotypes/example.bed"))
    values = np.ascontiguousarray(bed.read(dtype="int8")[:3])
    names = ("sid", "allele_1", "allele_2")
    properties = {name: bed.property_item(name) for name in names}
    sl.io.to_bed(tmp_path / "a.bed", values, properties=properties)
    table = tmp_path / f"a.{suffix}"
    table.write_text(header[suffix] + table.read_text())
    done = program(exported("genotypes")[1], tmp_path / "a.bed")
    assert done.returncode == 2
    assert f"a.{suffix}: line 1: " in done.stderr.decode()


def test_variants_are_matched_by_id_and_alleles(program, exported, tmp_path):
    trained, export = exported("genotypes")
    bed = sl.io.open_bed(_demo.example_path("genotypes/example.bed"))
    # The second half of the variants has swapped alleles.
    values, order = bed.read(dtype="int8"), list(reversed(range(bed.sid_count)))
    properties = {name: bed.properties[name][order] for name in ("sid", "chromosome")}
    one, other = bed.allele_1[order].copy(), bed.allele_2[order].copy()
    values = values[:, order]
    values[:, ::2] = [[2 - it if it >= 0 else it for it in row] for row in values[:, ::2]]
    one[::2], other[::2] = other[::2], one[::2].copy()
    properties |= {"allele_1": one, "allele_2": other, "iid": bed.iid, "fid": bed.fid}
    sl.io.to_bed(tmp_path / "a.bed", values, properties=properties)
    sl.infer.predict(trained, tmp_path / "a.bed").to_tsv(tmp_path / "a.tsv")
    assert program(export, tmp_path / "a.bed").stdout == (tmp_path / "a.tsv").read_bytes()
