# Conditions: every error of the package has the class supersample_error, every warning supersample_warning.

refuse <- function(..., kind = "input", call = NULL) {
  class <- c(paste0("supersample_", kind, "_error"), "supersample_error", "error", "condition")
  stop(structure(class = class, list(message = paste0(...), call = call)))
}

advise <- function(sentence) {
  class <- c("supersample_warning", "warning", "condition")
  warning(structure(class = class, list(message = sentence, call = NULL)))
}

# Ends as Ctrl-C ends any function of R.
interrupt <- function() {
  class <- c("supersample_interrupt", "interrupt", "condition")
  signalCondition(structure(class = class, list(message = "interrupted", call = NULL)))
  invokeRestart("abort")
}

# What a native function has found, or the condition it asks for.
answered <- function(found) {
  if (is.list(found) && !is.null(found$refused)) {
    if (found$kind == "interrupted") interrupt()
    refuse(found$refused, kind = found$kind)
  }
  found
}

counted <- function(number, noun) .Call(wrap__native_counted, as.double(number), noun)

significant <- function(values) {
  ifelse(is.na(values), "-", .Call(wrap__native_significant, as.double(values)))
}

quoted <- function(names) paste0("'", names, "'", collapse = ", ")
