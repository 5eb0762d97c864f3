# The same draws in every kind of object.

abc <- function() as.matrix(draws()[c("a", "b", "c")])

test_that("matrices, data frames and vectors come back as such", {
  x <- abc()
  rows <- supersample_rows(x, 20, chains = draws()$chain)
  expect_identical(supersample(x, 20, chains = draws()$chain), x[rows, ])
  frame <- draws()
  few <- supersample(frame, 20, columns = c("a", "b", "c"))
  expect_identical(few$chain, frame$chain[rows])
  expect_identical(names(few), names(frame))
  expect_identical(supersample(x[, "a"], 5), unname(x[, "a"])[supersample_rows(x[, "a"], 5)], ignore_attr = TRUE)
  expect_identical(supersample(unname(x), 20, chains = 4), unname(x)[rows, ])
})

test_that("every format of posterior holds the same chosen draws, and says where they came from", {
  skip_if_not_installed("posterior")
  x <- draws()
  frame <- posterior::as_draws_df(data.frame(.chain = x$chain, .iteration = x$draw, x[c("a", "b", "c")]))
  rows <- as.integer(supersample_rows(frame, 20))
  expect_identical(rows, as.integer(supersample_rows(abc(), 20, chains = x$chain)))
  kinds <- list(
    posterior::as_draws_array, posterior::as_draws_matrix, posterior::as_draws_df, posterior::as_draws_list,
    posterior::as_draws_rvars
  )
  for (kind in kinds) {
    given <- kind(frame)
    few <- supersample(given, 20)
    expect_identical(class(few), class(given))
    expect_equal(posterior::ndraws(few), 20)
    expect_equal(posterior::nchains(few), 1)
    expect_equal(as.data.frame(posterior::as_draws_df(few))[c("a", "b", "c")], x[rows, c("a", "b", "c")], ignore_attr = TRUE)
    expect_equal(origin(few)$.chain, x$chain[rows])
    expect_equal(origin(few)$.iteration, x$draw[rows])
    expect_equal(origin(few)$.draw, rows)
    expect_s3_class(posterior::summarise_draws(few, "mean", "sd"), "draws_summary")
  }
})

test_that("arrays of variables keep their shape in rvars", {
  skip_if_not_installed("posterior")
  x <- posterior::example_draws("eight_schools")
  few <- supersample(posterior::as_draws_rvars(x), 12)
  expect_equal(dim(few$theta), 8)
  rows <- origin(few)$row
  expect_equal(posterior::draws_of(few$theta)[, 3], unclass(posterior::as_draws_matrix(x))[rows, "theta[3]"], ignore_attr = TRUE)
})

test_that(".log_weight is heeded, and weights of chosen draws are written to it", {
  skip_if_not_installed("posterior")
  x <- draws()
  frame <- posterior::as_draws_df(data.frame(x[c("a", "b", "c")]))
  weighted <- posterior::weight_draws(frame, x$w)
  rows <- supersample_rows(weighted, 20)
  expect_identical(as.integer(rows), as.integer(supersample_rows(frame, 20, sample_weight = x$w)))
  expect_true(all(x$w[rows] > 0))
  # Chosen draws have equal weights.
  expect_false(".log_weight" %in% names(supersample(weighted, 20)))
  few <- supersample(frame, 20, weights = "simplex")
  expect_equal(stats::weights(few), weights(supersample_rows(frame, 20, weights = "simplex")), tolerance = 1e-6)
  equal <- resample(weighted, 200)
  expect_lt(abs(mean(equal$a) - stats::weighted.mean(x$a, x$w)), 0.02)
  expect_gt(max(table(origin(equal)$row)), 1)
})

test_that("weights of a data frame are a column, and a matrix has no place for them", {
  frame <- draws()
  few <- supersample(frame, 20, columns = c("a", "b"), weights = "simplex")
  expect_equal(sum(few$weight), 1)
  again <- supersample(few, 5, columns = c("a", "b"), weights = "simplex")
  expect_equal(sum(again$supersample_weight), 1)
  expect_warning(supersample(abc(), 20, weights = "simplex"), "no place for weights", class = "supersample_warning")
})

test_that("coda objects come back as such", {
  skip_if_not_installed("coda")
  x <- draws()
  chains <- coda::mcmc.list(lapply(split(x[c("a", "b", "c")], x$chain), coda::mcmc))
  few <- supersample(chains, 20)
  expect_s3_class(few, "mcmc.list")
  rows <- supersample_rows(abc(), 20, chains = x$chain)
  expect_equal(as.matrix(few), abc()[rows, ], ignore_attr = TRUE)
  expect_equal(origin(few)$.chain, x$chain[rows])
  expect_s3_class(supersample(chains[[1]], 10), "mcmc")
})

test_that("a fit gives draws", {
  skip_if_not_installed("posterior")
  # A stand-in with the class of a fit of cmdstanr, whose draws are a method.
  inner <- posterior::example_draws("eight_schools")
  fit <- structure(list(draws = function() inner), class = c("CmdStanMCMC", "CmdStanFit"))
  few <- supersample(fit, 30)
  expect_s3_class(few, "draws_df")
  expect_identical(origin(few)$row, as.integer(supersample_rows(inner, 30)))
})

test_that("take_rows takes the same rows of other objects", {
  rows <- supersample_rows(abc(), 10)
  other <- matrix(seq_len(800), 400)
  expect_identical(take_rows(other, rows), other[as.integer(rows), ])
  expect_identical(take_rows(other, 3:4), other[3:4, ])
  expect_error(take_rows(other, 401), "row 401 is not there", class = "supersample_error")
})
