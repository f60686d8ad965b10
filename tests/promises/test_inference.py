"""Specification 5: embeddings of millions of sequences without losses.

Deviation from the specification: a shard is a numbered part of the input that a process
claims with a file. SLURM arrays, torchrun and Ray use the same plan of shards. Ray only
schedules shards, and does not transfer data. Tests that need a GPU are in
``test_embed_cuda.py``.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import embed_job
import seqloom as sl
from seqloom.errors import SeqloomError
from waiting import wait_until

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
RNG = np.random.default_rng(11)
RANDOM_PROTEINS = ["".join(RNG.choice([*AMINO_ACIDS], n)) for n in RNG.integers(3, 40, 60)]


@pytest.fixture
def fasta(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(
        "".join(f">s{i}\n{it}\n" for i, it in enumerate(RANDOM_PROTEINS))
    )
    return "a.fa"


@pytest.fixture(scope="module")
def esm(tmp_path_factory):
    """A small ESM-2 of Hugging Face with random weights, and its folder."""
    folder = tmp_path_factory.mktemp("esm")
    torch.manual_seed(0)
    config = transformers.EsmConfig(
        vocab_size=33, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, position_embedding_type="rotary", token_dropout=True,
        pad_token_id=1, mask_token_id=32, emb_layer_norm_before=False,
    )  # fmt: skip
    network = transformers.EsmForMaskedLM(config).eval()
    network.save_pretrained(folder)
    return network, folder


def embed(model=embed_job.embed_tokens, out="e", **changes):
    options: dict[str, Any] = {
        "identity": "table",
        "shard_size": 12,
        "max_tokens": 200,
        **changes,
    }
    return sl.infer.embed(model, "a.fa", out=out, **options)


def digests(folder):
    return {p.name: p.read_bytes() for p in sorted(Path(folder).glob("*.safetensors"))}


def test_a_packed_batch_has_the_keys_for_attention():
    items = [{"id": "a", "sequence": b"MK"}, {"id": "b", "sequence": b"M"}]
    batch = sl.data.VarlenCollator(tokens=sl.encode.Tokens("esm2"))(items)
    assert {"input_ids", "position_ids", "cu_seqlens", "max_seqlen"} <= set(batch)
    assert batch["cu_seqlens"].dtype == np.int32
    assert batch["sequence_ids"] == ["a", "b"]
    assert batch["num_sequences"] == 2


def test_every_record_is_in_exactly_one_full_batch(fasta):
    batches = list(sl.data.PackedStream(fasta, max_tokens=200))
    ordinals = np.concatenate([batch["ordinals"] for batch in batches])
    assert sorted(ordinals.tolist()) == list(range(60))
    assert max(batch["cu_seqlens"][-1] for batch in batches) <= 200


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_packing_does_not_depend_on_the_number_of_threads(fasta, threads):
    wanted = sl.data.PackedStream(fasta, max_tokens=200, num_threads=1)
    found = sl.data.PackedStream(fasta, max_tokens=200, num_threads=threads)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one["input_ids"], other["input_ids"])


def test_a_sequence_that_is_too_long_is_an_error_that_suggests_windows(fasta):
    with pytest.raises(SeqloomError, match="max_length"):
        list(sl.data.PackedStream(fasta, max_tokens=20))


def test_windows_cover_a_long_sequence(fasta):
    batches = list(sl.data.PackedStream(fasta, max_tokens=20, max_length=10, overlap=2))
    assert all(batch["cu_seqlens"][-1] <= 20 for batch in batches)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_esm2_embeddings_equal_those_of_hugging_face(esm, backend):
    network, folder = esm
    model = sl.models.ESM2.load(folder, backend=backend)
    tokens = sl.encode.Tokens("esm2")(RANDOM_PROTEINS[0])
    with torch.no_grad():
        wanted = network(torch.tensor(tokens)[None]).logits[0].numpy()
    states = model(model.backend.tensor(tokens[None]))
    found = np.asarray(model.logits(states))[0]
    np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_embeddings_of_a_file_equal_those_of_hugging_face_in_input_order(esm, fasta):
    network, folder = esm
    sl.infer.embed(sl.models.ESM2.load(folder), fasta, out="e", max_tokens=200)
    loaded = sl.infer.load("e")
    assert list(loaded.ids) == [f"s{i}" for i in range(60)]
    for i in (0, 17, 59):
        tokens = torch.tensor(sl.encode.Tokens("esm2")(RANDOM_PROTEINS[i]))[None]
        with torch.no_grad():
            states = network.esm(tokens).last_hidden_state[0, 1:-1].mean(0).numpy()
        np.testing.assert_allclose(loaded[f"s{i}"], states, atol=2e-5)


def test_a_user_function_can_compute_the_embeddings_of_a_job(fasta):
    embed()
    found = sl.infer.load("e")["s3"]
    np.testing.assert_allclose(
        found, embed_job.expected_mean(RANDOM_PROTEINS[3]), rtol=1e-5
    )


def test_a_finished_job_computes_nothing_again(fasta):
    assert embed().computed > 0
    assert embed().computed == 0


def test_a_killed_embedding_job_resumes_to_the_same_bytes(fasta):
    code = "import embed_job; embed_job.run('a.fa', 'cut', 12)"
    path = os.pathsep.join([str(Path(embed_job.__file__).parent), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}
    ) as process:
        wait_until(lambda: process.poll() is not None or list(Path("cut").glob("*.done")))
        process.send_signal(signal.SIGKILL)
    embed_job.run("a.fa", "cut", 12)
    embed_job.run("a.fa", "whole", 12)
    assert digests("cut") == digests("whole")


def test_a_folder_of_another_job_is_an_error_that_names_the_difference(fasta):
    embed()
    with pytest.raises(SeqloomError, match="pool"):
        embed(pool="cls")


def test_the_marker_of_a_shard_contains_checksum_count_and_ordinals(fasta):
    embed()
    markers = [json.loads(path.read_text()) for path in sorted(Path("e").glob("*.done"))]
    assert all(len(marker["sha256"]) == 64 for marker in markers)
    assert len(markers) == 5


def test_ids_are_never_used_as_paths_and_duplicates_are_separate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(">../../x\nMKT\n>a b\nMKV\n>" + "i" * 300 + "\nMKA\n")
    embed(max_tokens=50)
    assert len(sl.infer.load("e").ids) == 3
    assert not Path("../../x").exists()


def test_an_empty_sequence_is_an_error_with_its_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(">good\nMKT\n>empty\n")
    with pytest.raises(SeqloomError, match="empty"):
        embed()


def test_dna_for_a_protein_model_is_a_warning(esm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["".join(RNG.choice([*"ACGT"], 40)) for _ in range(40)]
    Path("a.fa").write_text("".join(f">s{i}\n{row}\n" for i, row in enumerate(rows)))
    with pytest.warns(Warning, match="look like dna"):
        sl.infer.embed(sl.models.ESM2.load(esm[1]), "a.fa", out="e", max_tokens=200)


def test_embeddings_can_train_a_head(fasta):
    embed()
    labels = {f"s{i}": "ab"[i % 2] for i in range(60)}
    data = sl.data.EmbeddingDataset(sl.infer.load("e"), labels)
    config = sl.models.HeadConfig.for_data(data)
    run = sl.train.fit(config, data, epochs=1, progress=False)
    assert run.history[-1]["train_loss"] > 0


def test_adapters_are_saved_without_the_base_network(esm, tmp_path):
    base = sl.models.ESM2.load(esm[1])
    config = sl.models.ESM2LoRAConfig(outputs=2, base=str(esm[1]), rank=2)
    del base
    model = config.init("numpy", sl.Key(0))
    size = sum(np.asarray(array).size for array in model.to_record().values())
    assert size < model.number_of_parameters


def test_a_job_without_a_problem_reports_no_bottleneck():
    with sl.infer.GPUMonitor(interval=60) as monitor:
        pass
    assert not monitor.check_bottleneck()


def test_waiting_time_is_recorded_in_milliseconds():
    with sl.infer.GPUMonitor(interval=60) as monitor:
        monitor.record_dataloader_wait(5)
        time.sleep(0.1)
    assert not monitor.check_bottleneck()


def test_the_summary_of_a_job_contains_tokens_batch_fill_and_the_bottleneck(fasta):
    summary = embed()
    assert summary.sequences == 60
    assert 0 < summary.fill <= 1
    assert summary.verdict


@pytest.mark.parametrize("pool", ["mean", "cls", "none"])
def test_the_pooling_of_embeddings_can_be_chosen(esm, fasta, pool):
    sl.infer.embed(sl.models.ESM2.load(esm[1]), fasta, out=pool, pool=pool, max_tokens=200)
    row = sl.infer.load(pool)["s0"]
    assert row.shape == ((len(RANDOM_PROTEINS[0]), 16) if pool == "none" else (16,))


def test_several_layers_can_be_stored_at_once(esm, fasta):
    model = sl.models.ESM2.load(esm[1])
    sl.infer.embed(model, fasta, out="e", layers=(1, 2), max_tokens=200)
    table = sl.infer.load("e")
    assert table.get("s0", layer=1).shape == table.get("s0", layer=2).shape == (16,)


def test_embeddings_can_be_half_precision_and_parquet(fasta):
    embed(out="half", dtype="float16")
    embed(out="table", format="parquet")
    assert sl.infer.load("half")["s1"].dtype == np.float16
    np.testing.assert_allclose(
        sl.infer.load("half")["s1"], sl.infer.load("table")["s1"], rtol=2e-3
    )


def test_an_embedding_job_reports_a_missing_gpu_once():
    with sl.infer.GPUMonitor(interval=60) as monitor:
        pass
    assert len(monitor.get_summary()["notes"]) <= 1


def test_embeddings_are_read_by_id_and_by_ordinal(fasta):
    embed()
    table = sl.infer.load("e")
    np.testing.assert_array_equal(table["s7"], table.get(table.ordinal("s7")))
    assert table.to_numpy().shape == (60, embed_job.EMBEDDING_WIDTH)
