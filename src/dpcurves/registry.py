"""Entry of a publication for the registry of differential-privacy deployments, as YAML.

The registry (https://github.com/opendp/deployments-registry-data, schema of 2026-07-15, commit 3e9c812) describes each
deployment by a YAML file. `ENTRY_FIELDS` states its fields afresh. `make_entry` fills in what released results say of
themselves; `parse_about` reads what only people know, such as curator and region, from a TOML file. A field that
neither knows is absent, and named in a comment of the file. No records are read.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from unicodedata import normalize

from . import display
from .arguments import InvalidArgument, describe_value
from .conversation import EXTERNAL_TRUST_PREFIX, OPEN_TRUST_MODEL, PrivacyStatement
from .curves.result import ReleasedResult
from .foreign_text import escape_for_markdown, is_hidden
from .privacy import format_loss
from .privacy.adjacency import format_record_count

SCHEMA = "opendp/deployments-registry-data, commit 3e9c812 of 2026-07-15"
"""Version of the registry's schema that `ENTRY_FIELDS` states, named at the top of an entry."""
STATUSES = (
    "Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)", "Approved (Pending)"
)  # fmt: skip
"""Words that the registry's schema allows for the status of an entry; others are reported as a fault."""
PRODUCTS = (
    "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries"
)  # fmt: skip
"""Words that the registry's schema allows for what was published; the first one is the default."""
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
"""Words that the registry's schema allows for the industry."""
VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
"""Words that the registry's schema allows for the definition of differential privacy."""
MODELS = ("Local", "Central", "Shuffle", "Federated", "Varies")
"""Words that the registry's schema allows for where noise is added."""
RELEASES = ("One release", "Many releases")
"""Words that the registry's schema allows for whether more releases follow."""
SOURCES = ("Static", "Dynamic")
"""Words that the registry's schema allows for whether new data come in."""
ACCESS = ("Interactive", "Non-interactive")
"""Words that the registry's schema allows for whether analysts ask questions."""
TIERS = (1, 2, 3)
"""Tiers of completeness of the registry's schema: 1 is needed for a valid entry; 2 adds how often, from what and for
whom; 3 adds details. An entry has the highest tier that is complete with all lower ones."""


@dataclass(frozen=True, slots=True)
class EntryField:
    """A field of the registry's schema.

    Attributes:
        section: Section within ``deployment``.
        name: Name of the field.
        tier: The lowest tier of completeness that includes it; 0: it is optional in each tier.
        kind: ``text``, ``texts`` (a list of at least one), ``date`` (YYYY-MM-DD) or ``parameters`` (of the loss).
        choices: The only values; empty: any value of the kind.
        is_required: Whether its section is invalid without it.
        about: Key of `About` that has the value; empty: released results have it.
    """

    section: str
    name: str
    tier: int
    kind: str = "text"
    choices: tuple[str, ...] = ()
    is_required: bool = False
    about: str = ""

    @property
    def path(self) -> str:
        """Path of the field in an entry of the registry, as comments and errors print it."""
        return f"deployment.{self.section}.{self.name}"


ENTRY_FIELDS = (
    EntryField("basic", "name", 1, is_required=True, about="name"),
    EntryField("basic", "data_curators", 1, "texts", is_required=True, about="curators"),
    EntryField("basic", "intended_use", 1, is_required=True, about="intended_use"),
    EntryField("basic", "data_product_type", 1, choices=PRODUCTS, is_required=True, about="product_type"),
    EntryField("basic", "data_product_region", 1, is_required=True, about="region"),
    EntryField("basic", "description", 1, is_required=True, about="description"),
    EntryField("basic", "publication_date", 1, "date", is_required=True, about="published"),
    EntryField("basic", "data_product_sector", 1, choices=SECTORS, about="sector"),
    EntryField("dp_variant", "variant_name", 2, choices=VARIANTS),
    EntryField("dp_variant", "data_domain", 3, about="data_domain"),
    EntryField("dp_variant", "unprotected_quantities", 3, about="unprotected_quantities"),
    EntryField("privacy_loss", "privacy_unit", 2),
    EntryField("privacy_loss", "privacy_unit_details", 3),
    EntryField("privacy_loss", "privacy_parameters", 2, "parameters"),
    EntryField("privacy_loss", "privacy_parameters_details", 0),
    EntryField("deployment_model", "model_name", 2, choices=MODELS),
    EntryField("deployment_model", "model_name_details", 0),
    EntryField("deployment_model", "actors", 3, about="actors"),
    EntryField("deployment_model", "release_type", 2, choices=RELEASES, about="release_type"),
    EntryField("deployment_model", "release_type_details", 0, about="release_type_details"),
    EntryField("deployment_model", "data_source_type", 2, choices=SOURCES, about="data_source_type"),
    EntryField("deployment_model", "data_source_type_details", 0, about="data_source_type_details"),
    EntryField("deployment_model", "access_type", 2, choices=ACCESS, about="access_type"),
    EntryField("deployment_model", "access_type_details", 0, about="access_type_details"),
    EntryField("accounting", "post_processing", 3),
    EntryField("accounting", "composition", 3),
    EntryField("implementation", "preprocessing_and_hyperparameter_tuning", 3, about="preprocessing"),
    EntryField("implementation", "mechanisms", 3, about="security"),
    EntryField("implementation", "justification", 3, about="justification"),
    EntryField("administrative", "sources", 0, about="sources"),
    EntryField("administrative", "notes", 0, about="notes"),
    EntryField("administrative", "registry_authors", 1, "texts", is_required=True, about="authors"),
)
"""All fields of the registry's schema below ``deployment``, in its order. The schema names sources and notes in tier 1,
but some deployments have none, so they count for no tier here."""
PARAMETERS = ("epsilon", "delta", "rho")
"""Keys that the registry's schema allows among the privacy parameters."""
BASIC_SECTION = "basic"
"""Section that the registry's schema requires in every entry."""
TRUST_MODELS = MappingProxyType(
    {
        "one curator": (
            "Central",
            "- Curator: sees all records, counts them and adds the noise; must be trusted.\n"
            "- Readers of the results: see released numbers alone; need not be trusted.",
        ),
        "each person at home": (
            "Local",
            "- People: add noise on their own devices before anything leaves these.\n"
            "- Aggregator: sees noisy reports alone; need not be trusted with records.\n"
            "- Readers of the results: need not be trusted.",
        ),
        "secure sum of": (
            "Federated",
            "- Sites: each sees its own records alone, adds its part of the noise and masks the counts; at most the "
            "stated number may collude.\n"
            "- Coordinator: sees masked counts and their noisy sum.\n"
            "- Readers of the results: need not be trusted.",
        ),
        "two servers that do not collude": (
            "Federated",
            "- People: send each server a share of their record, which alone says nothing.\n"
            "- Two servers: each adds noise; they must not collude.\n"
            "- Readers of the results: need not be trusted.",
        ),
        "pairs of people, by two servers": (
            "Federated",
            "- People: answer in pairs by secure computation on their devices.\n"
            "- Two servers: add noise to sums of shares; they must not collude.\n"
            "- Readers of the results: need not be trusted.",
        ),
    }
)
"""Deployment model and actors in the registry's words, by the beginning of a result's trust model."""


@dataclass(frozen=True, slots=True)
class About:
    """Facts about a publication that neither results nor ledger know. An empty fact is not known.

    Attributes:
        name: Name of the data product.
        curators: Who publishes it.
        intended_use: What it is meant for.
        product_type: Kind of the product, of `PRODUCTS`.
        region: Region that the data describe, or whose distribution applies.
        description: What it contains; empty: a list of the results.
        published: Day of publication.
        sector: Industry, of `SECTORS`.
        authors: Who fills in the entry.
        slug: Last part of the entry's address; empty: made of name and year.
        data_domain: Which tables are protected, beside the questions' columns.
        unprotected_quantities: What is published without noise beside these results.
        actors: Who else may see data or results, and why they are trusted.
        release_type: Whether more releases follow, of `RELEASES`.
        release_type_details: Plans for later releases of the same data.
        data_source_type: Whether new data come in, of `SOURCES`.
        data_source_type_details: How data come in.
        access_type: Whether analysts ask questions, of `ACCESS`.
        access_type_details: Who may ask, and how the budget is divided.
        preprocessing: What was done to the data before, and whether that cost privacy.
        security: How the confidential data are guarded.
        justification: Why loss, unit and mechanism were chosen.
        sources: Links to the publication and to documents.
        notes: Anything else.
        purposes: Purpose of the questions, by project or by request id, for the review sheet.
    """

    name: str = ""
    curators: tuple[str, ...] = ()
    intended_use: str = ""
    product_type: str = PRODUCTS[0]
    region: str = ""
    description: str = ""
    published: str = ""
    sector: str = ""
    authors: tuple[str, ...] = ()
    slug: str = ""
    data_domain: str = ""
    unprotected_quantities: str = ""
    actors: str = ""
    release_type: str = ""
    release_type_details: str = ""
    data_source_type: str = ""
    data_source_type_details: str = ""
    access_type: str = ""
    access_type_details: str = ""
    preprocessing: str = ""
    security: str = ""
    justification: str = ""
    sources: str = ""
    notes: str = ""
    purposes: Mapping[str, str] = field(default_factory=dict)


NO_DETAILS = About()
"""Stands for the facts on a publication if nobody states any: the required ones are then named as missing."""
CHOICES = MappingProxyType({entry.about: entry.choices for entry in ENTRY_FIELDS if entry.about and entry.choices})
"""Words that a fact of the file of --about may have, by its key; others are refused. Keys without a choice take any
text."""
LIST_FIELDS = frozenset(entry.about for entry in ENTRY_FIELDS if entry.kind == "texts")
"""Keys of the file of --about that take a list of texts, such as names."""
TEMPLATE = """\
# What only you know about a publication. Take the # off the lines that you fill in; the rest is named as missing.
# dpcurves publish RESULT... --out DIR --about THIS_FILE     writes it into registry.yaml
# dpcurves review LEDGER --out DIR --about THIS_FILE         writes it into REVIEW.md

# Needed for a valid entry (tier 1).
# name = "Waiting times in emergency departments 2026"
# curators = ["Name of the office that publishes"]
# authors = ["Name of who fills in this file"]
# region = "Country or region that the data describe, or whose distribution applies"
# intended_use = "What the results are meant for"
# published = 2026-01-31  # the first day of publication; default: the date on the page

# Optional.
# sector = "Healthcare"  # Technology, Healthcare, Education, Government, Energy or Finance
# product_type = "Summary statistics"  # also Interactive API or SQL queries
# description = "What the results contain; a list of them if this is left out"
# slug = "waiting-times-2026"
# sources = "Links to the publication and to documents on it"
# notes = ""

# How often, from what, for whom (tier 2).
# release_type = "One release"  # or Many releases
# release_type_details = "Plans for later releases; when the budget is renewed"
# data_source_type = "Static"  # or Dynamic: new data come in
# data_source_type_details = ""
# access_type = "Non-interactive"  # or Interactive: analysts ask questions of the confidential data
# access_type_details = "How the budget is divided among analysts, and whether they may collude"

# Details (tier 3).
# data_domain = "Which tables are protected: one row for ..., collected by ..."
# unprotected_quantities = "What is published about the same records without noise"
# actors = "Who else may see data or results, and why they are trusted"
# preprocessing = "What was done to the data and looked at before, and whether that cost privacy"
# security = "How the confidential data are guarded: access, encryption, logs"
# justification = "Why this loss, unit and mechanism were chosen, and who decided"

# For REVIEW.md alone, which is never published: purposes by project or request id.
# [purposes]
# "study-delays" = "Annual report to the ministry"
"""
"""Text of the file that ``dpcurves publish --about-template`` writes: facts that only people know, each commented
out."""


def read_about(path: str | Path) -> About:
    """Return the facts on a publication that the user states in a TOML file, such as curators and region.

    Args:
        path: Path of the TOML file, in UTF-8.

    Raises:
        ValueError: the file cannot be read, or has a wrong or unknown key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(
            "about",
            f"{str(path)!r} cannot be read ({error.strerror}); make one with: dpcurves publish --about-template FILE",
        ) from None
    except UnicodeDecodeError:
        raise InvalidArgument("about", f"{str(path)!r} is not UTF-8 text; save it as UTF-8") from None
    return parse_about(text)


def parse_about(text: str) -> About:
    """Return the facts on a publication that a TOML text states, such as curators and region.

    Args:
        text: Text in TOML.

    Raises:
        ValueError: the text is not TOML, or a key is unknown or has a value of another type. Names the key.

    >>> parse_about('curators = ["Office"]\\npublished = 2026-01-31').published
    '2026-01-31'
    """
    try:
        stored = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument("about", f"the file is not TOML ({error}); correct it, as in region = 'Wales'") from None
    known = [known_field.name for known_field in fields(About)]
    unknown = next((key for key in stored if key not in known), None)
    if unknown is not None:
        nearest = get_close_matches(unknown, known, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(known)}"
        raise InvalidArgument("about", f"the key {unknown!r} is unknown; {hint}")
    return About(**{key: _parse_fact(key, value) for key, value in stored.items()})


def _parse_fact(key: str, value: object) -> Any:
    """Check one fact of the TOML file of facts about a deployment, and return it as the registry needs it.

    Args:
        key: Name of the fact.
        value: The value in the file.

    Raises:
        ValueError: the value has another type, or is an unknown choice.
    """
    if key == "published":
        text = value.isoformat()[:10] if isinstance(value, date) else value
        if not isinstance(text, str) or not _is_date(text):
            raise InvalidArgument("about", f"published must be a day, as in 2026-01-31, got {describe_value(value)}")
        return text
    if key == "purposes":
        if not isinstance(value, Mapping) or not all(isinstance(purpose, str) for purpose in value.values()):
            raise InvalidArgument("about", 'purposes must be a table of texts: [purposes] and "request" = "purpose"')
        return dict(value)
    if key in LIST_FIELDS:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
            raise InvalidArgument(
                "about", f'{key} must be a list of texts, as in ["Name"], got {describe_value(value)}'
            )
        return tuple(texts)
    if not isinstance(value, str):
        raise InvalidArgument("about", f"{key} must be a text in quotes, got {describe_value(value)}")
    if value.strip() and value not in CHOICES.get(key, (value,)):
        raise InvalidArgument("about", f"{key} must be {' or '.join(CHOICES[key])}, got {describe_value(value)}")
    return value.strip()


def _is_date(text: str) -> bool:
    """Return whether a text is a day in YYYY-MM-DD.

    Args:
        text: Any text.
    """
    try:
        return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


ZERO = Fraction(0)
"""Exact zero, from which privacy losses are added up."""


class TotalLoss(NamedTuple):
    """The loss of several releases together, by basic composition.

    Attributes:
        epsilon: Sum of the epsilons of pure losses; None if the losses are in rho.
        rho: Sum of the rhos; None if the losses are pure.
        delta: Sum of the deltas.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction

    def __str__(self) -> str:
        amount = f"epsilon {_format(self.epsilon)}" if self.epsilon is not None else f"rho {_format(self.rho or ZERO)}"
        return f"{amount}, delta {_format(self.delta)}" if self.delta else amount


def _format(amount: Fraction) -> str:
    """Return a loss as text, rounded up.

    Args:
        amount: Epsilon, rho or delta, at least 0.
    """
    figures = 12  # significant digits of a loss in the entry; it is rounded up
    return format_loss(amount, figures)


def select_protected(results: Sequence[ReleasedResult]) -> list[PrivacyStatement]:
    """Return the privacy statement of each release of confidential records.

    Results that were computed from the same releases have one statement.

    Args:
        results: Results of a publication.
    """
    return list(
        {
            _release_fingerprint(result): result.privacy
            for result in results
            if result.privacy.trust != OPEN_TRUST_MODEL
        }.values()
    )  # fmt: skip


def add_losses(statements: Sequence[PrivacyStatement]) -> TotalLoss | None:
    """Return the sum of several losses by basic composition; None if they cannot be added.

    That is so if definitions of the loss or neighbours differ, or if another system released some of the counts.

    Args:
        statements: Privacy statements of several releases, at least one.
    """
    bases = {
        (privacy.adjacency, privacy.unit, privacy.rows_per_unit, privacy.epsilon is None) for privacy in statements
    }
    if len(bases) != 1 or any(privacy.trust.startswith(EXTERNAL_TRUST_PREFIX) for privacy in statements):
        return None
    is_concentrated = statements[0].epsilon is None
    amounts = [Fraction(str(privacy.rho if privacy.epsilon is None else privacy.epsilon)) for privacy in statements]
    delta = sum((Fraction(str(privacy.delta)) for privacy in statements), start=ZERO)
    amount = sum(amounts, start=ZERO)
    return TotalLoss(None, amount, delta) if is_concentrated else TotalLoss(amount, None, delta)


def _release_fingerprint(result: ReleasedResult) -> str:
    """Return text that is equal for results of the same releases, whose loss counts once.

    Args:
        result: The released result.
    """
    releases = [release.to_json() for release in result.rounds]
    return json.dumps([result.privacy.grant, result.privacy.loss, releases or result.to_json()], sort_keys=True)


def make_entry(results: Mapping[str, ReleasedResult], about: About, title: str = "") -> dict[str, Any]:
    """Return the registry entry of a publication, without the fields that are not known.

    Numbers of the loss are `Fraction` objects. Names of columns, categories and models are escaped, because the
    registry renders texts as Markdown.

    Args:
        results: The results by name.
        about: Facts that the results do not know.
        title: Title of the publication, for an entry without a name of its own; empty: none.

    Returns:
        The entry as YAML values: slug, status, tier, and fields by section.
    """
    statements = {name: result.privacy for name, result in results.items()}
    losses = select_protected(list(results.values()))
    facts = {
        **_describe_product(results, about, title),
        **_describe_guarantee(statements, losses),
        **_describe_accounting(statements, losses),
    }
    deployment: dict[str, dict[str, Any]] = {}
    for entry_field in ENTRY_FIELDS:
        stated = getattr(about, entry_field.about) if entry_field.about else ""
        if entry_field.kind == "texts":
            value: Any = list(stated)
        elif entry_field.choices or entry_field.kind == "date":
            value = stated or facts.get(entry_field.name, "")
        elif entry_field.kind == "parameters":
            value = facts.get(entry_field.name, {})
        else:
            value = "\n".join(filter(None, [facts.get(entry_field.name, ""), stated]))
        if value:
            deployment.setdefault(entry_field.section, {})[entry_field.name] = value
    name = deployment[BASIC_SECTION].get("name", "results")
    year = deployment[BASIC_SECTION].get("publication_date", "")[:4]
    ascii_name = normalize("NFKD", name).encode("ascii", "ignore").decode()  # letters without their accents
    slug = about.slug or "-".join(filter(None, [re.sub(r"[^a-z0-9]+", "-", ascii_name.lower()).strip("-"), year]))
    return {
        "url_slug": slug or "results", "status": "Draft", "tier": _find_tier(deployment), "deployment": deployment
    }  # fmt: skip


def _find_tier(deployment: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the highest tier of the registry for which the entry is complete, with all lower tiers; at least 1.

    Args:
        deployment: Fields of the registry's entry by name, in each section by name.
    """
    missing = {
        entry_field.tier for entry_field in ENTRY_FIELDS
        if entry_field.tier and entry_field.name not in deployment.get(entry_field.section, {})
    }  # fmt: skip
    return max([tier for tier in TIERS if not missing & set(TIERS[:tier])], default=1)


def _describe_product(results: Mapping[str, ReleasedResult], about: About, title: str) -> dict[str, str]:
    """Return the registry's fields on the published product: the list of its results, and its title.

    Args:
        results: Results by name of their files.
        about: What the office has stated.
        title: Title of the product; empty: none.
    """
    listed = "\n".join(f"- {name}: {escape_for_markdown(result._title())}." for name, result in results.items())
    facts = {} if about.description else {"description": f"Results under differential privacy:\n{listed}"}
    if title and not about.name:
        facts["name"] = escape_for_markdown(title)
    return facts


def _describe_guarantee(
    statements: Mapping[str, PrivacyStatement], losses: Sequence[PrivacyStatement]
) -> dict[str, Any]:
    """Return the registry's fields on privacy definition, loss, unit and trust model; without the loss if noise came
    from a seed.

    Args:
        statements: Privacy statements by name of the result.
        losses: Statements of the protected results, one per release.

    Returns:
        Values by field of the registry.
    """
    facts: dict[str, Any] = {}
    public = [name for name, privacy in statements.items() if privacy.trust == OPEN_TRUST_MODEL]
    unprotected = [f"- {name}: exact counts of public records." for name in public]
    known_units = {privacy.units for privacy in losses if privacy.units is not None}
    unprotected += [f"- The number of protected units is public: {units:,}." for units in sorted(known_units)]
    unprotected += [
        f"- {name}: the filter of the records is public: {escape_for_markdown(privacy.where)}"
        for name, privacy in statements.items() if privacy.where
    ]  # fmt: skip
    if losses:
        unprotected.append("- Names of columns, declared grids and declared categories are public.")
    facts["unprotected_quantities"] = "\n".join(unprotected)
    if not losses:
        return facts
    facts["privacy_parameters_details"] = "\n".join(
        f"- {name}: {_describe_statement(privacy)}" for name, privacy in statements.items()
    )
    own_losses = [privacy for privacy in losses if not privacy.trust.startswith(EXTERNAL_TRUST_PREFIX)]
    if len(own_losses) == len(losses) and not any(privacy.seeded for privacy in losses):
        total = add_losses(losses)
        facts["variant_name"] = _name_variant(total)
        facts["privacy_parameters"] = (
            {} if total is None else {
                name: amount for name, amount in total._asdict().items()
                if amount is not None and (amount or name != "delta")
            }
        )  # fmt: skip
    units = dict.fromkeys(privacy.protected_unit for privacy in own_losses)
    facts["privacy_unit"] = escape_for_markdown("; ".join(units)).replace("each ", "Each ", 1)
    facts["privacy_unit_details"] = "\n".join(dict.fromkeys(map(_describe_neighbours, own_losses)))
    return {**facts, **_describe_model(losses)}


def _describe_statement(privacy: PrivacyStatement) -> str:
    """Return a line with the privacy loss, the neighbours and the protected unit of one result, for the registry.

    Args:
        privacy: Privacy statement of the result.
    """
    if privacy.trust == OPEN_TRUST_MODEL:
        return "no loss, exact counts of public records."
    if privacy.trust.startswith(EXTERNAL_TRUST_PREFIX):
        return f"released by {escape_for_markdown(privacy.trust)}; see there for the loss."
    warning = f"{display.SEEDED_STATEMENT}, so the guarantee does not hold; " if privacy.seeded else ""
    unit = escape_for_markdown(privacy.protected_unit)
    return f"{warning}{privacy.loss} under {privacy.adjacency} neighbours, protecting {unit}."


def _name_variant(total: TotalLoss | None) -> str:
    """Return the registry's name of the variant; Custom for losses of several kinds, and for rho with delta.

    Args:
        total: Loss of all releases; None: the losses are of several kinds.
    """
    if total is None or (total.rho is not None and total.delta):
        return "Custom"
    if total.rho is not None:
        return "Zero-concentrated DP"
    return "Approximate DP" if total.delta else "Pure DP"


def _describe_neighbours(privacy: PrivacyStatement) -> str:
    """Return the sentence that defines neighbouring tables.

    Args:
        privacy: Privacy statement of a result on protected records.
    """
    records = (
        f"the records of one {escape_for_markdown(privacy.unit)}, of which at most "
        f"{format_record_count(privacy.rows_per_unit)} {'is' if privacy.rows_per_unit == 1 else 'are'} used"
        if privacy.unit else "one record"
    )  # fmt: skip
    if privacy.adjacency.startswith("replace-one"):
        return f"Neighbouring tables differ in {records}: the values are replaced, the number of units is the same."
    if privacy.adjacency.startswith("add-remove"):
        return f"Neighbouring tables differ in {records}: present in one table and absent in the other."
    return f"Neighbouring tables differ in {records} ({escape_for_markdown(privacy.adjacency)})."


def _describe_model(losses: Sequence[PrivacyStatement]) -> dict[str, str]:
    """Return the fields of the registry on the deployment model (central, local, ...): its name, details and actors.

    Args:
        losses: Statements of the protected results, one per release.

    Returns:
        Values by field of the registry.
    """
    trusts = dict.fromkeys(privacy.trust for privacy in losses)
    matches: dict[tuple[str, str], None] = {}
    for trust in trusts:
        matches |= {model: None for words, model in TRUST_MODELS.items() if trust.startswith(words)}
    names = {name for name, _ in matches}
    facts = {"model_name_details": "\n".join(f"- {escape_for_markdown(trust)}" for trust in trusts)}
    if names and all(any(trust.startswith(words) for words in TRUST_MODELS) for trust in trusts):
        facts["model_name"] = names.pop() if len(names) == 1 else "Varies"
        facts["actors"] = "\n".join(actors for _, actors in matches)
    return facts


def _describe_accounting(
    statements: Mapping[str, PrivacyStatement], losses: Sequence[PrivacyStatement]
) -> dict[str, str]:
    """Return the registry's fields on composition, post-processing and mechanisms.

    Args:
        statements: Privacy statements by name of the result.
        losses: Statements of the protected results, one per release; empty: no field.

    Returns:
        Texts by field of the registry.
    """
    if not losses:
        return {}
    total = None if any(privacy.seeded for privacy in losses) else add_losses(losses)
    addition = "The losses of the results are not added up here."
    if total is not None:
        addition = (
            f"Together the releases lose at most {total} by basic composition; results of one release are counted once."
        )
    own_mechanisms = [
        " ".join(
            [
                f"- {name}: {escape_for_markdown(display.describe_mechanism(privacy.mechanism))}.",
                *display.explain_mechanism(privacy.mechanism),
            ]
        )
        for name, privacy in statements.items()
        if privacy.trust != OPEN_TRUST_MODEL and not privacy.trust.startswith(EXTERNAL_TRUST_PREFIX)
    ]
    if own_mechanisms:
        versions = sorted({privacy.version or version("dpcurves") for privacy in losses})
        own_mechanisms += [
            f"- Library: dpcurves {', '.join(versions)}.",
            "- Floating point: records are counted in whole numbers, and the noise is sampled exactly.",
        ]
    return {
        "composition": f"{addition} Other releases of the same records add to it; the ledger of their holder has them.",
        "post_processing": "All numbers, intervals and pictures are computed from released noisy numbers and from "
        "public facts.",
        "mechanisms": "\n".join(own_mechanisms),
    }


def list_missing(entry: Mapping[str, Any]) -> list[EntryField]:
    """Return the fields that an entry lacks, without those that no tier needs.

    Fields whose absence makes the entry invalid come first, then fields of lower tiers.

    Args:
        entry: Entry of the registry, as `make_entry` returns it.
    """
    deployment = entry["deployment"]
    missing = [
        entry_field
        for entry_field in ENTRY_FIELDS
        if entry_field.tier and entry_field.name not in deployment.get(entry_field.section, {})
    ]
    return sorted(missing, key=lambda entry_field: (not _is_needed(entry_field, deployment), entry_field.tier))


def _is_needed(entry_field: EntryField, deployment: Mapping[str, Any]) -> bool:
    """Return whether an entry of the registry is invalid without this field.

    Args:
        entry_field: Field of the registry's entry.
        deployment: Fields of the entry by name, in each section by name.
    """
    return entry_field.is_required and (entry_field.section == BASIC_SECTION or entry_field.section in deployment)


def check_entry(entry: object) -> list[str]:
    """Return what is wrong with an entry by the registry's schema, one line for each problem; empty if it is valid.

    Args:
        entry: Parsed YAML of an entry.
    """
    if not isinstance(entry, Mapping):
        return ["the entry must be an object"]
    problems = [
        f"{key} is not a field of an entry" for key in entry if key not in ("url_slug", *OUTER_CHOICES, "deployment")
    ]
    problems += [
        f"{key} must be one of {choices}"
        for key, choices in OUTER_CHOICES.items()
        if not _has_choice(entry, key, choices)
    ]
    if not isinstance(entry.get("url_slug"), str) or not entry["url_slug"]:
        problems.append("url_slug must be a text")
    deployment = entry.get("deployment")
    if not isinstance(deployment, Mapping):
        return [*problems, "deployment must be an object"]
    sections = dict.fromkeys(entry_field.section for entry_field in ENTRY_FIELDS)
    problems += [f"deployment.{key} is not a section" for key in deployment if key not in sections]
    for section in sections:
        if section in deployment or section == BASIC_SECTION:
            problems += _check_section(section, deployment.get(section))
    return problems


OUTER_CHOICES: Mapping[str, tuple[Any, ...]] = MappingProxyType({"status": STATUSES, "tier": TIERS})
"""Values that the registry's schema allows for the fields beside ``deployment``; others are reported as a fault."""


def _has_choice(entry: Mapping[str, Any], key: str, choices: tuple[Any, ...]) -> bool:
    """Return whether a field of an entry has one of these values and its type, so that True is not 1.

    Args:
        entry: Entry of the registry's form.
        key: Name of one of its fields.
        choices: Accepted values.
    """
    return any(type(choice) is type(entry.get(key)) and choice == entry[key] for choice in choices)


def _check_section(section: str, stored: object) -> list[str]:
    """Return the faults of one section of an entry, as texts; empty for a valid section.

    Args:
        section: Name of the section.
        stored: Fields of the section by name, if the entry is well-formed.
    """
    if not isinstance(stored, Mapping):
        return [f"deployment.{section} must be an object"]
    known = {entry_field.name: entry_field for entry_field in ENTRY_FIELDS if entry_field.section == section}
    problems = [f"deployment.{section}.{key} is no field" for key in stored if key not in known]
    for name, entry_field in known.items():
        if name not in stored:
            problems += [f"{entry_field.path} is missing"] if entry_field.is_required else []
        elif not _is_valid(entry_field, stored[name]):
            problems.append(f"{entry_field.path} must be {' or '.join(entry_field.choices) or entry_field.kind}")
    return problems


def _is_valid(entry_field: EntryField, value: object) -> bool:
    """Return whether a value has the kind of its field, and is one of its choices.

    Args:
        entry_field: Field of the registry's entry.
        value: Value in an entry.
    """
    if entry_field.kind == "texts":
        return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)
    if entry_field.kind == "parameters":
        return isinstance(value, Mapping) and all(
            key in PARAMETERS
            and ((isinstance(number, int | float | Fraction) and not isinstance(number, bool))
                 or (key == "delta" and isinstance(number, str)))
            for key, number in value.items()
        )  # fmt: skip
    if not isinstance(value, str):
        return False
    if entry_field.kind == "date":
        return _is_date(value)
    return not entry_field.choices or value in entry_field.choices


def format_entry(entry: Mapping[str, Any]) -> str:
    """Return an entry as YAML, headed by comments that name the schema and the missing fields.

    Args:
        entry: Entry of the registry, as `make_entry` returns it.
    """
    lines = [f"# Entry for the registry of differential-privacy deployments; schema: {SCHEMA}."]
    if check_entry(entry):
        lines.append("# Not valid yet: required fields are missing.")
    for entry_field in list_missing(entry):
        is_needed = _is_needed(entry_field, entry["deployment"])
        need = "required" if is_needed else f"tier {entry_field.tier}"
        hint = (
            f"; write it below, or {entry_field.about} in the file of dpcurves publish --about"
            if entry_field.about
            else ""
        )
        lines.append(f"# Missing ({need}): {entry_field.path}{hint}")
    return "\n".join([*lines, *_format_mapping(entry, 0)]) + "\n"


def _format_mapping(mapping: Mapping[str, Any], depth: int) -> list[str]:
    """Return the lines of a YAML mapping at this depth.

    Args:
        mapping: Texts, numbers, lists of texts, and mappings, by key.
        depth: Level of indentation, of two spaces each; 0 for the top.
    """
    indent = "  " * depth
    lines = []
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{key}:", *_format_mapping(value, depth + 1)]
        elif isinstance(value, list):
            lines += [f"{indent}{key}:", *(f"{indent}  - {_quote(text)}" for text in value)]
        elif isinstance(value, str) and _fits_block(value):
            lines += [f"{indent}{key}: |-", *(f"{indent}  {line}".rstrip() for line in value.split("\n"))]
        else:
            lines.append(f"{indent}{key}: {_quote(value) if isinstance(value, str) else _format_number(value)}")
    return lines


def _fits_block(text: str) -> bool:
    """Return whether a text of several lines reads back unchanged as a literal block of YAML.

    Args:
        text: Text of several lines.
    """
    lines = text.split("\n")
    return (
        len(lines) > 1 and bool(lines[0]) and bool(lines[-1]) and not lines[0].startswith(" ")
        and not any(line != line.rstrip() or any(map(is_hidden, line)) for line in lines)
    )  # fmt: skip


def _quote(text: str) -> str:
    """Return a text in the double quotes of YAML, with an escape for each character that is not visible.

    Args:
        text: Any text.
    """
    escaped = []
    for character in json.dumps(text, ensure_ascii=False)[1:-1]:
        code = ord(character)
        if not is_hidden(character):
            escaped.append(character)
        elif code < 0x100:
            escaped.append(f"\\x{code:02x}")
        else:
            escaped.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(escaped)}"'


def _format_number(number: int | Fraction) -> str:
    """Return a number as a decimal without an exponent, because YAML 1.1 would read that as a text; fractions are
    rounded up.

    Args:
        number: A loss, or another exact number.
    """
    return str(number) if isinstance(number, int) else f"{Decimal(_format(number)):f}"
