"""Arguments of `fit` as tests write them: fields of its values by their names alone."""

from dataclasses import fields

import seqloom as sl

VALUES = {
    "objective": sl.train.Objective,
    "epochs": sl.train.Epochs,
    "batch_size": sl.train.Batches,
    "optimizer": sl.train.Updates,
    "backend": sl.train.Computation,
    "out": sl.train.RunFolder,
}


def as_arguments(**options):
    """Put fields of values into them, so that tests may share some and add others."""
    for argument, value in VALUES.items():
        names = {field.name for field in fields(value)} & options.keys()
        if names - {argument}:
            options[argument] = value(**{name: options.pop(name) for name in names})
    if schedule := options.pop("schedule", None):
        options["lr"] = schedule
    return options
