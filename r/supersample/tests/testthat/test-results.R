abc <- function() draws()[c("a", "b", "c")]

test_that("a result prints, sums up and plots", {
  x <- abc()
  rows <- supersample_rows(x, 20)
  expect_output(print(rows), "20 of 400 rows, by 3 columns .a, b, c.")
  expect_output(print(rows), "random draws")
  expect_output(print(summary(rows)), "equivalent_draws")
  expect_equal(weights(rows), rep(1 / 20, 20))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_invisible(plot(rows))
  expect_invisible(plot(rows, x))
  expect_invisible(plot(rows, x, columns = "c"))
  expect_error(plot(rows, x[1:10, ]), "400", class = "supersample_error")
})

test_that("evaluate measures rows, points and results alike", {
  x <- abc()
  rows <- supersample_rows(x, 20)
  of_rows <- evaluate(x, rows)
  expect_equal(of_rows$errors["subset", "mmd"], attr(rows, "errors")[["mmd"]], tolerance = 1e-9)
  expect_equal(evaluate(x, x[rows, ])$errors, of_rows$errors, tolerance = 1e-9)
  expect_equal(evaluate(x, as.integer(rows))$errors, of_rows$errors, tolerance = 1e-9)
  expect_equal(evaluate(x, seq_len(400) %in% rows)$errors[, "mmd"], of_rows$errors[, "mmd"], tolerance = 1e-9)
  expect_lt(of_rows$errors["subset", "mmd"], of_rows$errors["random", "mmd"])
  expect_output(print(of_rows), "these 20 rows")
  means <- (colMeans(x[rows, ]) - colMeans(x)) / apply(x, 2, stats::sd)
  expect_equal(abs(of_rows$columns$mean), unname(abs(means)), tolerance = 0.01)
})

test_that("evaluate uses weights and functions", {
  x <- draws()
  rows <- supersample_rows(x, 20, columns = c("a", "b"), weights = "simplex", functions = "f")
  found <- evaluate(x, rows, functions = "f")
  expect_equal(found$errors["subset", "mmd"], attr(rows, "errors")[["mmd"]], tolerance = 1e-9)
  expect_equal(found$errors["subset", "functions_error"], attr(rows, "errors")[["functions_error"]], tolerance = 1e-9)
  points <- evaluate(x, x[rows, ], columns = c("a", "b"), functions = "f", subset_weight = weights(rows))
  expect_equal(points$errors["subset", "mmd"], found$errors["subset", "mmd"], tolerance = 1e-6)
})

test_that("evaluate agrees with a naive MMD", {
  x <- as.matrix(abc())[1:60, ]
  kernel <- function(a, b) exp(-as.matrix(stats::dist(rbind(a, b)))^2 / 2)[seq_len(nrow(a)), nrow(a) + seq_len(nrow(b))]
  y <- x[1:7, ]
  naive <- sqrt(mean(kernel(x, x)) - 2 * mean(kernel(x, y)) + mean(kernel(y, y)))
  expect_equal(evaluate(x, 1:7, scale = "none", bandwidth = 1)$errors["subset", "mmd"], naive, tolerance = 1e-9)
})

test_that("diagnose knows chains", {
  x <- abc()
  found <- diagnose(x, chains = 4)
  expect_equal(found$chains, 4)
  expect_false(found$chains_assumed)
  expect_true(diagnose(x)$chains_assumed)
  expect_output(print(found), "the 4 chains agree")
  apart <- x + 5 * (draws()$chain == 1)
  expect_warning(diagnose(apart, chains = draws()$chain), "chains disagree", class = "supersample_warning")
})

test_that("n = \"auto\" chooses a number, and a goal that is not reached is said", {
  x <- abc()
  expect_lt(length(supersample_rows(x, "auto", chains = 4, search = 0)), 200)
  expect_warning(supersample_rows(x, 5, tol = 1e-4), "was not reached with 5 rows; allow more with n", class = "supersample_warning")
})

test_that("progress is shown, and a second call finds everything as it was", {
  ticker <- supersample:::ticker(TRUE)
  expect_true(ticker$tick("choosing", 1, 10))
  x <- abc()
  expect_identical(supersample_rows(x, 20, progress = TRUE), supersample_rows(x, 20, progress = FALSE))
})

test_that("a check of CRAN uses two threads at most", {
  withr_env <- Sys.getenv("_R_CHECK_LIMIT_CORES_", NA)
  on.exit(if (is.na(withr_env)) Sys.unsetenv("_R_CHECK_LIMIT_CORES_") else Sys.setenv("_R_CHECK_LIMIT_CORES_" = withr_env))
  Sys.setenv("_R_CHECK_LIMIT_CORES_" = "true")
  expect_equal(supersample:::default_threads(), 2)
  old <- options(supersample.threads = 3)
  on.exit(options(old), add = TRUE)
  expect_equal(supersample:::default_threads(), 3)
})
