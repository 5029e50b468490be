"""Runs the checks of a connector, and reports their results without data of the account."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec

from connector_gateway.verify.account_under_test import AT_LIMIT, FAILED, Account, CallFailed, NotCheckable
from connector_gateway.verify.checks import Check, Checks, Contradicted
from connector_gateway.verify.facts import Fact

CONFIRMED, CONTRADICTED, NOT_CHECKABLE = "confirmed", "contradicted", "not checkable here"

ENDS = frozenset({"connection_revoked", "connection_not_found", "upstream_unavailable", "operation_not_allowed"})
"""Errors after which no check can succeed."""

LIMITS = {
    "upstream_forbidden": "The connection lacks permission.",
    "connection_scope_missing": "The connection lacks a scope.",
    "upstream_rate_limited": AT_LIMIT,
    "upstream_timeout": "The vendor did not respond in time.",
    "outcome_unknown": "The vendor did not respond.",
    "upstream_error": FAILED,
    "write_scope_required": "The key may only read.",
}
"""Errors that say nothing about a fact."""


@dataclass(frozen=True)
class FactResult:
    """The result of a fact: what a check observed, or why there is none."""

    fact: str
    result: str
    expected: str = ""
    observed: str = ""
    reason: str = ""

    def row(self) -> Mapping[str, str]:
        """Return the fields as a row of the report."""
        return asdict(self)


def load_checks(connector: str) -> Checks | None:
    """Return the checks of a connector, or None if it has none."""
    name = f"connector_gateway.verify.{connector}"
    checks: Checks | None = import_module(name).CHECKS if find_spec(name) else None
    return checks


async def run_checks(
    account: Account, checks: Checks, facts: Mapping[str, Fact], progress: Callable[[FactResult], None]
) -> Sequence[FactResult]:
    """Check all *facts*, those without a write first, and report each result to *progress*.

    Raises ``CallFailed`` if the connection or the key cannot be used.
    """
    results = []
    for check in sorted(checks.all, key=lambda one: one.writes):
        results.append(await _run(account, check))
        progress(results[-1])
    unchecked = [
        FactResult(name, NOT_CHECKABLE, reason=fact.not_checkable) for name, fact in facts.items() if fact.not_checkable
    ]
    return [*results, *unchecked]


async def _run(account: Account, check: Check) -> FactResult:
    if check.writes and not account.place:
        return FactResult(check.fact, NOT_CHECKABLE, reason="It needs --write.")
    try:
        await check.run(account)
    except Contradicted as error:
        return FactResult(check.fact, CONTRADICTED, error.expected, error.observed)
    except NotCheckable as error:
        return FactResult(check.fact, NOT_CHECKABLE, reason=str(error))
    except CallFailed as error:
        return _failed(check, error)
    except (LookupError, TypeError, AttributeError, ValueError):
        return FactResult(check.fact, CONTRADICTED, "the documented shape", "another shape")
    return FactResult(check.fact, CONFIRMED)


def _failed(check: Check, error: CallFailed) -> FactResult:
    """Return the result of a check whose call failed. Raises the error if all other checks would fail too."""
    if error.code in ENDS:
        raise error
    if error.code in LIMITS:
        return FactResult(check.fact, NOT_CHECKABLE, reason=LIMITS[error.code])
    return FactResult(check.fact, CONTRADICTED, "success", error.code)
