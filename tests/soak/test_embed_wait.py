"""An embedding job spends less than 1 % of its time waiting for batches."""

import pytest
from benchmarks.infer._embedding_job import embed_proteins
from benchmarks.infer._inputs import sample_proteins

import seqloom as sl


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_esm2_8m_waits_for_batches_less_than_one_percent_of_the_time(
    tmp_path, name, capsys
):
    network = sl.models.ESM2Config.of("8M").init(sl.tensor.backend(name, num_threads=1))
    summary = embed_proteins(network, sample_proteins(150), tmp_path, num_threads=1)
    with capsys.disabled():
        share, speed = summary.shares["input"], summary.tokens_per_second
        print(f"\n{name}: waiting {share:.2%}, {speed:,.0f} tokens/s")  # noqa: T201
    assert summary.shares["input"] < 0.01
