# Data that ship with R, on cells of whole numbers, and what `survival`, `cmprsk` and `pROC` make of them.
# Called by beside_r.py: `Rscript beside_r.R FOLDER` writes a CSV for each data set, and numbers.csv.
suppressPackageStartupMessages({
  library(survival)
  library(cmprsk)
  library(pROC)
})
options(digits = 17)
folder <- commandArgs(TRUE)[1]
cells <- 40
told <- data.frame()
tell <- function(of, name, values) {
  told <<- rbind(told, data.frame(of = of, name = name, place = seq_along(values) - 1, value = as.numeric(values)))
}
keep <- function(of, columns) write.csv(columns, file.path(folder, paste0(of, ".csv")), row.names = FALSE)

# Inside the innermost intervals no estimate says when events came: `survfit` puts them into the middle.
open_at <- function(last, first, times) {
  at <- c(last, first)
  ends <- rep(0:1, each = length(last))
  turn <- order(at, -ends)
  at <- at[turn]
  inner <- which(diff(ends[turn]) == 1)
  sapply(times, function(time) any(at[inner] < time & time < at[inner + 1]))
}

survived <- function(of, exit, event, group, stratum, cause = NULL, entry = NULL) {
  width <- max(exit) * 1.0001 / cells
  turn <- (seq_along(exit) * 0.6180339887) %% 1 # causes and entries where a cohort has none
  if (is.null(cause)) {
    cause <- ifelse(event == 1, ifelse(turn < 0.6, 1, 2), 0)
  }
  if (is.null(entry)) {
    entry <- exit * ((turn * 7) %% 1)
  }
  x <- data.frame(t = floor(exit / width), e = event, g = group, s = stratum, cause = cause)
  x$entry <- pmin(floor(entry / width), x$t)
  look <- floor((x$t + seq_along(exit) %% 5) / 5) * 5 - seq_along(exit) %% 5 # examined every fifth cell
  x$last <- pmax(look, -1)
  x$first <- ifelse(x$e == 1, look + 5, Inf)
  x <- x[complete.cases(x), ]
  keep(of, x)
  until <- max(floor(quantile(x$t, 0.6, names = FALSE)), 5)
  tell(of, "until", until)
  times <- 0:(cells - 1)
  for (group in 0:1) {
    own <- survfit(Surv(t, e) ~ 1, x[x$g == group, ])
    at <- summary(own, times = times, extend = TRUE)
    tell(of, paste("Kaplan-Meier", group), at$surv)
    tell(of, paste("Nelson-Aalen", group), at$cumhaz)
    tell(of, paste("restricted mean", group), summary(own, rmean = until)$table["rmean"])
    left <- summary(own, times = c(2, until), extend = TRUE)$surv
    tell(of, paste("conditional", group), left[2] / left[1])
  }
  tell(of, "log-rank", survdiff(Surv(t, e) ~ g, x)$chisq)
  tell(of, "log-rank, rho 1", survdiff(Surv(t, e) ~ g, x, rho = 1)$chisq)
  tell(of, "log-rank, strata", survdiff(Surv(t, e) ~ g + strata(s), x)$chisq)
  tell(of, "log-rank, strata, rho 1", survdiff(Surv(t, e) ~ g + strata(s), x, rho = 1)$chisq)
  exact <- coxph.control(eps = 1e-14, toler.chol = 1e-15, iter.max = 200)
  tell(of, "hazard ratio", exp(coef(coxph(Surv(t, e) ~ I(1 - g), x, ties = "breslow", control = exact))))
  late <- summary(survfit(Surv(entry, t + 1, e) ~ 1, x), times = times + 1, extend = TRUE)
  tell(of, "delayed entry", late$surv)
  tell(of, "delayed entry, hazard", late$cumhaz)
  risks <- timepoints(cuminc(x$t, x$cause, cencode = 0), times)$est
  states <- summary(survfit(Surv(t, factor(cause)) ~ 1, x), times = times, extend = TRUE)$pstate
  for (cause in 1:2) {
    tell(of, paste("incidence, cmprsk", cause), risks[cause, ])
    tell(of, paste("incidence, survfit", cause), states[, cause + 1])
  }
  looks <- Surv(ifelse(x$last < 0, NA, x$last + 1), ifelse(is.finite(x$first), x$first + 1, NA), type = "interval2")
  left <- summary(survfit(looks ~ 1), times = times + 1, extend = TRUE)$surv
  tell(of, "interval censoring", ifelse(open_at(x$last + 1, x$first + 1, times + 1), NA, left))
}

survived("lung", lung$time, lung$status - 1, lung$sex - 1, pmin(lung$ph.ecog, 1))
survived("veteran", veteran$time, veteran$status, veteran$trt - 1, as.numeric(veteran$prior > 0))
deaths <- subset(colon, etype == 2 & rx != "Lev")
survived("colon", deaths$time, deaths$status, as.numeric(deaths$rx == "Obs"), deaths$node4)
kind <- with(mgus2, ifelse(pstat == 1, 1, 2 * death))
survived(
  "mgus2",
  with(mgus2, ifelse(pstat == 1, ptime, futime)),
  as.numeric(kind > 0),
  as.numeric(mgus2$sex == "M"),
  as.numeric(mgus2$age > 72),
  cause = kind
)
survived("heart", heart$stop, heart$event, as.numeric(heart$transplant == "1"), heart$surgery, entry = heart$start)

paired <- function(of, label, first, second) {
  keep(of, data.frame(y = label, a = first, b = second))
  curves <- lapply(list(first, second), function(score) roc(label, score, levels = 0:1, direction = "<"))
  test <- roc.test(curves[[1]], curves[[2]], method = "delong", paired = TRUE)
  tell(of, "auc, first", auc(curves[[1]]))
  tell(of, "auc, second", auc(curves[[2]]))
  tell(of, "auc difference", auc(curves[[1]]) - auc(curves[[2]]))
  tell(of, "variance", var(curves[[1]]) + var(curves[[2]]) - 2 * cov(curves[[1]], curves[[2]]))
  tell(of, "interval", test$conf.int)
}

data(aSAH)
paired("aSAH", as.numeric(aSAH$outcome == "Poor"), aSAH$s100b, aSAH$ndka)
tenths <- function(score) floor((rank(score) - 1) / length(score) * 20)
paired("pbc", as.numeric(pbc$status == 2), tenths(pbc$bili), tenths(-pbc$albumin))
paired("flchain", flchain$death, tenths(flchain$kappa), tenths(flchain$lambda))
kind <- as.numeric(iris$Species) - 1
far <- sapply(0:2, function(each) -abs(iris$Sepal.Length - mean(iris$Sepal.Length[kind == each])))
likely <- round(exp(far) / rowSums(exp(far)) * 20) / 20
keep("iris", data.frame(k = kind, p0 = likely[, 1], p1 = likely[, 2], p2 = likely[, 3]))
colnames(likely) <- 0:2
tell("iris", "one-against-one auc", multiclass.roc(factor(kind), likely)$auc)

write.csv(told, file.path(folder, "numbers.csv"), row.names = FALSE)
for (package in c("survival", "cmprsk", "pROC")) {
  cat(package, as.character(packageVersion(package)), "\n")
}
cat("R", as.character(getRversion()), "\n")
