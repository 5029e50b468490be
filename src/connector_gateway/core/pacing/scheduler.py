"""Pacing: sends requests in order, at the rate that the third party allows; a request that can wait is not refused."""

from collections.abc import Awaitable, Mapping, Sequence
from math import inf

from connector_gateway.core.calls.shutdown import Shutdown
from connector_gateway.core.pacing.usage import UsageTracker
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.kit.upstream.budget import Reservation as Sent
from connector_gateway.storage.shared.interface import UPSTREAM, Reservation, ResolvedCharge, SharedState

YIELD_SECONDS = 20.0
"""How long a request of a poll lets all others go first."""

SLACK = 1.003
"""By how much our windows are longer than the third party's, since clocks differ a little (decision 3)."""

SLACK_SECONDS = 0.006
"""The same at least: how late a request arrives is learned from its answer, which may come after a short window."""


def with_slack(budgets: Mapping[str, Budget]) -> Mapping[str, Budget]:
    """*budgets* with windows that are longer by ``SLACK``, and by ``SLACK_SECONDS`` at least."""
    return {
        name: Budget(budget.limit, max(budget.per_seconds * SLACK, budget.per_seconds + SLACK_SECONDS))
        for name, budget in budgets.items()
    }


def without_slack(per_seconds: float) -> float:
    """The third party's window, of one that was ``stretched``."""
    return min(per_seconds / SLACK, per_seconds - SLACK_SECONDS)


class ConnectionPacer:
    """Paces the requests of one connection by its connector's budgets."""

    def __init__(
        self,
        connector: str,
        budgets: Mapping[str, Budget],
        account: str,
        shared: SharedState,
        clock: Clock,
        *,
        stopping: Shutdown | None = None,
        usage: UsageTracker | None = None,
        connection_id: str = "",
    ) -> None:
        self._connector = connector
        self._budgets = budgets
        self._account = account
        self._shared = shared
        self._clock = clock
        self._stopping = stopping or Shutdown()
        self._usage = usage or UsageTracker(shared, clock)
        self._connection_id = connection_id
        self._begun = False
        """Whether a request was let through; a call that has sent one may go on while the process stops."""

    def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> Awaitable[Reservation]:
        """Wait for a turn; ``UpstreamRateLimited`` at once when it cannot come by *deadline*."""
        if not self._begun:
            self._stopping.check()
        return self._turn(charges, deadline)

    async def _turn(self, charges: Sequence[Charge], deadline: Deadline) -> Reservation:
        takes = self._takes(charges)
        turn = await self._shared.reserve(takes, self._patience(takes, deadline))
        if turn.wait > 0:
            if not turn.granted:
                raise _too_long(turn.wait)
            with self._usage.waiting(takes, self._connection_id):
                await self._wait(turn, turn.wait, takes, deadline)
        self._usage.record_sent(takes, self._connection_id)
        self._begun = True
        return turn

    async def reacquire(self, turn: Sent, deadline: Deadline) -> None:
        """Wait until *turn*, which was let through and is stale, comes again; raises as ``admit`` does."""
        # Asked even so often, a process that is held up each time must end at last.
        if (late := self._clock.now() - deadline.start_by) > 0:
            turn.release()
            raise _too_long(late)
        await self._wait(turn, await turn.confirm(), (), deadline)

    async def _wait(self, turn: Sent, wait: float, takes: Sequence[ResolvedCharge], deadline: Deadline) -> None:
        """Wait until *turn* has come; those in front may be late, and then it may come too late."""
        try:
            while wait > 0:
                await self._pause(wait)
                wait = await turn.confirm()
                if wait > 0 and wait > self._patience(takes, deadline):
                    raise _too_long(wait)
        # Also when the caller leaves: a turn that nobody uses would hold up those behind it.
        except BaseException:
            turn.release()
            raise

    def _patience(self, takes: Sequence[ResolvedCharge], deadline: Deadline) -> float:
        """For how long a turn may be waited for: not at all where a third party has closed a budget for too long."""
        in_line = deadline.start_by - self._clock.now()
        if in_line <= deadline.max_blocked_seconds:
            return in_line
        closed = max([self._shared.blocked_seconds(take.name) for take in takes], default=0.0)
        return 0.0 if closed and closed >= deadline.max_blocked_seconds else in_line

    def _pause(self, seconds: float) -> Awaitable[None]:
        pause = self._clock.sleep(seconds)
        return pause if self._begun else self._stopping.wait(pause)

    async def block(self, charges: Sequence[Charge], seconds: float) -> None:
        """Let nothing through on these budgets for that long, because the third party said so."""
        takes = self._takes(charges)
        self._usage.throttled(takes)
        await self._shared.close(takes, seconds)

    def _takes(self, charges: Sequence[Charge]) -> list[ResolvedCharge]:
        return [self._take(charge) for charge in charges]

    def _take(self, charge: Charge) -> ResolvedCharge:
        name = f"{UPSTREAM}:{self._connector}:{charge.budget}:{charge.scope_key or self._account}"
        budget = self._budgets[charge.budget]
        # A budget that was set lower than one request costs would otherwise never let it through.
        return ResolvedCharge(name, budget, min(charge.units, budget.limit))


class BackgroundPacer(ConnectionPacer):
    """Paces the requests of polls: they go after those of calls, and leave room for the next calls."""

    async def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> Reservation:
        """Wait until no other request wants the turn; after ``YIELD_SECONDS``, wait in line as a call does."""
        takes = self._takes(charges)
        yields_until = min(self._clock.now() + YIELD_SECONDS, deadline.start_by)
        while (rest := yields_until - self._clock.now()) > 0:
            turn = await self._shared.try_reserve_idle(takes)
            if turn.granted:
                self._usage.record_sent(takes, self._connection_id)
                return turn
            await self._clock.sleep(min(turn.wait, rest))
        self._begun = True
        return await self._turn(charges, deadline)


class AnonymousPacer(ConnectionPacer):
    """Paces requests of which nobody knows yet whose budgets they take, and counts them for the account afterwards."""

    def __init__(
        self, connector: str, budgets: Mapping[str, Budget], secrets: str, shared: SharedState, clock: Clock
    ) -> None:
        super().__init__(connector, budgets, secrets, shared, clock)
        self._admitted: list[Charge] = []

    async def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> Reservation:
        """Wait for a turn of budgets that nobody else takes from, but for those that all accounts share."""
        turn = await super().acquire(charges, deadline)
        self._admitted += [charge for charge in charges if not charge.scope_key]
        return turn

    async def attribute_to(self, account: str) -> None:
        """Count what was sent for this account: the next call may come within the same window."""
        self._account = account
        # Each by itself, since together they might be more than one request may take.
        for charge in self._admitted:
            await self._shared.reserve(self._takes([charge]), inf)


def _too_long(wait: float) -> UpstreamRateLimited:
    return UpstreamRateLimited(
        "The application's budget for this account is used up for longer than a call may wait.", retry_after=wait
    )
