"""Invitations, quotas and the cap of the store: a server of reports takes no made-up names, and no more than it may."""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import dpcurves as dp
from dpcurves_local import Inviter, Task
from dpcurves_local.aggregator import verify_invitation
from dpcurves_local.report_server import Quota, ReportReceiver, ReportStore, create_app

QUESTION = dp.CdfQuestion("age", dp.Grid(0, 100, cells=16))


def task(**more: object) -> Task:
    return Task(QUESTION, dp.PrivacyLoss.pure(2), people=100, **more)  # type: ignore[arg-type]


def served(path: Path, asked: Task, *, most: int | None = None, quota: Quota | None = None) -> TestClient:
    return TestClient(create_app(ReportReceiver(asked, ReportStore(path, asked, most), quota or Quota())))


def test_an_invitation_is_for_one_name_of_one_task_and_a_changed_one_is_none(tmp_path: Path) -> None:
    inviter = Inviter.load_or_create(tmp_path / "key.pem")
    assert Inviter.load_or_create(tmp_path / "key.pem").public_key == inviter.public_key
    assert (tmp_path / "key.pem").stat().st_mode & 0o077 == 0
    asked = task(invitations=inviter.public_key)
    assert Task.from_json(asked.to_json()) == asked
    token = inviter.sign_invitation(asked, "anna")
    assert verify_invitation(asked, token) == asked.hash_name("anna")
    octets = urlsafe_b64decode(token)
    changed = [octets[:place] + bytes([octets[place] ^ 1]) + octets[place + 1 :] for place in (0, 7, 8, 40, 71)]
    other, stranger = replace(asked, people=101), Inviter.load_or_create(tmp_path / "other.pem")
    wrong = [urlsafe_b64encode(each).decode() for each in (*changed, octets[:-1], b"", octets[:8])]
    own = replace(asked, invitations=stranger.public_key)
    for told in (
        *wrong,
        "é",
        "no token",
        inviter.sign_invitation(other, "anna"),
        stranger.sign_invitation(own, "anna"),
    ):
        with pytest.raises(ValueError, match="^invitation: is not signed for this task; ask the author"):
            verify_invitation(asked, told)
    with pytest.raises(ValueError, match="^task: names another key for invitations, or none; make the task"):
        inviter.sign_invitation(task(), "anna")


@pytest.mark.parametrize("held", [b"", b"no key", b"-----BEGIN PRIVATE KEY-----\n"])
def test_a_file_that_holds_no_key_is_refused_and_left_as_it_is(held: bytes, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(held)
    with pytest.raises(
        ValueError, match="^invitation_key: the file holds no Ed25519 private key, or it is protected by a password; "
    ):
        Inviter.load_or_create(tmp_path / "key.pem")
    assert (tmp_path / "key.pem").read_bytes() == held


class KilledWhileMaking:
    """A source of keys whose process is killed."""

    @staticmethod
    def generate() -> None:
        raise KeyboardInterrupt


def test_a_start_that_was_killed_leaves_no_part_of_a_key_that_would_refuse_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key.pem"
    with monkeypatch.context() as patches:
        patches.setattr("dpcurves_local.aggregator.Ed25519PrivateKey", KilledWhileMaking)
        with pytest.raises(KeyboardInterrupt):
            Inviter.load_or_create(path)
    assert Inviter.load_or_create(path).public_key == Inviter.load_or_create(path).public_key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["key.pem"]


@pytest.mark.parametrize("key", ["", "f" * 63, "F" * 64, 7])
def test_a_task_takes_no_other_text_for_a_key(key: object) -> None:
    with pytest.raises(
        ValueError,
        match="^invitations: must be the public key of the inviter, in 64 hexadecimal digits; ",
    ):
        task(invitations=key)


def test_a_server_takes_the_report_of_who_is_invited_and_no_name_is_taken_by_another(tmp_path: Path) -> None:
    inviter = Inviter.load_or_create(tmp_path / "key.pem")
    asked = task(invitations=inviter.public_key)
    client, path = served(tmp_path / "reports.bin", asked), f"/tasks/{asked.report_format.task.hex()}/reports"
    anna, bert = asked.randomize(3, person="anna"), asked.randomize(4, person="bert")

    def sent(report: bytes, token: str) -> tuple[int, object]:
        answer = client.post(path, content=report, headers={"Authorization": f"Bearer {token}"} if token else {})
        return answer.status_code, answer.json()

    invitation = inviter.sign_invitation(asked, "anna")
    for token in ("", os.urandom(9).hex()):
        assert sent(anna, token) == (
            403,
            {"error": "invitation: must come with every report to this task: send yours with --invitation"},
        )
    refused = {"error": "reports: 1 are damaged, cut off, or of another task; none was stored; send those of this task"}
    assert sent(bert, invitation) == (400, refused)
    assert sent(bert + anna, invitation) == (200, {"new": 1, "known": 0, "refused": 1})
    assert sent(anna, invitation) == (200, {"new": 0, "known": 1, "refused": 0})
    assert client.get(path.removesuffix("/reports")).json()["reports"] == 1


def test_reports_in_a_minute_are_bounded_for_one_address_and_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    asked = task()
    path = f"/tasks/{asked.report_format.task.hex()}/reports"
    ten = asked.randomize_table({"age": [3.0] * 10})
    for number, (quota, whose) in enumerate(((Quota(per_address=25), "of one address"), (Quota(total=25), "of all"))):
        client = served(tmp_path / f"{number}.bin", asked, quota=quota)
        assert [client.post(path, content=ten).status_code for _ in range(2)] == [200, 200]
        answer = client.post(path, content=ten)
        line = f"reports: at most 25 a minute are taken {whose}; wait a minute, or send fewer at a time"
        assert (answer.status_code, answer.json()) == (429, {"error": line})


def test_a_store_that_is_full_says_so_and_still_knows_who_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = task()
    client, path = served(tmp_path / "reports.bin", asked, most=25), f"/tasks/{asked.report_format.task.hex()}/reports"
    parts = [asked.randomize_table({"age": [3.0] * 10}) for _ in range(3)]
    assert [client.post(path, content=part).status_code for part in parts] == [200, 200, 507]
    limit = "20 of at most 25 reports are stored, and these exceed the limit"
    line = f"{limit}; ask the operator of the server for a higher one"
    full = {"error": f"store: {line}"}
    assert client.post(path, content=parts[2]).json() == full
    assert client.post(path, content=parts[0]).json() == {"new": 0, "known": 10, "refused": 0}
    facts = client.get(path.removesuffix("/reports")).json()
    assert (facts["reports"], facts["most"]) == (20, 25)
    assert capsys.readouterr().err.count("\n") == 1
