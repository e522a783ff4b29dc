"""Inference: simulation, bands, intervals and tests."""
