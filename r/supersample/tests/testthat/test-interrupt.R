test_that("Ctrl-C ends a long run at once, and the next run is whole", {
  skip_on_os("windows")
  skip_on_cran()
  # In a process of its own, which gets the signal while it works.
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  writeLines(c(
    sprintf(".libPaths(c(%s))", paste(deparse(.libPaths()), collapse = "")),
    "library(supersample)",
    "set.seed(1)",
    "x <- matrix(rnorm(200000), ncol = 4)",
    "pid <- Sys.getpid()",
    "system(paste('(sleep 1; kill -INT', pid, ') &'))",
    "caught <- tryCatch({ supersample_rows(x, 2000, search = 100000, embedding = 'exact'); 'finished' },",
    "  interrupt = function(condition) class(condition)[[1]])",
    "cat(caught, length(supersample_rows(x[1:1000, ], 10)), '\\n')"
  ), script)
  said <- system2(file.path(R.home("bin"), "Rscript"), shQuote(script), stdout = TRUE, stderr = FALSE, timeout = 120)
  expect_match(said[length(said)], "^(supersample_interrupt|interrupt) 10")
})
