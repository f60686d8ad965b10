"""Files of effects have the numbers of the table, and a stopped call continues."""

import io
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import seqloom as sl
from networks import Logistic
from seqloom.errors import ArgumentError, FormatError, RunFolderError
from seqloom.infer._variant_scores import AlleleScorer
from seqloom.models import Classify, Trained

GENOME = "AACGTTGCAAGGCCTTATATATAGCGCGTACGATCCCCATTTGACTGACTGA"
HEADER = (
    "##fileformat=VCFv4.3\n##contig=<ID=chr1,length=52>\n"
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
)
COLUMNS = "#CHROM POS ID REF ALT QUAL FILTER INFO\n".replace(" ", "\t")
RECORDS = ["21 a A C", "22 b T <DEL>,G", "30 c A AGG,*", "40 d TTTG T"]

needs_bcftools = pytest.mark.skipif(
    not shutil.which("bcftools"), reason="bcftools is not installed"
)


def write_vcf(path, records):
    rows = [f"chr1 {row} . PASS DP=7\n".replace(" ", "\t") for row in records]
    path.write_text(HEADER + COLUMNS + "".join(rows))
    return path


@pytest.fixture
def inputs(tmp_path):
    """A file of variants and its genome."""
    (tmp_path / "g.fa").write_text(f">chr1\n{GENOME}\n")
    return write_vcf(tmp_path / "in.vcf", RECORDS), tmp_path / "g.fa"


@pytest.fixture
def model():
    encoder = sl.encode.OneHot("dna")
    network = Logistic(encoder.width * 9, 2)
    network.bind(sl.tensor.backend("numpy"), sl.Key(5))
    task = Classify(("no", "yes"))
    return Trained(network.eval(), encoder, task, batch_size=16)


def effects_of(model, inputs, **options):
    return sl.infer.variant_effects(model, *inputs, width=9, **options)


@pytest.mark.parametrize("name", ["out.tsv", "out.csv", "out.parquet"])
def test_a_table_written_in_batches_equals_a_saved_table(model, inputs, tmp_path, name):
    summary = effects_of(model, inputs, out=tmp_path / name)
    effects_of(model, inputs).save(tmp_path / f"saved-{name}")
    if name.endswith(".parquet"):
        found, saved = (pd.read_parquet(tmp_path / it) for it in (name, f"saved-{name}"))
        pd.testing.assert_frame_equal(found, saved)
    else:
        assert (tmp_path / name).read_bytes() == (tmp_path / f"saved-{name}").read_bytes()
    assert (len(summary), summary.report["status"]["ok"]) == (0, 4)


def test_an_open_text_file_receives_the_table(model, inputs, tmp_path):
    file = io.StringIO()
    effects_of(model, inputs, out=file)
    effects_of(model, inputs).to_tsv(tmp_path / "t.tsv")
    assert file.getvalue() == (tmp_path / "t.tsv").read_text()


@needs_bcftools
def test_bcftools_reads_the_effects_in_info(model, inputs, tmp_path):
    effects = effects_of(model, inputs)
    effects_of(model, inputs, out=tmp_path / "out.vcf.gz")
    fields = "%POS\t%INFO/DP\t%INFO/seqloom_status\t%INFO/seqloom_difference_yes\n"
    command = ["bcftools", "query", "-f", fields, str(tmp_path / "out.vcf.gz")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    positions, depths, status, scores = zip(
        *(line.split("\t") for line in text.splitlines()), strict=True
    )
    assert (positions, set(depths)) == (("21", "22", "30", "40"), {"7"})
    assert ",".join(status).split(",") == effects.status
    found = [np.nan if it == "." else float(it) for it in ",".join(scores).split(",")]
    assert found == pytest.approx(effects["difference_yes"].tolist(), rel=1e-5, nan_ok=True)
    assert (tmp_path / "out.vcf.gz.tbi").exists()


def test_vcf_has_a_text_for_each_allele_and_gene(model, inputs, tmp_path):
    genes = {"name": ["one", "a|b"], "chrom": ["1", "1"], "start": [18, 0]}
    genes |= {"stop": [24, 24], "strand": ["+", "-"]}
    effects_of(model, inputs, genes=genes, out=tmp_path / "out.vcf")
    header, *records = (tmp_path / "out.vcf").read_text().split(COLUMNS)[-1].splitlines()
    first = header.split("\t")[-1].removeprefix("DP=7;seqloom=").split(",")
    assert [text.split("|")[:4] for text in first] == [
        ["C", "ok", "chr1:21:A:C", "one"],
        ["C", "ok", "chr1:21:A:C", "a%7Cb"],
    ]
    assert "AGG|outside_genes|chr1:30:A:AGG||.|" in records[1]


def test_vcf_has_the_base_of_each_row_of_a_split_substitution(model, inputs, tmp_path):
    write_vcf(inputs[0], ["20 a TA GC,G"])
    effects_of(model, inputs, split_mnps=True, out=tmp_path / "out.vcf")
    text = (tmp_path / "out.vcf").read_text().splitlines()[-1].split("seqloom=")[-1]
    rows = [row.split("|")[:3] for row in text.split(",")]
    assert rows == [
        ["GC", "ok", "chr1:20:T:G"],
        ["GC", "ok", "chr1:21:A:C"],
        ["G", "ok", "chr1:20:TA:G"],
    ]


def test_vcf_needs_variants_of_a_file(model, inputs, tmp_path):
    with sl.io.open_variants(inputs[0]) as reader:
        batch = next(reader.batches())
    effects = sl.infer.variant_effects(model, batch, inputs[1], width=9)
    with pytest.raises(ArgumentError, match=r"ends in \.tsv, \.csv or \.parquet"):
        effects.save(tmp_path / "out.vcf")


def test_outputs_with_one_info_id_are_an_error(inputs, tmp_path):
    encoder = sl.encode.OneHot("dna")
    network = Logistic(encoder.width * 9, 2)
    network.bind(sl.tensor.backend("numpy"), sl.Key(5))
    model = Trained(network.eval(), encoder, Classify(("a b", "a-b")), batch_size=16)
    with pytest.raises(ArgumentError, match="have the id seqloom_reference_a_b in INFO"):
        effects_of(model, inputs, out=tmp_path / "out.vcf")
    assert not (tmp_path / "out.vcf").exists()


def many_records(tmp_path):
    """A file with 800 records, which are several batches."""
    sites = [(at, base) for at, base in enumerate(GENOME, 1) if 10 < at < 43]
    rows = [
        f"{at} . {base} {'G' if base != 'G' else 'C'}"
        for at, base in sites
        for _ in "x" * 25
    ]
    return write_vcf(tmp_path / "many.vcf", rows), tmp_path / "g.fa"


def stop_after(count):
    """Return a progress function that is interrupted after some records."""

    def tell(done, _):
        if done >= count:
            raise KeyboardInterrupt

    return tell


def test_an_interrupted_call_continues_with_the_stored_scores(
    model, inputs, tmp_path, monkeypatch
):
    del inputs
    many, out = many_records(tmp_path), tmp_path / "out.tsv"
    with pytest.raises(KeyboardInterrupt):
        effects_of(model, many, out=out, progress=stop_after(500))
    assert not out.exists()
    assert (tmp_path / "out.tsv.unfinished").is_dir()
    scored = []
    compare = AlleleScorer.compare

    def count(scorer, table, orientation):
        scored.append(len(table))
        return compare(scorer, table, orientation)

    monkeypatch.setattr(AlleleScorer, "compare", count)
    effects_of(model, many, out=out)
    assert sum(scored) == 1 + 800 - 512  # one variant shows the names of the columns
    assert not (tmp_path / "out.tsv.unfinished").exists()
    effects_of(model, many).save(tmp_path / "whole.tsv")
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_stored_scores_of_other_settings_are_an_error(model, inputs, tmp_path):
    del inputs
    many, out = many_records(tmp_path), tmp_path / "out.tsv"
    with pytest.raises(KeyboardInterrupt):
        effects_of(model, many, out=out, progress=stop_after(200))
    with pytest.raises(
        RunFolderError, match=r"unfinished: .* reverse_complement was False, now True"
    ):
        effects_of(model, many, out=out, reverse_complement=True)
    with (tmp_path / "many.vcf").open("a") as file:
        file.write("chr1\t21\t.\tA\tT\t.\t.\t.\n")
    with pytest.raises(RunFolderError, match="another file of variants"):
        effects_of(model, many, out=out)


def test_damaged_stored_scores_are_an_error(model, inputs, tmp_path):
    del inputs
    many, out = many_records(tmp_path), tmp_path / "out.tsv"
    with pytest.raises(KeyboardInterrupt):
        effects_of(model, many, out=out, progress=stop_after(200))
    (part,) = (tmp_path / "out.tsv.unfinished").glob("*.safetensors")
    data = bytearray(part.read_bytes())
    data[-3] ^= 1
    part.write_bytes(data)
    with pytest.raises(sl.errors.RecordError, match=part.name):
        effects_of(model, many, out=out)


def test_a_call_that_fails_before_the_first_score_leaves_no_files(model, inputs, tmp_path):
    before = sorted(tmp_path.iterdir())
    write_vcf(inputs[0], ["21 a C G"])
    with pytest.raises(FormatError, match="REF differs"):
        effects_of(model, inputs, out=tmp_path / "out.vcf.gz")
    assert [it for it in sorted(tmp_path.iterdir()) if "g.fa." not in it.name] == [
        it for it in before if "g.fa." not in it.name
    ]


@pytest.mark.parametrize("name", ["out.tsv", "out.vcf.gz", "out.parquet"])
def test_a_file_without_records_has_an_output_without_rows(model, inputs, tmp_path, name):
    write_vcf(inputs[0], [])
    effects_of(model, inputs, out=tmp_path / name)
    if name == "out.tsv":
        (header,) = (tmp_path / name).read_text().splitlines()
        assert header.split("\t")[-1] == "difference_yes"
    elif name == "out.parquet":
        assert len(pd.read_parquet(tmp_path / name)) == 0
    else:
        with sl.io.open_variants(tmp_path / name) as reader:
            assert "seqloom_difference_yes" in reader.header
            assert list(reader.batches()) == []


def test_a_folder_of_another_kind_is_kept(model, inputs, tmp_path):
    (tmp_path / "out.tsv.unfinished").mkdir()
    (tmp_path / "out.tsv.unfinished/mine.txt").write_text("mine\n")
    with pytest.raises(RunFolderError, match="write to another file"):
        effects_of(model, inputs, out=tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv.unfinished/mine.txt").exists()


def test_the_output_must_not_be_the_file_of_variants(model, inputs):
    with pytest.raises(ArgumentError, match=r"out is .*in\.vcf, the file of variants"):
        effects_of(model, inputs, out=inputs[0])


def test_broken_rules_of_the_format_are_in_the_report(model, inputs):
    with inputs[0].open("a") as file:
        file.write("chr1\t21\t.\tA\tT\t.\tlow\t.\n")
    assert effects_of(model, inputs).report["oddities"] == {"undeclared_filter": 1}


def test_scores_that_are_not_finite_cause_a_warning(model, inputs):
    network = sl.nn.Conv1d(4, 1, 9).bind("numpy", 0)
    network.load_record({"weight": np.full((1, 4, 9), np.nan, "f4"), "bias": [0.0]})
    with pytest.warns(sl.errors.DataWarning, match="scores of 4 alleles are not finite"):
        effects_of(network, inputs)


def test_a_table_and_a_file_object_have_the_effects_of_a_file(model, inputs):
    expected = effects_of(model, inputs)
    with inputs[0].open("rb") as file:
        found = sl.infer.variant_effects(model, file, inputs[1], width=9)
    assert found["difference_yes"].tobytes() == expected["difference_yes"].tobytes()
    with pytest.raises(ArgumentError, match="VCF"):
        found.save(inputs[1].with_suffix(".vcf"))
    chrom, pos, ref = ["chr1"] * 4, [21, 22, 30, 40], ["A", "T", "A", "TTTG"]
    alts = ["C", ["<DEL>", "G"], "AGG,*", "T"]
    table = {"chrom": chrom, "pos": pos, "ref": ref, "alt": alts, "id": [*"abcd"]}
    found = sl.infer.variant_effects(model, pd.DataFrame(table), inputs[1], width=9)
    assert found["difference_yes"].tobytes() == expected["difference_yes"].tobytes()
    assert (found.ids, found.status) == (expected.ids, expected.status)


def test_variants_outside_of_regions_are_not_scored(model, inputs, tmp_path):
    # Regions are half-open: base 40 of the deletion has position 39, and 22 has 21.
    (tmp_path / "r.bed").write_text("chr1\t42\t43\nchr1\t0\t21\n")
    effects = effects_of(model, inputs, regions=tmp_path / "r.bed")
    assert effects.status == [
        *("ok", "symbolic", "outside_regions"),
        *("outside_regions", "spanning_deletion", "ok"),
    ]


def test_regions_of_another_genome_are_an_error(model, inputs, tmp_path):
    (tmp_path / "r.bed").write_text("chr7\t0\t21\n")
    with pytest.raises(FormatError, match=r"r\.bed: .* none of the contigs chr7"):
        effects_of(model, inputs, regions=tmp_path / "r.bed")


def test_messages_about_standard_input_name_it(model, inputs):
    """Reads standard input in another process (1 s)."""
    code = "import seqloom as sl; sl.data.VariantDataset('-', 'g.fa', width=9)"
    text = HEADER + COLUMNS + "chr1\tx\t.\tA\tC\t.\t.\t.\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text.encode(),
        capture_output=True,
        cwd=inputs[1].parent,
        check=False,
    )
    assert b"standard input: record 0, line 5" in done.stderr


def test_the_rules_of_spliceai_need_a_number_of_positions(model, inputs):
    with pytest.raises(ArgumentError, match=r"needs within \(--within\)"):
        effects_of(model, inputs, indels="spliceai")
