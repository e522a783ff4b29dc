#' Layers of ggplot2 for a result, as Python draws it: title, marks, names of axes, logarithmic axes, panels, statement.
geom_released <- function(x, level = 0.95, population = FALSE, picture = NULL, ...) {
  described <- picture_of(x, level, population, picture)
  panels <- Map(shift_names, described$panels, seq_along(described$panels) - 1)
  titles <- unique(vapply(panels, function(panel) panel$title, ""))
  across <- unique(vapply(panels, function(panel) panel$x$label, "")) # where labels differ, they are the panels' titles
  curves <- unique(unlist(lapply(panels, function(panel) lapply(panel$marks, function(mark) mark$curve))))
  curves <- curves[nzchar(curves)]
  layers <- unlist(
    lapply(panels, function(panel) {
      unlist(lapply(panel$marks, function(mark) layers_of(mark, panel, titles, curves, list(...))), recursive = FALSE)
    }),
    recursive = FALSE
  )
  first <- panels[[1]]
  legend_title <- if (nzchar(described$legend_title)) described$legend_title
  width <- if (isTRUE(first$equal_scales)) 0.65 else 1 # a square leaves less room for words
  c(
    layers,
    list(labs(x = if (length(across) == 1) across, y = first$y$label)),
    scales_of(panels),
    colours_of(panels, curves),
    if (length(curves) > 1) list(labs(colour = legend_title, fill = legend_title)),
    list(
      labs(
        title = wrapped(described$title, 60 * width),
        subtitle = wrapped(paste(names_of_marks(panels, curves), collapse = "; "), 80 * width),
        caption = wrapped(described$statement, 100 * width)
      ),
      theme(plot.title.position = "plot", plot.caption.position = "plot") # all the width, also of a narrow square
    ),
    if (length(panels) > 1) list(facet_wrap("panel", scales = "free")) else list(within_limits(first))
  )
}

# The range of the axes that Python draws: outside it lie ends of lines, such as the net benefit of acting on everybody.
within_limits <- function(panel) {
  coordinates <- if (isTRUE(panel$equal_scales)) coord_equal else coord_cartesian
  coordinates(xlim = panel$x$limits, ylim = panel$y$limits, expand = FALSE)
}

# What bands, intervals and lines are, from back to front, as the legend of Python says; curves have a legend of their own.
names_of_marks <- function(panels, curves) {
  marks <- unlist(lapply(panels, function(panel) panel$marks), recursive = FALSE)
  named <- Filter(function(mark) nzchar(mark$name) && !mark$name %in% curves, marks)
  unique(vapply(
    named,
    function(mark) {
      if (mark$type == "line" && mark$style != "solid") sprintf("%s (%s)", mark$name, mark$style) else mark$name
    },
    ""
  ))
}

# Each curve has the colour that Python gives it.
colours_of <- function(panels, curves) {
  if (length(curves) < 2) {
    return(NULL)
  }
  marks <- unlist(lapply(panels, function(panel) panel$marks), recursive = FALSE)
  colours <- vapply(curves, function(name) Find(function(mark) mark$curve == name, marks)$color, "")
  list(scale_colour_manual(values = colours), scale_fill_manual(values = colours))
}

# Lines of at most so many letters: ggplot2 cuts longer ones at the edge of the picture.
wrapped <- function(lines, letters) paste(strwrap(unlist(lines), letters), collapse = "\n")

# The description that `--plot FILE.json` wrote, or that the command writes now.
picture_of <- function(x, level, population, picture) {
  if (is.null(picture)) {
    picture <- tempfile(fileext = ".json")
    on.exit(unlink(picture))
    whom <- if (population) "--population" else "--no-population"
    command(c("show", attr(x, "file"), "--plot", picture, "--level", format(level), whom))
  }
  described <- fromJSON(
    paste(readLines(picture, warn = FALSE), collapse = "\n"),
    simplifyDataFrame = FALSE,
    simplifyMatrix = FALSE
  )
  if (!identical(as.numeric(described$picture), 1)) {
    stop("picture: no description of a picture, as dpcurves writes it with --plot FILE.json", call. = FALSE)
  }
  described
}

# Rows with names get places of their own in each panel, so that all panels share one axis with all names.
shift_names <- function(panel, index) {
  panel$title <- if (nzchar(panel$title)) panel$title else panel$x$label
  if (panel$y$values != "names" || index == 0) {
    return(panel)
  }
  apart <- 1000 * index
  panel$y$ticks <- panel$y$ticks + apart
  panel$marks <- lapply(panel$marks, function(mark) {
    rows <- intersect(names(mark$columns), c("y", "y_end", "lower", "upper"))
    mark$columns[rows] <- lapply(mark$columns[rows], function(values) values + apart)
    mark
  })
  panel
}

# The layers of one mark; in a picture of several curves each has the colour of its curve, from the scale of the plot.
layers_of <- function(mark, panel, panels, curves, given) {
  frame <- as.data.frame(lapply(mark$columns, function(values) {
    values <- if (is.list(values)) unlist(Map(one, values)) else values
    if (is.logical(values)) as.numeric(values) else values # a column of which nothing is known
  }))
  if (nrow(frame) == 0) {
    return(NULL)
  }
  frame$panel <- factor(panel$title, panels)
  is_table <- any(vapply(panel$marks, function(mark) mark$type == "cells", TRUE)) # its numbers stand in their cells
  is_of_curve <- length(curves) > 1 && nzchar(mark$curve)
  if (is_of_curve) {
    frame$curve <- factor(mark$curve, curves)
  }
  look <- function(...) {
    constant <- list(...)
    if (is_of_curve) {
      constant[c("colour", "fill")] <- NULL
    }
    constant
  }
  mapped <- function(known, ...) {
    coloured <- if (is_of_curve) aes(colour = .data$curve, fill = .data$curve)[known] else NULL
    utils::modifyList(aes(...), as.list(coloured))
  }
  draw <- function(geom, mapping, look, changed = given) {
    list(do.call(geom, c(list(mapping, frame, inherit.aes = FALSE, na.rm = TRUE), utils::modifyList(look, changed))))
  }
  box <- function(known, ...) mapped(known, xmin = .data$x, xmax = .data$x_end, ymin = .data$y, ymax = .data$y_end, ...)
  switch(
    mark$type,
    line = draw(
      geom_path,
      mapped("colour", .data$x, .data$y),
      look(colour = mark$color, alpha = mark$opacity, linetype = mark$style, linewidth = points(mark))
    ),
    region = draw(
      geom_ribbon,
      mapped("fill", x = .data$x, ymin = .data$lower, ymax = .data$upper),
      look(fill = mark$color, alpha = mark$opacity, colour = NA),
      list()
    ),
    intervals = draw(
      geom_segment,
      mapped("colour", .data$x, .data$y, xend = .data$x_end, yend = .data$y_end),
      look(colour = mark$color, alpha = mark$opacity, linewidth = points(mark)),
      list()
    ),
    rectangles = draw(geom_rect, box("fill"), look(fill = mark$color, alpha = mark$opacity), list()),
    points = draw(
      geom_point,
      mapped("colour", .data$x, .data$y),
      look(colour = mark$color, alpha = mark$opacity, shape = shape_of(mark$style))
    ),
    texts = draw(
      geom_text,
      mapped("colour", .data$x, .data$y, label = .data$text),
      look(size = 3, vjust = if (is_table) 0.5 else -0.8),
      list()
    ),
    cells = c(
      draw(geom_rect, box("fill", fill = .data$value), list(), list()),
      list(scale_fill_gradient(low = "#f7fbff", high = "#4292c6", name = NULL))
    )
  )
}

# The plotting symbol of R for a shape of the description.
shape_of <- function(style) {
  shapes <- c(square = 15, "triangle down" = 25, triangle = 17, diamond = 18, tick = 124, dash = 95, plus = 3)
  if (startsWith(style, "hollow")) {
    1
  } else if (style %in% names(shapes)) {
    shapes[[style]]
  } else {
    16
  }
}

# Widths of ggplot2 are of 0.75 mm; a picture has points.
points <- function(mark) mark$width / (0.75 * 72.27 / 25.4)

one <- function(value) if (is.null(value)) NA_real_ else value

# Scales where numbers are no plain numbers of a linear axis: logarithms, dates, names.
scales_of <- function(panels) {
  scales <- lapply(c("x", "y"), function(side) {
    axes <- lapply(panels, function(panel) panel[[side]])
    axis <- axes[[1]]
    known <- list()
    if (length(axis$names) > 0) {
      known$breaks <- unlist(lapply(axes, function(each) each$ticks))
      known$labels <- unlist(lapply(axes, function(each) each$names))
    } else if (side == "y" && !nzchar(axis$label)) {
      known["breaks"] <- list(NULL) # positions without a meaning
    }
    if (axis$values == "days") {
      known$labels <- function(days) format(as.Date(days, origin = "1970-01-01"))
    }
    if (axis$values == "seconds") {
      known$labels <- function(seconds) format(as.POSIXct(seconds, origin = "1970-01-01", tz = "UTC"))
    }
    if (axis$scale == "log") {
      known$trans <- "log10"
    }
    if (axis$limits[1] > axis$limits[2]) {
      known$trans <- "reverse"
    }
    if (length(known) == 0) {
      return(NULL)
    }
    do.call(if (side == "x") scale_x_continuous else scale_y_continuous, known)
  })
  Filter(Negate(is.null), scales)
}
