#' What a question would cost, and with which error it would be answered: no data are opened, and nothing is spent.
plan <- function(question, ...) {
  given <- list(...)
  names <- if (is.null(names(given))) rep("", length(given)) else names(given)
  words <- unlist(Map(
    function(name, value) {
      option <- paste0("--", gsub("_", "-", name))
      if (name == "") {
        as.character(value)
      } else if (isTRUE(value)) {
        option
      } else {
        paste0(option, "=", written(value))
      }
    },
    names,
    given
  ))
  structure(command(c("plan", question, words)), class = "dpcurves_plan")
}

print.dpcurves_plan <- function(x, ...) {
  cat(x, sep = "\n")
  invisible(x)
}

written <- function(value) {
  if (is.numeric(value)) {
    value <- format(value, digits = 15, trim = TRUE, scientific = FALSE)
  }
  paste(value, collapse = ",")
}

# What the command prints; if it refuses, an error with its one line.
command <- function(words) {
  program <- getOption("dpcurves.command", Sys.which("dpcurves"))
  if (!nzchar(program)) {
    stop("dpcurves: the command is not found; install it, or name it by options(dpcurves.command =)", call. = FALSE)
  }
  said <- tempfile()
  on.exit(unlink(said))
  # R's libraries and the system's stand first in LD_LIBRARY_PATH: a Python with a library of its own would load another.
  libraries <- Sys.getenv("LD_LIBRARY_PATH", NA)
  if (!is.na(libraries)) {
    folders <- strsplit(libraries, ":", fixed = TRUE)[[1]]
    Sys.setenv(
      LD_LIBRARY_PATH = paste(folders[!startsWith(folders, R.home()) & !grepl("^/(usr/)?lib", folders)], collapse = ":")
    )
    on.exit(Sys.setenv(LD_LIBRARY_PATH = libraries), add = TRUE)
  }
  printed <- suppressWarnings(system2(program, shQuote(words), stdout = TRUE, stderr = said))
  if (!is.null(attr(printed, "status"))) {
    stop(sub("^dpcurves: ", "", utils::tail(readLines(said, warn = FALSE), 1)), call. = FALSE)
  }
  Encoding(printed) <- "UTF-8"
  printed
}
