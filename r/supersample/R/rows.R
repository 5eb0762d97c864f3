# What supersample_rows() and herd() return: row numbers, with all that is known of them as attributes.

weights.supersample_rows <- function(object, ...) {
  weights <- attr(object, "weights")
  if (is.null(weights)) rep(1 / length(object), length(object)) else weights
}

# Whether the choice was of the draws that a Stein kernel sees.
error_name <- function(of) if (isTRUE(of$is_stein)) "KSD" else "MMD"

how_good <- function(rows) {
  errors <- attr(rows, "errors")
  said <- paste(error_name(attr(rows, "of")), significant(errors[["mmd"]]))
  draws <- errors[["equivalent_draws"]]
  if (!is.na(draws)) {
    said <- paste0(said, ", as accurate as ", significant(draws), " random draws")
    if (!is.na(errors[["posterior_draws"]])) {
      said <- paste0(said, " (", significant(errors[["posterior_draws"]]), " of the posterior)")
    }
  }
  said
}

how <- function(of) {
  bandwidth <- if (length(of$bandwidth)) paste0(", bandwidth ", paste(significant(of$bandwidth), collapse = ", ")) else ""
  landmarks <- if (!is.null(of$landmarks)) paste0(", ", counted(of$landmarks, "landmark")) else ""
  scaled <- if (of$scale == "none") ", columns not scaled" else paste0(", scale ", of$scale)
  paste0("kernel ", of$kernel, bandwidth, scaled, landmarks)
}

story <- function(rows) {
  stages <- attr(rows, "stages")
  if (!length(stages)) return(NULL)
  values <- significant(unlist(stages))
  paste0(error_name(attr(rows, "of")), " ", paste0(values, " (", names(stages), ")", collapse = " -> "))
}

print.supersample_rows <- function(x, ...) {
  of <- attr(x, "of")
  columns <- attr(x, "columns")
  distinct <- length(unique(x))
  repeats <- if (distinct < length(x)) paste0(" (", counted(distinct, "distinct row"), ")") else ""
  unused <- attr(x, "unused")
  lines <- c(
    paste0(format(length(x), big.mark = ","), " of ", counted(of$n_rows, "row"), repeats, ", by ",
      counted(length(columns), "column"), " (", some(columns), ")"),
    how_good(x),
    attr(x, "draws")$sentence,
    if (!is.null(attr(x, "overlap"))) paste0("match: ", attr(x, "overlap")),
    paste0("objective: ", of$objective),
    story(x),
    how(of),
    if (length(unused)) paste0("not used: ", some(unused)),
    if (length(attr(x, "notes"))) paste0("note: ", attr(x, "notes")),
    paste0("rows: ", paste(utils::head(as.integer(x), 10), collapse = ", "), if (length(x) > 10) ", ...")
  )
  cat(lines, sep = "\n")
  invisible(x)
}

summary.supersample_rows <- function(object, ...) {
  stages <- unlist(attr(object, "stages"))
  structure(
    list(
      rows = length(object), of = attr(object, "of")$n_rows, errors = attr(object, "errors"), stages = stages,
      weights = if (!is.null(attr(object, "weights"))) summary(attr(object, "weights")), ended = attr(object, "ended"),
      sentence = how_good(object)
    ),
    class = "summary.supersample_rows"
  )
}

print.summary.supersample_rows <- function(x, ...) {
  cat(counted(x$rows, "row"), " of ", counted(x$of, "row"), ": ", x$sentence, "\n", sep = "")
  known <- x$errors[!is.na(x$errors)]
  print(stats::setNames(significant(known), names(known)), quote = FALSE)
  if (!is.null(x$weights)) {
    cat("weights:\n")
    print(x$weights)
  }
  invisible(x)
}

plot.supersample_rows <- function(x, data = NULL, columns = NULL, ...) {
  if (is.null(data)) {
    trace <- attr(x, "trace")
    name <- error_name(attr(x, "of"))
    plot(seq_along(trace), trace, type = "l", log = "xy", xlab = "rows", ylab = name, ...)
    return(invisible(x))
  }
  table <- as_table(data, "data")
  if (nrow(table$values) != attr(x, "of")$n_rows) {
    refuse("data has ", counted(nrow(table$values), "row"), ", but the rows were chosen from ", attr(x, "of")$n_rows)
  }
  if (is.null(columns)) columns <- utils::head(attr(x, "columns"), 2)
  columns <- elements(columns, table$names, "columns")
  shown <- table$values[, utils::head(columns, 2), drop = FALSE]
  # One column is shown by its place in the file.
  if (ncol(shown) == 1) shown <- cbind(row = seq_len(nrow(shown)), shown)
  rows <- as.integer(x)
  some <- seq(1, nrow(shown), by = ceiling(nrow(shown) / 10000))
  labels <- colnames(shown)
  plot(shown[some, 1], shown[some, 2], pch = ".", col = "grey60", xlab = labels[[1]], ylab = labels[[2]], ...)
  size <- sqrt(length(x) * abs(weights(x)))
  points(shown[rows, 1], shown[rows, 2], pch = 19, cex = 0.8 * size)
  invisible(x)
}
