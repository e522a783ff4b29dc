"""Synthetic tables that stewards send: read in a process of their own against the public schema, or refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from asgi import HOST, UNREAD, asked
from scene import COLUMNS, Scene, made
from starlette.testclient import TestClient

from dpcurves.data import Categories
from dpcurves.models import NumericColumn
from dpcurves_server.authentication import COOKIE, Authenticator
from dpcurves_server.datasets import Source
from dpcurves_server.declared_columns import MOST_ROWS, NO_TABLE, pack_table, repack_table
from dpcurves_server.launch import create_app
from dpcurves_server.lookalikes import Resemblance, compare_tables
from dpcurves_server.middleware import LARGEST_FILE, LARGEST_REQUEST
from dpcurves_server.pages.page_context import Site
from dpcurves_server.pages.site import build_routes
from dpcurves_server.people import RateLimiter
from dpcurves_server.synthetic import CONFIRMED_OVERLAP, EQUAL_ROWS

HERE, SAID = f"https://{HOST}", "made by a model of marginals, epsilon 1"
SYNTHETIC = "/manage/flights/synthetic"
CSV = b"delay,late,tail\n1.5,1,N1\n -3 ,0,N2\n,1,N3\n"


class Uploads:
    """The scene with its pages, and people in front of them."""

    def __init__(self, folder: Path) -> None:
        self.scene: Scene = made(folder)
        front = Authenticator(self.scene.gate, anonymous_rate=RateLimiter(10_000), principal_rate=RateLimiter(10_000))
        self.app = create_app(front, build_routes(Site(front, {})))

    def send(self, name: str, file: bytes = CSV, said: str = SAID, called: str = "table.csv", **typed: str) -> Any:
        browser = TestClient(self.app, HERE, follow_redirects=False)
        csrf = ""
        if name != "a stranger":
            signed = self.scene.gate.sessions.begin_session(name)
            browser.cookies.set(COOKIE, signed.cookie)
            csrf = signed.csrf
        fields = {"csrf": csrf, "statement": said, **typed}
        return browser.post(SYNTHETIC, data=fields, files={"table": (called, file)}, headers={"origin": HERE})

    def confirm(self, name: str, digest: str = "") -> Any:
        """Confirm the proposed table, as a page does."""
        gate = self.scene.gate
        proposal = gate.synthetic.describe_proposal(self.scene.stu, "flights", 1)
        browser = TestClient(self.app, HERE, follow_redirects=False)
        signed = gate.sessions.begin_session(name)
        browser.cookies.set(COOKIE, signed.cookie)
        fields = {"csrf": signed.csrf, "digest": digest or ("" if proposal is None else proposal.digest)}
        return browser.post(f"{SYNTHETIC}/confirm", data=fields, headers={"origin": HERE})


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Uploads:
    return Uploads(tmp_path_factory.mktemp("uploads"))


def parquet(**columns: Any) -> bytes:
    drain = BytesIO()
    pq.write_table(pa.table(columns), drain)
    return drain.getvalue()


def read(octets: bytes) -> pa.Table:
    return pq.read_table(BytesIO(octets))


def test_a_steward_puts_a_table_beside_the_dataset_and_all_who_see_it_have_it(uploads: Uploads) -> None:
    assert uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1) is None
    answer = uploads.send("stu", called="../../etc/passwd")
    assert (answer.status_code, answer.headers["location"]) == (303, "/manage/flights?said=proposed")
    assert uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1) is None
    for name, status in (("stu", 403), ("ann", 404), ("eve", 403), ("oda", 403)):
        assert uploads.confirm(name).status_code == status
    assert uploads.confirm("aud", "another one").status_code == 409
    assert uploads.confirm("aud").status_code == 303
    found = uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1)
    assert found is not None
    assert found.statement == SAID
    assert found.table.to_pydict() == {"delay": [1.5, -3.0, None], "late": [1, 0, 1]}  # nothing that is not declared
    event = uploads.scene.gate.audit.events(uploads.scene.stu, dataset="flights")[-1].event
    assert (event.actor, event.action) == ("aud", "put a synthetic table beside")
    assert event.subject == f"version 1: {found.digest[:16]}"
    assert uploads.send("stu", parquet(delay=[7], late=[True])).status_code == 303
    assert uploads.confirm("aud").status_code == 303
    again = uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1)
    assert again is not None
    assert again.table.to_pydict() == {"delay": [7], "late": [1]}


@pytest.mark.parametrize(
    ("name", "status"), [("ann", 404), ("eve", 404), ("oda", 404), ("aud", 404), ("a stranger", 303)]
)
def test_nobody_else_does_and_what_they_send_is_not_even_read(uploads: Uploads, name: str, status: int) -> None:
    assert uploads.send(name).status_code == status
    headers = {"content-type": "multipart/form-data; boundary=b", "content-length": str(LARGEST_FILE)}
    if name != "a stranger":
        headers["cookie"] = f"{COOKIE}={uploads.scene.gate.sessions.begin_session(name).cookie}"
    assert asked(uploads.app, "POST", SYNTHETIC, UNREAD, headers).status == status


def test_no_table_is_taken_without_the_token_of_the_session_or_from_another_page(uploads: Uploads) -> None:
    assert uploads.send("stu", csrf="").status_code == 403
    signed = uploads.scene.gate.sessions.begin_session("stu")
    headers = {"cookie": f"{COOKIE}={signed.cookie}", "origin": "https://evil.example"}
    assert asked(uploads.app, "POST", SYNTHETIC, b"", headers).status == 403


WRONG: dict[str, tuple[bytes, str]] = {
    "lacks a column": (b"delay\n1\n", "column 'late' of the dataset must occur once"),
    "has one twice": (b"delay,late,late\n1,2,3\n", "column 'late' of the dataset must occur once"),
    "text for numbers": (b"delay,late\nsoon,1\n", "column 'delay' does not hold numbers"),
    "text for codes": (b"delay,late\n1,yes\n", "column 'late' does not hold numbers"),
    "no rows": (b"delay,late\n", "a table must have 1 to 1,000,000 rows"),
    "nothing": (b"", NO_TABLE),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), NO_TABLE),
    "a torn line": (b"delay,late\n1,2\n1,2,3\n", NO_TABLE),
    "half of it": (parquet(delay=[1.0] * 500, late=[0] * 500)[:-40], NO_TABLE),
    "dates": (
        parquet(delay=pa.array([1], pa.timestamp("s")), late=[0]),
        "column 'delay' does not hold numbers",
    ),
    "lists": (parquet(delay=[[1.0]], late=[0]), "column 'delay' does not hold numbers"),
}


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_what_is_no_table_of_the_schema_is_refused_in_one_line(wrong: str) -> None:
    file, words = WRONG[wrong]
    with pytest.raises(ValueError, match=f"^synthetic: [^\n]*{words}[^\n]*$"):
        repack_table(file, COLUMNS)


def test_what_was_refused_stands_on_the_page_with_what_was_typed_and_the_earlier_table_stays(uploads: Uploads) -> None:
    before = uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1)
    answer = uploads.send("stu", WRONG["text for numbers"][0], "what I typed")
    assert answer.status_code == 400
    (line,) = (each for each in answer.text.splitlines() if 'role="alert"' in each)
    assert "Column &#39;delay&#39; does not hold numbers, as declared" in line
    assert 'value="what I typed"' in answer.text
    assert uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1) == before


def test_a_table_says_how_private_it_is(uploads: Uploads) -> None:
    answer = uploads.send("stu", said="")
    assert (answer.status_code, "1 to 200 printable characters" in answer.text) == (400, True)


def test_long_files_and_forms_that_are_none_are_refused(uploads: Uploads) -> None:
    signed = uploads.scene.gate.sessions.begin_session("stu")
    cookie = {"cookie": f"{COOKIE}={signed.cookie}"}
    for length, kind, status in (
        (LARGEST_FILE + 1, "multipart/form-data; boundary=b", 413), (4, "multipart/form-data", 400),
        (4, "text/plain", 400), (4, "multipart/form-data; boundary=b", 400),
    ):  # fmt: skip
        headers = {**cookie, "content-type": kind, "content-length": str(length)}
        heard = asked(uploads.app, "POST", SYNTHETIC, b"none", headers)
        assert heard.status == status, kind
    assert asked(uploads.app, "POST", "/manage/flights/people", b" " * (LARGEST_REQUEST + 1), cookie).status == 413


def test_a_file_that_grows_a_millionfold_ends_the_process_that_reads_it_and_no_other() -> None:
    once = pa.array(["x" * 2**20])
    rows = pa.table({"name": pa.DictionaryArray.from_arrays(pa.array(np.zeros(500_000, np.int32)), once)})
    drain = BytesIO()
    pq.write_table(rows, drain, store_schema=False)
    bomb = drain.getvalue()
    assert len(bomb) < 10**6
    with pytest.raises(ValueError, match=f"^synthetic: {NO_TABLE}"):
        pack_table(bomb, (Categories("name", ("x", "y")),))


@pytest.mark.parametrize(
    ("column", "given", "kept"),
    [
        (NumericColumn("a", 0, 1), b"a\n1\nNA\n 2.5\n", [1.0, None, 2.5]),
        (Categories("a", ("NA", "SA")), b"a\nNA\n\nSA\n-\n", ["NA", "SA", "-"]),
        (Categories("a", (0, 1)), b"a\n1\nNA\n0\n", [1, None, 0]),
        (Categories("a", (0.5, 1)), b"a\n0.5\n1\n", [0.5, 1.0]),
        (Categories("a", ("1", "b")), parquet(a=[1, 2]), ["1", "2"]),
        (Categories("a", ("x", "y")), parquet(a=pa.array(["x", None]).dictionary_encode()), ["x", None]),
        (NumericColumn("a", 0, 1), parquet(a=[True, False]), [1, 0]),
    ],
    ids=range(7),
)
def test_columns_are_of_the_kind_that_is_declared_whatever_rows_look_like(
    column: Any, given: bytes, kept: list[object]
) -> None:
    assert read(repack_table(given, (column,)))["a"].to_pylist() == kept


def test_more_rows_than_are_drawn_for_a_dummy_table_are_refused() -> None:
    zeros = np.zeros(MOST_ROWS + 1)
    with pytest.raises(ValueError, match="a table must have 1 to"):
        repack_table(parquet(delay=zeros, late=zeros), COLUMNS)


def registered(uploads: Uploads) -> pa.Table:
    return pq.read_table(uploads.scene.folder / "flights.parquet")


def as_csv(table: pa.Table) -> bytes:
    drain = BytesIO()
    pa_csv.write_csv(table, drain)
    return drain.getvalue()


COPIES: dict[str, Callable[[pa.Table, bytes], bytes]] = {
    "its bytes": lambda table, file: file,
    "its rows in another order": lambda table, file: as_csv(table.take(list(range(table.num_rows))[::-1])),
    "its declared columns alone": lambda table, file: as_csv(table.select(["late", "delay"])),
    "its numbers in single precision": lambda table, file: parquet(
        delay=table["delay"].cast(pa.float32()), late=table["late"].cast(pa.float32())
    ),
}


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("copy", sorted(COPIES))
def test_the_confidential_table_is_refused_as_a_synthetic_one_whatever_is_ticked(uploads: Uploads, copy: str) -> None:
    table, file = registered(uploads), (uploads.scene.folder / "flights.parquet").read_bytes()
    before = uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1)
    proposed = uploads.scene.gate.synthetic.describe_proposal(uploads.scene.stu, "flights", 1)
    for tick in ({}, {CONFIRMED_OVERLAP: "yes"}):
        answer = uploads.send("stu", COPIES[copy](table, file), **tick)
        assert (answer.status_code, EQUAL_ROWS[1:] in answer.text) == (400, True)
    assert uploads.scene.gate.synthetic.describe_proposal(uploads.scene.stu, "flights", 1) == proposed
    assert uploads.scene.gate.synthetic.find(uploads.scene.ann, "flights", 1) == before
    event = uploads.scene.gate.audit.events(uploads.scene.stu, dataset="flights")[-1].event
    assert event.action == "was refused a synthetic table that is like the records"


def test_a_table_with_many_confidential_rows_warns_without_a_number_and_is_logged_if_it_is_sent(
    uploads: Uploads,
) -> None:
    half = as_csv(registered(uploads).slice(0, 500))
    answer = uploads.send("stu", half)
    (line,) = (each for each in answer.text.splitlines() if 'role="alert"' in each)
    assert answer.status_code == 400
    assert "Many of its rows are rows of the confidential table" in line
    assert not re.search("[0-9]", re.sub("<[^>]*>", "", line))
    assert uploads.send("stu", half, **{CONFIRMED_OVERLAP: "yes"}).status_code == 303
    proposal = uploads.scene.gate.synthetic.describe_proposal(uploads.scene.stu, "flights", 1)
    assert proposal is not None
    assert proposal.resemblance is Resemblance.SIMILAR
    event = uploads.scene.gate.audit.events(uploads.scene.stu, dataset="flights")[-1].event
    assert (event.action, event.subject.endswith(", similar")) == ("proposed a synthetic table for", True)
    assert uploads.send("stu").status_code == 303  # another one takes its place


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("times", [1, 3])
def test_a_copy_among_other_rows_warns_although_most_rows_are_others(uploads: Uploads, times: int) -> None:
    """All records are published with it, however many invented rows, or further copies, are around them."""
    table = registered(uploads)
    draws = np.random.default_rng(5)
    rows = (4 - times) * table.num_rows
    invented = {"delay": draws.normal(size=rows).tolist(), "late": draws.integers(2, size=rows).tolist()}
    kept = {name: table[name].to_pylist() * times + invented[name] for name in invented}
    source = Source(str(uploads.scene.folder / "flights.parquet"))
    upload = parquet(**kept)
    assert compare_tables(upload, pack_table(upload, COLUMNS), COLUMNS, source) is Resemblance.SIMILAR


@pytest.mark.reproduction
def test_a_printed_copy_with_few_digits_warns(uploads: Uploads) -> None:
    """Such rows are not equal, but a reader of the copy has every record."""
    table = registered(uploads)
    delays = [None if delay is None else float(f"{delay:.6g}") for delay in table["delay"].to_pylist()]
    copy = as_csv(pa.table({"delay": delays, "late": table["late"]}))
    source = Source(str(uploads.scene.folder / "flights.parquet"))
    assert compare_tables(copy, pack_table(copy, COLUMNS), COLUMNS, source) in (Resemblance.EQUAL, Resemblance.SIMILAR)


@pytest.mark.reproduction
def test_texts_of_another_unicode_form_are_equal_texts(tmp_path: Path) -> None:
    columns = Categories("city", ("Zo\u00eb", "Rome")), NumericColumn("delay", 0, 1)
    delays = np.random.default_rng(4).random(200)
    cities = ["Zo\u00eb"] * 100 + ["Rome"] * 100
    (tmp_path / "table.parquet").write_bytes(parquet(city=cities, delay=delays))
    copy = parquet(city=[unicodedata.normalize("NFD", city) for city in cities], delay=delays)
    source = Source(str(tmp_path / "table.parquet"))
    assert compare_tables(copy, pack_table(copy, columns), columns, source) is Resemblance.EQUAL


@pytest.mark.reproduction
def test_honest_tables_pass_and_few_rows_ask_nothing_about_single_people(uploads: Uploads) -> None:
    table = registered(uploads)
    draws = np.random.default_rng(3)
    other = parquet(delay=draws.normal(size=1000), late=draws.integers(2, size=1000))
    one_row = as_csv(table.slice(0, 1))
    source = Source(str(uploads.scene.folder / "flights.parquet"))
    for upload in (other, one_row):
        assert compare_tables(upload, pack_table(upload, COLUMNS), COLUMNS, source) is Resemblance.DIFFERENT
    groups = (Categories("late", (0, 1)),)
    equal = parquet(late=table["late"].to_pylist())
    assert compare_tables(equal, pack_table(equal, groups), groups, source) is Resemblance.UNCLEAR  # for all tables
    engine = Source("postgresql://nowhere/db", "flights")
    assert compare_tables(other, pack_table(other, COLUMNS), COLUMNS, engine) is Resemblance.UNCLEAR


def test_downloads_of_a_synthetic_table_are_logged(uploads: Uploads) -> None:
    gate = uploads.scene.gate
    assert uploads.send("stu").status_code == 303
    assert uploads.confirm("aud").status_code == 303
    browser = TestClient(uploads.app, HERE)
    browser.cookies.set(COOKIE, gate.sessions.begin_session("ann").cookie)
    assert browser.get("/datasets/flights/synthetic.csv").text.startswith('"delay"')
    event = gate.audit.events(uploads.scene.stu, dataset="flights")[-1].event
    assert (event.actor, event.action) == ("ann", "downloaded the synthetic table of")
