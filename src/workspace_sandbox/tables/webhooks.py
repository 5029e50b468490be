"""Webhooks of bases: what each asked for, the payloads that wait for it, and how its pings went."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.tables import times, wire
from workspace_sandbox.tables.changes import Wanted

WEEK = 7 * 86_400.0
DATA_TYPES = {
    "tableData": "data.records:read",
    "tableFields": "schema.bases:read",
    "tableMetadata": "schema.bases:read",
}
"""What can be listened to, and the scope that it needs beside that of webhooks."""

CHANGE_TYPES = ("add", "remove", "update")
SOURCES = (
    "client",
    "publicApi",
    "formSubmission",
    "formPageSubmission",
    "automation",
    "system",
    "sync",
    "anonymousUser",
)
FILTERS = frozenset(
    {
        "dataTypes",
        "recordChangeScope",
        "changeTypes",
        "fromSources",
        "sourceOptions",
        "watchDataInFieldIds",
        "watchSchemasOfFieldIds",
    }
)
INCLUDES = frozenset({"includeCellValuesInFieldIds", "includePreviousCellValues", "includePreviousFieldDefinitions"})


@dataclass(slots=True, kw_only=True)
class Webhook:
    """Somebody who listens to a base; ``owner`` is the OAuth client that it belongs to, empty for a personal token."""

    id: str
    base_id: str
    owner: str
    url: str | None
    specification: Mapping[str, Any]
    secret: bytes
    expires_at: float
    notifies: bool = True
    payloads: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    """Those that can still be read, with when they were made."""

    next_cursor: int = 1
    last_success_at: float | None = None
    last_result: dict[str, Any] | None = None

    def is_enabled(self, now: float) -> bool:
        """Whether it still hears of changes."""
        return now < self.expires_at

    def is_there(self, now: float) -> bool:
        """Whether it can be asked about: for a week after it expired."""
        return now < self.expires_at + WEEK

    def extend(self, now: float) -> None:
        """Let it live for a week from now, unless it expired."""
        if self.is_enabled(now):
            self.expires_at = now + WEEK

    def keep(self, payload: dict[str, Any], now: float) -> None:
        """Add a payload, and drop those that nobody read for a week."""
        self.payloads = [(at, kept) for at, kept in self.payloads if now - at < WEEK]
        self.payloads.append((now, payload))
        self.next_cursor += 1

    def page(self, cursor: int, limit: int, now: float) -> tuple[list[dict[str, Any]], int, bool]:
        """Payloads from *cursor* on, the cursor after them, and whether there are more."""
        kept = [payload for at, payload in self.payloads if now - at < WEEK]
        first = self.next_cursor - len(kept)
        # What is gone is passed over: cursors are never counted anew.
        start = max(cursor, first)
        shown = kept[start - first : start - first + limit]
        after = start + len(shown) if shown else cursor
        return shown, after, bool(shown) and after < self.next_cursor

    def shape(self, now: float) -> dict[str, Any]:
        """As lists show it."""
        success = self.last_success_at
        return {
            "id": self.id,
            "areNotificationsEnabled": self.notifies,
            "cursorForNextPayload": self.next_cursor,
            "isHookEnabled": self.is_enabled(now),
            "lastSuccessfulNotificationTime": None if success is None else times.written(success),
            "notificationUrl": self.url,
            "expirationTime": times.written(self.expires_at),
            "lastNotificationResult": self.last_result,
            "specification": self.specification,
        }

    def hears(self, source: str) -> bool:
        """Whether it listens to what comes from *source*."""
        return source in self._filters.get("fromSources", SOURCES)

    @property
    def wanted(self) -> Wanted:
        """What it asked for."""
        filters, includes = self._filters, self.specification["options"].get("includes") or {}
        scope = filters.get("recordChangeScope")
        shown = includes.get("includeCellValuesInFieldIds") or ()
        return Wanted(
            data_types=frozenset(filters["dataTypes"]),
            change_types=frozenset(filters.get("changeTypes") or CHANGE_TYPES),
            table=scope,
            data_fields=frozenset(filters.get("watchDataInFieldIds") or ()),
            schema_fields=frozenset(filters.get("watchSchemasOfFieldIds") or ()),
            shown_fields=None if shown == "all" else frozenset(shown),
            previous_cells=bool(includes.get("includePreviousCellValues")),
            previous_fields=bool(includes.get("includePreviousFieldDefinitions")),
        )

    @property
    def _filters(self) -> Mapping[str, Any]:
        filters: Mapping[str, Any] = self.specification["options"]["filters"]
        return filters


def specification(given: Any) -> dict[str, Any]:
    """The specification of a request, checked."""
    options = _object(_object(given, {"options"}).get("options"), {"filters", "includes"})
    filters, includes = _object(options.get("filters"), FILTERS), options.get("includes")
    _texts(filters.get("dataTypes"), DATA_TYPES, needed=True)
    for name, known in (("changeTypes", CHANGE_TYPES), ("fromSources", SOURCES)):
        _texts(filters.get(name), known)
    for name in ("watchDataInFieldIds", "watchSchemasOfFieldIds"):
        _texts(filters.get(name))
    scope = filters.get("recordChangeScope")
    if not isinstance(scope, str | None) or (scope and not scope.startswith(("tbl", "viw"))):
        raise wire.invalid_request("recordChangeScope must be the id of a table or view")
    if includes is not None:
        _include(_object(includes, INCLUDES))
    return {"options": dict(options)}


def _include(given: Mapping[str, Any]) -> None:
    fields = given.get("includeCellValuesInFieldIds")
    if fields != "all":
        _texts(fields)
    for name in INCLUDES - {"includeCellValuesInFieldIds"}:
        if not isinstance(given.get(name), bool | None):
            raise wire.invalid_request(f"{name} must be true or false")


def _object(given: Any, known: set[str] | frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not set(given) <= known:
        raise wire.invalid_request(f"The specification of a webhook has {', '.join(sorted(known))}")
    return given


def _texts(given: Any, known: Mapping[str, str] | tuple[str, ...] = (), *, needed: bool = False) -> None:
    if given is None and not needed:
        return
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        raise wire.invalid_request("The filters of a webhook are lists of texts")
    if known and not set(given) <= set(known):
        raise wire.invalid_request(f"A filter of a webhook takes {', '.join(known)}")
