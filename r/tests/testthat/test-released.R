kept <- function(name) read_released(system.file("extdata", name, package = "dpcurves", mustWork = TRUE))
csv <- function(name) system.file("extdata", name, package = "dpcurves", mustWork = TRUE)
pic <- function(name) system.file("extdata", "pictures", name, package = "dpcurves", mustWork = TRUE)
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
  expect_named(as.data.frame(kept("roc.json")), c("fpr", "tpr", "threshold"))
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
  expect_equal(
    mechanism_words("partition of 6, 32 and 120 intervals"),
    "hierarchical counts of 6, 32 and 120 intervals"
  )
  expect_equal(mechanism_words("one curator: partition of 7 intervals"), "curator: counts of 7 intervals")
  expect_output(print(kept("cdf.json")), "cdf, 41 rows.*epsilon 1, add-remove")
})

test_that("categories are texts: 01 stays 01, and F is no logical value", {
  for (labels in list(c("01", "02"), c("F", "T"), c("NA", "1e5"))) {
    told <- readLines(csv("regions.csv"))
    odd <- tempfile(fileext = ".csv")
    writeLines(sub("^south,", paste0(labels[2], ","), sub("^north,", paste0(labels[1], ","), told)), odd)
    expect_equal(unique(bands(kept("regions.json"), csv = odd)$region), labels)
  }
})

test_that("a kind whose columns the command computes is printed without it, and asks for it as a data frame", {
  before <- options(dpcurves.command = "")
  on.exit(options(before))
  expect_output(print(kept("pair.json")), "^model-pair\nepsilon 1, replace-one")
  expect_error(as.data.frame(kept("pair.json")), "the command is not found")
})

test_that("a statement is in the language of its readers", {
  command()
  expect_match(paste(statement(kept("cdf.json"), "de"), collapse = " "), "Der Verlust ist Epsilon 1")
})

# Data of the layers whose marks have these types, in the order of the description.
drawn <- function(name, types, ...) {
  panel <- picture_of(NULL, NULL, NULL, pic(name))$panels[[1]]
  marks <- panel$marks
  plotted <- ggplot2::ggplot() + geom_released(kept(name), picture = pic(name), ...)
  places <- which(vapply(marks, function(mark) mark$type, "") %in% types)
  list(
    log = panel$x$scale == "log",
    marks = marks[places],
    data = lapply(places, function(place) ggplot2::layer_data(plotted, place))
  )
}

test_that("each kind has the numbers of its description", {
  as <- list(
    line = c(x = "x", y = "y"),
    region = c(x = "x", ymin = "lower", ymax = "upper"),
    points = c(x = "x", y = "y"),
    intervals = c(x = "x", y = "y", xend = "x_end", yend = "y_end"),
    texts = c(label = "text"),
    rectangles = c(xmin = "x", xmax = "x_end"),
    cells = c(xmin = "x", xmax = "x_end", ymin = "y", ymax = "y_end")
  )
  for (name in sub(".json$", "", list.files(system.file("extdata", "pictures", package = "dpcurves")))) {
    both <- drawn(paste0(name, ".json"), names(as))
    expect_gt(length(both$marks), 0)
    for (place in seq_along(both$marks)) {
      columns <- as[[both$marks[[place]]$type]]
      for (column in names(columns)) {
        values <- both$data[[place]][[column]]
        if (both$log && startsWith(column, "x")) {
          values <- 10^values
        }
        stored <- unlist(both$marks[[place]]$columns[[columns[[column]]]])
        if (is.numeric(stored)) {
          expect_equal(sort(abs(as.numeric(values))), sort(abs(stored)))
        } else {
          expect_equal(values, stored)
        }
      }
    }
  }
})

test_that("bands are those of the command's CSV, and contain the curve between edges, too", {
  told <- bands(kept("cdf.json"), csv = csv("cdf.csv"))
  both <- drawn("cdf.json", c("region", "line"))
  named <- function(whom) Filter(function(mark) grepl(whom, mark$name), both$marks)[[1]]$columns
  expect_equal(named("these records")$lower, told$lower, tolerance = 1e-9)
  expect_equal(named("the population")$upper, told$upper_population, tolerance = 1e-9)
  line <- both$marks[[which(vapply(both$marks, function(mark) mark$type, "") == "line")]]$columns
  expect_equal(line$y, told$y, tolerance = 1e-9)
})

test_that("the region of a ROC curve is that of Python, for these records and for the population", {
  # rates of Python at a false positive rate of 0.2: ROC.band(0.95, population=...).steps()
  ends <- list(
    "these records" = c(0.6300579681002848, 0.7666706017902969),
    "the population" = c(0.6049145834217409, 0.7860360265495284)
  )
  both <- drawn("roc.json", "region")
  for (whom in names(ends)) {
    region <- both$data[[grep(whom, vapply(both$marks, function(mark) mark$name, ""))]]
    expect_equal(range(region$x), c(0, 1))
    at <- max(which(region$x < 0.2))
    expect_equal(c(region$ymin[at], region$ymax[at]), ends[[whom]], tolerance = 1e-6)
  }
})

test_that("cells of unequal width are densities, equal ones counts, and geometric ones have a logarithmic axis", {
  for (name in c("uneven", "histogram")) {
    told <- bands(kept(paste0(name, ".json")), csv = csv(paste0(name, ".csv")))
    line <- drawn(paste0(name, ".json"), "line")$marks[[1]]$columns
    widths <- if (name == "uneven") told$right - told$left else 1
    expect_equal(line$y[c(TRUE, FALSE)] * widths, told$count, tolerance = 1e-9)
  }
  scales <- ggplot2::ggplot() + geom_released(kept("geometric.json"), picture = pic("geometric.json"))
  expect_equal(scales$scales$get_scales("x")$trans$name, "log-10")
})

test_that("categories have a colour each, and panels names of their own", {
  plotted <- ggplot2::ggplot() + geom_released(kept("regions.json"), picture = pic("regions.json"))
  lines <- drawn("regions.json", "line")
  expect_length(unique(vapply(lines$data, function(data) data$colour[1], "")), 2)
  expect_equal(plotted$labels$colour, "region")
  plotted <- ggplot2::ggplot() + geom_released(kept("pair.json"), picture = pic("pair.json"))
  expect_identical(plotted$labels$title, "Two models: a minus b")
  expect_match(plotted$labels$caption, "^1,000 records; epsilon 1, replace-one; .*Note: scores are rounded to 8 cells")
  pair <- ggplot2::ggplot_build(plotted)
  expect_equal(nrow(pair$layout$layout), 2)
  expect_error(
    geom_released(kept("cdf.json"), picture = system.file("extdata", "cdf.json", package = "dpcurves")),
    "^picture: "
  )
})

test_that("axes have the limits and names of Python, rows from top to bottom, and curves its colours", {
  built <- function(name) {
    ggplot2::ggplot_build(ggplot2::ggplot() + geom_released(kept(name), picture = pic(name)))
  }
  for (name in c("cdf.json", "contingency.json", "quantiles.json")) {
    panel <- picture_of(NULL, NULL, NULL, pic(name))$panels[[1]]
    shown <- built(name)$layout$panel_params[[1]]$y
    sign <- if (panel$y$limits[1] > panel$y$limits[2]) -1 else 1
    expect_equal(sign * shown$continuous_range, panel$y$limits)
    if (length(panel$y$names) > 0) {
      expect_equal(shown$get_labels(), panel$y$names)
    }
  }
  panel <- picture_of(NULL, NULL, NULL, pic("regions.json"))$panels[[1]]
  colours <- vapply(Filter(function(mark) mark$type == "line", panel$marks), function(mark) mark$color, "")
  lines <- drawn("regions.json", "line")
  expect_equal(vapply(lines$data, function(data) data$colour[1], ""), colours)
})

test_that("a subtitle names bands and lines", {
  plotted <- ggplot2::ggplot() + geom_released(kept("roc.json"), picture = pic("roc.json"))
  expect_match(gsub("\n", " ", plotted$labels$subtitle), "^95% band for the population; 95% band for these records")
})

test_that("a column of which nothing is known is drawn as nothing", {
  mark <- list(type = "points", curve = "", color = "#000000", opacity = 1, style = "circle", width = 0)
  mark$columns <- list(x = c(1, 2), y = c(NA, NA))
  panel <- list(title = "", marks = list(mark))
  layer <- layers_of(mark, panel, "", character(), list())[[1]]
  line <- ggplot2::geom_line(ggplot2::aes(x, y), data.frame(x = 1:2, y = c(0.5, 1)))
  expect_silent(ggplot2::ggplotGrob(ggplot2::ggplot() + line + layer))
})

test_that("a contingency table has a tile with its count for each pair of categories", {
  plain <- as.data.frame(kept("contingency.json"))
  told <- bands(kept("contingency.json"), csv = csv("contingency.csv"))
  expect_equal(plain, told[names(plain)])
  both <- drawn("contingency.json", c("cells", "texts"))
  expect_equal(nrow(both$data[[1]]), 6)
  expect_equal(as.numeric(sub("\n.*", "", both$data[[2]]$label)), round(told$count))
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

test_that("numbers at risk are those of the cells that begin at or before the times", {
  told <- bands(kept("survival.json"), csv = csv("survival.csv"))
  edges <- told$x
  risk <- numbers_at_risk(kept("survival.json"), edges[c(1, 4)], csv = csv("survival.csv"))
  expect_named(risk, c("time", "at_risk", "lower", "upper"))
  expect_equal(risk$at_risk, told$at_risk[c(2, 5)])
  expect_equal(risk$upper, told$at_risk_upper[c(2, 5)])
  within <- numbers_at_risk(kept("survival.json"), mean(edges[4:5]), csv = csv("survival.csv"))
  expect_equal(within$at_risk, told$at_risk[5])
  expect_equal(nrow(numbers_at_risk(kept("survival.json"), max(edges) + 1, csv = csv("survival.csv"))), 0)
  expect_gt(nrow(numbers_at_risk(kept("survival.json"), csv = csv("survival.csv"))), 3)
  bare <- told[c("x", "y", "at_risk")] # as of a cumulative hazard, whose numbers have no intervals
  file <- tempfile(fileext = ".csv")
  utils::write.csv(bare, file, row.names = FALSE)
  expect_equal(numbers_at_risk(kept("survival.json"), edges[c(1, 4)], csv = file)$at_risk, told$at_risk[c(2, 5)])
  expect_error(numbers_at_risk(kept("cdf.json"), csv = csv("cdf.csv")), "^x: a curve with numbers at risk is needed")
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
  plotted <- ggplot2::ggplot() + geom_released(kept("cdf.json"), level = 0.5)
  expect_equal(ggplot2::layer_data(plotted, 2)$ymin, narrow$lower) # behind it stands the area of all curves
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
