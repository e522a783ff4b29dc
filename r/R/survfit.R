#' Survival curves as an object of class survfit, which plot(), ggsurvfit and survminer draw.
as_survfit <- function(x, level = 0.95, population = TRUE, csv = NULL) {
  if (!identical(kinds_of(x), "survival")) {
    stop(sprintf("x: survival curves are needed, this is a result of kind %s", x$kind), call. = FALSE)
  }
  frame <- bands(x, level, population, csv)
  ends <- c("lower", "upper")
  if (population && all(paste0(ends, "_population") %in% names(frame))) {
    frame[ends] <- frame[paste0(ends, "_population")]
  }
  by <- seq_along(unlist(x$evidence$question$by)) # columns of categories come first
  names_of <- Map(function(name, keys) paste0(name, "=", keys), names(frame)[by], frame[by])
  group <- if (length(by)) do.call(paste, c(unname(names_of), sep = ", ")) else rep("all", nrow(frame))
  parts <- lapply(split(frame, factor(group, unique(group))), steps_of, level)
  joined <- function(column) unlist(lapply(parts, `[[`, column), use.names = FALSE)
  fit <- list(
    n = vapply(parts, function(part) part$at_risk[1], 0, USE.NAMES = FALSE),
    time = joined("time"),
    n.risk = joined("at_risk"),
    n.event = joined("events"),
    n.censor = joined("censored"),
    surv = joined("surv"),
    std.err = joined("error"),
    cumhaz = joined("hazard"),
    type = "right",
    logse = FALSE,
    conf.int = level,
    conf.type = "plain",
    lower = joined("lower"),
    upper = joined("upper"),
    call = sys.call()
  )
  if (length(by)) {
    fit$strata <- vapply(parts, nrow, 0L)
  }
  structure(fit, class = "survfit")
}

#' Numbers at risk at some times with the ends of their intervals, as the pictures of Python have them below the axis.
numbers_at_risk <- function(x, times = NULL, level = 0.95, csv = NULL) {
  frame <- bands(x, level, population = FALSE, csv)
  if (!all(c("x", "at_risk") %in% names(frame)) || "cause" %in% names(frame)) {
    kind <- paste(kinds_of(x), collapse = ", ")
    stop(sprintf("x: a curve with numbers at risk is needed, this is a result of kind %s", kind), call. = FALSE)
  }
  by <- seq_len(count_labels(x)) # columns of categories come first
  times <- if (is.null(times)) pretty(frame$x, 5) else times
  group <- if (length(by)) do.call(paste, c(unname(frame[by]), sep = "\r")) else rep("", nrow(frame))
  parts <- lapply(split(frame, factor(group, unique(group))), function(part) {
    part <- part[order(part$x), ]
    inside <- times[times >= part$x[1] & times < part$x[nrow(part)]]
    cell <- findInterval(inside, part$x) # the number of a cell is in the row of its end
    columns <- c(names(frame)[by], intersect(c("at_risk", "at_risk_lower", "at_risk_upper"), names(part)))
    rows <- part[cell + 1, columns, drop = FALSE]
    names(rows) <- sub("^at_risk_", "", names(rows))
    cbind(rows[by], time = inside, rows[setdiff(names(rows), names(frame)[by])])
  })
  joined <- do.call(rbind, unname(parts))
  row.names(joined) <- NULL
  joined
}

# The kinds of the curves of a result.
kinds_of <- function(x) {
  if (is.null(x$curves)) x$kind else unique(vapply(x$curves, function(curve) curve$kind, ""))
}

# A row for the end of each cell where survival is known. Events and censored records follow from survival and numbers at
# risk, so that they are estimates, which noise may make fractions. Standard errors are those of the wider half of the
# band as if it were normal, which a simultaneous band makes larger than those of single points.
steps_of <- function(part, level) {
  part <- part[order(part$x), ]
  part <- part[!is.na(part$y), ]
  before <- head(part$y, -1)
  part <- part[-1, ]
  events <- part$at_risk * ifelse(before > 0, 1 - part$y / before, 0)
  after <- c(part$at_risk[-1], NA)
  censored <- ifelse(is.na(after), 0, pmax(part$at_risk - events - after, 0))
  data.frame(
    time = part$x,
    surv = part$y,
    lower = part$lower,
    upper = part$upper,
    hazard = part$cumulative_hazard,
    at_risk = pmax(part$at_risk, 0),
    events = pmax(events, 0),
    censored = censored,
    error = pmax(part$upper - part$y, part$y - part$lower) / stats::qnorm((1 + level) / 2)
  )
}

#' The numbers of a result with the ends of their intervals, as broom names them.
tidy.dpcurves_released <- function(x, conf.level = 0.95, population = FALSE, csv = NULL, ...) {
  frame <- bands(x, conf.level, population, csv)
  if (population && all(c("lower_population", "upper_population") %in% names(frame))) {
    frame[c("lower", "upper")] <- frame[c("lower_population", "upper_population")]
  }
  frame <- frame[!names(frame) %in% c("lower_population", "upper_population")]
  renamed <- c(lower = "conf.low", upper = "conf.high", statistic = "term", value = "estimate")
  found <- intersect(names(frame), names(renamed))
  names(frame)[match(found, names(frame))] <- renamed[found]
  frame
}

#' What a result is and what it cost, in one row.
glance.dpcurves_released <- function(x, ...) {
  privacy <- x$privacy
  number <- function(value) if (is.null(value)) NA_real_ else as.numeric(value)
  data.frame(
    kind = x$kind,
    epsilon = number(privacy$epsilon),
    rho = number(privacy$rho),
    delta = max(number(privacy$delta), 0, na.rm = TRUE),
    adjacency = privacy$adjacency,
    nobs = number(privacy$units),
    curves = max(length(x$curves), 1L),
    seeded = isTRUE(privacy$seeded)
  )
}
