"""Server settings that must hold while it counts: it must not stop because of rows, nor log a secret key."""

from __future__ import annotations

from dpcurves.arguments import Refused

from .postgres_link import Link

ROOM = "temp_file_limit"
_SETTING = "SELECT current_setting($1, true)"
LOGGING = {
    "log_statement": ("all",), "debug_print_parse": ("on",), "debug_print_rewritten": ("on",),
    "debug_print_plan": ("on",), "pgaudit.log_parameter": ("on",),
}  # fmt: skip
"""Settings under which a parameter reaches the log."""
TIMED = ("log_min_duration_statement", "log_min_duration_sample", "auto_explain.log_min_duration")
SAMPLED = "log_transaction_sample_rate"
AFTER_ERRORS = "log_parameter_max_length_on_error"
"""Parameters of a statement that was cancelled are logged up to so many bytes."""


def require_room(link: Link) -> None:
    """Refuse a server that stops a statement when it sorts more than so much: how much it sorts, rows decide.

    Raises:
        ValueError: it has a limit.
    """
    ((limit,),) = link.rows(_SETTING, (ROOM,))
    if limit not in (None, "-1"):
        raise Refused(
            "data",
            f"the server limits {ROOM}, so rows could stop a count: ALTER ROLE ... SET {ROOM} = -1 for the reader",
        )


def require_no_log(link: Link) -> None:
    """Refuse a server that would log the key by which the rows of a unit are ranked: a parameter of a statement.

    Raises:
        ValueError: it logs statements with their parameters.
    """
    for name in _logging(link):
        raise Refused(
            "data",
            f"the server logs parameters ({name}), and the key that ranks rows is one: turn that off for the reader "
            "(ALTER ROLE), or give ranking='here'",
        )


def _logging(link: Link) -> list[str]:
    found = {name: link.rows(_SETTING, (name,))[0][0] for name in _ASKED}
    named = [name for name, values in LOGGING.items() if found[name] in values]
    named += [name for name in TIMED if found[name] not in (None, "", "-1")]
    named += [SAMPLED] * (float(found[SAMPLED] or 0) > 0) + [AFTER_ERRORS] * (found[AFTER_ERRORS] not in (None, "0"))
    return named if found["log_parameter_max_length"] != "0" else [name for name in named if name not in _BY_LENGTH]


_ASKED = (*LOGGING, *TIMED, SAMPLED, AFTER_ERRORS, "log_parameter_max_length")
_BY_LENGTH = {"log_statement", "log_min_duration_statement", "log_min_duration_sample", SAMPLED}
"""They write parameters up to the length that is set: none where it is 0."""
