# Writes the inputs of the golden cases, and with the command of SUPERSAMPLE what it chooses: `.ci/r golden`.
library(testthat)
set.seed(1)
n <- 400
chain <- rep(1:4, each = 100)
# Independent normals of scale 1, 2 and 3, whose scores are -x / scale^2.
scale <- c(a = 1, b = 2, c = 3)
x <- round(sapply(scale, function(s) rnorm(n, sd = s)), 4)
w <- round(rgamma(n, 2), 4)
w[x[, "a"] > 1.5] <- 0
out <- data.frame(
  chain = chain, draw = rep(1:100, 4), x, w = w, logw = round(log(w + 1e-9) - 5000, 4), f = round(exp(x[, "a"] / 2), 4),
  g = round(x[, "a"] * x[, "b"], 4)
)
write <- function(table, name) utils::write.csv(table, file.path("golden", name), row.names = FALSE, quote = FALSE)
setwd("..")
write(out, "draws.csv")
write(round(sweep(-x, 2, scale^2, "/"), 4), "scores.csv")
write(data.frame(round(sapply(scale, function(s) rnorm(200, 0.3 * s, 0.7 * s)), 4)), "target.csv")
source("helper-cases.R")
test_path <- function(...) file.path(...)
chosen <- lapply(cases(), by_command)
rows <- unlist(lapply(chosen, function(one) one$rows), use.names = FALSE)
weights <- unlist(lapply(chosen, function(one) if (is.null(one$weights)) rep(NA, length(one$rows)) else one$weights), use.names = FALSE)
write(data.frame(case = rep(gsub(",", ";", names(chosen)), lengths(lapply(chosen, `[[`, "rows"))), row = rows, weight = weights), "chosen.csv")
writeLines(supersample:::instruction_set(), file.path("golden", "instruction_set"))
