"""State of a sandbox: resets, snapshots, and a folder that survives restarts."""

import asyncio
import gc
import json
import pickle
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.clocks import ManualClock
from harness.sandbox_server import create_emulator
from sandbox.tests.notes.notes_client import me
from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.kit.input_validation import InvalidInput
from workspace_sandbox.kit.state.pickling import Unreadable, dump_state, restore
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.snapshots import MAX_BYTES, Snapshots, StateFolder, UnusableFolder

CREATE_PAGE = {"action": "create_page", "properties": {"Name": "Kept"}}


def pages(sandbox: Sandbox) -> set[str]:
    return set(create_emulator(sandbox, NotesEmulator).workspace.pages)


def touch(sandbox: Sandbox, name: str) -> None:
    """Load the state of an application and mark it as changed."""
    sandbox.emulators[name].context.change_count += 1
    sandbox.emulators[name].load_state()


def leaked_objects() -> list[str]:
    """Objects of the sandbox that only the search for garbage finds."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [type(one).__name__ for one in gc.garbage if type(one).__module__.startswith("workspace_sandbox")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def new_page(control: httpx.Client, sandbox: Sandbox) -> None:
    database = sandbox.emulators["notes"].examples()["database_id"]
    control.post("/notes/act", json={**CREATE_PAGE, "database_id": database}).raise_for_status()


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_dumped_state_can_be_restored(sandbox: Sandbox, name: str) -> None:
    emulator = sandbox.emulators[name]
    restore(emulator, dump_state(emulator))
    content = dump_state(emulator)
    emulator.revoke()

    restore(emulator, content)

    # Sets are written in no order.
    assert len(content) == len(dump_state(emulator))


def test_a_reset_restores_the_initial_state(sandbox: Sandbox, control: httpx.Client) -> None:
    first = len(pages(sandbox))
    new_page(control, sandbox)
    control.post("/notes/knobs", json={"row_cap": 1})
    count = len(pages(sandbox))

    control.post("/reset")

    assert [first + 1, first] == [count, len(pages(sandbox))]
    assert 10_000 == sandbox.emulators["notes"].context.knobs["row_cap"]
    assert 200 == me(sandbox).status_code


def test_repeated_resets_lead_to_the_same_state(sandbox: Sandbox, control: httpx.Client) -> None:
    new_page(control, sandbox)
    control.post("/reset")
    once = pages(sandbox)
    new_page(control, sandbox)

    control.post("/reset")

    assert once == pages(sandbox)


def create_object(sandbox: Sandbox, name: str) -> str:
    """Create an object in an application and return its identifier. Chat has only timestamps."""
    emulator = sandbox.emulators[name]
    emulator.context.change_count += 1
    examples = emulator.examples()
    user_actions: Mapping[str, tuple[str, Mapping[str, Any]]] = {
        "notes": ("page_id", {**CREATE_PAGE, "database_id": examples.get("database_id")}),
        "boards": ("card_id", {"action": "create_card", "name": "Kept", "list_id": examples.get("list_ids", [""])[0]}),
        "mail": ("id", {"action": "receive", "from": "ada@kept.example", "subject": "Kept", "body_html": "Kept"}),
        "crm": ("id", {"action": "create_contact", "properties": {"email": "ada@kept.example"}}),
        "tables": ("id", {"action": "create_record", "base_id": examples.get("base_id"), "fields": {"Name": "Kept"}}),
    }
    key, user_action = user_actions[name]
    return str(emulator.perform({"table": examples.get("table"), **user_action})[key])


WITH_IDENTIFIERS = [name for name in APPLICATIONS if name != "chat"]


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_a_reset_drops_created_objects(name: str) -> None:
    sandbox = Sandbox({name: EMULATORS[name]}, clock=ManualClock())
    emulator = sandbox.emulators[name]
    before, examples = len(dump_state(emulator)), emulator.examples()
    create_object(sandbox, name)
    more = len(dump_state(emulator))

    sandbox.reset()

    assert more > before == len(dump_state(emulator))
    assert examples == emulator.examples()


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_identifiers_are_not_reused_after_a_reset(name: str) -> None:
    sandbox = Sandbox({name: EMULATORS[name]}, clock=ManualClock())
    sandbox.save("beginning")
    identifiers = [create_object(sandbox, name)]
    for again in (sandbox.reset, sandbox.reset, partial(sandbox.load, "beginning"), partial(sandbox.load, "beginning")):
        again()
        identifiers.append(create_object(sandbox, name))

    assert 5 == len(set(identifiers))


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_identifiers_are_deterministic(name: str) -> None:
    def steps() -> Iterator[str]:
        sandbox = Sandbox({name: EMULATORS[name]}, clock=ManualClock())
        yield create_object(sandbox, name)
        sandbox.reset()
        yield create_object(sandbox, name)

    assert list(steps()) == list(steps())


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_distinct_sandboxes_create_different_identifiers(name: str) -> None:
    first, second = (Sandbox({name: EMULATORS[name]}, clock=ManualClock(), distinct=True) for _ in range(2))

    assert first.describe() == second.describe()
    assert create_object(first, name) != create_object(second, name)


def test_a_reset_skips_an_unused_application(sandbox: Sandbox, control: httpx.Client) -> None:
    before = create_emulator(sandbox, MailEmulator).services

    control.post("/reset")

    assert before is create_emulator(sandbox, MailEmulator).services


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_reset_frees_the_state_of_an_application(name: str) -> None:
    sandbox = Sandbox({name: EMULATORS[name]})
    touch(sandbox, name)
    sandbox.reset()
    touch(sandbox, name)
    gc.collect()

    sandbox.reset()

    assert [] == leaked_objects()


def test_a_reset_application_is_empty_until_first_use() -> None:
    sandbox = Sandbox({"crm": EMULATORS["crm"]})
    touch(sandbox, "crm")
    sandbox.reset()
    touch(sandbox, "crm")
    sandbox.reset()
    asleep = set(vars(sandbox.emulators["crm"]))

    sandbox.emulators["crm"].examples()

    assert {"context", "hooks", "_wake"} == asleep
    assert vars(sandbox.emulators["crm"]).keys() > {"context", "portal"}


def test_knobs_set_after_a_reset_survive_the_first_use() -> None:
    sandbox = Sandbox({"crm": EMULATORS["crm"]})
    asyncio.run(sandbox.prepare())
    touch(sandbox, "crm")
    sandbox.reset()
    sandbox.emulators["crm"].context.knobs["search_cap"] = 5

    sandbox.emulators["crm"].examples()

    assert 5 == sandbox.emulators["crm"].context.knobs["search_cap"]


def test_an_unloaded_application_rejects_unknown_attributes() -> None:
    sandbox = Sandbox({"crm": EMULATORS["crm"]})
    asyncio.run(sandbox.prepare())
    touch(sandbox, "crm")
    sandbox.reset()

    with pytest.raises(AttributeError, match="portals"):
        _ = sandbox.emulators["crm"].portals  # type: ignore[attr-defined]


def test_a_saved_snapshot_is_loaded(sandbox: Sandbox, control: httpx.Client) -> None:
    new_page(control, sandbox)
    control.post("/clock", json={"now": 1_900_000_000, "frozen": True})
    saved = control.post("/save", json={"name": "one"}).json()
    first = len(pages(sandbox))
    control.post("/reset")

    control.post("/load", json={"name": "one"}).raise_for_status()

    assert {"snapshots": ["one"]} == saved == control.get("/snapshots").json()
    assert first == len(pages(sandbox))
    assert 1_900_000_000 == control.get("/clock").json()["now"]
    assert 200 == me(sandbox).status_code


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"name": "another"}, "Unknown snapshot 'another'; existing: "),
        ({"name": "../one"}, "name must be 1 to 64 letters"),
        ({}, "name is required."),
        ({"named": "one"}, "Unknown field 'named'; did you mean name?"),
    ],
    ids=str,
)
def test_an_unknown_snapshot_is_rejected(control: httpx.Client, options: dict[str, str], expected: str) -> None:
    reply = control.post("/load", json=options)

    assert 400 == reply.status_code
    assert reply.json()["error"].startswith(expected)


def test_a_snapshot_can_be_deleted(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/save", json={"name": "short"})

    control.post("/forget", json={"name": "short"}).raise_for_status()

    assert 400 == control.post("/load", json={"name": "short"}).status_code
    assert 400 == control.post("/forget", json={"name": "short"}).status_code


def test_snapshots_in_memory_are_limited() -> None:
    snapshots = Snapshots(None)
    snapshots.save("first", {"notes": bytes(MAX_BYTES - 10)})
    snapshots.save("first", {"notes": bytes(MAX_BYTES - 5)})

    with pytest.raises(InvalidInput, match=r"64 MiB at most; existing: first\. Delete one"):
        snapshots.save("second", {"notes": bytes(6)})


def test_applications_missing_from_a_snapshot_are_reset(
    tmp_path: Path, sandbox: Sandbox, control: httpx.Client
) -> None:
    new_page(control, sandbox)
    sandbox.snapshots._saved["of chat"] = {"chat": dump_state(sandbox.emulators["chat"])}
    more = len(pages(sandbox))

    sandbox.load("of chat")
    del sandbox.snapshots._saved["of chat"]

    assert more - 1 == len(pages(sandbox))


def test_a_partial_snapshot_replaces_a_full_one(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.replace("one", {"notes": b"old", "chat": b"old"})

    folder.replace("one", {"notes": b"new"})

    assert {"notes": b"new"} == folder.read("one")


class Exploit:
    """Something whose bytes do something when they are read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (eval, ("1 + 1",))


@pytest.mark.parametrize(
    "content", [pickle.dumps(({}, (), Exploit())), b"", b"no state"], ids=["harm", "empty", "text"]
)
def test_foreign_bytes_are_not_restored(sandbox: Sandbox, content: bytes) -> None:
    with pytest.raises(Unreadable):
        restore(sandbox.emulators["notes"], content)


def run_once(folder: Path, *, acting: bool, **options: Any) -> int:
    """Run a sandbox with *folder*, create a page if *acting*, and return the number of pages."""

    async def live() -> int:
        sandbox = Sandbox({"notes": EMULATORS["notes"]}, data=folder, **options)
        await sandbox.start()
        notes = create_emulator(sandbox, NotesEmulator)
        if acting:
            notes.perform({**CREATE_PAGE, "database_id": notes.examples()["database_id"]})
            notes.context.change_count += 1
        count = len(pages(sandbox))
        await sandbox.stop()
        return count

    return asyncio.run(live())


def test_a_folder_stores_the_application_state(tmp_path: Path) -> None:
    first = run_once(tmp_path, acting=True)

    assert first == run_once(tmp_path, acting=False)


def test_a_folder_stores_a_reset(tmp_path: Path) -> None:
    async def live() -> None:
        sandbox = Sandbox({"notes": EMULATORS["notes"]}, data=tmp_path)
        await sandbox.start()
        notes = create_emulator(sandbox, NotesEmulator)
        notes.perform({**CREATE_PAGE, "database_id": notes.examples()["database_id"]})
        notes.context.change_count += 1
        assert sandbox._folder
        sandbox._write_changes(sandbox._folder)
        sandbox.reset()
        await sandbox.stop()

    fresh = len(create_emulator(Sandbox({"notes": EMULATORS["notes"]}), NotesEmulator).workspace.pages)
    asyncio.run(live())

    assert fresh == run_once(tmp_path, acting=False)


def test_nothing_is_written_after_stop(tmp_path: Path) -> None:
    async def live() -> bool:
        sandbox = Sandbox({"notes": EMULATORS["notes"]}, data=tmp_path)
        await sandbox.start()
        await sandbox.stop()
        assert sandbox._write_task
        return sandbox._write_task.done()

    assert asyncio.run(live())


def test_a_fresh_sandbox_discards_the_stored_state(tmp_path: Path) -> None:
    used = run_once(tmp_path, acting=True)

    fresh = run_once(tmp_path, acting=False, fresh=True)

    assert [used - 1, used - 1] == [fresh, run_once(tmp_path, acting=False)]


def state_name(folder: Path, *, killed: bool = False, resets: bool = False) -> str:
    """The name that a sandbox gives the state of *folder*, and under which it leaves it unless it is *killed*."""

    async def live() -> str:
        sandbox = Sandbox({"notes": EMULATORS["notes"]}, data=folder)
        await sandbox.start()
        if resets:
            sandbox.reset()
        assert sandbox._folder
        name = str(sandbox.describe()["state"])
        await sandbox.stop()
        if killed:
            sandbox._folder._write_about(None)
        return name

    return asyncio.run(live())


def test_a_state_name_changes_with_a_reset_or_a_crash(tmp_path: Path) -> None:
    first, second = state_name(tmp_path), state_name(tmp_path)
    reset, after_reset = state_name(tmp_path, resets=True), state_name(tmp_path, killed=True)
    after_kill = state_name(tmp_path)

    assert first == second
    assert reset == after_reset
    assert 3 == len({first, reset, after_kill})


def test_a_supervised_sandbox_discards_the_state_of_another_version(tmp_path: Path) -> None:
    used = run_once(tmp_path, acting=True, supervised=True)
    (tmp_path / "sandbox.json").write_text(json.dumps({"written_by": "0.0.1+abc", "state": "a"}))

    assert used - 1 == run_once(tmp_path, acting=False, supervised=True)


def test_a_folder_of_another_version_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "sandbox.json").write_text(json.dumps({"written_by": "0.0.1+abc"}))

    with pytest.raises(UnusableFolder, match=r"was written by workspace-sandbox 0\.0\.1\+abc, and this is 0\.1\.0\+"):
        StateFolder(tmp_path)


def test_a_folder_with_other_files_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")

    with pytest.raises(UnusableFolder, match="contains other files"):
        StateFolder(tmp_path)


def test_a_folder_is_used_by_one_sandbox_at_a_time(tmp_path: Path) -> None:
    first = StateFolder(tmp_path)

    with pytest.raises(UnusableFolder, match="Another sandbox uses the folder"):
        StateFolder(tmp_path)
    first.close()
    StateFolder(tmp_path).close()
