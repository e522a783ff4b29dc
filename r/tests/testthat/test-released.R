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
  expect_equal(said[1], "epsilon 1, add-remove; protects each record; trust: a trusted curator")
  expect_true("SEEDED: NOT PRIVATE" %in% said)
  expect_equal(mechanism_words("partition of 6, 32 and 120 intervals"), "hierarchical counts of 6, 32 and 120 intervals")
  expect_equal(mechanism_words("one curator: partition of 7 intervals"), "curator: counts of 7 intervals")
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

test_that("the region of a ROC curve is that of Python, for these records and for the population", {
  # rates of Python at a false positive rate of 0.2: ROC.band(0.95, population=...).steps()
  ends <- list(c(0.6300579681002848, 0.7666706017902969), c(0.6049145834217409, 0.7860360265495284))
  for (population in c(FALSE, TRUE)) {
    layers <- geom_released(kept("roc.json"), population = population, csv = csv("roc.csv"))
    region <- ggplot2::layer_data(ggplot2::ggplot() + layers, 1)
    expect_equal(range(region$xmin, region$xmax), c(0, 1))
    at <- region[region$xmin < 0.2 & region$xmax >= 0.2, ]
    expect_equal(c(at$ymin, at$ymax), ends[[population + 1]])
  }
})

test_that("cells of unequal width are densities, and equal or geometric ones counts", {
  drawn <- ggplot2::layer_data(ggplot2::ggplot() + geom_released(kept("uneven.json"), csv = csv("uneven.csv")), 1)
  told <- bands(kept("uneven.json"), csv = csv("uneven.csv"))
  expect_equal((drawn$xmax - drawn$xmin) * drawn$ymax, told$count)
  even <- ggplot2::layer_data(ggplot2::ggplot() + geom_released(kept("histogram.json"), csv = csv("histogram.csv")), 1)
  expect_equal(even$ymax, bands(kept("histogram.json"), csv = csv("histogram.csv"))$count)
  geometric <- data.frame(left = c(1, 10), right = c(10, 100), count = c(5, 6))
  expect_equal(densities(geometric), geometric)
})

test_that("a contingency table has a tile with its count for each pair of categories", {
  plain <- as.data.frame(kept("contingency.json"))
  told <- bands(kept("contingency.json"), csv = csv("contingency.csv"))
  expect_equal(plain, told[names(plain)])
  built <- ggplot2::ggplot() + geom_released(kept("contingency.json"), csv = csv("contingency.csv"))
  expect_equal(nrow(ggplot2::layer_data(built, 1)), 6)
  expect_equal(ggplot2::layer_data(built, 2)$label, round(told$count))
})

test_that("survival curves are survfit objects, in the band that was released", {
  fit <- as_survfit(kept("survival.json"), csv = csv("survival.csv"))
  told <- bands(kept("survival.json"), csv = csv("survival.csv"))
  told <- told[!is.na(told$y), ][-1, ]
  expect_s3_class(fit, "survfit")
  expect_equal(fit$time, told$x)
  expect_equal(fit$surv, told$y)
  expect_equal(fit$lower, told$lower_population)
  expect_equal(as_survfit(kept("survival.json"), population = FALSE, csv = csv("survival.csv"))$upper, told$upper)
  expect_error(as_survfit(kept("cdf.json"), csv = csv("cdf.csv")), "^x: survival curves are needed")
  skip_if_not_installed("survival")
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  plot(fit)
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  expect_equal(summary(fit, times = told$x[5])$surv, told$y[5])
})

test_that("tidy and glance name numbers as broom does", {
  told <- bands(kept("cdf.json"), csv = csv("cdf.csv"))
  tidied <- tidy.dpcurves_released(kept("cdf.json"), csv = csv("cdf.csv"))
  expect_named(tidied, c("x", "y", "conf.low", "conf.high"))
  expect_equal(tidied$conf.low, told$lower)
  wider <- tidy.dpcurves_released(kept("cdf.json"), population = TRUE, csv = csv("cdf.csv"))
  expect_equal(wider$conf.high, told$upper_population)
  expect_equal(glance.dpcurves_released(kept("cdf.json"))$epsilon, 1)
  expect_equal(nrow(glance.dpcurves_released(kept("regions.json"))), 1)
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
