"""Rows from any input, as C-ordered doubles with names, weights, functions and chains where there are any.

Everything that has rows comes in by `as_table`: arrays, frames, dicts, results, batches and partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._files import is_file, read_files
from ._frames import Frame, as_frame, is_posterior, libraries
from ._inputs import as_array, as_count, as_vector, doubles, expect_same_order, has
from ._numbers import counted
from ._warnings import warn

#: Names of the weight columns that this package and the command write; the second if the first is in use.
OWN_WEIGHTS = ("weight", "supersample_weight")
#: Keywords with one value for each row, which may be the name of a column.
OF_ROWS = ("sample_weight", "log_weight", "groups", "chains")


@dataclass(frozen=True)
class Roles:
    """What columns are used for, by name. A name is that of a column, of a vector (`theta` for `theta[0]`, …), or a
    pattern such as `theta*`."""

    #: Coordinates, or `~name` for all but these; None for all that are not ids, weights or functions.
    columns: tuple[str, ...] | None = None
    functions: tuple[str, ...] | None = None
    sample_weight: str | None = None
    log_weight: str | None = None
    groups: str | None = None
    chains: str | None = None
    #: Whether rows with NaN are left out.
    drop: bool = False
    #: Whether a column of weights that this package writes is used like any other.
    keep_weights: bool = False

    def names_any(self) -> str | None:
        """The first keyword that names columns."""
        given = (name for name in ("columns", "functions", *OF_ROWS) if getattr(self, name) is not None)
        return next(given, None)

    def wants(self, key: str) -> bool:
        """Whether an array of a dict is named."""
        named = [*(self.columns or ()), *(self.functions or ()), *(getattr(self, name) or "" for name in OF_ROWS)]
        return any(places([key], name) or _is_entry(name, key) for name in named)


def roles_of(given: dict[str, Any]) -> Roles:
    """The roles that options give to columns, which are taken out of the options."""
    columns, nan = given.pop("columns", None), given.pop("nan", None)
    named: dict[str, Any] = {name: given.pop(name) for name in OF_ROWS if isinstance(given.get(name), str)}
    functions = names_of(given.get("functions"))
    if functions is not None:
        del given["functions"]
        named["functions"] = tuple(functions)
    if nan not in (None, "refuse", "drop"):
        raise ValueError(f"nan is {nan!r}; choose refuse or drop")
    if columns is not None:
        # An index of pandas has names too, and names may be numbers.
        if np.ndim(columns) == 1:
            columns = [str(name) if isinstance(name, (int, np.integer)) else name for name in columns]
        found = names_of(columns)
        if found is None:
            raise TypeError(f"columns is {columns!r}; give the names of columns in a list")
        columns = tuple(found)
    if {"sample_weight", "log_weight"} <= named.keys() | {name for name in given if given[name] is not None}:
        raise ValueError("give sample_weight or log_weight, not both")
    return Roles(columns, drop=nan == "drop", **named)


def names_of(given: Any) -> list[str] | None:
    """Names, from one name or a list of them; None where they are no names."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, (list, tuple)) and given and all(isinstance(name, str) for name in given):
        return [str(name) for name in given]
    return None


@dataclass(frozen=True)
class Table:
    """Rows of doubles with names of columns, weights and functions, where there are any."""

    values: NDArray[np.float64]
    names: tuple[str, ...] | None = None
    #: Columns that were not used.
    unused: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    #: Logarithms of the weights, in place of the weights.
    log_weights: NDArray[np.float64] | None = None
    #: Whether the values are a private copy.
    is_copy: bool = False
    #: The number of each row's chain, where a column says it.
    chains: int | list[int] | NDArray[np.int64] | None = None
    #: Functions of the rows, which distances do not use.
    functions: Table | None = None
    #: The label of each row's group.
    groups: NDArray[Any] | None = None
    #: The score of each row.
    scores: NDArray[np.float64] | None = None
    #: The numbers of the rows that were left out, in ascending order.
    dropped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    #: Whether rows with NaN can be left out by a keyword.
    may_drop: bool = True

    @property
    def rows(self) -> int:
        """The number of rows before any were left out."""
        return len(self.values) + len(self.dropped)

    @property
    def function_names(self) -> tuple[str, ...] | None:
        """The names of the functions, if they have names."""
        return None if self.functions is None else self.functions.names

    def data(self) -> dict[str, Any]:
        """Weights, functions, chains and scores, as the native module reads them."""
        functions = None if self.functions is None else self.functions.values
        return {
            "sample_weight": self.weights,
            "log_weight": self.log_weights,
            "functions": functions,
            "chains": self.chains,
            "scores": self.scores,
        }

    def wide(self) -> NDArray[np.float64]:
        """The rows with their functions as the last columns."""
        return self.values if self.functions is None else np.hstack([self.values, self.functions.values])

    def is_weighted(self) -> bool:
        """Whether the rows have weights."""
        return self.weights is not None or self.log_weights is not None

    def complete(self) -> Table:
        """The rows without those that have NaN in a column that is used."""
        parts = {"x": self.values, "sample_weight": self.weights, "log_weight": self.log_weights}
        parts |= {"scores": self.scores, "functions": None if self.functions is None else self.functions.values}
        missing = np.zeros(len(self.values), dtype=bool)
        for name, part in parts.items():
            if part is None:
                continue
            if len(part) != len(missing):
                given = counted(len(part), "row")
                raise ValueError(f"{name} has {given}, but x has {counted(len(missing), 'row')}; give one for each row")
            missing |= np.isnan(part.reshape(len(part), -1)).any(axis=1)
        if self.groups is not None:
            missing[missing_labels(self.groups)] = True
        if not missing.any():
            return self

        def kept(part: Any) -> Any:
            return np.ascontiguousarray(part[~missing]) if isinstance(part, np.ndarray) else part

        names = ("values", "weights", "log_weights", "chains", "groups", "scores")
        functions = self.functions and replace(self.functions, values=kept(self.functions.values))
        parts_kept = {name: kept(getattr(self, name)) for name in names}
        dropped = np.union1d(self.dropped, given_number(self.dropped, np.flatnonzero(missing)))
        return replace(self, **parts_kept, functions=functions, is_copy=True, dropped=dropped)


def given_number(dropped: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers that rows had before others were left out."""
    if not len(dropped):
        return rows
    return rows + np.searchsorted(dropped - np.arange(len(dropped)), rows, side="right")


def kept_number(dropped: NDArray[np.int64], rows: NDArray[np.int64], what: str | None = None) -> NDArray[np.int64]:
    """The numbers of rows after others were left out. Rows that were left out are refused if `what` names them, and
    otherwise passed over."""
    is_dropped = np.isin(rows, dropped)
    if what is not None and is_dropped.any():
        raise ValueError(f"{what} has the row {rows[is_dropped][0]}, which is left out because it has NaN")
    rows = rows[~is_dropped]
    return rows - np.searchsorted(dropped, rows)


def as_table(x: Any, what: str = "x", roles: Roles | None = None) -> Table:
    """The numbers of any array or frame. A C-ordered array of doubles is not copied. Columns of frames that are ids, or
    weights that this package writes, are not used unless they are named."""
    roles = roles or Roles()
    if isinstance(x, Table):
        return x if roles.names_any() is None else _read(_of_table(x), what, roles, x)
    if has(x, "_as_table"):
        # A result: its points, with their weights.
        return as_table(x._as_table(), what, roles)
    if is_file(x):
        return read_files(x, what, roles)
    _refuse(x, what)
    frame = as_frame(x, what, roles.wants if roles.columns and not _excludes(roles.columns) else None)
    if frame is not None:
        return _read(frame, what, roles)
    refuse_names(roles, what)
    if has(x, "__array__") or isinstance(x, (list, tuple)):
        return Table(_matrix(as_array(x, what), what))
    if has(x, "__dlpack__"):
        try:
            return Table(_matrix(np.from_dlpack(x), what))
        except (BufferError, RuntimeError) as error:
            raise TypeError(f"{what} cannot be read by NumPy ({error}); move it to the CPU first") from None
    raise TypeError(f"{what} is of type {type(x).__name__}; give an array or a frame with one row for each point")


def has_names(x: Any) -> bool:
    """Whether the columns have names."""
    if isinstance(x, Table):
        return x.names is not None
    if isinstance(x, np.ndarray):
        return x.dtype.names is not None
    if isinstance(x, Mapping) or has(x, "_as_table") or libraries(x) & {"pandas", "polars"}:
        # Without a look at the columns of a lazy frame, which takes time.
        return True
    return any(has(x, name) for name in ("columns", "getParamNames", "__arrow_c_stream__", "_asdict"))


def refuse_names(roles: Roles, what: str) -> None:
    """Refuses names of columns where columns have none."""
    if roles.columns is not None:
        raise ValueError(
            f"columns= needs names, and the columns of {what} have none; take them from the array: "
            f"{_name(what)}[:, [0, 1]]"
        )
    if roles.names_any() is not None:
        raise ValueError(
            f"{roles.names_any()} names a column, but the columns of {what} have no names; give the numbers themselves"
        )


def _refuse(x: Any, what: str) -> None:
    """Refuses what has rows in another form, with the way to convert it."""
    if isinstance(x, np.ndarray):
        return
    if has(x, "read", "readline"):
        raise TypeError(f"{what} is an open file; give its path")
    if is_posterior(x):
        if has(x, "dims") and not has(x, "children") and not {"chain", "draw", "sample"} & set(x.dims):
            raise TypeError(
                f"{what} is a {type(x).__name__} without chains and draws; give one matrix, for example "
                f"{what}.to_stacked_array('column', ['{next(iter(x.dims), 'row')}'])"
            )
        raise TypeError(f"{what} is of type {type(x).__name__}; for chains and draws use supersample.arviz.thin")
    if has(x, "dims", "coords") and {"chain", "draw"} <= set(x.dims):
        # The first dimension would be that of the rows.
        raise TypeError(f"{what} has chains and draws; use supersample.arviz.thin({what}.to_dataset(name='{what}'), …)")
    if libraries(x) & {"pandas", "polars"} and has(x, "to_frame", "dtype"):
        raise ValueError(f"{what} is a Series, but two dimensions are needed; for one column use {what}.to_frame()")
    if has(x, "toarray", "nnz"):
        raise TypeError(f"{what} is a sparse matrix; use {what}.toarray() if it fits into memory")
    if isinstance(x, (list, tuple)) and x and all(np.ndim(item) == 2 for item in x):
        batches = f"for batches of rows give iter({what}), otherwise " if what.isidentifier() else ""
        raise ValueError(f"{what} is a list of {len(x)} tables; {batches}concatenate them")


def _matrix(x: NDArray[Any], what: str) -> NDArray[np.float64]:
    if x.ndim != 2:
        advice, name = "give one row for each point and one column for each coordinate", _name(what)
        if x.shape == (0,):
            raise ValueError(f"{what} is empty; give at least one row")
        if x.ndim == 1:
            advice += f"; for one column use {name}.reshape(-1, 1)"
            if name != what:
                advice += f", for one row {name}.reshape(1, -1)"
        elif x.ndim > 2:
            advice += (
                f": {name}.reshape(len({name}), -1) if the first axis counts the points, {name}.reshape(-1, "
                f"{x.shape[-1]}) if the last axis has the coordinates"
            )
        raise ValueError(f"{what} has shape {x.shape}, but two dimensions are needed; {advice}")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {x.dtype}, which is not a type of real numbers; convert it first")
    return doubles(x)


def _name(what: str) -> str:
    """What to call it in a line of code."""
    return what if what.isidentifier() else "rows"


def note_columns(table: Table, roles: Roles, keyword: str = "sample_weight") -> None:
    """Warns of columns that may not be what they are used as. Those that are named by the user need no note. `keyword`
    takes the weights of the rows."""
    if table.names is None or (roles.columns is not None and not _excludes(roles.columns)):
        return
    named = [name[1:] for name in roles.columns or ()]
    starts = [0]
    if isinstance(table.chains, np.ndarray):
        starts += (np.flatnonzero(np.diff(table.chains)) + 1).tolist()
    counting = _native.counting_columns(table.values, starts) if table.values.flags.c_contiguous else []
    columns = [(name, True, place in counting) for place, name in enumerate(table.names)]
    columns += [(name, False, False) for name in table.unused if name not in named and not table.is_weighted()]
    for note in _native.column_notes(columns):
        warn(note.replace("sample_weight=", f"{keyword}="))


def _excludes(columns: Sequence[str]) -> bool:
    return all(name.startswith("~") for name in columns)


def places(names: Sequence[str], wanted: str) -> list[int]:
    """The places of a column, of the entries of a vector of that name, or of the columns that match a pattern."""
    exact = [place for place, name in enumerate(names) if name == wanted]
    if exact:
        return exact
    if "*" in wanted or "?" in wanted:
        # Brackets have no special meaning.
        pattern = wanted.replace("[", "[[]")
        return [place for place, name in enumerate(names) if fnmatchcase(name, pattern)]
    return [place for place, name in enumerate(names) if _is_entry(name, wanted)]


def _is_entry(name: str, vector: str) -> bool:
    if not name.startswith(vector):
        return False
    rest = name[len(vector) :]
    return (rest[:1] == "[" and rest[-1:] == "]") or (rest[:1] == "." and rest[1:2].isdigit())


def _found(names: Sequence[str], wanted: Sequence[str], what: str) -> list[int]:
    """The places of these columns, each once."""
    found: list[int] = []
    for name in wanted:
        here = places(names, name)
        if not here:
            raise ValueError(f"{what} has no column '{name}'; its columns are {', '.join(names)}")
        found += [place for place in here if place not in found]
    return found


def used_places(names: Sequence[str], what: str, roles: Roles) -> tuple[list[int], list[int], list[int]]:
    """The places of the coordinates, of the functions, and of the columns with weights, groups or chains."""
    functions = _found(names, roles.functions or (), what)
    own = [name for name in (getattr(roles, name) for name in OF_ROWS) if name is not None]
    others = _found(names, own, what)
    columns = roles.columns
    if columns is None or _excludes(columns):
        barred = _found(names, [name[1:] for name in columns or ()], what)
        allowed = ("parameter", "weight") if roles.keep_weights else ("parameter",)
        are = [_native.column_role(name) in allowed for name in names]
        chosen = [j for j in range(len(names)) if are[j] and j not in barred and j not in others]
        return [j for j in chosen if j not in functions], functions, others
    chosen = sorted(_found(names, columns, what))
    both = [names[j] for j in chosen if j in functions]
    if both:
        raise ValueError(
            f"column '{both[0]}' is a function, which distances do not use, and cannot be one of columns as well"
        )
    return chosen, functions, others


def _read(frame: Frame, what: str, roles: Roles, of: Table | None = None) -> Table:
    """The columns of a table by their roles."""
    names = frame.names
    used, functions, others = used_places(names, what, roles)
    if not used and functions:
        raise ValueError(f"every column of {what} is a function; distances need at least one other column")
    if not used:
        raise ValueError(f"{what} has no column to use (ids such as chain and draw are not used)")
    _expect_numbers(frame, [*used, *functions], what)
    table = Table(
        _stacked(frame, used),
        tuple(names[j] for j in used),
        tuple(name for j, name in enumerate(names) if j not in (*used, *functions, *others)),
        weights=frame.weights,
        is_copy=True,
    )
    if of is not None:
        table = replace(table, log_weights=of.log_weights, chains=of.chains, unused=(*of.unused, *table.unused))
    if functions:
        own = Table(_stacked(frame, functions), tuple(names[j] for j in functions), is_copy=True)
        table = replace(table, functions=own)

    def column(role: str) -> int | None:
        name = getattr(roles, role)
        found = [] if name is None else _found(names, [name], what)
        if len(found) > 1:
            raise ValueError(f"{role} names '{name}', which is {len(found)} columns of {what}; name one")
        return found[0] if found else None

    for role, where in (("sample_weight", "weights"), ("log_weight", "log_weights")):
        place = column(role)
        if place is not None:
            _expect_numbers(frame, [place], what)
            found: dict[str, Any] = {"weights": None, "log_weights": None, where: frame.numbers(place)}
            table = replace(table, **found)
    groups, chain = column("groups"), column("chains")
    if groups is not None:
        table = replace(table, groups=frame.labels(groups))
    if chain is not None:
        return replace(table, chains=chain_numbers(frame.labels(chain), f"the column {names[chain]} of {what}"))
    chain = next((j for j, name in enumerate(names) if j not in used and _is_chain(name)), None)
    return table if chain is None else _in_chains(table, frame.labels(chain), what)


def _of_table(table: Table) -> Frame:
    names = table.names
    if names is None:
        raise ValueError("columns are named, but the columns of x have no names; give the numbers themselves")

    def column(place: int) -> NDArray[np.float64]:
        return table.values[:, place]

    return Frame(names, lambda place: None, column, column, table.weights)


def _stacked(frame: Frame, columns: Sequence[int]) -> NDArray[np.float64]:
    first = frame.numbers(columns[0])
    values = np.empty((len(first), len(columns)), dtype=np.float64)
    for j, place in enumerate(columns):
        values[:, j] = first if j == 0 else frame.numbers(place)
    return values


def _expect_numbers(frame: Frame, columns: Sequence[int], what: str) -> None:
    """Refuses columns without numbers, all in one message."""
    bad = [(frame.names[j], frame.kind(j)) for j in columns if frame.kind(j) is not None]
    if len(bad) == 1:
        name, kind = bad[0]
        raise TypeError(
            f"column '{name}' of {what} holds {kind}, not numbers; convert it, or leave it out with columns=['~{name}']"
        )
    if bad:
        listed = ", ".join(f"'{name}' ({kind})" for name, kind in bad)
        raise TypeError(
            f"{len(bad)} columns of {what} do not hold numbers: {listed}; convert them, or name the columns to use "
            "with columns=[…]"
        )


def _is_chain(name: Any) -> bool:
    return str(name).removeprefix(".").lower() == "chain"


def _in_chains(table: Table, chain: NDArray[Any], what: str) -> Table:
    """The rows with the chain of each, where a column has it."""
    try:
        return replace(table, chains=chain_numbers(chain, f"the column chain of {what}"))
    except (TypeError, ValueError) as error:
        warn(f"{error}; the rows are taken as one chain")
        return table


def chain_numbers(labels: NDArray[Any], what: str) -> NDArray[np.int64]:
    """A number for each label, none of which may be missing."""
    missing = missing_labels(labels)
    if missing.size:
        raise ValueError(f"{what} has no label in row {missing[0]}; give every row its chain")
    try:
        numbers: NDArray[np.int64] = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        raise TypeError(f"{what} has labels of several types; give labels of one type") from None
    return numbers


def missing_labels(labels: NDArray[Any]) -> NDArray[np.int64]:
    """The rows without a label: it is not equal to itself, or None."""
    if labels.dtype.kind != "O":
        return np.flatnonzero(labels != labels)
    return np.flatnonzero([label is None or not _is_itself(label) for label in labels])


def _is_itself(label: Any) -> bool:
    try:
        return bool(label == label)
    except (TypeError, ValueError):
        # pandas has a missing value that is neither.
        return False


def as_chains(chains: Any, rows: int) -> int | list[int] | NDArray[np.int64]:
    """A number of chains of equal length, the lengths of chains, or the number of each row's chain."""
    given = as_array(chains, "chains")
    if given.ndim == 0:
        return as_count(chains, "chains")
    if given.ndim > 1:
        raise ValueError(f"chains has shape {given.shape}; give a number, the length of each chain, or a label a row")
    if len(given) == rows:
        return chain_numbers(given, "chains")
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"chains has {len(given):,} labels, but there are {rows:,} rows; give one for each row, or the lengths"
        )
    return [as_count(length, "the length of a chain", 0) for length in given.tolist()]


def matched(table: Table, names: tuple[str, ...] | None, what: str) -> Table:
    """The columns of these names in this order; unchanged where either has no names."""
    if names is None or table.names is None or table.names == names:
        return table
    for name in names:
        if name not in table.names:
            raise ValueError(f"{what} has no column '{name}'; its columns are {', '.join(table.names)}")
        if table.names.count(name) > 1 or names.count(name) > 1:
            raise ValueError(f"the column '{name}' occurs more than once, so columns cannot be matched by name")
    order = [table.names.index(name) for name in names]
    left_out = [name for name in table.names if name not in names]
    return replace(
        table, values=np.ascontiguousarray(table.values[:, order]), names=names, unused=(*table.unused, *left_out)
    )


def weighted(table: Table, sample_weight: Any, log_weight: Any, x: Any = None) -> Table:
    """The rows with these weights or logarithms of weights, or with their own where neither is given."""
    if sample_weight is not None and log_weight is not None:
        raise ValueError("give sample_weight or log_weight, not both")
    if log_weight is not None:
        expect_same_order(x, log_weight, "log_weight")
        return replace(table, weights=None, log_weights=as_vector(log_weight, "log_weight"))
    if sample_weight is not None:
        expect_same_order(x, sample_weight, "sample_weight")
        return replace(table, weights=as_vector(sample_weight, "sample_weight"), log_weights=None)
    return table


@contextmanager
def explained(rows: Any, what: str | None = "x", labels: Sequence[Any] = ()) -> Iterator[None]:
    """Puts the names of columns, functions and groups into errors of the native module, which does not know them."""
    try:
        yield
    except ValueError as error:
        refusal = getattr(error, "refusal", None)
        if isinstance(refusal, _native.Refusal):
            groups = [str(label) for label in labels]
            of = getattr(error, "of", what)
            dropped = rows.dropped.tolist() if of == what else []
            sentence = refusal.sentence(of, rows.names, rows.function_names, groups, dropped)
            error.args = (sentence + (_with_nan(rows) if of == what else ""),)
            # An outer caller has other names.
            del error.refusal  # type: ignore[attr-defined]
        raise


def _with_nan(rows: Any) -> str:
    """The columns that hold NaN, and how to leave such rows out; empty where there are none."""
    if not isinstance(rows, Table) or rows.values.ndim != 2:
        return ""
    counts = np.isnan(rows.values).sum(axis=0)
    if not counts.any():
        return ""
    names = rows.names or range(len(counts))
    listed = ", ".join(f"{name} ({count:,})" for name, count in zip(names, counts) if count)
    some = int(np.isnan(rows.values).any(axis=1).sum())
    return f"; NaN by column: {listed}, in {counted(some, 'row')}" + (
        "; nan='drop' leaves these out" if rows.may_drop else ""
    )
