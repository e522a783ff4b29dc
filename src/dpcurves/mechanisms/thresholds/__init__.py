"""Comparisons with thresholds: the sparse vector technique, merging, PrivTree."""
