# Choices that the command and this package make alike: the words of the command after the file, and the options of R.

golden <- function(name) test_path("golden", name)

draws <- function() utils::read.csv(golden("draws.csv"))

cases <- function() {
  x <- draws()
  rows <- c("--columns", "a,b,c")
  abc <- c("a", "b", "c")
  case <- function(words, ..., verb = "thin") {
    options <- list(...)
    is_of_abc <- is.null(options$columns)
    if (is_of_abc) options$columns <- abc
    list(verb = verb, words = c(if (is_of_abc) rows, words), options = options)
  }
  other <- utils::read.csv(golden("target.csv"))
  scores <- utils::read.csv(golden("scores.csv"))
  list(
    thin = case(c("-n", "25"), n = 25),
    "thin, another seed" = case(c("-n", "25", "--seed", "7"), n = 25, seed = 7),
    "thin without a search" = case(c("-n", "25", "--search", "0"), n = 25, search = 0),
    "thin to an error" = case(c("--tol", "0.05"), tol = 0.05),
    "thin to equivalent draws" = case(c("--equivalent-draws", "200"), equivalent_draws = 200),
    "as few as are enough" = case(c("-n", "auto", "--add", "0.3"), n = "auto", add = 0.3),
    "all columns" = case(
      c("-n", "25", "--exclude", "w,logw,f,g"), n = 25, columns = c("~w", "~logw", "~f", "~g")
    ),
    herd = case(c("-n", "40"), n = 40, verb = "herd"),
    "herd, unique" = case(c("-n", "40", "--unique"), n = 40, unique = TRUE, verb = "herd"),
    weights = case(c("-n", "25", "--weight-column", "w"), n = 25, sample_weight = "w"),
    "log-weights" = case(c("-n", "25", "--log-weight-column", "logw"), n = 25, log_weight = x$logw),
    functions = case(c("-n", "25", "--functions", "f"), n = 25, functions = "f"),
    "functions that count twice" = case(
      c("-n", "25", "--functions", "f,g", "--functions-weight", "2", "--functions-unit", "common"),
      n = 25, functions = x[c("f", "g")], functions_weight = 2, functions_unit = "common"
    ),
    match = case(c("-n", "25", "--match", golden("target.csv")), n = 25, match = other),
    "corrected by scores" = case(c("-n", "25", "--scores", golden("scores.csv")), n = 25, scores = scores),
    "density of scores" = case(
      c("-n", "25", "--scores", golden("scores.csv"), "--target", "density"), n = 25, scores = scores, target = "density"
    ),
    simplex = case(c("-n", "25", "--weights", "simplex"), n = 25, weights = "simplex"),
    signed = case(c("-n", "25", "--weights", "signed"), n = 25, weights = "signed"),
    "calibrated to some" = case(
      c("-n", "25", "--weights", "calibrated", "--calibrate", "a,b"), n = 25, weights = "calibrated", calibrate = c("a", "b")
    ),
    stratified = case(c("-n", "24", "--stratify", "chain"), n = 24, groups = "chain"),
    quotas = case(
      c("-n", "10", "--stratify", "chain", "--quota", "1=4,2=1,3=2,4=3"),
      n = 10, groups = x$chain, quotas = c("4" = 3, "1" = 4, "2" = 1, "3" = 2)
    ),
    "fixed rows" = case(
      c("-n", "12", "--include-rows", "3,10-12", "--exclude-rows", "0-2"), n = 12, include = c(4, 11:13), exclude = 1:3
    ),
    energy = case(c("-n", "25", "--kernel", "energy", "--scale", "mad"), n = 25, kernel = "energy", scale = "mad"),
    bandwidth = case(c("-n", "25", "--bandwidth", "0.7", "--scale", "pca"), n = 25, bandwidth = 0.7, scale = "pca"),
    landmarks = case(c("-n", "10", "--landmarks", "60"), n = 10, landmarks = 60),
    "objective" = case(
      c("-n", "25", "--marginals", "0.5", "--moments", "0"), n = 25, marginals = 0.5, moments = 0
    ),
    repeats = case(c("-n", "25", "--repeats", "--weight-column", "w"), n = 25, repeats = TRUE, sample_weight = x$w)
  )
}

# What the command chooses: row numbers counted from 1, and weights where it writes any.
by_command <- function(case, file = golden("draws.csv")) {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  rows <- file.path(folder, "rows")
  out <- file.path(folder, "out.csv")
  words <- c(case$verb, file, case$words, "--indices", rows, "-o", out, "-q")
  status <- system2(Sys.getenv("SUPERSAMPLE"), shQuote(words))
  if (status != 0) stop("the command ended with ", status)
  list(rows = scan(rows, quiet = TRUE) + 1, weights = utils::read.csv(out)$weight)
}

# What this package chooses.
by_r <- function(case, x = draws()) {
  choose <- if (case$verb == "herd") herd else supersample_rows
  # A note says that draws.csv has columns which look like weights, and a target may be out of reach.
  suppressWarnings(do.call(choose, c(list(x), case$options)))
}

needs_command <- function() {
  if (nzchar(Sys.getenv("SUPERSAMPLE"))) return(invisible())
  required <- strsplit(Sys.getenv("SUPERSAMPLE_REQUIRE"), ",")[[1]]
  if ("command" %in% required) stop("SUPERSAMPLE_REQUIRE names the command, and SUPERSAMPLE does not say where it is")
  skip("SUPERSAMPLE does not name the command")
}
