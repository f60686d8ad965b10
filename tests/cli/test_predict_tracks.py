"""`seqloom predict --out pred.bw` writes the counts of tracks."""

import numpy as np

import seqloom as sl
from seqloom.models import BPNetConfig, Profile, Trained


def test_the_command_writes_the_file_of_the_function(call, tmp_path):
    codes = np.random.default_rng(0).choice(list("ACGT"), 1000)
    genome, intervals = tmp_path / "g.fa", tmp_path / "a.bed"
    genome.write_text(f">a\n{''.join(codes)}\n")
    intervals.write_text("a\t100\t260\na\t300\t460\n")
    encoder, network = sl.encode.OneHot("dna"), BPNetConfig(1, 4, 1, trimming=55)
    model = Trained(network.init("numpy").eval(), encoder, Profile(("reads",)), 4)
    model.save(tmp_path / "run")
    out, other = tmp_path / "pred.bw", tmp_path / "other.bw"
    words = ("predict", tmp_path / "run", genome, "--intervals", intervals, "--out", out)
    found = call(*words)
    assert found.code == 0
    data = sl.data.IntervalDataset(genome, intervals, encoder=encoder)
    sl.infer.predict_tracks(model, data, other)
    one, two = (
        sl.io.open_tracks(path).values("a", 0, 1000, missing="nan") for path in (out, other)
    )
    np.testing.assert_array_equal(one, two)
    assert call(*words).code != 0
