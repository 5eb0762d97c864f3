# Any object with draws as one table: a matrix of numbers with names, the chain of each row, and log-weights where there are any.

# The table of an object, which the user calls `what`.
as_table <- function(x, what = "x") UseMethod("as_table")

new_table <- function(values, column, skipped = character(), chains = NULL, log_weight = NULL, ids = NULL,
                      is_named = TRUE, what = "x") {
  names <- as.character(colnames(values))
  if (anyNA(names) || any(names == "")) refuse(what, " has a column without a name; give each its own name")
  twice <- unique(names[duplicated(names)])
  if (length(twice)) refuse(what, " has several columns called ", quoted(twice), "; give each its own name")
  list(
    values = values, names = names, column = column, skipped = skipped, chains = chains, log_weight = log_weight,
    ids = ids, is_named = is_named, what = what
  )
}

as_table.default <- function(x, what = "x") {
  if (is.null(x)) refuse(what, " is NULL; give a matrix, a data frame, draws of posterior or a fit")
  if (is_fit(x)) return(as_table(as_draws_of(x), what))
  if (is.array(x)) {
    refuse(
      what, " is an array with ", length(dim(x)), " dimensions; give a matrix with one row for each draw, or ",
      "posterior::as_draws_array(", what, ") for iterations, chains and variables"
    )
  }
  refuse(
    what, " is of class ", quoted(class(x)), "; give a matrix, a data frame, draws of posterior, a coda object, or a ",
    "fit of rstan, brms or cmdstanr"
  )
}

as_table.numeric <- function(x, what = "x") {
  if (length(dim(x)) > 1) return(as_table.default(x, what))
  as_table(matrix(as.double(x), ncol = 1), what)
}

as_table.matrix <- function(x, what = "x") {
  if (!is.numeric(x) && !is.logical(x)) refuse(what, " is a matrix of ", typeof(x), " values; give numbers")
  storage.mode(x) <- "double"
  is_named <- !is.null(colnames(x))
  if (!is_named) colnames(x) <- as.character(seq_len(ncol(x)))
  column <- function(name) if (name %in% colnames(x)) x[, name]
  chains <- if (is_named) chain_column(colnames(x), column)
  new_table(x, column, chains = chains, is_named = is_named, what = what)
}

as_table.data.frame <- function(x, what = "x") {
  is_number <- vapply(x, function(column) (is.numeric(column) || is.logical(column)) && is.null(dim(column)), NA)
  numbers <- x[is_number]
  values <- matrix(as.double(unlist(numbers, use.names = FALSE)), nrow = nrow(x))
  colnames(values) <- names(numbers)
  column <- function(name) if (name %in% names(x)) x[[name]]
  new_table(values, column, names(x)[!is_number], chains = chain_column(names(x), column), what = what)
}

as_table.draws <- function(x, what = "x") {
  need("posterior")
  frame <- as.data.frame(posterior::as_draws_df(x))
  ids <- frame[c(".chain", ".iteration", ".draw")]
  log_weight <- frame[[".log_weight"]]
  table <- as_table.data.frame(frame[setdiff(names(frame), c(names(ids), ".log_weight"))], what)
  table$chains <- as.double(ids$.chain)
  table$ids <- ids
  table$log_weight <- log_weight
  table
}

as_table.mcmc.list <- function(x, what = "x") {
  table <- as_table(do.call(rbind, lapply(x, as.matrix)), what)
  lengths <- vapply(x, function(chain) nrow(as.matrix(chain)), 0)
  table$chains <- rep(as.double(seq_along(x)), lengths)
  table$ids <- data.frame(.chain = rep(seq_along(x), lengths), .iteration = sequence(lengths))
  table
}

as_table.mcmc <- function(x, what = "x") as_table.mcmc.list(list(x), what)

# The chain of each row, where a column says it.
chain_column <- function(names, column) {
  found <- names[tolower(sub("^\\.", "", names)) == "chain"]
  if (!length(found)) return(NULL)
  labels <- column(found[[1]])
  if (anyNA(labels)) return(NULL)
  as.double(match(labels, unique(labels)))
}

# Whether an object is a fit that posterior can take draws from.
is_fit <- function(x) inherits(x, c("stanfit", "brmsfit", "CmdStanMCMC", "CmdStanFit", "stanreg"))

as_draws_of <- function(fit) {
  need("posterior")
  draws <- if (inherits(fit, "CmdStanFit") && is.function(fit$draws)) fit$draws() else fit
  posterior::as_draws_df(draws)
}

need <- function(package) {
  if (!requireNamespace(package, quietly = TRUE)) {
    refuse("the package ", package, " is needed for this; install.packages(\"", package, "\")", kind = "package")
  }
}

as_count <- function(value, name, least = 0) {
  is_number <- is.numeric(value) && length(value) == 1 && !is.na(value)
  if (!is_number || value != round(value) || abs(value) > 2^53) {
    refuse(name, " is ", said(value), "; give a whole number")
  }
  if (value < least) refuse(name, " is ", said(value), "; give at least ", least)
  as.double(value)
}

as_number <- function(value, name) {
  if (!is.numeric(value) || length(value) != 1 || is.na(value)) refuse(name, " is ", said(value), "; give a number")
  as.double(value)
}

as_flag <- function(value, name) {
  if (!is.logical(value) || length(value) != 1 || is.na(value)) refuse(name, " is ", said(value), "; give TRUE or FALSE")
  value
}

as_word <- function(value, name) {
  if (!is.character(value) || length(value) != 1 || is.na(value)) refuse(name, " is ", said(value), "; give one word")
  value
}

# A value as an error message shows it.
said <- function(value) {
  text <- deparse(value, nlines = 1)
  if (nchar(text[[1]]) > 40) paste0(substr(text[[1]], 1, 37), "...") else text[[1]]
}
