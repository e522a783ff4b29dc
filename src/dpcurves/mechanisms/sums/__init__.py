"""Noisy sums: strategies, their sensitivities, and the calibration of noise."""
