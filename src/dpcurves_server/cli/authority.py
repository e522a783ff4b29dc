"""Options for OpenID Connect: the identity provider of a verification server, and the server's client credentials."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dpcurves.cli.refusal import Misuse

if TYPE_CHECKING:
    from ..issuer import Issuer

ID, SECRET = "DPCURVES_OIDC_CLIENT_ID", "DPCURVES_OIDC_CLIENT_SECRET"
NEEDED = f"{ID} and {SECRET} are needed in the environment, or --oidc-client FILE"


@dataclass(frozen=True)
class Authority:
    """Options for an OpenID Connect issuer. The client secret is never given on the command line."""

    oidc: Annotated[
        str | None, Option(help="An issuer of OpenID Connect by which people may sign in, too.", metavar="URL")
    ] = None
    oidc_client: Annotated[
        str | None,
        Option(
            help='What identifies the server to the issuer: JSON with "client_id" and "client_secret". Else '
            f"{ID} and {SECRET} of the environment.",
            metavar="FILE",
        ),
    ] = None

    def issuer(self) -> Issuer | None:
        """The issuer; None: people sign in by passwords alone.

        Raises:
            Misuse: the client credentials are missing, or were given without an issuer.
            ValueError: the issuer has no safe address.
        """
        if self.oidc is None:
            if self.oidc_client is not None:
                raise Misuse("oidc-client", "it is for --oidc, which is not given")
            return None
        from ..issuer import Client, Issuer

        id, secret = self._client()
        return Issuer(self.oidc, Client(id, secret))

    def _client(self) -> tuple[str, str]:
        if self.oidc_client is None:
            found = os.environ.get(ID, ""), os.environ.get(SECRET, "")
        else:
            found = _stored(self.oidc_client)
        if not all(found):
            raise Misuse("oidc", NEEDED)
        return found


def _stored(file: str) -> tuple[str, str]:
    try:
        stored = json.loads(Path(file).read_text(encoding="utf-8"))
        return str(stored["client_id"]), str(stored["client_secret"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise Misuse("oidc-client", f'{file!r} can not be read as JSON with "client_id" and "client_secret"') from None
