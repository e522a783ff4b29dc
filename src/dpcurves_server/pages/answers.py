"""Questions that were asked, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from html import escape
from textwrap import dedent
from typing import Any

from fastapi import Response

from dpcurves_parties.serving.messages import ProtocolAborted

from ..questions import Asked, State, as_seen_by
from ..releases import DRAWN, Answer
from ..sketches import Drawn, is_compared, of_comparison, standing_alone
from ..synthetic import Synthetic
from ..visitors import Right, Subject, Visitor, may
from .visits import NOT_DRAWN, Later, Visit, download, to

NO_SYNTHETIC = "No synthetic table was put beside this dataset yet."


def question(visit: Visit) -> Response:
    """Page of a question: its status, and its answer once there is one."""
    asked = visit.gate.questions.get(visit.who, visit.parts["question"])
    if asked.state is State.ANSWERED:
        return to("releases", asked.id)
    return visit.page("waiting.html", **_progress(visit.who, asked))


def progress(visit: Visit) -> Response:
    """The status of a question as a fragment of its page; at the end the page reloads by itself."""
    asked = visit.gate.questions.get(visit.who, visit.parts["question"])
    answer = visit.page("progress.html", **_progress(visit.who, asked))
    if asked.state is State.ANSWERED:
        answer.headers["HX-Redirect"] = f"/releases/{asked.id}"
    return answer


def release(visit: Visit) -> Response:
    """An answer: its picture, what was found, and the same curve of the synthetic table."""
    found = visit.gate.releases.get(visit.who, visit.parts["release"])
    asked = as_seen_by(visit.who, found.asked)
    compared = is_compared(found)
    synthetic = visit.gate.synthetic.find(visit.who, asked.dataset, asked.version) if compared else None
    beside = None if synthetic is None else _found_or_ordered(visit, found, synthetic)
    can_publish = found.published_at is None and may(visit.who, Right.PUBLISH, Subject(asked.dataset))
    return visit.page(
        "release.html", asked=asked, facts=found.facts, published_at=found.published_at, may_publish=can_publish,
        comparison=beside, statement="" if synthetic is None else synthetic.statement,
        may_compare=NO_SYNTHETIC if compared else "", python=_python(asked, visit.host), drawn=found.is_drawn,
    )  # fmt: skip


def figure(visit: Visit) -> Response:
    """The place of the picture, as a piece of its page: it comes again until the picture is there."""
    found = visit.gate.releases.get(visit.who, visit.parts["release"])
    return visit.page("figure.html", asked=as_seen_by(visit.who, found.asked), facts=found.facts, drawn=found.is_drawn)


def picture(visit: Visit) -> Response:
    """The picture of an answer."""
    return _drawn(visit, lambda found: download(standing_alone(found.svg), "image/svg+xml"))


def comparison(visit: Visit) -> Response:
    """An answer beside the synthetic table, as a piece of its page."""
    found, synthetic = _compared(visit)
    asked = as_seen_by(visit.who, found.asked)

    def piece(drawn: Drawn) -> Response:
        return visit.page(
            "comparison.html", asked=asked, comparison=drawn, statement=synthetic.statement, may_compare=""
        )

    return Later(visit, visit.gate.studio.order(of_comparison(found), synthetic), piece)


def compared_picture(visit: Visit) -> Response:
    """The picture of an answer beside the synthetic table."""
    found, synthetic = _compared(visit)
    coming = visit.gate.studio.order(of_comparison(found), synthetic)
    return Later(visit, coming, lambda drawn: download(drawn.svg, "image/svg+xml"))


def _compared(visit: Visit) -> tuple[Answer, Synthetic]:
    found = visit.gate.releases.get(visit.who, visit.parts["release"])
    synthetic = visit.gate.synthetic.find(visit.who, found.asked.dataset, found.asked.version)
    if synthetic is None or not is_compared(found):
        raise ProtocolAborted("comparison", "there is none", 404)
    return found, synthetic


def _found_or_ordered(visit: Visit, found: Answer, synthetic: Synthetic) -> Drawn | None:
    """The comparison, or None after it was queued."""
    facts, studio = of_comparison(found), visit.gate.studio
    kept = studio.find(facts, synthetic)
    with suppress(ProtocolAborted):  # too many wait: who looks again begins it
        if kept is None:
            studio.order(facts, synthetic)
    return kept


def export(visit: Visit) -> Response:
    """An answer as a file."""
    ending = visit.parts["ending"]
    if ending in DRAWN:
        return _drawn(visit, lambda found: _exported(found, ending))
    return _exported(visit.gate.releases.get(visit.who, visit.parts["release"]), ending)


def _drawn(visit: Visit, made: Callable[[Answer], Response]) -> Response:
    """Respond with an artefact of a drawn answer; with the status "not drawn" where a client has to try again."""
    releases, id = visit.gate.releases, visit.parts["release"]
    found = (releases.drawn if visit.has_waited else releases.get)(visit.who, id)
    return made(found) if found.is_drawn else Response(status_code=NOT_DRAWN)


def _exported(found: Answer, ending: str) -> Response:
    name = f"release-{found.id[:12]}"
    if ending == "html":
        head = f'<meta charset="utf-8"><title>{escape(found.asked.purpose)}</title>'
        text = f'<!doctype html><html lang="en">{head}{found.curve().html_with(found.svg)}</html>'
        return download(text, "text/html", f"{name}.html")
    kept = {
        "svg": (standing_alone(found.svg), "image/svg+xml"),
        "csv": (found.csv, "text/csv"),
        "json": (found.json, "application/json"),
    }
    if ending not in kept:
        raise ProtocolAborted("export", "svg, csv, json or html is there", 404)
    return download(*kept[ending], f"{name}.{ending}")


def publish(visit: Visit) -> Response:
    """Show a release to everybody who sees datasets here."""
    visit.gate.releases.publish(visit.who, visit.parts["release"])
    return to("releases", visit.parts["release"], said="published")


def _progress(who: Visitor, asked: Asked) -> dict[str, Any]:
    return {"question": as_seen_by(who, asked), "waits": asked.state not in (State.ANSWERED, State.REFUSED)}


def _python(asked: Asked, host: str) -> str:
    loss = asked.loss
    price = f'PrivacyLoss.pure("{loss.epsilon}")' if loss.epsilon is not None else f'PrivacyLoss.zcdp("{loss.rho}")'
    return dedent(
        f"""\
        import dpcurves as dp
        from dpcurves.curves.question_json import question_from_json

        remote = dp.Remote({host!r}, token="...")  # of your project; ca="cert.pem" if no authority signed it
        question = question_from_json({dict(asked.question)!r})
        curve = remote.ask(question, dp.{price})  # asked before: costs nothing more
        """
    )
