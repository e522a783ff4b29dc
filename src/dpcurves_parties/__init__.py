"""Parties who compute together on what none of them shows: counts of two servers, and pairs of people.

Rooms, each above those before it: `crypto` (circuits, secret shares, transfers), `serving` (servers, tasks, tickets and
encrypted connections, for other packages too), and side by side `shares` (counts of two servers) and `pairs`.
"""
