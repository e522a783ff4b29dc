"""Options of all servers for monitoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcurves.cli.options import option, optional, parse_choice

if TYPE_CHECKING:
    from .monitoring import Monitoring


@dataclass(frozen=True)
class MonitoringOptions:
    """Options of a server for its health, its counts and its log."""

    monitor: str | None = optional(
        "HOST:PORT",
        "Where it answers /health, /ready and /metrics, over HTTP and to everybody: an address that your own"
        " network alone reaches.",
    )
    log: str = option("FORM", "Lines on standard error: plain (its faults) or json (each request, too).", "plain")

    def create_monitoring(self) -> Monitoring:
        """Monitoring of the server."""
        from .monitoring import JSON, PLAIN, Monitoring
        from .server import Address

        form = parse_choice("log", self.log, {PLAIN: PLAIN, JSON: JSON})
        if self.monitor is None:
            return Monitoring(log_format=form)
        place = Address.parse(self.monitor, "monitor")
        return Monitoring(place.host, place.port, form)
