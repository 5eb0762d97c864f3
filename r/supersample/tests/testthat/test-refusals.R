# What is refused, and in which words.

x <- function() as.matrix(draws()[c("a", "b", "c")])

refused <- function(call, words) expect_error(call, words, class = "supersample_error")

test_that("rows that cannot be compared are refused", {
  refused(supersample_rows(NULL, 5), "x is NULL")
  refused(supersample_rows(matrix(0, 0, 3), 5), "x has no rows")
  refused(supersample_rows(matrix(0, 3, 0), 5), "x has no column to use")
  refused(supersample_rows(data.frame(), 5), "x has no rows")
  refused(supersample_rows(matrix("a", 3, 3), 5), "matrix of character values")
  refused(supersample_rows(array(0, c(2, 2, 2)), 5), "array with 3 dimensions")
  refused(supersample_rows(list(1, 2), 5), "of class 'list'")
  refused(supersample_rows(mean, 5), "of class 'function'")
  twice <- x()
  colnames(twice) <- c("a", "a", "b")
  refused(supersample_rows(twice, 5), "several columns called 'a'")
  unnamed <- x()
  colnames(unnamed) <- c("a", "", "b")
  refused(supersample_rows(unnamed, 5), "x has a column without a name")
  for (bad in c(NA, NaN, Inf)) {
    broken <- x()
    broken[7, "b"] <- bad
    refused(supersample_rows(broken, 5), "^row 7, column 'b' of x is (NaN|inf)")
  }
  refused(supersample_rows(data.frame(u = letters, v = factor(letters)), 5), "no column to use")
})

test_that("columns without numbers are left out, unless they are asked for", {
  frame <- data.frame(draws()[c("a", "b", "c")], site = "n", kind = factor("k"))
  rows <- supersample_rows(frame, 10)
  expect_identical(as.integer(rows), as.integer(supersample_rows(x(), 10)))
  expect_setequal(attr(rows, "unused"), c("site", "kind"))
  refused(supersample_rows(frame, 10, columns = "site"), "'site' of x has no numbers")
  refused(supersample_rows(frame, 10, columns = "no"), "there is no column 'no'")
  refused(supersample_rows(frame, 10, columns = 9), "columns")
})

test_that("sizes that make no sense are refused", {
  refused(supersample_rows(x()), "give the size: n")
  refused(supersample_rows(x(), 0), "n is 0; ask for at least 1")
  for (n in list(-1, 2.5, NA, c(1, 2), "many", TRUE, Inf)) refused(supersample_rows(x(), n), "^n is ")
  refused(herd(x(), "auto"), "n = \"auto\" cannot be used with a herded sequence")
})

test_that("more rows than there are, and a transposed matrix, are said", {
  expect_warning(all <- supersample_rows(x(), 1000), "only 400 rows to choose from", class = "supersample_warning")
  expect_length(all, 400)
  expect_warning(supersample_rows(t(unname(x())), 10), "is it transposed?", class = "supersample_warning")
  expect_identical(as.integer(supersample_rows(x()[1, , drop = FALSE], 1)), 1L)
  expect_warning(supersample_rows(x()[1, , drop = FALSE], 5), "there is only 1 row")
})

test_that("weights that are none are refused", {
  refused(supersample_rows(x(), 5, sample_weight = rep(0, 400)), "all weights are zero")
  refused(supersample_rows(x(), 5, sample_weight = c(-1, rep(1, 399))), "the weight of row 1 of x is -1|weight of row 1")
  refused(supersample_rows(x(), 5, sample_weight = 1:3), "sample_weight has 3 numbers, but x has 400 rows")
  refused(supersample_rows(x(), 5, sample_weight = "w"), "there is no column 'w'")
  refused(supersample_rows(x(), 5, sample_weight = rep(1, 400), log_weight = rep(1, 400)), "not both")
  refused(supersample_rows(x(), 5, log_weight = rep(-Inf, 400)), "every log-weight is -inf")
})

test_that("options are checked, with the nearest name", {
  refused(supersample_rows(x(), 5, serach = 0), "did you mean search?")
  refused(supersample_rows(x(), 5, 3), "by name")
  refused(supersample_rows(x(), 5, kernel = "gausian"), "gaus")
  refused(supersample_rows(x(), 5, weights = "some"), "choose \"equal\", \"simplex\"")
  refused(supersample_rows(x(), 5, functions_weight = 2), "no effect without functions")
  refused(supersample_rows(x(), 5, match_weight = 1), "no effect without match")
  refused(supersample_rows(x(), 5, quotas = c(a = 5)), "no effect without groups")
  refused(supersample_rows(x(), 5, calibrate = "a"), "no effect without weights = \"calibrated\"")
  refused(supersample_rows(x(), 5, tol = "small"), "tol is \"small\"; give a number")
  refused(supersample_rows(x(), 5, threads = 0), "threads is 0")
  refused(supersample_rows(x(), 5, bandwidth = -1), "bandwidth is -1")
  refused(supersample_rows(x(), 5, bandwidth = numeric()), "bandwidth is numeric")
  refused(supersample_rows(x(), 5, landmarks = 10, embedding = "exact"), "landmarks is 10")
  refused(supersample_rows(x(), 5, include = 401), "row 401 is not there")
  refused(supersample_rows(x(), 5, include = 3, exclude = 3), "row 3 is in both include and exclude")
  refused(supersample_rows(x(), 5, groups = rep("a", 3)), "groups has 3 labels")
  refused(supersample_rows(x(), 5, groups = draws()$chain, quotas = c("1" = 5)), "no number for the group '2'")
  refused(supersample_rows(x(), 5, chains = 3), "chain")
  refused(herd(x(), 5, include = 1), "there is no option include")
  refused(supersample_rows(x(), 5, target = "density"), "needs the scores")
})

test_that("functions, scores and targets must fit the rows", {
  refused(supersample_rows(x(), 5, functions = 1:3), "functions has 3 rows, but x has 400 rows")
  refused(supersample_rows(x(), 5, functions = c(NA, 2:400)), "function '1' of row 1 is NaN")
  refused(supersample_rows(x(), 5, scores = t(unname(x()))), "scores has 400 columns, but x has 3; is it transposed")
  refused(supersample_rows(x(), 5, scores = x()[1:10, ]), "scores has 10 rows")
  refused(supersample_rows(x(), 5, scores = x()), "scores of column 'a' are not those of its rows")
  refused(supersample_rows(x(), 5, match = x()[, 1:2]), "match has no column 'c'")
  refused(supersample_rows(x(), 5, match = x()[0, ]), "match has no rows")
  refused(supersample_rows(x(), 5, match = rbind(x(), NA)), "row 401, column 'a' of match is NA")
  refused(supersample_rows(x(), 5, match = x(), match_weight = rep(0, 400)), "match_weight")
  refused(supersample_rows(x(), 5, match = x(), chains = 4), "chains cannot be used with match")
  refused(supersample_rows(x(), 5, functions = matrix(0, 400, 0)), "functions has no columns")
  refused(supersample_rows(x(), "auto", match = x()), "n = \"auto\" cannot be used with")
})

test_that("evaluate and origin refuse what is no subset", {
  refused(evaluate(x(), NULL), "y is NULL")
  refused(evaluate(x(), integer()), "y has no rows")
  refused(evaluate(x(), 500), "row 500 is not there")
  refused(evaluate(x()[1:10, ], supersample_rows(x(), 5)), "y was chosen from 400 rows, but x has 10 rows")
  refused(origin(x()), "not a result")
  refused(evaluate(x(), x()[1:3, ], subset_weight = c(1, -1, 0)), "subset_weight")
  broken <- x()[1:5, ]
  broken[2, 3] <- NA
  refused(evaluate(x(), broken), "row 2, column 'c' of y is NaN")
})

test_that("columns that look like ids or weights are noted", {
  expect_warning(supersample_rows(data.frame(x(), lp = rnorm(400)), 5), "looks like weights or log-densities; leave out with columns = \"~lp\"")
  expect_warning(supersample_rows(data.frame(X = 1:400, x()), 5), "column 'X' is used, but looks like an id")
  expect_no_warning(supersample_rows(data.frame(lp__ = rnorm(400), lprior = rnorm(400), x()), 5))
})
