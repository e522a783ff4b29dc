#' A released result, as `--json` of the command wrote it.
read_released <- function(file) {
  refuse <- function(rule) stop(sprintf("file: %s %s", basename(file), rule), call. = FALSE)
  if (!file.exists(file)) refuse("is not there")
  read <- function(text) fromJSON(text, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
  kept <- tryCatch(read(paste(readLines(file, warn = FALSE), collapse = "\n")), error = function(e) NULL)
  if (!is.list(kept) || !is.character(kept$kind) || !is.list(kept$privacy)) {
    refuse("holds no released result, as dpcurves writes it with --json")
  }
  structure(kept, class = "dpcurves_released", file = normalizePath(file))
}

# Fields of every document; all others are numbers of the result.
SHARED <- c("kind", "schema", "privacy", "evidence", "notes", "curves")

as.data.frame.dpcurves_released <- function(x, row.names = NULL, optional = FALSE, ...) {
  if (is.null(x$curves)) return(own_columns(x))
  by <- x$evidence$question$by
  keys <- x$evidence$question$categories
  parts <- Map(function(curve, place) {
    frame <- own_columns(curve)
    key <- if (is.null(keys)) names(x$curves)[place] else keys[[place]]
    named <- as.data.frame(setNames(lapply(as.list(key), as.character), by), optional = TRUE)
    cbind(named[rep(1, nrow(frame)), , drop = FALSE], frame)
  }, x$curves, seq_along(x$curves))
  frame <- do.call(rbind, parts)
  row.names(frame) <- NULL
  frame
}

# The numbers of one curve: its columns, or a row for each statistic where all are single numbers.
own_columns <- function(curve) {
  own <- unclass(curve)[setdiff(names(curve), SHARED)]
  own <- lapply(Filter(function(each) is.atomic(each) || all(lengths(each) == 1), own), unlist)
  own <- lapply(own, numbers)
  long <- lengths(own)
  if (max(long) == 1) return(data.frame(statistic = names(own), value = unlist(own), row.names = NULL))
  if (all(c("x", "count") %in% names(own)) && long[["x"]] == long[["count"]] + 1) {
    edges <- own$x
    ends <- list(left = edges[-length(edges)], right = edges[-1])
    own <- c(ends, own[names(own) != "x"])
    long <- lengths(own)
  }
  as.data.frame(own[long == max(long)])
}

# JSON has no infinite numbers: they are written as text.
numbers <- function(values) {
  if (!is.character(values)) return(values)
  found <- suppressWarnings(as.numeric(sub("inity$", "", values)))
  if (anyNA(found)) values else found
}

print.dpcurves_released <- function(x, ...) {
  frame <- as.data.frame(x)
  cat(sprintf("%s, %d rows\n", x$kind, nrow(frame)))
  print(head(frame, 6))
  cat(statement(x), sep = "\n")
  invisible(x)
}

#' What a result says of privacy, one line each, and its notes.
statement <- function(x) {
  privacy <- x$privacy
  name <- if (is.null(privacy$epsilon)) "rho" else "epsilon"
  loss <- sprintf("%s %s", name, format(privacy[[name]]))
  if (!is.null(privacy$delta) && privacy$delta > 0) loss <- sprintf("%s, delta %s", loss, format(privacy$delta))
  whom <- "each record"
  if (!is.null(privacy$unit)) whom <- sprintf("each %s (at most %s records)", privacy$unit, privacy$rows_per_unit)
  c(
    sprintf("%s, %s; protects %s; trust: %s", loss, privacy$adjacency, whom, privacy$trust),
    sprintf("mechanism: %s", privacy$mechanism),
    if (isTRUE(privacy$seeded)) "noise came from a seed: this is not private",
    sprintf("note: %s", unlist(x$notes))
  )
}

#' The columns of a result with the ends of its bands or intervals, from its CSV file or by the command.
bands <- function(x, level = 0.95, population = TRUE, csv = NULL) {
  if (is.null(csv)) {
    csv <- tempfile(fileext = ".csv")
    on.exit(unlink(csv))
    whom <- if (population) "--population" else "--no-population"
    command(c("show", attr(x, "file"), "--csv", csv, "--level", format(level), whom))
  }
  read.csv(csv, check.names = FALSE)
}
