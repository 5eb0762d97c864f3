# The native code calls a tick every 50 ms while it works: the place where Ctrl-C is heard and progress is shown.

ticker <- function(progress) {
  begun <- proc.time()[["elapsed"]]
  shown <- FALSE
  list(
    tick = function(phase, done, total) {
      tryCatch(
        {
          # Sleeping looks for an interrupt, which a few lines of R would not.
          Sys.sleep(0)
          # Short work needs no bar.
          if (progress && proc.time()[["elapsed"]] - begun > 1) {
            part <- if (total > 0) min(done / total, 1) else 0
            bar <- strrep("=", round(30 * part))
            cat(sprintf("\r%-10s [%-30s] %3.0f %%", phase, bar, 100 * part), file = stderr())
            shown <<- TRUE
          }
          TRUE
        },
        interrupt = function(condition) FALSE
      )
    },
    end = function() if (shown) cat("\r", strrep(" ", 60), "\r", sep = "", file = stderr())
  )
}

# What a native function finds; `call` passes a tick on to it.
native <- function(call, progress) {
  ticker <- ticker(isTRUE(progress))
  on.exit(ticker$end())
  answered(call(ticker$tick))
}

# All cores, or two where a check of CRAN limits them.
default_threads <- function() {
  asked <- getOption("supersample.threads")
  if (!is.null(asked)) return(as_count(asked, "the option supersample.threads", 1))
  limited <- tolower(Sys.getenv("_R_CHECK_LIMIT_CORES_"))
  if (nzchar(limited) && limited != "false") return(2)
  .Call(wrap__native_cores)
}
