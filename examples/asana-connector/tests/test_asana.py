"""A test for each clause of the contract, through a running gateway."""

import re
from pathlib import Path

import pytest

from .conftest import Asana, wait_until

CONTRACT = Path(__file__).parent.parent / "contract.md"


@pytest.mark.clause("asana-1")
def test_pages_contain_every_task_once(asana: Asana) -> None:
    first = asana.list_page(limit=2)
    second = asana.list_page(limit=2, cursor=first["next_cursor"])

    assert [task["name"] for task in first["data"]] == ["Choose a host", "Write the texts"]
    assert [task["name"] for task in second["data"]] == ["Move the domain"]
    assert second["next_cursor"] is None


@pytest.mark.clause("asana-1")
def test_completed_tasks_can_be_left_out(asana: Asana) -> None:
    asana.user("complete_task", task_id=asana.tasks()[0]["task_id"])

    assert [task["name"] for task in asana.list_page(open_only=True)["data"]] == ["Write the texts", "Move the domain"]


@pytest.mark.clause("asana-2")
def test_a_repeat_returns_the_same_task(asana: Asana) -> None:
    fields = {"notes": "Two of them", "due_on": "2026-12-24", "assignee": "me"}
    first, repeat = (asana.create("Once", "order-1", **fields) for _ in range(2))

    task = first.json()["data"]
    assert task == repeat.json()["data"] == asana.tasks()[-1]
    assert (task["notes"], task["due_on"]) == ("Two of them", "2026-12-24")
    assert asana.names().count("Once") == 1


@pytest.mark.clause("asana-3")
@pytest.mark.parametrize("fault", ["drop_before", "drop_after", "garbage"])
def test_a_lost_request_or_response_creates_one_task(asana: Asana, fault: str) -> None:
    asana.control("asana/faults", fault=fault, method="POST", path="/api/1.0/tasks")
    replies = [asana.create("Once", "order-2") for _ in range(2)]

    assert replies[-1].json()["data"] == asana.tasks()[-1]
    assert asana.names().count("Once") == 1


@pytest.mark.clause("asana-3")
def test_a_lost_response_to_a_personal_token_stays_unknown(personal: Asana) -> None:
    personal.control("asana/faults", fault="drop_after", method="POST", path="/api/1.0/tasks")
    replies = [personal.create("Once", "order-3") for _ in range(2)]

    assert [reply.json()["error"]["code"] for reply in replies] == ["outcome_unknown"] * 2
    assert personal.names().count("Once") == 1


@pytest.mark.clause("asana-4")
def test_an_update_changes_only_the_sent_fields(asana: Asana) -> None:
    task = asana.create("Draft", notes="As agreed").json()["data"]
    updated = asana.update(task["task_id"], completed=True)

    assert updated.json()["data"] == {**task, "completed": True} == asana.tasks()[-1]


@pytest.mark.clause("asana-4")
def test_a_lost_response_to_an_update_is_resolved(asana: Asana) -> None:
    task_id = asana.tasks()[0]["task_id"]
    asana.control("asana/faults", fault="drop_after", method="PUT")

    assert asana.update(task_id, name="Chosen").json()["data"]["name"] == "Chosen"
    assert len(asana.requests("PUT")) == 1


@pytest.mark.clause("asana-4")
def test_an_update_of_nothing_is_rejected(asana: Asana) -> None:
    rejected = asana.update(asana.tasks()[0]["task_id"])

    assert rejected.json()["error"]["code"] == "invalid_parameters"
    assert asana.requests("PUT") == []


@pytest.mark.clause("asana-5")
def test_a_throttled_write_is_sent_again(asana: Asana) -> None:
    asana.control("asana/faults", fault="throttle", method="POST", seconds=1)

    assert asana.create("Later").status_code == 200
    assert asana.names().count("Later") == 1


@pytest.mark.clause("asana-6")
def test_a_rejected_token_is_reported(asana: Asana) -> None:
    asana.control("asana/revoke")

    assert asana.create("Never").json()["error"]["code"] == "connection_revoked"


@pytest.mark.clause("asana-6")
def test_an_expired_token_is_refreshed(installation: Asana) -> None:
    installation.control("asana/knobs", token_seconds=1)
    connected = installation.connect()

    assert connected.create("After an hour").status_code == 200
    assert connected.described_connection()["last_refreshed_at"] is not None


@pytest.mark.clause("asana-7")
def test_values_that_asana_rejects_create_nothing(asana: Asana) -> None:
    rejected = asana.create("Nobody's", assignee="nobody@juniper.example").json()["error"]

    assert rejected["code"] == "upstream_refused"
    assert rejected["details"][0]["vendor_message"].startswith("assignee: Not a user")
    assert len(asana.tasks()) == 3


@pytest.mark.clause("asana-7")
def test_unknown_objects_are_reported_by_name(asana: Asana) -> None:
    project = asana.get("projects/404/tasks").json()["error"]
    task = asana.update("404", completed=True).json()["error"]

    assert project["details"] == [{"code": "project_not_found", "parameter": "project_id", "value": "404"}]
    assert task["details"] == [{"code": "task_not_found", "parameter": "task_id", "value": "404"}]


@pytest.mark.clause("asana-8")
def test_a_connection_is_named_after_its_user(asana: Asana) -> None:
    connection = asana.described_connection()

    assert (connection["status"], connection["account_name"]) == ("active", "ada@juniper.example")
    assert connection["scopes"] == ["default"]


@pytest.mark.clause("asana-9")
def test_changes_are_observed_once(installation: Asana) -> None:
    watching = installation.connect(settings={"projects": [installation.project_id]})
    wait_until(lambda: watching.described_connection()["watching_since"])
    task_id = watching.user("create_task", project_id=watching.project_id, name="From Ben")["task_id"]
    watching.user("complete_task", task_id=task_id)
    watching.user("delete_task", task_id=task_id)
    wait_until(lambda: len(watching.events()) >= 3)

    events = watching.events()
    assert [(event["type"], event["field"]) for event in events] == [
        ("task.added", None),
        ("task.changed", "completed"),
        ("task.deleted", None),
    ]
    assert {event["task_id"] for event in events} == {task_id}
    assert {event["project_id"] for event in events} == {watching.project_id}


@pytest.mark.clause("asana-10")
def test_a_gap_is_reported_if_asana_has_forgotten_the_events(installation: Asana) -> None:
    watching = installation.connect(settings={"projects": [installation.project_id]})
    wait_until(lambda: watching.described_connection()["watching_since"])
    watching.control("asana/act", action="forget_events")
    wait_until(lambda: "Warning" in watching.get("events").headers)

    assert f"no longer returns the events of project {watching.project_id}" in watching.get("events").headers["Warning"]


def test_every_clause_has_a_test() -> None:
    clauses = set(re.findall(r"\*\*(asana-\d+)\*\*", CONTRACT.read_text()))

    assert clauses == set(re.findall(r'clause\("(.+)"\)', Path(__file__).read_text()))
