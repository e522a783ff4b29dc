"""Deterministic simulation: the protocols of dpcurves under one seed that decides time, order, network and disk."""
