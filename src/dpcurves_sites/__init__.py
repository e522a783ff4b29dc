"""Federated analytics by secure aggregation: sites keep their records, and only the noisy sum of their counts is shown.

A site is an organisation with its own records, such as a hospital. Each site adds a share of the privacy noise to its
counts and masks them. The masks cancel in the sum over the sites, so a coordinator learns the noisy sum alone.
"""
