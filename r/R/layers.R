#' Layers of ggplot2: the result, and the band or the intervals around it.
geom_released <- function(x, level = 0.95, population = FALSE, csv = NULL, ...) {
  frame <- if (is.null(level)) as.data.frame(x) else bands(x, level, population, csv)
  groups <- seq_along(unlist(x$evidence$question$by)) # columns of categories come first
  frame$group <- if (is.null(x$curves)) x$kind else do.call(paste, c(frame[groups], sep = ", "))
  ends <- c("lower", "upper")
  if (population && all(paste0(ends, "_population") %in% names(frame))) {
    frame[ends] <- frame[paste0(ends, "_population")]
  }
  has <- function(...) all(c(...) %in% names(frame))
  coloured <- if (is.null(x$curves)) aes() else aes(colour = .data$group, fill = .data$group)
  together <- function(..., known = c("colour", "fill")) {
    utils::modifyList(aes(...), coloured[names(coloured) %in% known])
  }
  if (has("x", "y")) {
    line <- geom_step(together(x = .data$x, y = .data$y, group = .data$group, known = "colour"), frame, ...)
    return(c(if (has(ends)) list(shade(cells_of(frame), coloured)), line))
  }
  if (has("left", "right", "count")) {
    bars <- geom_rect(
      together(xmin = .data$left, xmax = .data$right, ymin = 0, ymax = .data$count), frame, alpha = 0.5, ...
    )
    frame$middle <- (frame$left + frame$right) / 2
    if (!has(ends)) return(list(bars))
    spans <- together(x = .data$middle, y = .data$count, ymin = .data$lower, ymax = .data$upper)
    return(list(bars, geom_pointrange(spans, frame, size = 0.1)))
  }
  if (has("fpr", "tpr")) {
    line <- geom_path(together(x = .data$fpr, y = .data$tpr, group = .data$group, known = "colour"), frame, ...)
    region <- c("fpr_lower", "fpr_upper", "tpr_lower", "tpr_upper")
    if (!has(region)) return(list(line))
    return(list(shade(setNames(frame[region], c("xmin", "xmax", "ymin", "ymax")), aes()), line))
  }
  pair <- Find(function(names) has(names), list(c("prob_pred", "prob_true"), c("p", "x"), c("statistic", "value")))
  if (is.null(pair)) stop(sprintf("x: there is no layer for results of kind %s", x$kind), call. = FALSE)
  if (!has(ends)) frame[ends] <- frame[pair[2]]
  frame$place <- frame[[pair[1]]]
  frame$height <- frame[[pair[2]]]
  spans <- together(x = .data$place, y = .data$height, ymin = .data$lower, ymax = .data$upper)
  list(geom_pointrange(spans, frame, ...))
}

# Between two edges a curve lies between what is known at both, so that a band is one rectangle for each cell.
cells_of <- function(frame) {
  parts <- lapply(split(frame, frame$group), function(part) {
    part <- part[order(part$x), ]
    first <- head(part, -1)
    last <- part[-1, ]
    data.frame(
      xmin = first$x, xmax = last$x, ymin = pmin(first$lower, last$lower), ymax = pmax(first$upper, last$upper),
      group = first$group
    )
  })
  do.call(rbind, parts)
}

shade <- function(frame, coloured) {
  spans <- aes(xmin = .data$xmin, xmax = .data$xmax, ymin = .data$ymin, ymax = .data$ymax)
  spans <- utils::modifyList(spans, coloured[names(coloured) == "fill"])
  geom_rect(spans, frame, inherit.aes = FALSE, alpha = 0.25)
}
