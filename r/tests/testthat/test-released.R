kept <- function(name) read_released(system.file("extdata", name, package = "dpcurves", mustWork = TRUE))
csv <- function(name) system.file("extdata", name, package = "dpcurves", mustWork = TRUE)
command <- function() skip_if_not(nzchar(Sys.which("dpcurves")), "the command is not installed")

test_that("columns are those of the command's CSV, to the last digit", {
  for (name in c("cdf", "regions", "histogram")) {
    own <- as.data.frame(kept(paste0(name, ".json")))
    told <- bands(kept(paste0(name, ".json")), csv = csv(paste0(name, ".csv")))
    expect_equal(own, told[names(own)], tolerance = 0, ignore_attr = "row.names")
  }
})

test_that("each kind is a data frame of its own columns", {
  expect_named(as.data.frame(kept("quantiles.json")), c("p", "x", "cell_lower", "cell_upper"))
  expect_named(as.data.frame(kept("survival.json")), c("x", "y", "cumulative_hazard", "at_risk"))
  expect_named(as.data.frame(kept("roc.json")), c("fpr", "tpr", "thresholds"))
  expect_equal(as.data.frame(kept("summary.json"))$statistic, c("count", "sum", "mean", "variance"))
  expect_equal(unique(as.data.frame(kept("regions.json"))$region), c("north", "south"))
})

test_that("what is no released result is refused by its name", {
  odd <- tempfile("odd", fileext = ".json")
  for (text in c("{}", "[1, 2]", "no JSON", "{\"kind\": \"cdf\"}")) {
    writeLines(text, odd)
    expect_error(read_released(odd), "^file: odd.* holds no released result")
  }
  expect_error(read_released("gone.json"), "^file: gone.json is not there")
})

test_that("a statement says the loss, whom it protects, and that noise came from a seed", {
  said <- statement(kept("cdf.json"))
  expect_equal(said[1], "epsilon 1, add-remove; protects each record; trust: one curator")
  expect_true("noise came from a seed: this is not private" %in% said)
  expect_output(print(kept("cdf.json")), "cdf, 41 rows.*epsilon 1, add-remove")
})

test_that("a curve is drawn as steps within a band that holds it between edges, too", {
  layers <- geom_released(kept("cdf.json"), csv = csv("cdf.csv"))
  drawn <- ggplot2::ggplot_build(ggplot2::ggplot() + layers)
  band <- ggplot2::layer_data(drawn$plot, 1)
  steps <- ggplot2::layer_data(drawn$plot, 2)
  told <- bands(kept("cdf.json"), csv = csv("cdf.csv"))
  expect_equal(nrow(band), nrow(told) - 1)
  expect_equal(band$ymin, head(told$lower, -1))
  expect_equal(band$ymax, told$upper[-1])
  expect_equal(steps$y, told$y)
  expect_s3_class(layers[[2]]$geom, "GeomStep")
  wider <- ggplot2::layer_data(ggplot2::ggplot() + geom_released(kept("cdf.json"), population = TRUE, csv = csv("cdf.csv")), 1)
  expect_equal(wider$ymax, told$upper_population[-1])
})

test_that("categories have a colour each, and all kinds are drawn", {
  expect_silent(drawn <- ggplot2::ggplot() + geom_released(kept("regions.json"), csv = csv("regions.csv")))
  expect_length(unique(ggplot2::layer_data(drawn, 2)$colour), 2)
  expect_equal(nrow(ggplot2::layer_data(drawn, 1)), 80)
  for (name in c("quantiles", "survival", "roc", "histogram", "summary")) {
    plain <- ggplot2::ggplot() + geom_released(kept(paste0(name, ".json")), level = NULL)
    expect_gt(nrow(ggplot2::layer_data(plain, 1)), 2)
  }
})

test_that("the command gives bands at a level, and plans", {
  command()
  narrow <- bands(kept("cdf.json"), level = 0.5, population = FALSE)
  wide <- bands(kept("cdf.json"), csv = csv("cdf.csv"))
  expect_equal(narrow$y, wide$y)
  expect_lt(mean(narrow$upper - narrow$lower), mean(wide$upper - wide$lower))
  planned <- plan("cdf", column = "wage", grid = "0:200000:64", epsilon = 1, adjacency = "add-remove")
  expect_output(print(planned), "distribution function of wage: epsilon 1, add-remove")
  expect_error(plan("cdf", column = "wage", epsilon = -1, adjacency = "add-remove"), "^epsilon: ")
})

test_that("a command that is not there is said to be missing", {
  before <- options(dpcurves.command = "")
  on.exit(options(before))
  expect_error(plan("cdf"), "the command is not found")
})
