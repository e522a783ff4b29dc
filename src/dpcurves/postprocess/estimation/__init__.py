"""Released integers as counts: unbiased, or shrunken."""
