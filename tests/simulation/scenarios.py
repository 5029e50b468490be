"""Stories: actions of callers and faults, as data. A history is a story that was run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from simulation.accounts import WAYS, Rewire, draw_connection_changes, draw_overwrites, spread_writes
from simulation.idempotency_key_forms import FORMS, Form
from simulation.vendors import SHAPES, Trouble, Unexpected
from simulation.writes import KINDS, by_hand

TIMEOUT_SECONDS = 12.0
SETTLE_SECONDS = 30.0
"""The latest execution of a request; shorter than in production, to shorten stories."""

LATEST_SECONDS = 27.0
"""The time after which a sent request has been executed, and is found by a search."""
"""The gateway's timeout for a response, shorter than by default, so that histories are shorter."""

RESTORED = 0.2
"""The share of stories with a restore, among those that can have one."""

WELL_BEFORE = -60.0
"""The time of a colleague's manual creation at a vendor that does not report the creator."""


@dataclass(frozen=True)
class Write:
    """A caller requests a write. One with the same key and content is a repeat."""

    at: float
    kind: str
    content: str
    key: str | None = None
    process: int = 0
    leaves_after: float | None = None
    form: Form = "header"
    """The form of the key."""
    way: int = 0
    """The connection to the account."""

    def __str__(self) -> str:
        key = f"under key {self.key} ({self.form})" if self.key else "without a key"
        left = f", and leaves after {self.leaves_after:.2f} s" if self.leaves_after is not None else ""
        return f"{self.at:8.3f} a caller asks process {self.process} for {self.kind} {self.content!r} {key}{left}" + (
            f", through {WAYS[self.way]!r}" if self.way else ""
        )


@dataclass(frozen=True)
class ByHand:
    """A colleague creates an equal object at the vendor."""

    at: float
    kind: str
    content: str

    def __str__(self) -> str:
        return f"{self.at:8.3f} a colleague makes {self.content!r} of {self.kind} by hand"


@dataclass(frozen=True)
class Network:
    """A fault of one vendor request: the *number*-th step, or the *number*-th read."""

    number: int
    trouble: Trouble
    reading: bool = False

    def __str__(self) -> str:
        what = "reading request" if self.reading else "step"
        done = self.trouble.done_after
        end = "is never carried out" if done is None else f"is carried out {done:.2f} s after its sending"
        after = f"{self.trouble.response_after:.2f} s"
        return f"         {what} {self.number} {end}; answered after {after}: {self.trouble.response}"


@dataclass(frozen=True)
class Disk:
    """Storage fails: ``away`` or ``slow`` for some seconds, or the next commits are ``refused`` or unacknowledged."""

    at: float
    what: Literal["away", "slow", "refused", "unacknowledged"]
    amount: float

    def __str__(self) -> str:
        unit = "commits" if self.what in {"refused", "unacknowledged"} else "s"
        return f"{self.at:8.3f} storage: {self.what}, {self.amount:g} {unit}"


@dataclass(frozen=True)
class Crash:
    """A process is killed at its *moves*-th commit, request or response from then on, and restarted later."""

    at: float
    process: int
    moves: int
    restart_after: float | None

    def __str__(self) -> str:
        again = "stays dead" if self.restart_after is None else f"is started again {self.restart_after:.2f} s later"
        return f"{self.at:8.3f} process {self.process} is killed at its move {self.moves} from here, and {again}"


@dataclass(frozen=True)
class Freeze:
    """A process freezes, and resumes late."""

    at: float
    process: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.at:8.3f} process {self.process} freezes for {self.seconds:.1f} s"


@dataclass(frozen=True)
class SetClock:
    """The wall clock of a process is set; that of the vendors (-1) is wrong all the time."""

    at: float
    process: int
    skew: float

    def __str__(self) -> str:
        if self.process < 0:
            return f"         the third parties' clock is {self.skew:+.1f} s off"
        return f"{self.at:8.3f} process {self.process}'s clock is set to {self.skew:+.1f} s off"


@dataclass(frozen=True)
class Restore:
    """A backup is created at ``backup_at``; later all processes are killed, and restarted on it.

    The restore is *declared*, or detected by the file beside the database.
    """

    at: float
    backup_at: float
    declared: bool

    def __str__(self) -> str:
        how = "declared" if self.declared else "to be noticed"
        return f"{self.at:8.3f} the database is restored as it was at {self.backup_at:.3f}, which is {how}"


Item = Write | ByHand | Network | Disk | Crash | Freeze | SetClock | Restore | Rewire


@dataclass(frozen=True)
class Story:
    """The actions and faults of one history."""

    seed: int
    items: tuple[Item, ...]
    processes: int = 1
    limits: bool = False
    watch: bool = False
    sleeps: bool = True
    """Whether long waits are spent with the processes stopped, which runs faster."""

    def without(self, index: int) -> "Story":
        """Return the story without one item."""
        return replace(self, items=self.items[:index] + self.items[index + 1 :])

    @property
    def restore(self) -> Restore | None:
        """The restore, if there is one."""
        return next((item for item in self.items if isinstance(item, Restore)), None)

    @property
    def writes(self) -> list[Write]:
        return [item for item in self.items if isinstance(item, Write)]

    def __str__(self) -> str:
        head = f"{self.processes} process(es), limits {'on' if self.limits else 'off'}"
        head += (", watching" if self.watch else "") + ("" if self.sleeps else ", awake throughout")
        return "\n".join([head, *map(str, self.items)])


def story(seed: int, processes: int | None = None) -> Story:
    """Return the story of *seed*."""
    random = Random(seed)
    count = processes or random.choice((1, 1, 2))
    writes = spread_writes(random, _draw_writes(random, count))
    writes += list(draw_overwrites(random, writes))
    # First, so that of two faults of one step the other applies. Drawn separately, so that older seeds remain the same.
    statuses = _draw_statuses(Random(f"{seed} statuses"))
    items = [*statuses, *writes, *_draw_colleagues(random, writes), *_draw_failures(random, writes, count)]
    items += draw_connection_changes(random, writes)
    # Drawn separately, so that the rest of older seeds remains the same.
    items = _with_key_forms(Random(f"{seed} forms"), items)
    items += _draw_restore(Random(f"{seed} restores"), items)
    items.sort(key=lambda item: getattr(item, "at", 1000.0))
    return Story(
        seed,
        tuple(items),
        processes=count,
        limits=random.random() < 0.15,
        watch=random.random() < 0.004,
        sleeps=random.random() < 0.97,
    )


def _with_key_forms(random: Random, items: Sequence[Item]) -> list[Item]:
    """Return the writes with keys in other forms."""
    return [
        replace(item, form=random.choice(FORMS)) if isinstance(item, Write) and item.key else item for item in items
    ]


def _draw_restore(random: Random, items: Sequence[Item]) -> list[Restore]:
    """Return a restore for some stories, in which lost data can be detected by the requests."""
    writes = [item for item in items if isinstance(item, Write)]
    contents = {(write.kind, write.content): write.key for write in writes}
    keys = {write.key: write.content for write in writes if write.key}
    alike = any(contents[write.kind, write.content] != write.key for write in writes)
    changed = any(write.key and keys[write.key] != write.content for write in writes)
    vague = any("vague" in write.kind for write in writes)
    colleagues = any(isinstance(item, ByHand) for item in items)
    if random.random() > RESTORED or alike or changed or vague or colleagues:
        return []
    backup_at = random.uniform(0, 4)
    # A restore is not detected if no process has sent a heartbeat between the backup and its end.
    silent = any(isinstance(item, Freeze | Crash | Disk) for item in items)
    restored_at = backup_at + random.choice((3.0, 10.0, 20.0))
    return [Restore(restored_at, backup_at, declared=random.random() < 0.5 or silent)]


def _draw_writes(random: Random, processes: int) -> list[Write]:
    writes: list[Write] = []
    for number in range(random.choice((1, 1, 1, 2, 2, 3))):
        name = random.choice(list(KINDS))
        keyed = random.random() < 0.85
        first = Write(
            at=random.uniform(0, 3),
            kind=name,
            content="nothing" if "vague" in name else f"Content {number}",
            key=f"key-{number}" if keyed else None,
            process=random.randrange(processes),
            leaves_after=random.uniform(0, 2) if random.random() < 0.08 else None,
        )
        writes.append(first)
        if keyed:
            writes += _draw_repeats(random, first, processes)
        if KINDS[name].twins and random.random() < 0.25:
            other = f"key-{number}-twin" if random.random() < 0.8 else None
            writes.append(replace(first, at=_draw_near_time(random, first.at), key=other, leaves_after=None))
    return writes


def _draw_repeats(random: Random, first: Write, processes: int) -> list[Write]:
    repeats = []
    if random.random() < 0.3:
        later = _draw_near_time(random, first.at)
        repeats.append(replace(first, at=later, process=random.randrange(processes), leaves_after=None))
    if KINDS[first.kind].twins and "vague" not in first.kind and random.random() < 0.12:
        repeats.append(
            replace(first, at=_draw_near_time(random, first.at), content=f"{first.content} changed", leaves_after=None)
        )
    return repeats


def _draw_near_time(random: Random, at: float) -> float:
    """Return a time: the same, shortly after, or when the first may have ended."""
    return at + random.choice((0.0, random.uniform(0, 1), random.uniform(1, 10), random.uniform(13, 25)))


def _draw_colleagues(random: Random, writes: Sequence[Write]) -> list[ByHand]:
    items = []
    for write in writes:
        kind = KINDS[write.kind]
        if by_hand(kind) and random.random() < 0.15:
            at = write.at + random.uniform(-3, 10) if kind.colleague_distinguishable else WELL_BEFORE
            items.append(ByHand(at, write.kind, write.content))
    return items


def _draw_failures(random: Random, writes: Sequence[Write], processes: int) -> list[Item]:
    makers: Sequence[Callable[[Random, Sequence[Write], int], Item]] = (
        _draw_network,
        _draw_network,
        _draw_network,
        _draw_disk,
        _draw_crash,
        _draw_crash,
        _draw_freeze,
        _draw_clock,
    )
    count = random.choice((0, 1, 1, 1, 2, 2, 3))
    return [random.choice(makers)(random, writes, processes) for _ in range(count)]


def _draw_network(random: Random, _: Sequence[Write], __: int) -> Item:
    if random.random() < 0.15:
        response = random.choice(("silence", "cut", "502", "failure", "garbage"))
        return Network(random.randrange(12), Trouble(response, 0.1 if response == "garbage" else None), reading=True)
    return Network(random.choice((0, 0, 0, 1, 1, 2, 3)), trouble(random))


def trouble(random: Random) -> Trouble:
    """Return one way in which a step fails; it is performed within the settle time or never."""
    response = random.choice(
        ("silence", "silence", "cut", "cut", "502", "503", "504", "failure", "refusal", "garbage", "odd", "refused")
    )
    late = random.choice((random.uniform(0.05, 3), random.uniform(3, 11), random.uniform(11, LATEST_SECONDS)))
    done = random.choice((None, 0.05, late))
    match response:
        case "refused" | "refusal":
            return Trouble(response)
        case "failure":
            return Trouble(response, random.choice((None, 0.05)), 0.2)
        case "garbage" | "odd":
            return Trouble(response, 0.05, 0.2)
        case "silence":
            return Trouble(response, late if done == 0.05 and random.random() < 0.3 else done)
        case _:
            return Trouble(response, done, random.choice((0.02, 0.1, random.uniform(0.1, 5), random.uniform(5, 11))))


def _draw_statuses(random: Random) -> list[Network]:
    """Return responses of any status with any body, before or after the step was performed, or instead of it."""
    count = random.choice((0, 0, 1, 1, 2))
    return [Network(random.choice((0, 0, 1, 1, 2, 3)), _draw_unexpected(random)) for _ in range(count)]


def _draw_unexpected(random: Random) -> Trouble:
    response = Unexpected(random.randrange(100, 600), random.choice(list(SHAPES)))
    return Trouble(response, random.choice((None, 0.05, random.uniform(0.05, LATEST_SECONDS))), random.uniform(0.1, 5))


def _draw_disk(random: Random, writes: Sequence[Write], _: int) -> Item:
    at = writes[0].at + random.choice((0.0, random.uniform(0, 0.1), random.uniform(0, 2)))
    match random.choice(("away", "slow", "refused", "unacknowledged")):
        case "away":
            return Disk(at, "away", random.choice((0.3, 1.0, 5.0, 25.0)))
        case "slow":
            return Disk(at, "slow", random.choice((2.0, 10.0)))
        case "refused":
            return Disk(at, "refused", random.choice((1, 1, 2, 5)))
        case _:
            return Disk(at, "unacknowledged", random.choice((1, 1, 2)))


def _draw_crash(random: Random, writes: Sequence[Write], _: int) -> Item:
    write = random.choice(list(writes))
    restart = random.choice((0.05, random.uniform(0.05, 2), random.uniform(2, 30), None))
    return Crash(max(0.0, write.at - 0.001), write.process, random.randint(1, 30), restart)


def _draw_freeze(random: Random, writes: Sequence[Write], _: int) -> Item:
    write = random.choice(list(writes))
    return Freeze(write.at + random.uniform(0, 0.5), write.process, random.choice((3.0, 12.0, 15.0, 40.0)))


def _draw_clock(random: Random, _: Sequence[Write], processes: int) -> Item:
    skew = random.choice((-600.0, -90.0, -5.0, 5.0, 90.0, 600.0))
    return SetClock(random.uniform(-5, 5), random.randrange(-1, processes), skew)
