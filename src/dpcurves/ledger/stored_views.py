"""Saved views: store and read the definitions of named filters in the privacy ledger, beside the account of a data set.

A view is a named filter with derived columns, to which questions can refer. Its definition is a text. The ledger is a
hash chain: a table in which each entry has a keyed hash that covers the entry before.

    read_view_definitions    dataset -> last definition of each view, by name
    append_view              dataset, change -> a further entry in the ledger

Entries are only appended: the last definition of a name is valid, an empty one removes the view, and earlier ones stay
for auditors.

Formal guarantees: a definition that was changed, removed or inserted without the ledger's key is refused, because the
keyed hashes no longer match.
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
    """Return the current definition of each view of a dataset, by the name of the view.

    Removed views are omitted. Names are in the order of their first use.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.

    Raises:
        ValueError: the dataset has no account, or an entry of the ledger was changed or removed without its key.
    """
    require_balance(chain, dataset)
    require_all_rows(chain)  # without its last entry, a view would have its earlier definition
    rows = chain.read_rows(VIEWS, select(VIEWS).where(VIEWS.c.dataset == dataset).order_by(VIEWS.c.entry))
    definitions = {row["name"]: row["definition"] for row in rows}
    return {name: definition for name, definition in definitions.items() if definition}


def append_view(chain: Chain, dataset: str, change: ViewChange) -> None:
    """Append a new definition of a view to the ledger, with the present time (UTC).

    Args:
        chain: Open writing transaction of the ledger.
        dataset: Name of the dataset.
        change: Function from the stored definitions, by name, to a name and its new definition. An empty definition
            removes the view. Its exceptions are passed on, and nothing is stored.

    Raises:
        ValueError: the dataset has no account, an entry was changed or removed without the key, or the name or the
            definition cannot be stored.
    """
    name, definition = change(read_view_definitions(chain, dataset))
    require_name("name", name)
    if definition:
        require_text("view", definition)
    defined_at = datetime.now(UTC).isoformat(timespec="seconds")
    chain.append(VIEWS, dataset=dataset, name=name, definition=definition, defined_at=defined_at)
