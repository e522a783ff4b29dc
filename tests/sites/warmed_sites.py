"""Imports that all processes of these tests need, made once: each of them begins as a copy of that."""

from __future__ import annotations

import warnings

import federated

import dpcurves as dp
import dpcurves.cli.app
import dpcurves_sites.cli
import dpcurves_sites.relay
import dpcurves_sites.remote

dpcurves.cli.app.build()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    dp.histogram([1.0, 2.0], grid=federated.AGE, epsilon=1, adjacency=dp.ADD_REMOVE)

__all__ = ["dpcurves", "dpcurves_sites"]
