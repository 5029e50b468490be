"""What a sandbox holds: returned to, saved, loaded, and kept over restarts."""

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
from sandbox.tests.notes.asking import me
from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.kit.arguments import InvalidInput
from workspace_sandbox.kit.data.serialization import Unreadable, dump_state, restore
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.snapshots import MAX_BYTES, Snapshots, StateFolder, UnusableFolder

ACT = {"action": "create_page", "properties": {"Name": "Kept"}}


def pages(sandbox: Sandbox) -> set[str]:
    return set(create_emulator(sandbox, NotesEmulator).workspace.pages)


def touched(sandbox: Sandbox, name: str) -> None:
    """Let the application be one that somebody has asked."""
    sandbox.emulators[name].context.change_count += 1
    sandbox.emulators[name].load_state()


def left_behind() -> list[str]:
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
    control.post("/notes/act", json={**ACT, "database_id": database}).raise_for_status()


@pytest.mark.parametrize("name", APPLICATIONS)
def test_what_an_application_holds_is_the_same_when_it_is_read_again(sandbox: Sandbox, name: str) -> None:
    emulator = sandbox.emulators[name]
    restore(emulator, dump_state(emulator))
    content = dump_state(emulator)
    emulator.revoke()

    restore(emulator, content)

    # Sets are written in no order.
    assert len(content) == len(dump_state(emulator))


def test_a_reset_returns_to_the_beginning(sandbox: Sandbox, control: httpx.Client) -> None:
    first = len(pages(sandbox))
    new_page(control, sandbox)
    control.post("/notes/knobs", json={"row_cap": 1})
    made = len(pages(sandbox))

    control.post("/reset")

    assert [first + 1, first] == [made, len(pages(sandbox))]
    assert 10_000 == sandbox.emulators["notes"].context.knobs["row_cap"]
    assert 200 == me(sandbox).status_code


def test_resets_one_after_the_other_lead_to_the_same(sandbox: Sandbox, control: httpx.Client) -> None:
    new_page(control, sandbox)
    control.post("/reset")
    once = pages(sandbox)
    new_page(control, sandbox)

    control.post("/reset")

    assert once == pages(sandbox)


def made_in(sandbox: Sandbox, name: str) -> str:
    """What a new object of an application is called; chat tells objects apart by time alone."""
    emulator = sandbox.emulators[name]
    emulator.context.change_count += 1
    examples = emulator.examples()
    acts: Mapping[str, tuple[str, Mapping[str, Any]]] = {
        "notes": ("page_id", {**ACT, "database_id": examples.get("database_id")}),
        "boards": ("card_id", {"action": "create_card", "name": "Kept", "list_id": examples.get("list_ids", [""])[0]}),
        "mail": ("id", {"action": "receive", "from": "ada@kept.example", "subject": "Kept", "body_html": "Kept"}),
        "crm": ("id", {"action": "create_contact", "properties": {"email": "ada@kept.example"}}),
        "tables": ("id", {"action": "create_record", "base_id": examples.get("base_id"), "fields": {"Name": "Kept"}}),
    }
    key, act = acts[name]
    return str(emulator.perform({"table": examples.get("table"), **act})[key])


WITH_IDENTIFIERS = [name for name in APPLICATIONS if name != "chat"]


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_a_reset_forgets_what_was_made(name: str) -> None:
    sandbox = Sandbox({name: EMULATORS[name]}, clock=ManualClock())
    emulator = sandbox.emulators[name]
    before, examples = len(dump_state(emulator)), emulator.examples()
    made_in(sandbox, name)
    more = len(dump_state(emulator))

    sandbox.reset()

    assert more > before == len(dump_state(emulator))
    assert examples == emulator.examples()


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_no_identifier_comes_again(name: str) -> None:
    sandbox = Sandbox({name: EMULATORS[name]}, clock=ManualClock())
    sandbox.save("beginning")
    made = [made_in(sandbox, name)]
    for again in (sandbox.reset, sandbox.reset, partial(sandbox.load, "beginning"), partial(sandbox.load, "beginning")):
        again()
        made.append(made_in(sandbox, name))

    assert 5 == len(set(made))


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_the_same_steps_make_the_same_identifiers(name: str) -> None:
    def steps() -> Iterator[str]:
        sandbox = Sandbox({name: EMULATORS[name]}, clock=ManualClock())
        yield made_in(sandbox, name)
        sandbox.reset()
        yield made_in(sandbox, name)

    assert list(steps()) == list(steps())


@pytest.mark.parametrize("name", WITH_IDENTIFIERS)
def test_a_distinct_sandbox_makes_none_that_another_made(name: str) -> None:
    first, second = (Sandbox({name: EMULATORS[name]}, clock=ManualClock(), distinct=True) for _ in range(2))

    assert first.describe() == second.describe()
    assert made_in(first, name) != made_in(second, name)


def test_an_application_that_nobody_asked_is_left_as_it_is(sandbox: Sandbox, control: httpx.Client) -> None:
    before = create_emulator(sandbox, MailEmulator).services

    control.post("/reset")

    assert before is create_emulator(sandbox, MailEmulator).services


@pytest.mark.parametrize("name", APPLICATIONS)
def test_what_an_application_held_leaves_memory_with_the_reset(name: str) -> None:
    sandbox = Sandbox({name: EMULATORS[name]})
    touched(sandbox, name)
    sandbox.reset()
    touched(sandbox, name)
    gc.collect()

    sandbox.reset()

    assert [] == left_behind()


def test_a_reset_application_holds_nothing_until_it_is_asked() -> None:
    sandbox = Sandbox({"crm": EMULATORS["crm"]})
    touched(sandbox, "crm")
    sandbox.reset()
    touched(sandbox, "crm")
    sandbox.reset()
    asleep = set(vars(sandbox.emulators["crm"]))

    sandbox.emulators["crm"].examples()

    assert {"context", "hooks", "_wake"} == asleep
    assert vars(sandbox.emulators["crm"]).keys() > {"context", "portal"}


def test_knobs_that_are_turned_after_a_reset_stay_when_the_application_is_asked() -> None:
    sandbox = Sandbox({"crm": EMULATORS["crm"]})
    asyncio.run(sandbox.prepare())
    touched(sandbox, "crm")
    sandbox.reset()
    sandbox.emulators["crm"].context.knobs["search_cap"] = 5

    sandbox.emulators["crm"].examples()

    assert 5 == sandbox.emulators["crm"].context.knobs["search_cap"]


def test_an_attribute_that_there_is_not_is_none_of_a_sleeping_application_either() -> None:
    sandbox = Sandbox({"crm": EMULATORS["crm"]})
    asyncio.run(sandbox.prepare())
    touched(sandbox, "crm")
    sandbox.reset()

    with pytest.raises(AttributeError, match="portals"):
        _ = sandbox.emulators["crm"].portals  # type: ignore[attr-defined]


def test_what_was_saved_is_loaded(sandbox: Sandbox, control: httpx.Client) -> None:
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
    ("wanted", "told"),
    [
        ({"name": "another"}, "There is no snapshot 'another'; there are "),
        ({"name": "../one"}, "name must be 1 to 64 letters"),
        ({}, "name is needed."),
        ({"named": "one"}, "There is no 'named'; did you mean name?"),
    ],
    ids=str,
)
def test_a_snapshot_that_there_is_not_is_refused(control: httpx.Client, wanted: dict[str, str], told: str) -> None:
    reply = control.post("/load", json=wanted)

    assert 400 == reply.status_code
    assert reply.json()["error"].startswith(told)


def test_a_snapshot_can_be_forgotten(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/save", json={"name": "short"})

    control.post("/forget", json={"name": "short"}).raise_for_status()

    assert 400 == control.post("/load", json={"name": "short"}).status_code
    assert 400 == control.post("/forget", json={"name": "short"}).status_code


def test_snapshots_in_memory_are_bounded() -> None:
    snapshots = Snapshots(None)
    snapshots.save("first", {"notes": bytes(MAX_BYTES - 10)})
    snapshots.save("first", {"notes": bytes(MAX_BYTES - 5)})

    with pytest.raises(InvalidInput, match="64 MiB at most, and there are first: forget one"):
        snapshots.save("second", {"notes": bytes(6)})


def test_applications_that_a_snapshot_does_not_have_return_to_their_beginning(
    tmp_path: Path, sandbox: Sandbox, control: httpx.Client
) -> None:
    new_page(control, sandbox)
    sandbox.snapshots._saved["of chat"] = {"chat": dump_state(sandbox.emulators["chat"])}
    more = len(pages(sandbox))

    sandbox.load("of chat")
    del sandbox.snapshots._saved["of chat"]

    assert more - 1 == len(pages(sandbox))


def test_a_snapshot_of_some_takes_the_place_of_one_of_all(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.replace("one", {"notes": b"old", "chat": b"old"})

    folder.replace("one", {"notes": b"new"})

    assert {"notes": b"new"} == folder.read("one")


class Harm:
    """Something whose bytes do something when they are read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (eval, ("1 + 1",))


@pytest.mark.parametrize("content", [pickle.dumps(({}, (), Harm())), b"", b"no state"], ids=["harm", "empty", "text"])
def test_bytes_that_no_application_wrote_are_not_read(sandbox: Sandbox, content: bytes) -> None:
    with pytest.raises(Unreadable):
        restore(sandbox.emulators["notes"], content)


def one_life(folder: Path, *, acting: bool, **options: Any) -> int:
    """The pages that a sandbox over *folder* has in the end, in which a page is made or not."""

    async def live() -> int:
        sandbox = Sandbox({"notes": EMULATORS["notes"]}, data=folder, **options)
        await sandbox.start()
        notes = create_emulator(sandbox, NotesEmulator)
        if acting:
            notes.perform({**ACT, "database_id": notes.examples()["database_id"]})
            notes.context.change_count += 1
        found = len(pages(sandbox))
        await sandbox.stop()
        return found

    return asyncio.run(live())


def test_a_folder_keeps_what_an_application_holds(tmp_path: Path) -> None:
    first = one_life(tmp_path, acting=True)

    assert first == one_life(tmp_path, acting=False)


def test_a_folder_knows_of_a_reset(tmp_path: Path) -> None:
    async def live() -> None:
        sandbox = Sandbox({"notes": EMULATORS["notes"]}, data=tmp_path)
        await sandbox.start()
        notes = create_emulator(sandbox, NotesEmulator)
        notes.perform({**ACT, "database_id": notes.examples()["database_id"]})
        notes.context.change_count += 1
        assert sandbox._folder
        sandbox._write_changes(sandbox._folder)
        sandbox.reset()
        await sandbox.stop()

    fresh = len(create_emulator(Sandbox({"notes": EMULATORS["notes"]}), NotesEmulator).workspace.pages)
    asyncio.run(live())

    assert fresh == one_life(tmp_path, acting=False)


def test_nothing_is_written_after_the_end(tmp_path: Path) -> None:
    async def live() -> bool:
        sandbox = Sandbox({"notes": EMULATORS["notes"]}, data=tmp_path)
        await sandbox.start()
        await sandbox.stop()
        assert sandbox._write_task
        return sandbox._write_task.done()

    assert asyncio.run(live())


def test_a_fresh_sandbox_forgets_what_its_folder_holds(tmp_path: Path) -> None:
    used = one_life(tmp_path, acting=True)

    fresh = one_life(tmp_path, acting=False, fresh=True)

    assert [used - 1, used - 1] == [fresh, one_life(tmp_path, acting=False)]


def named(folder: Path, *, killed: bool = False, resets: bool = False) -> str:
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


def test_a_state_keeps_its_name_until_something_else_is_gone_on_with(tmp_path: Path) -> None:
    first, second = named(tmp_path), named(tmp_path)
    reset, after_reset = named(tmp_path, resets=True), named(tmp_path, killed=True)
    after_kill = named(tmp_path)

    assert first == second
    assert reset == after_reset
    assert 3 == len({first, reset, after_kill})


def test_a_supervised_sandbox_forgets_the_state_of_another_version(tmp_path: Path) -> None:
    used = one_life(tmp_path, acting=True, supervised=True)
    (tmp_path / "sandbox.json").write_text(json.dumps({"written_by": "0.0.1+abc", "state": "a"}))

    assert used - 1 == one_life(tmp_path, acting=False, supervised=True)


def test_a_folder_of_another_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "sandbox.json").write_text(json.dumps({"written_by": "0.0.1+abc"}))

    with pytest.raises(UnusableFolder, match=r"was written by workspace-sandbox 0\.0\.1\+abc, and this is 0\.1\.0\+"):
        StateFolder(tmp_path)


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")

    with pytest.raises(UnusableFolder, match="holds other files"):
        StateFolder(tmp_path)


def test_a_folder_is_used_by_one_sandbox_at_a_time(tmp_path: Path) -> None:
    first = StateFolder(tmp_path)

    with pytest.raises(UnusableFolder, match="Another sandbox uses the folder"):
        StateFolder(tmp_path)
    first.close()
    StateFolder(tmp_path).close()
