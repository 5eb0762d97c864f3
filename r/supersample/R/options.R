# Options, given as `...`: which function takes which, and what the native code gets of each. What the user does not give is left
# out, and the library has the default.

of_rows <- c(
  "columns", "sample_weight", "log_weight", "chains", "kernel", "bandwidth", "scale", "precision", "seed", "threads",
  "progress"
)
of_target <- c(
  "functions", "functions_weight", "functions_unit", "match", "match_weight", "scores", "target", "embedding",
  "landmarks"
)
of_choice <- c(
  "tol", "equivalent_draws", "weights", "calibrate", "marginals", "moments", "preconditioner", "log_density",
  "regularise", "pool_rows"
)
taken_by <- list(
  thin = c(of_rows, of_target, of_choice, "add", "include", "exclude", "groups", "quotas", "repeats", "search"),
  herd = c(of_rows, of_target, of_choice, "unique"),
  resample = c(of_rows, "search", "marginals", "moments", "include", "exclude"),
  evaluate = c(of_rows, of_target, "subset_weight"),
  diagnose = of_rows
)

# The options in `...`, by name; NULL is as if not given.
read_options <- function(verb, ...) {
  given <- list(...)
  names <- names(given)
  if (length(given) && (is.null(names) || any(names == ""))) refuse("options are given by name, as in kernel = \"energy\"")
  known <- taken_by[[verb]]
  for (name in setdiff(names, known)) {
    near <- known[utils::adist(name, known) <= 2]
    refuse("there is no option ", name, if (length(near)) paste0("; did you mean ", paste(near, collapse = " or "), "?") else
      paste0("; there are ", paste(known, collapse = ", ")))
  }
  twice <- names[duplicated(names)]
  if (length(twice)) refuse(twice[[1]], " is given twice")
  Filter(Negate(is.null), given)
}

refuse_without <- function(given, what, need, advice = "") {
  for (name in intersect(what, names(given))) {
    if (is.null(given[[need]])) refuse(name, " has no effect without ", need, "; leave it out", advice)
  }
}

# What the native code gets: the rows with their weights, chains, functions, scores and target, and every option.
prepare <- function(x, given, method = NULL) {
  refuse_without(given, c("functions_weight", "functions_unit"), "functions", ", or give functions")
  refuse_without(given, "match_weight", "match")
  refuse_without(given, "quotas", "groups")
  refuse_without(given, c("log_density", "preconditioner"), "scores")
  refuse_without(given, "regularise", "log_density")
  table <- if (is_table(x)) x else as_table(x)
  n_rows <- nrow(table$values)
  if (n_rows == 0) refuse(table$what, " has no rows")
  of_column <- columns_of(table, given)
  given <- of_column$given
  used <- used_columns(table, given$columns, of_column$taken)
  values <- table$values[, used, drop = FALSE]
  native <- list(x = t(values), names = colnames(values), method = method)

  native$sample_weight <- per_row(given$sample_weight, "sample_weight", n_rows)
  native$log_weight <- per_row(given$log_weight, "log_weight", n_rows)
  if (!is.null(native$sample_weight) && !is.null(native$log_weight)) refuse("give sample_weight or log_weight, not both")
  if (is.null(native$sample_weight) && is.null(native$log_weight)) native$log_weight <- table$log_weight
  native$chains <- chains_of(given$chains, n_rows)
  if (is.null(native$chains)) native$chains <- table$chains
  functions <- functions_of(given$functions, table, given$match)
  native$functions <- functions$x
  native$function_names <- functions$names
  if (!is.null(given$match)) {
    if (!is.null(given$chains)) refuse("chains cannot be used with match; leave one of them out")
    other <- as_table(given$match, "match")
    native$match <- t(same_columns(other, colnames(values), table$is_named, "match"))
    refuse_not_finite(t(native$match), "match")
    native$match_weight <- per_row(given$match_weight, "match_weight", nrow(other$values), "match")
    if (is.null(native$match_weight)) {
      native$match_log_weight <- other$log_weight
    } else if (!isTRUE(all(native$match_weight >= 0) && sum(native$match_weight) > 0 && all(is.finite(native$match_weight)))) {
      refuse("match_weight must be finite numbers that are not negative, and not all 0")
    }
    native$match_functions <- functions$match
    # Chains are those of draws of the target, and these rows may be none.
    native$chains <- NULL
  }
  if (!is.null(given$scores)) {
    scores <- as_table(given$scores, "scores")
    native$scores <- t(same_columns(scores, colnames(values), table$is_named, "scores"))
    if (ncol(native$scores) != n_rows) {
      refuse("scores has ", counted(ncol(native$scores), "row"), ", but x has ", counted(n_rows, "row"))
    }
  }
  native <- c(native, fixed_rows(given, n_rows), options_in(given, colnames(values), functions$names))
  native$threads <- if (is.null(given$threads)) default_threads() else as_count(given$threads, "threads", 1)
  if (native$threads > 1024) refuse("threads is ", native$threads, "; at most 1024 can be started")
  list(
    native = native, table = table, used = colnames(values),
    progress = if (is.null(given$progress)) interactive() else as_flag(given$progress, "progress")
  )
}

is_table <- function(x) is.list(x) && !is.data.frame(x) && is.function(x[["column"]]) && is.matrix(x[["values"]])

# Options that name a column of the rows, replaced by its values, and the columns that are then no coordinates.
columns_of <- function(table, given) {
  taken <- character()
  for (name in intersect(c("sample_weight", "log_weight", "groups", "chains"), names(given))) {
    wanted <- given[[name]]
    if (!is.character(wanted) || length(wanted) != 1) next
    column <- table$column(wanted)
    if (is.null(column)) refuse(name, ": there is no column ", quoted(wanted), "; there are ", some(table$names))
    taken <- c(taken, wanted)
    given[[name]] <- column
  }
  if (is.character(given$functions)) taken <- c(taken, elements(given$functions, table$names, "functions"))
  list(given = given, taken = taken)
}

# The columns of these names, or of the variables with these names: theta is theta[1], theta[2], ...
elements <- function(wanted, names, option) {
  base <- sub("\\[.*$", "", names)
  found <- lapply(wanted, function(name) if (name %in% names) name else names[base == name])
  missing <- wanted[lengths(found) == 0]
  if (length(missing)) refuse(option, ": there is no column ", quoted(missing[[1]]), "; there are ", some(names))
  unique(unlist(found))
}

some <- function(names) {
  if (length(names) > 12) names <- c(names[1:10], "...", names[length(names)])
  paste(names, collapse = ", ")
}

# The coordinates: all columns of numbers that are no ids, or those that the user lists; "~name" leaves one out.
used_columns <- function(table, columns, taken) {
  names <- table$names
  if (is.numeric(columns)) {
    if (!all(columns %in% seq_along(names))) refuse("columns: there are ", counted(length(names), "column"), ", counted from 1")
    columns <- names[columns]
  }
  if (!is.null(columns) && (!is.character(columns) || anyNA(columns))) refuse("columns is ", said(columns), "; give names")
  is_out <- startsWith(as.character(columns), "~")
  out <- elements(substring(columns[is_out], 2), names, "columns")
  named <- columns[!is_out]
  text <- intersect(named, table$skipped)
  if (length(text)) refuse("columns: ", quoted(text), " of ", table$what, " has no numbers; leave it out")
  if (length(named)) {
    used <- setdiff(elements(named, names, "columns"), out)
  } else {
    roles <- if (table$is_named) .Call(wrap__native_roles, names) else rep("parameter", length(names))
    used <- setdiff(names[roles == "parameter"], c(taken, out))
    rest <- setdiff(names, c(taken, out))
    if (table$is_named) note_columns(table, rest, used)
  }
  if (!length(used)) refuse(table$what, " has no column to use (ids such as chain and draw are not used)")
  used
}

# Warns of coordinates that look like ids or weights.
note_columns <- function(table, rest, used) {
  starts <- if (!is.null(table$chains)) which(diff(table$chains) != 0)
  counts <- .Call(wrap__native_counting, t(table$values[, rest, drop = FALSE]), as.double(starts))
  for (note in .Call(wrap__native_notes, rest, rest %in% used, counts)) advise(note)
}

# One number for each row.
per_row <- function(values, name, n_rows, of = "x") {
  if (is.null(values)) return(NULL)
  if (!is.numeric(values) && !is.logical(values)) refuse(name, " is of class ", quoted(class(values)), "; give numbers")
  if (length(values) != n_rows) {
    refuse(name, " has ", counted(length(values), "number"), ", but ", of, " has ", counted(n_rows, "row"), "; give one for each row")
  }
  as.double(values)
}

chains_of <- function(chains, n_rows) {
  if (is.null(chains)) return(NULL)
  if (length(chains) == 1 && is.numeric(chains)) return(as_count(chains, "chains", 1))
  if (length(chains) != n_rows) {
    refuse("chains has ", counted(length(chains), "label"), ", but x has ", counted(n_rows, "row"), "; give one for each row, or a number")
  }
  if (anyNA(chains)) refuse("chains is NA in row ", which(is.na(chains))[[1]], "; give every row its chain")
  as.double(match(chains, unique(chains)))
}

# Functions of the rows, and of the rows that are matched: names of columns, or numbers with a row for each row.
functions_of <- function(functions, table, match) {
  if (is.null(functions)) return(NULL)
  if (is.character(functions)) {
    names <- elements(functions, table$names, "functions")
    other <- if (!is.null(match)) {
      found <- as_table(match, "match")
      t(found$values[, elements(names, found$names, "functions of match"), drop = FALSE])
    }
    return(list(x = t(table$values[, names, drop = FALSE]), match = other, names = names))
  }
  pair <- if (is.null(match)) list(functions) else functions
  if (!is.null(match) && (!is.list(functions) || is.data.frame(functions) || length(functions) != 2)) {
    refuse("with match, functions are names of columns of both, or a list of two: those of x and those of match")
  }
  tables <- lapply(pair, as_table, what = "functions")
  if (!ncol(tables[[1]]$values)) refuse("functions has no columns of numbers; leave it out")
  if (length(tables[[1]]$skipped)) refuse("functions: ", quoted(tables[[1]]$skipped), " has no numbers; leave it out")
  if (nrow(tables[[1]]$values) != nrow(table$values)) {
    rows <- counted(nrow(tables[[1]]$values), "row")
    refuse("functions has ", rows, ", but x has ", counted(nrow(table$values), "row"), "; give one for each row, in the same order")
  }
  other <- if (length(tables) == 2) t(tables[[2]]$values)
  list(x = t(tables[[1]]$values), match = other, names = tables[[1]]$names)
}

# Refuses a number that is none, which the library would take for one of x.
refuse_not_finite <- function(values, what) {
  bad <- which(!is.finite(values), arr.ind = TRUE)
  if (!nrow(values)) refuse(what, " has no rows")
  if (nrow(bad)) {
    column <- colnames(values)[bad[1, 2]]
    refuse("row ", bad[1, 1], ", column ", quoted(column), " of ", what, " is ", values[bad[1, , drop = FALSE]], "; drop or impute it first")
  }
}

# The columns of another table that these coordinates name, or all of them where one has no names.
same_columns <- function(other, names, is_named, what) {
  if (is_named && other$is_named) {
    missing <- setdiff(names, other$names)
    if (length(missing)) refuse(what, " has no column ", quoted(missing[[1]]), "; it has ", some(other$names))
    return(other$values[, names, drop = FALSE])
  }
  if (ncol(other$values) != length(names)) {
    turned <- if (nrow(other$values) == length(names)) "; is it transposed?" else ""
    refuse(what, " has ", counted(ncol(other$values), "column"), ", but x has ", length(names), turned)
  }
  other$values
}

# Rows that must and must not be chosen, and groups with their quotas.
fixed_rows <- function(given, n_rows) {
  rows <- function(name) {
    wanted <- given[[name]]
    if (is.null(wanted)) return(NULL)
    if (is.logical(wanted)) {
      if (length(wanted) != n_rows) refuse(name, " has ", counted(length(wanted), "value"), ", but x has ", counted(n_rows, "row"))
      wanted <- which(wanted)
    }
    row_numbers(wanted, n_rows, name)
  }
  native <- list(include = rows("include"), exclude = rows("exclude"))
  if (!is.null(given$groups)) {
    if (length(given$groups) != n_rows) {
      refuse("groups has ", counted(length(given$groups), "label"), ", but x has ", counted(n_rows, "row"), "; give one for each row")
    }
    if (anyNA(given$groups)) refuse("groups is NA in row ", which(is.na(given$groups))[[1]], "; give every row its group")
    groups <- factor(given$groups)
    native$groups <- as.double(groups)
    native$group_names <- levels(groups)
    quotas <- given$quotas
    if (!is.null(quotas)) {
      missing <- setdiff(levels(groups), names(quotas))
      if (length(missing)) refuse("quotas has no number for the group ", quoted(missing[[1]]), "; give one for every group")
      native$quotas <- vapply(levels(groups), function(group) as_count(quotas[[group]], "a quota"), 0, USE.NAMES = FALSE)
    }
  }
  native
}

row_numbers <- function(rows, n_rows, name) {
  if (!is.numeric(rows) || anyNA(rows) || any(rows != round(rows))) refuse(name, " is ", said(rows), "; give numbers of rows")
  out <- rows[rows < 1 | rows > n_rows]
  if (length(out)) refuse(name, ": row ", out[[1]], " is not there; ", counted(n_rows, "row"), " are counted from 1")
  as.double(rows)
}

# Every other option, checked for its type alone: the library checks the rest.
options_in <- function(given, names, functions) {
  each <- function(names, read) {
    found <- intersect(names, names(given))
    stats::setNames(lapply(found, function(name) read(given[[name]], name)), found)
  }
  native <- c(
    each(c("kernel", "scale", "precision", "embedding", "target", "functions_unit", "weights"), as_word),
    each(c("tol", "equivalent_draws", "add", "marginals", "moments", "functions_weight", "regularise"), as_number),
    each(c("seed", "landmarks", "pool_rows", "search"), as_count),
    each("unique", as_flag)
  )
  if (!is.null(given$repeats)) native$unique <- !as_flag(given$repeats, "repeats")
  if (!is.null(given$bandwidth) && !identical(given$bandwidth, "median")) {
    if (!is.numeric(given$bandwidth) || !length(given$bandwidth)) refuse("bandwidth is ", said(given$bandwidth), "; give \"median\" or a length")
    native$bandwidth <- as.double(given$bandwidth)
  }
  if (is.numeric(given$preconditioner)) {
    native$preconditioner_length <- as_number(given$preconditioner, "preconditioner")
  } else if (!is.null(given$preconditioner)) {
    native$preconditioner <- as_word(given$preconditioner, "preconditioner")
  }
  if (!is.null(given$log_density)) native$log_density <- as.double(given$log_density)
  if (!is.null(given$calibrate)) {
    if (!identical(given$weights, "calibrated")) refuse("calibrate has no effect without weights = \"calibrated\"; leave it out")
    wanted <- elements(given$calibrate, c(names, functions), "calibrate")
    native$calibrate_columns <- as.double(match(intersect(wanted, names), names))
    native$calibrate_functions <- as.double(match(setdiff(wanted, names), functions))
  }
  native
}
