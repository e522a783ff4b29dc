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
    frame <- densities(frame)
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
    if (population && all(paste0(region, "_population") %in% names(frame))) {
      frame[region] <- frame[paste0(region, "_population")]
    }
    if (!has(region)) return(list(line))
    return(list(shade(region_of(frame), coloured), line))
  }
  if (x$kind == "contingency") {
    frame$row <- factor(frame[[1]], rev(unique(frame[[1]])))
    frame$column <- factor(frame[[2]], unique(frame[[2]]))
    cells <- aes(x = .data$column, y = .data$row, fill = .data$count)
    words <- aes(x = .data$column, y = .data$row, label = round(.data$count))
    return(list(geom_tile(cells, frame, ...), geom_text(words, frame)))
  }
  pair <- Find(function(names) has(names), list(c("prob_pred", "prob_true"), c("p", "x"), c("statistic", "value")))
  if (is.null(pair)) stop(sprintf("x: there is no layer for results of kind %s", x$kind), call. = FALSE)
  if (!has(ends)) frame[ends] <- frame[pair[2]]
  frame$place <- frame[[pair[1]]]
  frame$height <- frame[[pair[2]]]
  spans <- together(x = .data$place, y = .data$height, ymin = .data$lower, ymax = .data$upper)
  list(geom_pointrange(spans, frame, ...))
}

# Cells of unequal width are drawn as records per unit of the axis, so that areas are counts; cells whose edges grow by
# one factor are equal on a logarithmic axis: add scale_x_log10().
densities <- function(frame) {
  widths <- frame$right - frame$left
  uneven <- function(widths) diff(range(widths)) > 1e-6 * max(widths)
  geometric <- all(frame$left > 0) && !uneven(log(frame$right) - log(frame$left))
  if (!uneven(widths) || geometric) return(frame)
  heights <- intersect(names(frame), c("count", "lower", "upper", "lower_population", "upper_population"))
  frame[heights] <- frame[heights] / widths
  frame
}

# The region of a ROC curve, as Python draws it: between two false positive rates, the true positive rate lies above the
# lower end of the last box that ends before them, and below the upper end of the first box that begins after them.
region_of <- function(frame) {
  parts <- lapply(split(frame, frame$group), function(part) {
    part <- part[order(part$fpr_lower, part$fpr_upper), ]
    edges <- sort(unique(c(0, part$fpr_lower, part$fpr_upper, 1)))
    middles <- (head(edges, -1) + edges[-1]) / 2
    before <- pmax(findInterval(middles, sort(part$fpr_upper), left.open = TRUE), 1)
    after <- pmin(findInterval(middles, part$fpr_lower) + 1, nrow(part))
    data.frame(
      xmin = head(edges, -1), xmax = edges[-1], ymin = part$tpr_lower[before], ymax = part$tpr_upper[after],
      group = part$group[1]
    )
  })
  do.call(rbind, parts)
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
