# Choosing rows, and taking them from any object.

supersample <- function(x, n = NULL, ...) UseMethod("supersample")

supersample.default <- function(x, n = NULL, ...) {
  if (is_fit(x)) x <- as_draws_of(x)
  take_rows(x, supersample_rows(x, n, ...))
}

supersample_rows <- function(x, n = NULL, ...) chosen_rows("thin", x, n, read_options("thin", ...))

herd <- function(x, n = NULL, ...) chosen_rows("herd", x, n, read_options("herd", ...))

resample <- function(x, n = NULL, ...) {
  given <- read_options("resample", ...)
  if (is_fit(x)) x <- as_draws_of(x)
  if (is.null(n)) n <- nrow(as_table(x)$values)
  if (is.null(given$search)) given$search <- 0
  given$repeats <- TRUE
  take_rows(x, chosen_rows("thin", x, n, given, diagnosis = FALSE))
}

# Rows chosen by a method, with all that is known of them.
chosen_rows <- function(method, x, n, given, diagnosis = TRUE) {
  if (identical(n, "auto")) {
    size <- list(auto = TRUE)
  } else {
    if (is.character(n)) refuse("n is ", said(n), "; give a number, or \"auto\"")
    size <- list(n = if (!is.null(n)) as_count(n, "n"))
  }
  prepared <- prepare(x, given, method)
  values <- c(prepared$native, size, list(diagnosis = diagnosis))
  found <- native(function(tick) .Call(wrap__native_choose, values, tick), prepared$progress)
  for (warning in found$advice$sentence[!found$advice$is_note]) advise(warning)
  table <- prepared$table
  asked <- size$n
  count <- length(found$rows)
  if (!is.null(found$missed)) {
    advise(paste0(found$missed, " reached with ", counted(count, "row"), "; allow more with n, or relax the goal"))
  } else if (found$ended == "exhausted" && !is.null(asked) && count < asked) {
    turned <- if (length(prepared$used) > nrow(table$values)) {
      paste0("; with ", counted(length(prepared$used), "column"), ", is it transposed?")
    } else {
      ""
    }
    there <- if (count == 1) "there is" else "there are"
    advise(paste0(counted(asked, "row"), " were asked for, but ", there, " only ", counted(count, "row"), " to choose from", turned))
  }
  structure(
    found$rows,
    class = "supersample_rows",
    weights = found$weights, errors = found$errors, mmd_error = found$mmd_error, trace = found$trace, ended = found$ended,
    stages = Filter(Negate(is.null), found$stages), draws = new_diagnosis(found$draws), of = found$of,
    overlap = found$overlap, notes = found$advice$sentence[found$advice$is_note], columns = prepared$used,
    unused = setdiff(c(table$names, table$skipped), prepared$used),
    origin = if (!is.null(table$ids)) data.frame(table$ids[found$rows, , drop = FALSE], row.names = NULL)
  )
}

take_rows <- function(x, rows) UseMethod("take_rows")

take_rows.default <- function(x, rows) {
  if (is_fit(x)) return(take_rows(as_draws_of(x), rows))
  # Says what is wrong.
  as_table(x)
  refuse("rows cannot be taken from an object of class ", quoted(class(x)))
}

take_rows.numeric <- function(x, rows) {
  without_weights(rows, "a vector")
  x[checked_rows(rows, length(x))]
}

take_rows.matrix <- function(x, rows) {
  without_weights(rows, "a matrix")
  x[checked_rows(rows, nrow(x)), , drop = FALSE]
}

without_weights <- function(rows, what) {
  if (!is.null(attr(rows, "weights"))) {
    advise(paste0(what, " has no place for weights; weights(supersample_rows(...)) has them"))
  }
}

take_rows.data.frame <- function(x, rows) {
  taken <- x[checked_rows(rows, nrow(x)), , drop = FALSE]
  weights <- attr(rows, "weights")
  if (!is.null(weights)) taken[[if ("weight" %in% names(x)) "supersample_weight" else "weight"]] <- weights
  with_choice(taken, rows)
}

take_rows.draws <- function(x, rows) {
  need("posterior")
  at <- checked_rows(rows, posterior::ndraws(x))
  weights <- attr(rows, "weights")
  taken <- if (inherits(x, "draws_rvars")) taken_rvars(x, at) else taken_draws(x, at)
  if (!is.null(weights)) {
    if (any(weights < 0)) {
      advise("signed weights have no logarithm, so .log_weight is left out; weights(rows) has them")
    } else {
      taken <- posterior::weight_draws(taken, weights)
    }
  }
  with_choice(taken, rows)
}

# Draws in the order of choice, as one chain: chosen draws have no order of sampling.
taken_draws <- function(x, rows) {
  frame <- posterior::as_draws_df(x)[rows, ]
  frame$.chain <- 1L
  frame$.iteration <- frame$.draw <- seq_along(rows)
  # The chosen draws have equal weights, or their own.
  frame$.log_weight <- NULL
  convert <- switch(class(x)[[1]],
    draws_array = posterior::as_draws_array, draws_matrix = posterior::as_draws_matrix,
    draws_list = posterior::as_draws_list, identity
  )
  convert(frame)
}

taken_rvars <- function(x, rows) {
  x <- posterior::merge_chains(x)
  x$.log_weight <- NULL
  for (name in names(x)) {
    draws <- posterior::draws_of(x[[name]])
    every <- rep(list(TRUE), length(dim(draws)) - 1)
    draws <- do.call(`[`, c(list(draws, rows), every, list(drop = FALSE)))
    dimnames(draws)[1] <- list(NULL)
    x[[name]] <- posterior::rvar(draws)
  }
  x
}

take_rows.mcmc.list <- function(x, rows) {
  need("coda")
  all <- do.call(rbind, lapply(x, as.matrix))
  with_choice(coda::mcmc.list(coda::mcmc(all[checked_rows(rows, nrow(all)), , drop = FALSE])), rows)
}

take_rows.mcmc <- function(x, rows) {
  need("coda")
  all <- as.matrix(x)
  with_choice(coda::mcmc(all[checked_rows(rows, nrow(all)), , drop = FALSE]), rows)
}

checked_rows <- function(rows, n_rows) as.integer(row_numbers(unclass(rows), n_rows, "rows"))

with_choice <- function(taken, rows) {
  if (inherits(rows, "supersample_rows")) attr(taken, "supersample") <- rows
  taken
}

origin <- function(x) {
  rows <- if (inherits(x, "supersample_rows")) x else attr(x, "supersample")
  if (is.null(rows)) refuse("x is not a result of supersample(), resample(), herd() or supersample_rows()")
  found <- data.frame(row = as.integer(rows), weight = weights(rows))
  from <- attr(rows, "origin")
  if (is.null(from)) found else cbind(found, from)
}
