"""Shared parts of every HTTPS service here: TLS, connection limits, clients, one-line errors."""
