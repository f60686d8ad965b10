"""Arguments of `fit` given as the names of the fields of its values."""

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
    """Move fields into their values, so that tests can combine them."""
    for argument, value in VALUES.items():
        names = {field.name for field in fields(value)} & options.keys()
        if names - {argument}:
            options[argument] = value(**{name: options.pop(name) for name in names})
    if schedule := options.pop("schedule", None):
        options["lr"] = schedule
    return options
