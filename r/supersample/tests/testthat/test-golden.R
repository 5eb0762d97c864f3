golden_of <- function(name) {
  chosen <- utils::read.csv(golden("chosen.csv"))
  chosen[chosen$case == gsub(",", ";", name), ]
}

test_that("the rows and weights are those that the command has chosen", {
  # A search follows the last digits of sums, which differ between vector instructions.
  set <- readLines(golden("instruction_set"))
  skip_if(supersample:::instruction_set() != set, paste("the golden files were made with", set))
  for (name in names(cases())) {
    rows <- by_r(cases()[[name]])
    wanted <- golden_of(name)
    expect_identical(as.integer(rows), wanted$row, label = name)
    if (!all(is.na(wanted$weight))) expect_equal(weights(rows), wanted$weight, tolerance = 1e-6, label = name)
  }
})

test_that("the command chooses the same rows today", {
  needs_command()
  for (name in names(cases())) {
    case <- cases()[[name]]
    rows <- by_r(case)
    command <- by_command(case)
    expect_equal(as.integer(rows), command$rows, label = name)
    if (!is.null(command$weights)) expect_equal(weights(rows), command$weights, tolerance = 1e-9, label = name)
  }
})

test_that("the rows of the example are those of the command, with posterior and without", {
  needs_command()
  example <- Sys.getenv("SUPERSAMPLE_EXAMPLE")
  skip_if(!nzchar(example), "SUPERSAMPLE_EXAMPLE does not name examples/eight_schools.csv")
  case <- list(verb = "thin", words = c("-n", "50"), options = list(n = 50))
  command <- by_command(case, example)
  x <- utils::read.csv(example)
  expect_equal(as.integer(by_r(case, x)), command$rows)
  skip_if_not_installed("posterior")
  names(x)[1:2] <- c(".chain", ".iteration")
  expect_equal(as.integer(by_r(case, posterior::as_draws_df(x))), command$rows)
})

test_that("the number of threads does not change the rows", {
  x <- draws()[c("a", "b", "c")]
  expect_identical(supersample_rows(x, 30, threads = 1), supersample_rows(x, 30, threads = 2))
})
