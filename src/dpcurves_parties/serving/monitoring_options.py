"""Command-line options of all servers for monitoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcurves.cli.options import option, optional, parse_choice

if TYPE_CHECKING:
    from .monitoring import Monitoring


@dataclass(frozen=True)
class MonitoringOptions:
    """Options of a server for health, metrics and logs."""

    monitor: str | None = optional(
        "HOST:PORT",
        "Address of /health, /ready and /metrics, over HTTP without authentication: use one that only your own"
        " network reaches.",
    )
    log: str = option("FORM", "Format of standard error: plain (faults) or json (also each request).", "plain")

    def create_monitoring(self) -> Monitoring:
        """Return the monitoring settings. Raises `Misuse` or `ValueError` if the format or the address is invalid."""
        from .monitoring import JSON, PLAIN, Monitoring
        from .server import Address

        form = parse_choice("log", self.log, {PLAIN: PLAIN, JSON: JSON})
        if self.monitor is None:
            return Monitoring(log_format=form)
        address = Address.parse(self.monitor, "monitor")
        return Monitoring(address.host, address.port, form)
