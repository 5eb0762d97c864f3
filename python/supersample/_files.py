"""Rows of files: every format that the command reads, with the same columns and rows."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._warnings import warn

if TYPE_CHECKING:
    from ._tables import Roles, Table

#: What the flags of the command are called here.
_FLAGS = {
    r"--exclude (\S+)": r"columns=['~\1']",
    r"--drop-na": "nan='drop'",
    r"--(columns|functions)\b": r"\1=[…]",
    r"; read the file in batches with --max-memory, or use fewer columns=\[…\]": "; name fewer columns=[…]",
    r"; if that is wrong, set --shape [^;]*": "; if that is wrong, give the array",
    r"; name (those that count the draws|others) with --sample-dims": "; use supersample.arviz",
}


def is_file(x: Any) -> bool:
    """Whether it names a file, or several."""
    if isinstance(x, (list, tuple)) and x:
        return all(isinstance(path, (str, os.PathLike)) for path in x)
    return isinstance(x, (str, os.PathLike))


def read_files(x: Any, what: str, roles: Roles) -> Table:
    """The numbers of files; several are several chains."""
    from ._tables import Table

    if roles.chains is not None:
        raise ValueError(f"chains names a column of {what}, which is a file; the column chain is used, or give labels")
    columns = roles.columns
    excluded = columns is not None and all(name.startswith("~") for name in columns)
    try:
        read = _native.read_draws(
            [os.fspath(path) for path in (x if isinstance(x, (list, tuple)) else [x])],
            only=None if columns is None or excluded else list(columns),
            excluded=[name[1:] for name in columns] if columns is not None and excluded else None,
            functions=list(roles.functions or ()),
            weight=roles.sample_weight or roles.log_weight,
            group=roles.groups,
            drop=roles.drop,
        )
    except ValueError as error:
        # The command counts rows from 1.
        sentence = re.sub(r"\brow (\d+)\b", lambda row: f"row {int(row[1]) - 1}", _in_python(str(error)))
        raise ValueError(sentence) from None
    for note in read.notes:
        warn(_in_python(note))
    functions = None
    if read.functions is not None:
        functions = Table(read.functions, tuple(read.function_names), is_copy=True)
    return Table(
        read.values,
        tuple(read.names),
        tuple(read.unused),
        weights=None if roles.log_weight is not None else read.weights,
        log_weights=read.weights if roles.log_weight is not None else None,
        is_copy=True,
        chains=read.chains,
        functions=functions,
        groups=None if read.groups is None else np.asarray(read.groups),
        dropped=read.dropped,
    )


def _in_python(sentence: str) -> str:
    for flag, keyword in _FLAGS.items():
        sentence = re.sub(flag, keyword, sentence)
    return sentence
