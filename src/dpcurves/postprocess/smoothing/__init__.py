"""Monotone smoothing by the least change of the noises."""
