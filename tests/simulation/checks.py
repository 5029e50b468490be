"""The invariants, checked after a history."""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from simulation.accounts import Rewire, has_several_budgets
from simulation.killable_process import Reply
from simulation.scenarios import ByHand, Crash, Restore
from simulation.writes import KINDS, CreatedObject, World, target_of

if TYPE_CHECKING:
    from simulation.scenarios import Write
    from simulation.simulated_history import History, SimulatedCall
    from simulation.vendors import Sent

STORAGE = "storage_unavailable"
REUSED = "idempotency_key_reused"
UNTOLD = {"tables.attach_file"}
"""Writes whose outcome cannot be determined after a restore."""
UNDECIDED = {"connection_not_found", "outcome_unknown"}
"""Final codes of writes with an unknown outcome: a removed connection cannot be searched."""


@dataclass
class Owner:
    """A key, or one call without a key, with its responses."""

    name: str
    keyed: bool
    replies: list[Reply] = field(default_factory=list)
    unanswered: bool = False

    @property
    def results(self) -> list[Mapping[str, Any]]:
        return [reply.body["data"] for reply in self.replies if reply.status == 200]

    @property
    def rejected(self) -> bool:
        """Whether the last response was a definite error."""
        from simulation.simulated_history import final  # noqa: PLC0415  # which tells the story this is about

        return bool(self.replies) and not self.results and final(self.replies[-1]) and not self.unanswered

    @property
    def settled(self) -> bool:
        return bool(self.results) or self.rejected


def check_history(history: "History") -> list[str]:
    """Return violations as sentences that begin with the invariant's number."""
    return [
        *check_objects(history),
        *_check_partial_write(history),
        *_check_runs(history),
        *check_active_state(history),
        *_check_resent_steps(history),
        *check_overwrites(history),
        *_check_throttling(history),
        *check_feeds(history),
    ]


# I1, I2, I3


def check_objects(history: "History") -> Iterator[str]:
    for kind, contents, owners in _group_writes(history):
        restored = history.story.restore is not None
        yield from _check_responses(kind, owners, restored=restored)
        left = _is_reported_partial_write(kind, owners)
        created = [one for content in contents for one in KINDS[kind].created(history.world, content) if not left(one)]
        ours = [one for one in created if one.id not in history.world.by_colleague]
        if any(is_overtaken(history, kind, content) for content in contents):
            # The remaining objects are checked by ``undone``; each new object must still be created at most once.
            yield from _check_maximum(kind, ours, owners)
            continue
        yield from _check_counts(kind, ours, owners)
        yield from _check_ownership(kind, created, ours, owners)


def _is_reported_partial_write(kind: str, owners: Sequence[Owner]) -> Callable[[CreatedObject], bool]:
    """Return True if an object is part of a write that was rejected, reported so, and was never completed."""
    details = " ".join(_details(owner.replies[-1]) for owner in owners if owner.rejected)
    finished = {one for owner in owners for result in owner.results for one in KINDS[kind].returned_ids(result)}
    return lambda created: created.id in details and created.id not in finished


def _group_writes(history: "History") -> Iterator[tuple[str, Sequence[str], Sequence[Owner]]]:
    """Yield contents with all writes of any of them: twins share a content, a changed repeat shares a key."""
    by_kind: dict[str, list[SimulatedCall]] = {}
    for call in history.calls:
        by_kind.setdefault(call.write.kind, []).append(call)
    for kind, calls in by_kind.items():
        groups: list[tuple[set[str], set[str], list[SimulatedCall]]] = []
        for call in calls:
            contents, names, members = {call.write.content}, {call.write.key or call.name}, [call]
            for group in [one for one in groups if one[0] & contents or one[1] & names]:
                groups.remove(group)
                contents, names, members = contents | group[0], names | group[1], [*group[2], *members]
            groups.append((contents, names, members))
        for contents, _, members in groups:
            yield kind, sorted(contents), _list_owners(members)


def _list_owners(calls: Iterable["SimulatedCall"]) -> list[Owner]:
    """Return the writes and their responses. ``key_reused`` is a response to the key, not to the write."""
    owners: dict[str, Owner] = {}
    calls = [call for call in calls if call.reply is None or call.reply.code != REUSED]
    for call in sorted(calls, key=lambda call: int(call.name.split()[1])):
        name = call.write.key or call.name
        owner = owners.setdefault(name, Owner(name, call.write.key is not None))
        if call.reply is None or call.reply.status == 0:
            owner.unanswered = owner.unanswered or not owner.keyed
        else:
            owner.replies.append(call.reply)
    return list(owners.values())


def _check_responses(kind: str, owners: Iterable[Owner], *, restored: bool) -> Iterator[str]:
    for owner in owners:
        if owner.keyed and not owner.settled and not (restored and kind in UNTOLD):
            last = owner.replies[-1] if owner.replies else None
            response = f"{last.status} {last.code}" if last else "nothing"
            yield f"I3 {owner.name} never got a result; the last response was {response}"
        # After a restore the response contains the current data of the same object.
        identify = KINDS[kind].returned_ids if restored else dict
        different = [result for result in owner.results if identify(result) != identify(owner.results[0])]
        if any(reply.code == "invalid_parameters" for reply in owner.replies):
            yield f"I0 the simulation sent an invalid request for {owner.name}"
        if owner.keyed and different:
            yield f"I2 {owner.name} got {owner.results[0]} and then {different[0]}"


def _check_counts(kind: str, ours: Sequence[CreatedObject], owners: Sequence[Owner]) -> Iterator[str]:
    for part in range(KINDS[kind].parts):
        present = [one for one in ours if one.part == part]
        least, most = _get_bounds(kind, part, owners)
        if not least <= len(present) <= most:
            expected = str(least) if least == most else f"{least} to {most}"
            names = ", ".join(owner.name for owner in owners)
            which = f" (part {part})" if KINDS[kind].parts > 1 else ""
            yield f"I1 {len(present)} objects of {kind}{which} instead of {expected}, for {names}"
    if all(owner.results for owner in owners):
        for one in ours:
            yield from (f"I1 {kind} {one.id}: {flaw}" for flaw in one.flaws)


def _check_maximum(kind: str, ours: Sequence[CreatedObject], owners: Sequence[Owner]) -> Iterator[str]:
    _, most = _get_bounds(kind, 0, owners)
    if len(ours) > most:
        yield f"I1 {len(ours)} objects of {kind} instead of at most {most}"


def _get_bounds(kind: str, part: int, owners: Sequence[Owner]) -> tuple[int, int]:
    """Return the minimum and maximum number of objects of a part."""
    each = [_get_bound(kind, part, owner) for owner in owners]
    if KINDS[kind].twins:
        return sum(least for least, _ in each), sum(most for _, most in each)
    return max(least for least, _ in each), max(most for _, most in each)


def _get_bound(kind: str, part: int, owner: Owner) -> tuple[int, int]:
    if owner.results:
        # A step that was rejected before a restore can be performed after it.
        expected = [KINDS[kind].expected(result, part) for result in owner.results]
        return min(expected), max(expected)
    gone = any(reply.code in UNDECIDED for reply in owner.replies)
    return (0, 0) if owner.rejected and not gone else (0, 1)


def _check_ownership(
    kind: str, created: Sequence[CreatedObject], ours: Sequence[CreatedObject], owners: Sequence[Owner]
) -> Iterator[str]:
    """Check that every response contains an existing object that belongs only to this write."""
    seen: Counter[str] = Counter()
    for owner in owners:
        for part, returned in enumerate(KINDS[kind].returned_ids(owner.results[0]) if owner.results else ()):
            if returned is None:
                continue
            seen[returned] += 1
            if returned in {one.id for one in created if one.part == part} - {one.id for one in ours}:
                yield f"I2 {owner.name} got {kind} {returned} of a colleague"
            elif returned not in {one.id for one in ours if one.part == part}:
                yield f"I2 {owner.name} got {kind} {returned}, which is not its object"
    if KINDS[kind].twins:
        yield from (
            f"I2 {kind} {returned} was returned to {times} callers" for returned, times in seen.items() if times > 1
        )


def _details(reply: Reply) -> str:
    """Return the completed steps in an error."""
    return str(reply.body["error"].get("details") or "")


def _check_partial_write(history: "History") -> Iterator[str]:
    """Check that an error contains the completed steps of its call."""
    for call in history.calls:
        if call.reply is None or not 400 <= call.reply.status < 500 or _details(call.reply):
            continue
        steps = [sent for sent in history.sent if sent.call == call.name and sent.changes]
        done = [sent for sent in steps if sent.outcome.startswith("2") and sent.method != "DELETE"]
        if done and not any(sent.method == "DELETE" for sent in steps):
            error = f"{call.reply.status} {call.reply.code}"
            yield f"I3 {call.name} got {error}, which hides that {done[0].step[:60]} was performed"


# I4


def _check_runs(history: "History") -> Iterator[str]:
    for call in history.calls:
        reply = call.reply
        if reply is None or reply.status == 0 or reply.run_id is None or _is_exempt(history, call):
            continue
        if reply.status == 500:
            yield f"I4 {call.name} got a 500 {reply.code}, as if the failure were certain"
            continue
        response = history.runs[reply.run_id]
        if response.status != 200:
            yield f"I4 {call.name} got {reply.status} {reply.code}, but its run is not in the history"
            continue
        run = response.body["data"]
        answered = (
            (reply.status, reply.body["status"], None) if reply.status == 200 else (reply.status, "error", reply.code)
        )
        stored = (run["http_status"], run["status"], run["code"])
        if answered != stored:
            yield f"I4 {call.name} got {answered}, but its run has {stored}"


def _is_exempt(history: "History", call: "SimulatedCall") -> bool:
    """Return True if storage could not store the run: its process died before, or nothing had started."""
    if call.at < history.restored_at:
        return True
    if call.reply is None or call.reply.status != 503 or call.reply.code != STORAGE:
        return False
    process = next(process for process in history.processes if process.name == call.lives[0])
    sent = any(sent.call == call.name and sent.changes for sent in history.sent)
    return process.generation != call.lives[1] or not sent


# I5


def check_active_state(history: "History") -> Iterator[str]:
    """Return claims and runs that are still active in the database."""
    with sqlite3.connect(f"file:{history.storage.path}?mode=ro", uri=True) as connection:
        claims = connection.execute("SELECT idempotency_key FROM claims WHERE state = 'held'").fetchall()
        running = connection.execute(
            "SELECT operation FROM runs WHERE status = 'running' AND operation <> 'observe_events'"
        ).fetchall()
    connection.close()
    yield from (f"I5 the claim of {key} is still active" for (key,) in claims)
    yield from (f"I5 a run of {operation} is still running" for (operation,) in running)


# I6


def _check_resent_steps(history: "History") -> Iterator[str]:
    unkeyed = {
        acknowledged.name: acknowledged.write for acknowledged in history.calls if acknowledged.write.key is None
    }
    steps = Counter(
        (sent.call, sent.step)
        for sent in history.sent
        if sent.changes and sent.call in unkeyed and sent.may_have_arrived
    )
    for (call, step), times in steps.items():
        if times > 1:
            yield f"I6 {call} has no key, but {step[:80]} was sent {times} times"


# I9


def is_overtaken(history: "History", kind: str, content: str) -> bool:
    """Return True if another write changed the same object."""
    calls = (call.write for call in history.calls if call.write.kind == kind)
    return len({write.content for write in calls if target_of(write.content) == target_of(content)} | {content}) > 1


def check_overwrites(history: "History") -> Iterator[str]:
    """Check that a change in doubt is not resent over a later acknowledged one."""
    calls = {later.name: later.write for later in history.calls}
    for later in history.calls:
        pattern = KINDS[later.write.kind].overwriting
        if not pattern or later.reply is None or later.reply.status != 200:
            continue
        for call, first, again in _list_resent(history, calls, later.write, pattern):
            # Without a request, it received the result of an earlier call under its key.
            its_own = [one.at for one in history.sent if one.call == later.name and _list_changes(one, pattern)]
            overtaken = its_own and first < min(its_own) and later.answered_at < again
            if overtaken and not _is_lost(history, first, later.answered_at, again):
                yield f"I9 {call} resent a change over the acknowledged one of {later.name}"


def _is_lost(history: "History", first: float, acknowledged: float, again: float) -> bool:
    """Return True if a restored database had neither the change that was sent *again* nor the acknowledged one."""
    backups = [history.began + max(0.0, item.backup_at) for item in history.story.items if isinstance(item, Restore)]
    return any(backup < first and acknowledged < history.restored_at <= again for backup in backups)


def _list_resent(
    history: "History", calls: Mapping[str, "Write"], later: "Write", pattern: str
) -> Iterator[tuple[str, float, float]]:
    """Yield calls that resent a change to the object of a *later* one: when it was sent first, and when again."""
    firsts: dict[tuple[str, str], float] = {}
    for sent in history.sent:
        write = calls.get(sent.call)
        if write is None or write.kind != later.kind or not _list_changes(sent, pattern):
            continue
        if write.content == later.content or target_of(write.content) != target_of(later.content):
            continue
        name = write.key or sent.call, sent.step
        if name in firsts:
            yield sent.call, firsts[name], sent.at
        if sent.may_have_arrived:
            firsts.setdefault(name, sent.at)


def _list_changes(sent: "Sent", pattern: str) -> bool:
    return re.fullmatch(pattern, f"{sent.method} {sent.path}") is not None


# I7


def _check_throttling(history: "History") -> Iterator[str]:
    """Check that one process that lives throughout respects all windows; a new one does not know earlier usage."""
    story = history.story
    lone = story.processes == 1 and not any(isinstance(item, Crash) for item in story.items)
    if not story.limits or not lone or any(process.generation > 1 for process in history.processes):
        return
    delayed = {sent.connector for sent in history.sent if sent.is_delayed}
    for connector, emulator in history.world.vendors.emulators.items():
        if connector in delayed or has_several_budgets(story, connector):
            continue
        throttled = [one for one in emulator.context.request_log if one.status == 429]
        if throttled:
            yield f"I7 {connector} throttled {len(throttled)} requests"


# I8


def check_feeds(history: "History") -> Iterator[str]:
    if not history.story.watch:
        return
    expected: dict[str, list[str]] = {"notes": [], "chat": []}
    for item in sorted((one for one in history.story.items if isinstance(one, ByHand)), key=lambda one: one.at):
        if item.at >= 0 and item.kind in {"notes.create_page", "chat.post_message"}:
            expected[KINDS[item.kind].connector].append(item.content)
    for connector, contents in expected.items():
        if any(isinstance(one, Rewire) and _removes_feed(one, connector) for one in history.story.items):
            continue
        reported = _sort_ties(connector, history, contents)
        if reported != contents:
            yield f"I8 {connector} events are {reported} instead of {contents}"


def _removes_feed(item: Rewire, connector: str) -> bool:
    """Return True if *item* removes the connection through which the feed is read."""
    return (item.connector, item.way, item.what) == (connector, 0, "removed")


def _sort_ties(connector: str, history: "History", contents: Sequence[str]) -> list[str]:
    """Return *contents* in order, if the vendor reports the order."""
    reported: list[tuple[str, object]] = []
    for event in history.feeds.get(connector, []):
        content = get_created_content(connector, event, history.world)
        if content is not None and content in contents:
            reported.append((content, _get_tie_key(connector, event, history.world)))
    ties = groupby(reported, key=lambda one: one[1])
    return [content for _, tie in ties for content in sorted((one[0] for one in tie), key=contents.index)]


def _get_tie_key(connector: str, event: Mapping[str, Any], world: World) -> object:
    """Return a key that is equal for events whose order is unknown: notes has a resolution of minutes."""
    if connector == "chat":
        return event["event_id"]
    return event["observed_at"], world.emulator("notes").workspace.pages[event["page_id"]].created_at // 60


def get_created_content(connector: str, event: Mapping[str, Any], world: World) -> str | None:
    """Return the content of the object that a colleague created, if the event reports a creation."""
    if connector == "chat":
        bot = world.emulator("chat").workspace.team
        is_ours = event["author"] in {bot.bot_id, bot.bot_user_id}
        return None if is_ours or event["type"] != "message.posted" else str(event["text"])
    if event["type"] != "page.created" or event["page_id"] not in world.by_colleague:
        return None
    return str(world.emulator("notes").workspace.pages[event["page_id"]].title)
