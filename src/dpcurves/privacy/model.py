"""The guarantee about the model that a diagnostic judges: its fit is a second use of records."""

from __future__ import annotations

from enum import Enum

from ..arguments import WrongKind


class Model(Enum):
    """The origin of a model. If it was fitted to the records that it is tested on, its residuals reveal them all.

    If a model was fitted, without privacy, to the records that judge it, one changed record moves every residual; then
    no diagnostic is private, whatever its noise. So one of three things has to be true, and is written on the result:

    - `PUBLIC`: the model was fixed before these records were seen.
    - `DISJOINT`: it was trained on other records, and the promise covers the judged records only.
    - `PRIVATE`: it was trained with a privacy loss of its own, which has to be added to that of the diagnostic.
    """

    PUBLIC = "public: fixed before these records were seen"
    DISJOINT = "trained on other records: the promise covers the judged records, not those"
    PRIVATE = "trained with a privacy loss of its own, which is not in this one: the two add up"


PUBLIC_MODEL, DISJOINT_RECORDS, PRIVATE_MODEL = Model.PUBLIC, Model.DISJOINT, Model.PRIVATE


def declared(model: object) -> Model:
    """Return a model that was declared. There is no default: nobody else knows where it comes from.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(model, Model):
        raise WrongKind("model", "say PUBLIC_MODEL, DISJOINT_RECORDS or PRIVATE_MODEL; there is no default")
    return model
