"""Train two epochs on the demo and score, with an installed wheel."""

from pathlib import Path

import seqloom as sl

demo = Path(sl.__file__).parent / "_demo"
train = sl.data.SequenceDataset(
    demo / "train.fa.gz", labels=demo / "train.tsv", encoder=sl.encode.OneHot("dna")
)
sl.train.fit(
    sl.models.SequenceCNNConfig.for_data(train),
    train,
    epochs=2,
    out=sl.train.RunFolder("run", overwrite=True),
)
scores = sl.infer.predict(sl.models.load("run"), demo / "test.fa.gz").to_numpy()
assert scores.shape == (1186, 3), scores.shape
assert abs(scores.sum(axis=1) - 1).max() < 1e-5
print("trained two epochs, scored 1,186 sequences")
