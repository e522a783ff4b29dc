#' A released result, as `--json` of the command wrote it.
read_released <- function(file) {
  refuse <- function(rule) stop(sprintf("file: %s %s", basename(file), rule), call. = FALSE)
  if (!file.exists(file)) {
    refuse("is not there")
  }
  read <- function(text) fromJSON(text, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
  kept <- tryCatch(read(paste(readLines(file, warn = FALSE), collapse = "\n")), error = function(e) NULL)
  if (!is.list(kept) || !is.character(kept$kind) || !is.list(kept$privacy)) {
    refuse("holds no released result, as dpcurves writes it with --json")
  }
  structure(kept, class = "dpcurves_released", file = normalizePath(file))
}

# Fields of every document; all others are numbers of the result.
SHARED <- c("kind", "schema", "privacy", "evidence", "notes", "curves")

# Kinds whose numbers stand in the document as columns; the command computes those of other kinds.
WITH_COLUMNS <- c(
  "cdf",
  "weighted-cdf",
  "quantiles",
  "weighted-quantiles",
  "histogram",
  "contingency",
  "summary",
  "weighted-summary",
  "survival",
  "weighted-survival",
  "delayed-entry",
  "interval-censored",
  "cumulative-hazard",
  "roc",
  "smooth-auc",
  "precision-recall",
  "cumulative-gain",
  "decision-curve",
  "calibration",
  "binned-residuals"
)

as.data.frame.dpcurves_released <- function(x, row.names = NULL, optional = FALSE, ...) {
  if (!has_columns(x)) {
    return(bands(x, population = FALSE))
  }
  if (is.null(x$curves)) {
    return(own_columns(x))
  }
  by <- x$evidence$question$by
  keys <- x$evidence$question$categories
  parts <- Map(
    function(curve, place) {
      frame <- own_columns(curve)
      key <- if (is.null(keys)) names(x$curves)[place] else keys[[place]]
      labels <- label_names(as.character(unlist(by)), names(frame))
      named <- as.data.frame(setNames(lapply(as.list(key), as.character), labels), optional = TRUE)
      cbind(named[rep(1, nrow(frame)), , drop = FALSE], frame)
    },
    x$curves,
    seq_along(x$curves)
  )
  frame <- do.call(rbind, parts)
  row.names(frame) <- NULL
  frame
}

# Whether a data frame needs no command: curves by category, or one result, of the kinds with columns.
has_columns <- function(x) {
  if (is.null(x$curves)) {
    return(x$kind %in% WITH_COLUMNS)
  }
  !is.null(x$evidence$question$by) && all(vapply(x$curves, function(curve) curve$kind %in% WITH_COLUMNS, TRUE))
}

# Names of columns of categories beside ours, as the command gives them: see dpcurves/display/tables.py.
label_names <- function(names, ours) {
  bounds <- c("lower", "upper", "lower_population", "upper_population")
  taken <- tolower(c(outer(ours, c("", paste0("_", bounds)), paste0), bounds, "data", "result"))
  free <- !tolower(names) %in% taken & !duplicated(tolower(names))
  taken <- c(taken, tolower(names[free]))
  for (place in which(!free)) {
    number <- 1
    repeat {
      chosen <- paste0(names[place], "_category", if (number > 1) paste0("_", number))
      if (!tolower(chosen) %in% taken) {
        break
      }
      number <- number + 1
    }
    names[place] <- chosen
    taken <- c(taken, tolower(chosen))
  }
  names
}

# The numbers of one curve: its columns, or a row for each statistic where all are single numbers.
own_columns <- function(curve) {
  if (identical(curve$kind, "contingency")) {
    return(pairs_of(curve))
  }
  own <- unclass(curve)[setdiff(names(curve), SHARED)]
  own <- lapply(Filter(function(each) is.atomic(each) || all(lengths(each) == 1), own), unlist)
  own <- lapply(own, numbers)
  if (!is.null(own$thresholds)) {
    names(own)[names(own) == "thresholds"] <- "threshold" # as in the command's CSV
    unknown <- which(is.na(own$threshold)) # JSON has no infinite numbers: all records are below the first threshold
    own$threshold[unknown] <- ifelse(unknown == 1, Inf, -Inf)
  }
  long <- lengths(own)
  if (curve$kind %in% c("summary", "weighted-summary")) {
    return(data.frame(statistic = names(own), value = unlist(own), row.names = NULL))
  }
  if (all(c("x", "count") %in% names(own)) && long[["x"]] == long[["count"]] + 1) {
    edges <- own$x
    ends <- list(left = edges[-length(edges)], right = edges[-1])
    own <- c(ends, own[names(own) != "x"])
    long <- lengths(own)
  }
  as.data.frame(own[long == max(long)])
}

# A row for each pair of categories of a contingency table, with the columns of the categories first.
pairs_of <- function(table) {
  axes <- table$evidence$question[c("row_axis", "column_axis")]
  keys <- lapply(axes, function(axis) as.character(unlist(axis$categories)))
  labels <- label_names(vapply(axes, function(axis) axis$column, ""), c("count", "row_share", "column_share"))
  frame <- data.frame(rep(keys[[1]], each = length(keys[[2]])), rep(keys[[2]], times = length(keys[[1]])))
  cbind(setNames(frame, labels), count = as.numeric(numbers(unlist(table$count))))
}

# JSON has no infinite numbers: they are written as text.
numbers <- function(values) {
  if (!is.character(values)) {
    return(values)
  }
  found <- suppressWarnings(as.numeric(sub("inity$", "", values)))
  if (any(is.na(found) & !is.na(values))) values else found
}

print.dpcurves_released <- function(x, ...) {
  frame <- tryCatch(as.data.frame(x), error = function(e) NULL) # without the command
  cat(if (is.null(frame)) x$kind else sprintf("%s, %d rows", x$kind, nrow(frame)), "\n", sep = "")
  if (!is.null(frame)) {
    print(head(frame, 6))
  }
  cat(statement(x), sep = "\n")
  invisible(x)
}

#' What a result says of privacy, one line each, and its notes; in other languages than English, as the command publishes it.
statement <- function(x, language = "en") {
  if (language != "en") {
    return(published_statement(x, language))
  }
  privacy <- x$privacy
  name <- if (is.null(privacy$epsilon)) "rho" else "epsilon"
  loss <- sprintf("%s %s", name, format(privacy[[name]]))
  if (!is.null(privacy$delta) && privacy$delta > 0) {
    loss <- sprintf("%s, delta %s", loss, format(privacy$delta))
  }
  whom <- "each record"
  if (!is.null(privacy$unit)) {
    whom <- sprintf("each %s (at most %s records)", privacy$unit, privacy$rows_per_unit)
  }
  c(
    sprintf(
      "%s, %s; protects %s; trust: %s",
      loss,
      privacy$adjacency,
      whom,
      curator(privacy$trust, "a trusted curator")
    ),
    if (isTRUE(privacy$seeded)) "SEEDED: NOT PRIVATE",
    sprintf("mechanism: %s", mechanism_words(privacy$mechanism)),
    sprintf("note: %s", unlist(x$notes))
  )
}

# The file PRIVACY.txt of a publication, in a language of the command.
published_statement <- function(x, language) {
  folder <- tempfile()
  on.exit(unlink(folder, recursive = TRUE))
  command(c("publish", attr(x, "file"), "--out", folder, "--language", language))
  lines <- readLines(file.path(folder, "PRIVACY.txt"), encoding = "UTF-8")
  lines[nzchar(lines)]
}

curator <- function(text, words) sub("^one curator\\b", words, text)

# The words of Python for counts of nested partitions: see describe_mechanism in dpcurves/display/text.py.
mechanism_words <- function(made_by) {
  nested <- gsub("partition of (?=[\\d, ]+ and \\d+ intervals)", "hierarchical counts of ", made_by, perl = TRUE)
  curator(gsub("partition of (?=\\d+ intervals)", "counts of ", nested, perl = TRUE), "curator")
}

#' The columns of a result with the ends of its bands or intervals, from its CSV file or by the command.
bands <- function(x, level = 0.95, population = TRUE, csv = NULL) {
  if (is.null(csv)) {
    csv <- tempfile(fileext = ".csv")
    on.exit(unlink(csv))
    whom <- if (population) "--population" else "--no-population"
    command(c("show", attr(x, "file"), "--csv", csv, "--level", format(level), whom))
  }
  frame <- read.csv(csv, check.names = FALSE, colClasses = "character", na.strings = character(), encoding = "UTF-8")
  names(frame) <- unescaped(names(frame))
  frame[] <- lapply(frame, unescaped)
  along <- intersect(names(frame), ALONG)
  frame[along] <- lapply(frame[along], dates)
  values <- setdiff(seq_along(frame), seq_len(count_labels(x))) # a category 01 stays 01, and F is no logical value
  frame[values] <- lapply(frame[values], values_of)
  frame
}

# How many columns of categories stand first in the CSV file.
count_labels <- function(x) {
  if (!is.null(x$curves)) {
    return(length(unlist(x$evidence$question$by)))
  }
  switch(x$kind, contingency = 2, "bar-chart" = 1, 0)
}

# Numbers of a column of the CSV file, where an empty cell is an unknown number; a column of texts as it is.
values_of <- function(column) {
  if (!is.character(column)) {
    return(column)
  }
  filled <- numbers(replace(column, !nzchar(column), NA))
  if (is.character(filled)) column else filled
}

# Columns along an axis, which have dates or times where the axis does.
ALONG <- c(
  "x",
  "left",
  "right",
  "cell_lower",
  "cell_upper",
  "lower",
  "upper",
  "lower_population",
  "upper_population"
)

# Days, or seconds in UTC, since 1970, as `as.data.frame` has them, where text has the form of dates or times.
dates <- function(column) {
  known <- column[!column %in% c("", "inf", "-inf", NA)]
  day <- "[0-9]{4}-[0-9]{2}-[0-9]{2}"
  if (!is.character(column) || length(known) == 0) {
    return(column)
  }
  if (all(grepl(paste0("^", day, "$"), known))) {
    return(as.numeric(as.Date(column, format = "%Y-%m-%d")))
  }
  if (!all(grepl(paste0("^", day, "T[0-9:]{8}Z$"), known))) {
    return(column)
  }
  as.numeric(as.POSIXct(column, format = "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"))
}

# The apostrophe before text that a spreadsheet would run as a formula: the command writes it, and no label has it.
blanks_of_cells <- " \u00a0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
formula_start <- paste0("^'(['", blanks_of_cells, "]*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])")
unescaped <- function(text) sub(formula_start, "\\1", text)
