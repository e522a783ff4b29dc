"""Store the definitions of views with an account.

A view is a named filter with derived columns. Its definition is a text, sealed as an entry of the chain. To
change or remove a view, a further entry is appended. The last definition of a name is valid, and earlier ones stay for
auditors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from sqlalchemy import select

from .account import require_name, require_text
from .balance import require_balance
from .chain import VIEWS, Chain
from .verification import require_all_rows

ViewChange = Callable[[Mapping[str, str]], tuple[str, str]]
"""Function from the stored definitions by name to a name and its new definition. An empty definition removes the view.
"""


def read_view_definitions(chain: Chain, dataset: str) -> dict[str, str]:
    """Return the valid definitions of a dataset's views by name, in the order in which the names were first used.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.

    Raises:
        ValueError: the dataset has no account, or a row was changed or removed without the key.
    """
    require_balance(chain, dataset)
    require_all_rows(chain)  # without its last entry, a view would mean what it meant before
    rows = chain.read_rows(VIEWS, select(VIEWS).where(VIEWS.c.dataset == dataset).order_by(VIEWS.c.entry))
    definitions = {row["name"]: row["definition"] for row in rows}
    return {name: definition for name, definition in definitions.items() if definition}


def append_view(chain: Chain, dataset: str, change: ViewChange) -> None:
    """Append a definition that depends on the stored ones, with the present time.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.
        change: Function from the stored definitions to a name and its new definition.

    Raises:
        ValueError: see `read_view_definitions`; or the name or the definition cannot be stored.
    """
    name, definition = change(read_view_definitions(chain, dataset))
    require_name("name", name)
    if definition:
        require_text("view", definition)
    defined_at = datetime.now(UTC).isoformat(timespec="seconds")
    chain.append(VIEWS, dataset=dataset, name=name, definition=definition, defined_at=defined_at)
