"""What the benchmarks of fit share: scores of many kinds, and questions about them answered in process."""
