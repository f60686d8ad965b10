"""Arguments of `fit`, passed as fields of its option classes, such as Epochs."""

from dataclasses import fields

import seqloom as sl

SETTINGS_CLASSES = {
    "objective": sl.train.Objective,
    "epochs": sl.train.Epochs,
    "batch_size": sl.train.Batches,
    "optimizer": sl.train.Updates,
    "backend": sl.train.Computation,
    "out": sl.train.RunFolder,
}


def as_arguments(**options):
    """Replace fields of option classes by objects of these classes."""
    for argument, value in SETTINGS_CLASSES.items():
        names = {field.name for field in fields(value)} & options.keys()
        if names - {argument}:
            options[argument] = value(**{name: options.pop(name) for name in names})
    if schedule := options.pop("schedule", None):
        options["lr"] = schedule
    return options
