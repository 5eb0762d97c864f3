# How good a subset is, and how good the draws are themselves.

evaluate <- function(x, y, ...) {
  given <- read_options("evaluate", ...)
  chosen <- if (inherits(y, "supersample_rows")) y
  if (!is.null(chosen)) {
    # A result is measured by what it was chosen by.
    of <- attr(chosen, "of")
    if (is.null(given$columns)) given$columns <- attr(chosen, "columns")
    if (is.null(given$kernel) && is.null(given$bandwidth) && !isTRUE(of$is_stein)) {
      given$kernel <- of$kernel
      if (length(of$bandwidth)) given$bandwidth <- of$bandwidth
    }
    if (is.null(given$scale)) given$scale <- of$scale
  }
  weight <- given$subset_weight
  given$subset_weight <- NULL
  prepared <- prepare(x, given)
  table <- prepared$table
  if (!is.null(chosen) && of$n_rows != nrow(table$values)) {
    refuse("y was chosen from ", counted(of$n_rows, "row"), ", but x has ", counted(nrow(table$values), "row"))
  }
  subset <- subset_of(y, weight, prepared, given)
  values <- c(prepared$native, subset)
  found <- native(function(tick) .Call(wrap__native_evaluate, values, tick), prepared$progress)
  for (warning in found$advice$sentence[!found$advice$is_note]) if (is.null(chosen)) advise(warning)
  columns <- data.frame(
    mean = found$mean_error, sd = found$sd_error, quantile = found$quantile_error, row.names = prepared$used
  )
  errors <- rbind(subset = found$errors, random = found$random, spaced = found$spaced)
  structure(
    list(
      errors = errors, columns = columns, random_mmds = found$random_mmds, mmd_error = found$mmd_error, rows = subset$n,
      draws = new_diagnosis(found$draws), of = found$of
    ),
    class = "supersample_evaluation"
  )
}

# Row numbers, or points with the columns of the rows.
subset_of <- function(y, weight, prepared, given) {
  n_rows <- nrow(prepared$table$values)
  if (is.null(y)) refuse("y is NULL; give row numbers, a result of supersample_rows(), or the subset itself")
  is_numbers <- inherits(y, "supersample_rows") || (is.numeric(y) && is.null(dim(y)) && !inherits(y, "mcmc"))
  if (is_numbers || (is.logical(y) && length(y) == n_rows)) {
    if (is.null(weight) && inherits(y, "supersample_rows")) weight <- attr(y, "weights")
    rows <- if (is.logical(y)) which(y) else row_numbers(unclass(y), n_rows, "y")
    if (!length(rows)) refuse("y has no rows")
    return(list(
      subset = as.double(rows), subset_weight = per_row(weight, "subset_weight", length(rows), "y"), n = as.double(length(rows))
    ))
  }
  table <- as_table(y, "y")
  count <- nrow(table$values)
  if (!count) refuse("y has no rows")
  points <- same_columns(table, prepared$used, prepared$table$is_named, "y")
  if (is.null(weight) && !is.null(table$log_weight)) weight <- exp(table$log_weight - max(table$log_weight))
  if (is.null(weight) && table$is_named) weight <- table$column("weight")
  weight <- per_row(weight, "subset_weight", count, "y")
  if (!is.null(weight)) {
    if (!isTRUE(is.finite(sum(weight)) && sum(weight) != 0)) refuse("subset_weight must be finite numbers whose sum is not 0")
    weight <- weight / sum(weight)
  }
  functions <- if (is.character(given$functions)) {
    t(table$values[, elements(given$functions, table$names, "functions of y"), drop = FALSE])
  } else if (!is.null(given$functions)) {
    refuse("functions of other points than rows of x are not known; name columns of both x and y, or give row numbers as y")
  }
  list(subset_points = t(points), subset_weight = weight, subset_functions = functions, n = as.double(count))
}

print.supersample_evaluation <- function(x, ...) {
  shown <- x$errors[, colSums(!is.na(x$errors)) > 0, drop = FALSE]
  text <- matrix(significant(shown), nrow = nrow(shown), dimnames = dimnames(shown))
  if (!is.null(x$random_mmds) && length(x$random_mmds) > 1) {
    spread <- .Call(wrap__native_with_spread, mean(x$random_mmds), stats::sd(x$random_mmds))
    text["random", "mmd"] <- spread
  }
  rownames(text) <- c(
    paste("these", counted(x$rows, "row")), paste("random", counted(x$rows, "row")), "evenly spaced rows"
  )[seq_len(nrow(text))]
  names <- c(equivalent_draws = "equivalent draws", posterior_draws = "of the posterior", mmd = error_name(x$of))
  colnames(text) <- ifelse(colnames(text) %in% names(names), names[colnames(text)], colnames(text))
  print(text, quote = FALSE, right = TRUE)
  worst <- vapply(x$columns, function(errors) which.max(abs(errors))[1], 0L)
  known <- worst[!is.na(worst)]
  if (length(known)) {
    values <- mapply(function(name, at) x$columns[at, name], names(known), known)
    cat("worst error, in sds of all rows: ",
      paste0(names(known), " ", significant(abs(values)), " (", rownames(x$columns)[known], ")", collapse = ", "), "\n", sep = "")
  }
  if (!is.null(x$draws)) print(x$draws)
  invisible(x)
}

diagnose <- function(x, ...) {
  prepared <- prepare(x, read_options("diagnose", ...))
  found <- native(function(tick) .Call(wrap__native_diagnose, prepared$native, tick), prepared$progress)
  for (warning in found$advice$sentence) advise(warning)
  new_diagnosis(found$draws)
}

new_diagnosis <- function(found) if (!is.null(found)) structure(found, class = "supersample_diagnosis")

print.supersample_diagnosis <- function(x, ...) {
  cat(x$sentence, "\n", sep = "")
  invisible(x)
}
