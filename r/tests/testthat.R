library(testthat)
library(dpcurves)

test_check("dpcurves")
