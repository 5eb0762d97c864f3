library(testthat)
library(supersample)

test_check("supersample")
