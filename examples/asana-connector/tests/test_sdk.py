"""Asana's own library against the emulator, which shows that the emulator responds as the library expects."""

import json
from collections.abc import Iterator
from typing import Any

import asana as sdk
import pytest
from asana.rest import ApiException
from urllib3 import Retry

from asana_connector.emulator.access import PERSONAL
from workspace_sandbox.in_process_sandbox import Application, run_sandbox

FIELDS = "name,notes,completed,due_on,assignee.name,external.gid"


@pytest.fixture(scope="module")
def started() -> Iterator[Application]:
    with run_sandbox("asana") as sandbox:
        yield sandbox["asana"]


@pytest.fixture
def emulator(started: Application) -> Application:
    started.clear_faults()
    return started


@pytest.fixture
def api(emulator: Application) -> Iterator[sdk.ApiClient]:
    configuration = sdk.Configuration()
    configuration.host, configuration.access_token = f"{emulator.url}/api/1.0", emulator.token
    configuration.retry_strategy = Retry(0)
    client = sdk.ApiClient(configuration)
    yield client
    client.pool.close()
    client.rest_client.pool_manager.clear()


@pytest.fixture
def project(emulator: Application) -> str:
    return str(emulator.examples["project_id"])


def test_the_library_reads_the_user(api: sdk.ApiClient) -> None:
    user = sdk.UsersApi(api).get_user("me", {})

    assert (user["name"], user["email"]) == ("Ada Moreau", "ada@juniper.example")


def test_the_library_pages_through_tasks(api: sdk.ApiClient, project: str) -> None:
    tasks = list(sdk.TasksApi(api).get_tasks({"project": project, "limit": 2, "opt_fields": FIELDS}))

    assert [task["name"] for task in tasks[:3]] == ["Choose a host", "Write the texts", "Move the domain"]


def test_the_library_creates_and_changes_a_task(api: sdk.ApiClient, project: str) -> None:
    tasks = sdk.TasksApi(api)
    new = {"name": "From the library", "projects": [project], "due_on": "2026-12-24", "assignee": "me"}
    created = tasks.create_task({"data": new}, {"opt_fields": FIELDS})
    tasks.update_task({"data": {"completed": True}}, created["gid"], {})
    task = tasks.get_task(created["gid"], {"opt_fields": FIELDS})

    assert (task["name"], task["completed"], task["due_on"]) == ("From the library", True, "2026-12-24")
    assert task["assignee"]["name"] == "Ada Moreau"


def test_the_library_reads_events_with_a_sync_token(api: sdk.ApiClient, emulator: Application, project: str) -> None:
    events = sdk.EventsApi(api)
    api.configuration.return_page_iterator = False
    with pytest.raises(ApiException) as missing:
        events.get_events(project, {})
    sync = json.loads(missing.value.body)["sync"]
    emulator.act("create_task", project_id=project, name="From Ben")
    observed: list[Any] = events.get_events(project, {"sync": sync})["data"]

    assert (missing.value.status, len(observed)) == (412, 1)
    assert (observed[0]["action"], observed[0]["resource"]["name"]) == ("added", "From Ben")
    assert observed[0]["user"]["name"] == "Ben Okafor"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "No project"}, "projects"),
        ({"name": 1, "projects": ["{project}"]}, "name: Value is not a string"),
        ({"name": "Unknown", "projects": ["404"]}, "projects: [0]: Unknown object: 404"),
    ],
)
def test_the_library_reports_the_messages_of_errors(
    api: sdk.ApiClient, project: str, data: dict[str, Any], message: str
) -> None:
    data = {**data, "projects": [project if one == "{project}" else one for one in data.get("projects", [])]}
    with pytest.raises(ApiException) as rejected:
        sdk.TasksApi(api).create_task({"data": data}, {})

    assert rejected.value.status == 400
    assert json.loads(rejected.value.body)["errors"][0]["message"].startswith(message)


def test_the_library_finds_a_task_by_the_external_gid_of_its_app(api: sdk.ApiClient, project: str) -> None:
    tasks = sdk.TasksApi(api)
    created = tasks.create_task({"data": {"name": "Marked", "projects": [project], "external": {"gid": "mark 1"}}}, {})
    found = tasks.get_task("external:mark 1", {"opt_fields": FIELDS})

    assert (found["gid"], found["external"]["gid"]) == (created["gid"], "mark 1")


def test_a_personal_access_token_has_no_external_gids(api: sdk.ApiClient, project: str) -> None:
    api.configuration.access_token = PERSONAL["token"]
    marked = {"name": "Marked", "projects": [project], "external": {"gid": "mark 2"}}
    with pytest.raises(ApiException) as rejected:
        sdk.TasksApi(api).create_task({"data": marked}, {})

    assert rejected.value.status == 403


def test_the_library_reports_a_throttled_request(api: sdk.ApiClient, emulator: Application) -> None:
    emulator.fault("throttle", seconds=30)
    with pytest.raises(ApiException) as throttled:
        sdk.UsersApi(api).get_user("me", {})

    assert (throttled.value.status, throttled.value.headers["Retry-After"]) == (429, "30")


def test_the_emulator_limits_the_requests_of_a_token(api: sdk.ApiClient, emulator: Application) -> None:
    emulator.knobs(requests_per_minute=0)
    try:
        with pytest.raises(ApiException) as throttled:
            sdk.UsersApi(api).get_user("me", {})
    finally:
        emulator.knobs(requests_per_minute=150)

    assert throttled.value.status == 429
    assert 1 <= int(throttled.value.headers["Retry-After"]) <= 60
