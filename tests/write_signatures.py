"""Write the Rust table of operations to a path, for `make stubs` and `make lint`."""

import inspect
import sys
from pathlib import Path

import seqloom as sl
from seqloom.tensor import Backend
from seqloom.tensor._families._windows import Windows
from seqloom.tensor._operations import OPERATIONS

ARRAY_NAMESPACE = sl.tensor.backend("numpy").tensor([0.0]).__array_namespace__()
# Argument names in the Array API standard, and their names in graphs.
ARGUMENT_NAMES = {
    "x1": "x",
    "x2": "y",
    "obj": "x",
    "fill_value": "value",
    "n_rows": "rows",
    "n_cols": "columns",
}
EXCLUDED_ARGUMENTS = {"b", "self", "device"}  # arguments that graphs do not have
FILE_HEADER = """\
//! The operations of exported graphs.
//!
//! Written by `tests/write_signatures.py` from `seqloom/tensor/_operations.py` and the
//! signatures of its functions. Do not edit it: run `make stubs`.

use super::signature::{OperationKind as Kind, Signature};

#[rustfmt::skip]
pub(crate) const TABLE: &[Signature] = &[
"""


def write_table() -> str:
    """Return the table, with a line for each operation of exported graphs."""
    return (
        FILE_HEADER + "".join(map(_write_line, filter(_is_exported, OPERATIONS))) + "];\n"
    )


def _is_exported(name: str) -> bool:
    return bool(OPERATIONS[name].results)


def _write_line(name: str) -> str:
    """Return the signature of an operation."""
    arguments, needed = list_arguments(name)
    results = OPERATIONS[name].results.replace("*", "0")
    kind = f"Kind::{(OPERATIONS[name].kind or 'other').title()}"
    names = ", ".join(f'"{argument}"' for argument in arguments)
    return (
        f'    Signature {{ name: "{name}", results: {results}, kind: {kind}, '
        f"needed: {needed}, arguments: &[{names}] }},\n"
    )


def list_arguments(name: str) -> tuple[list[str], int]:
    """Return the arguments of an operation; the first ones have no default."""
    function = getattr(Backend, name, None) or getattr(ARRAY_NAMESPACE, name)
    signature = inspect.signature(function).parameters
    parameters = [signature[it] for it in signature if it not in EXCLUDED_ARGUMENTS]
    # Window operations have the options of `Windows.of`.
    if parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        known = {it.name for it in parameters[:-1]} | {"kernel"}
        windows = inspect.signature(Windows.of).parameters.values()
        parameters[-1:] = [it for it in windows if it.name not in known]
    has_default = [it.default is not it.empty for it in parameters]
    names = [ARGUMENT_NAMES.get(it.name, it.name) for it in parameters]
    return names, [*has_default, True].index(True)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(write_table(), encoding="utf-8")
