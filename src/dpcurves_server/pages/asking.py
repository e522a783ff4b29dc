"""Pages of questions: their forms, plans and sketches, those that were asked, and their answers."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from textwrap import dedent
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Response

from dpcurves.arguments import Refused
from dpcurves.curves.question_json import question_to_json
from dpcurves.display.text import plan_lines
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolAborted

from ..forms import Form, Given
from ..inputs import MOST_CELLS, completed, inputs_of
from ..projects import Project
from ..questions import Asked, Planned, State, as_seen_by
from ..releases import DRAWN, Answer
from ..studio import DUMMY, MADE, SYNTHETIC, Drawn, is_compared, of_comparison, of_file, of_sketch, standing_alone
from ..synthetic import Synthetic
from ..visitors import Right, Subject, may, require
from .visits import CSRF, NOT_DRAWN, Later, Visit, download, price_of, to

AMOUNT, DO, SEEN = "amount", "do", "seen"
OWN = frozenset({CSRF, DO, SEEN})
"""Fields that say nothing of the question."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Refusal of a question before it is planned: the field of the form, and the reason.

    Attributes:
        argument: The field.
        words: What is wrong with it.
    """

    argument: str
    words: str


def kinds(visit: Visit) -> Response:
    """Kinds of questions that may be asked."""
    found = visit.gate.projects.get(visit.who, visit.parts["project"])
    require(visit.who, Right.ASK, found.subject)
    return visit.page("kinds.html", project=found, forms=visit.site.forms.values())


def question(visit: Visit) -> Response:
    """The form of one question, empty or as an address has it."""
    return _page(visit, visit.query, planned=None, wrong=None)


def plan_or_ask(visit: Visit) -> Response:
    """Show the plan, or ask: as the button says that was pressed. What was changed since its plan is planned again."""
    project, form = _asked_for(visit)
    try:
        stored, loss = _read(visit, project, form, visit.form)
        planned = visit.gate.questions.plan(visit.who, project.name, stored, loss)
        if visit.typed(DO) == "ask" and visit.typed(SEEN) in ("", _words(planned)):
            asked = visit.gate.questions.ask(visit.who, project.name, stored, loss)
            return to("questions", asked.id)
    except ProtocolAborted:
        raise
    except ValueError as error:
        return _page(visit, visit.form, planned=None, wrong=_wrong(error), status=400)
    return _page(visit, visit.form, planned=planned, wrong=None)


def plan(visit: Visit) -> Response:
    """The plan alone, as one types. While there is nothing to plan yet, what is missing is not called wrong."""
    project, form = _asked_for(visit)
    planned, wrong = None, None
    try:
        stored, loss = _read(visit, project, form, visit.form)
        planned = visit.gate.questions.plan(visit.who, project.name, stored, loss)
    except ProtocolAborted:
        raise
    except ValueError as error:
        wrong = _wrong(error) if _is_filled(visit, project, form) else None
    return visit.page("plan.html", **_plan_facts(visit, project, form, planned, wrong))


def _is_filled(visit: Visit, project: Project, form: Form) -> bool:
    """Tell whether all that a question needs was typed, be it wrong."""
    columns = visit.gate.datasets.get(visit.who, project.dataset).columns
    with suppress(Refused):
        typed = completed(form, visit.form, columns)
        needed = (*(each.name for each in form.fields if each.needed), AMOUNT)
        return all("".join(typed.get(name, ())).strip() for name in needed)
    return True


def sketched(visit: Visit) -> Response:
    """The sketch of an answer."""
    project, form = _asked_for(visit)
    stored, loss = _read(visit, project, form, visit.query)
    planned = visit.gate.questions.plan(visit.who, project.name, stored, loss)
    synthetic = visit.gate.synthetic.find(visit.who, planned.dataset.name, planned.dataset.version)
    facts, studio = of_sketch(planned), visit.gate.studio
    found = studio.find(facts, synthetic)
    return _sent(found) if found else Later(visit, studio.order(facts, synthetic, visit.who.name), _sent)


def _sent(sketch: Drawn) -> Response:
    return download(sketch.svg, "image/svg+xml")


def _asked_for(visit: Visit) -> tuple[Project, Form]:
    project = visit.gate.projects.get(visit.who, visit.parts["project"])
    require(visit.who, Right.ASK, project.subject)
    form = visit.site.forms.get(visit.parts["word"])
    if form is None:
        raise ProtocolAborted("question", "there is none of this name", 404)
    return project, form


def _read(visit: Visit, project: Project, form: Form, given: Given) -> tuple[Mapping[str, Any], PrivacyLoss]:
    dataset = visit.gate.datasets.get(visit.who, project.dataset)
    typed = completed(form, given, dataset.columns)
    stored = question_to_json(form.question(typed, visit.gate.models.named(visit.who, project.name)))
    return stored, price_of(AMOUNT, dataset.account.currency, "".join(given.get(AMOUNT, ())).strip())


def _wrong(error: ValueError) -> Wrong:
    return Wrong(str(getattr(error, "argument", "")), str(error))


def _page(visit: Visit, given: Given, planned: Planned | None, wrong: Wrong | None, status: int = 200) -> Response:
    project, form = _asked_for(visit)
    facts = _plan_facts(visit, project, form, planned, wrong)
    names = visit.gate.models.named(visit.who, project.name).names
    first, others = inputs_of(form, facts["dataset"].columns, names)
    aside = [each.field.name for each in others]
    parts = [f"{name}{part}" for name in aside for part in ("", ".lower", ".upper", ".cells")]
    opened = any("".join(given.get(name, ())).strip() for name in parts) or (wrong and wrong.argument in aside)
    return visit.page(
        "question.html", status, given=given, opened=opened, first=first, others=others, most_cells=MOST_CELLS, **facts
    )


def _plan_facts(
    visit: Visit, project: Project, form: Form, planned: Planned | None, wrong: Wrong | None
) -> dict[str, Any]:
    dataset = visit.gate.datasets.get(visit.who, project.dataset) if planned is None else planned.dataset
    remaining = visit.gate.projects.remaining(visit.who, project.name) if planned is None else planned.remaining
    return {
        "project": project, "form": form, "wrong": wrong, "dataset": dataset, "remaining": remaining,
        "plan": None if planned is None else _shown(visit, planned, form),
        "left": None if remaining is None else remaining.left,
        "slides": None if remaining is None else remaining.left.digits,
        "currency": dataset.account.currency.value,
    }  # fmt: skip


def _shown(visit: Visit, planned: Planned, form: Form) -> dict[str, Any]:
    """A plan in words: what is paid for, what has to be known before, releases that are free, and where a sketch is."""
    table = visit.gate.synthetic.said(visit.who, planned.dataset.name, planned.dataset.version)
    earlier = () if planned.asked is None or planned.asked.state is State.REFUSED else (planned.asked,)
    free = {each.id: each for each in (*planned.published, *earlier)}
    own = {name: texts for name, texts in visit.form.items() if name not in OWN and any(texts)}
    place = "/".join(quote(each, safe="") for each in (planned.project.name, "ask", form.word, "sketch.svg"))
    return {
        "words": _words(planned), "notes": planned.notes, "free": tuple(free.values()),
        "turns": tuple(plan_lines(planned.plans, planned.dataset.units)), "too_much": _too_much(planned),
        "price": planned.dataset.account.currency.price(planned.loss), "cost": _cost(planned),
        "sketch": f"/projects/{place}?{urlencode(own, doseq=True)}",
        "sketched_from": DUMMY if table is None else SYNTHETIC,
    }  # fmt: skip


def _words(planned: Planned) -> str:
    return f"{planned.question}: {planned.loss}"


def _cost(planned: Planned) -> str:
    """The price on the button: nothing where the project has paid for it before."""
    return "nothing" if planned.is_paid or planned.asked is not None else str(planned.loss)


def _too_much(planned: Planned) -> str:
    if planned.is_affordable:
        return ""
    if planned.remaining is None:
        return "No share of the budget was set for you yet: the steward of the dataset does that."
    return f"This is more than the {planned.remaining.left} that is left to you."


ARTIST = {"svg": "image/svg+xml", **MADE}
"""Media types of what the process draws. Kept pictures are as workers drew them."""
MOST_ON_ONE = 6
"""Releases that one picture shows."""
NO_SYNTHETIC = "No synthetic table was put beside this dataset yet."


def asked_question(visit: Visit) -> Response:
    """Page of a question: its status, and its answer once there is one."""
    asked = visit.gate.questions.get(visit.who, visit.parts["question"])
    if asked.state is State.ANSWERED:
        return to("releases", asked.id)
    return visit.page("waiting.html", **_progress(visit, asked))


def progress(visit: Visit) -> Response:
    """The status of a question as a fragment of its page; at the end the page reloads by itself."""
    asked = visit.gate.questions.get(visit.who, visit.parts["question"])
    answer = visit.page("progress.html", **_progress(visit, asked))
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
    if ending in ARTIST and ending not in DRAWN:
        found = visit.gate.releases.get(visit.who, visit.parts["release"])
        return _made(visit, [found], ending, f"release-{found.id[:12]}.{ending}")
    if ending in DRAWN:
        return _drawn(visit, lambda found: _exported(found, ending))
    return _exported(visit.gate.releases.get(visit.who, visit.parts["release"]), ending)


def _made(visit: Visit, releases: Sequence[Answer], form: str, name: str = "") -> Response:
    """A file that the process makes which draws; nobody else draws while pages are served."""

    def sent(drawn: Drawn) -> Response:
        content = drawn.svg.encode() if form == "svg" else b64decode(drawn.file)
        return download(content, ARTIST[form], name)

    return Later(visit, visit.gate.studio.order(of_file(releases, form), None), sent)


def together(visit: Visit) -> Response:
    """Several releases of a project on one picture: which, and the picture once two are chosen."""
    project = visit.gate.projects.get(visit.who, visit.parts["project"])
    answered = [as_seen_by(visit.who, each) for each in visit.gate.releases.all(visit.who, project.name)]
    chosen, wrong = _chosen(visit), ""
    if len(chosen) == 1 or len(chosen) > MOST_ON_ONE:
        wrong = f"Choose two to {MOST_ON_ONE} releases."
    elif len({_drawn_along(each.asked.question) for each in chosen}) > 1:
        wrong = "Releases on one picture are of one kind and one column; these are not."
    ids = [each.id for each in chosen]
    return visit.page(
        "together.html", project=project, answered=answered, chosen=ids, wrong=wrong,
        address=urlencode([("of", each) for each in ids]),
    )  # fmt: skip


def _drawn_along(question: Mapping[str, Any]) -> tuple[Any, ...]:
    """The kind of a question, and the column along which its answer is drawn."""
    return question["ask"], question.get("column"), question.get("time")


def together_picture(visit: Visit) -> Response:
    """The picture of several releases, to be shown or kept."""
    form, chosen = visit.parts["ending"], _chosen(visit)
    if form not in ("svg", "png") or not 2 <= len(chosen) <= MOST_ON_ONE:
        raise ProtocolAborted("picture", f"svg or png of two to {MOST_ON_ONE} releases is there", 404)
    return _made(visit, chosen, form, f"releases.{form}" if visit.query.get("keep") else "")


def _chosen(visit: Visit) -> list[Answer]:
    """The releases that an address names, each of which the visitor may see."""
    project = visit.gate.projects.get(visit.who, visit.parts["project"])
    ids = list(dict.fromkeys(visit.query.get("of", ())))[: MOST_ON_ONE + 1]
    found = [visit.gate.releases.get(visit.who, each) for each in ids]
    if any(each.asked.project != project.name for each in found):
        raise ProtocolAborted("release", "there is none of this name", 404)
    return found


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
        raise ProtocolAborted("export", "svg, png, csv, xlsx, json or html is there", 404)
    return download(*kept[ending], f"{name}.{ending}")


def publish(visit: Visit) -> Response:
    """Show a release to everybody who sees datasets here."""
    visit.gate.releases.publish(visit.who, visit.parts["release"])
    return to("releases", visit.parts["release"], said="published")


def _progress(visit: Visit, asked: Asked) -> dict[str, Any]:
    waits = asked.state not in (State.ANSWERED, State.REFUSED)
    before = visit.gate.questions.before(visit.who, asked) if waits else 0
    return {"question": as_seen_by(visit.who, asked), "waits": waits, "before": before}


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
