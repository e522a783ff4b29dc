"""Computation by parties who show each other no record: counts by two servers, and means over pairs of people.

Packages, each above those before it: `crypto` (circuits, secret shares, transfers), `serving` (servers, tasks, tickets
and encrypted connections, for other packages too), and side by side `shares` (counts of two servers) and `pairs`.
"""
