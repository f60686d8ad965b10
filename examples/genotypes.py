"""Train a model on a PLINK .bed file; the run folder is runs/y1."""

from pathlib import Path

import seqloom as sl

GENOTYPES_FOLDER = Path(sl.__file__).parent / "_demo/genotypes"


def main() -> None:
    """Predict a simulated trait from genotypes and covariates."""
    data = sl.data.GenotypeDataset(
        GENOTYPES_FOLDER / "example.bed",
        sl.data.Labels(GENOTYPES_FOLDER / "phenotype.txt", label_column="Y1"),
        GENOTYPES_FOLDER / "covariates.txt",
    )
    print(data)
    train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), seed=0)
    config = sl.models.GenotypeMLPConfig.for_data(train)
    run = sl.train.fit(
        config, train, valid, test=test, out=sl.train.RunFolder("runs/y1", overwrite=True)
    )
    print("r2 on the test set:", round(run.test.metrics["r2"], 3))


if __name__ == "__main__":
    main()
