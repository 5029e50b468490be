"""Webhooks of bases: their specification, pending payloads and ping status."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.webhook_payloads import ChangeFilter

WEEK = 7 * 86_400.0
DATA_TYPES = {
    "tableData": "data.records:read",
    "tableFields": "schema.bases:read",
    "tableMetadata": "schema.bases:read",
}
"""The data types of webhooks, with the scope that each requires besides that of webhooks."""

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
    """A webhook of a base. ``owner`` is its OAuth client, empty for a personal token."""

    id: str
    base_id: str
    owner: str
    url: str | None
    specification: Mapping[str, Any]
    secret: bytes
    expires_at: float
    pings_enabled: bool = True
    payloads: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    """The readable payloads with their creation times."""

    next_cursor: int = 1
    last_success_at: float | None = None
    last_result: dict[str, Any] | None = None

    def is_enabled(self, now: float) -> bool:
        """Return True if the webhook has not expired."""
        return now < self.expires_at

    def is_retained(self, now: float) -> bool:
        """Return True if the webhook can still be queried, which is possible for a week after it expired."""
        return now < self.expires_at + WEEK

    def extend(self, now: float) -> None:
        """Extend its life to a week from now, unless it has expired."""
        if self.is_enabled(now):
            self.expires_at = now + WEEK

    def add_payload(self, payload: dict[str, Any], now: float) -> None:
        """Add a payload, and drop payloads older than a week."""
        self.payloads = [(created_at, stored) for created_at, stored in self.payloads if now - created_at < WEEK]
        self.payloads.append((now, payload))
        self.next_cursor += 1

    def page(self, cursor: int, limit: int, now: float) -> tuple[list[dict[str, Any]], int, bool]:
        """Return payloads from *cursor* on, the next cursor, and whether there are more."""
        stored = [payload for created_at, payload in self.payloads if now - created_at < WEEK]
        first = self.next_cursor - len(stored)
        # Expired payloads are skipped. Cursors are never renumbered.
        start = max(cursor, first)
        visible = stored[start - first : start - first + limit]
        next_cursor = start + len(visible) if visible else cursor
        return visible, next_cursor, bool(visible) and next_cursor < self.next_cursor

    def to_json(self, now: float) -> dict[str, Any]:
        """Return the webhook in the format of lists."""
        success = self.last_success_at
        return {
            "id": self.id,
            "areNotificationsEnabled": self.pings_enabled,
            "cursorForNextPayload": self.next_cursor,
            "isHookEnabled": self.is_enabled(now),
            "lastSuccessfulNotificationTime": None if success is None else dates.format_time(success),
            "notificationUrl": self.url,
            "expirationTime": dates.format_time(self.expires_at),
            "lastNotificationResult": self.last_result,
            "specification": self.specification,
        }

    def listens_to(self, source: str) -> bool:
        """Return True if the webhook listens to changes from *source*."""
        return source in self._filters.get("fromSources", SOURCES)

    @property
    def change_filter(self) -> ChangeFilter:
        """The requested changes."""
        filters, includes = self._filters, self.specification["options"].get("includes") or {}
        scope = filters.get("recordChangeScope")
        included = includes.get("includeCellValuesInFieldIds") or ()
        return ChangeFilter(
            data_types=frozenset(filters["dataTypes"]),
            change_types=frozenset(filters.get("changeTypes") or CHANGE_TYPES),
            table=scope,
            data_fields=frozenset(filters.get("watchDataInFieldIds") or ()),
            schema_fields=frozenset(filters.get("watchSchemasOfFieldIds") or ()),
            included_fields=None if included == "all" else frozenset(included),
            previous_cells=bool(includes.get("includePreviousCellValues")),
            previous_fields=bool(includes.get("includePreviousFieldDefinitions")),
        )

    @property
    def _filters(self) -> Mapping[str, Any]:
        filters: Mapping[str, Any] = self.specification["options"]["filters"]
        return filters


def parse_specification(value: Any) -> dict[str, Any]:
    """Validate the specification in a request."""
    options = _check_object(_check_object(value, {"options"}).get("options"), {"filters", "includes"})
    filters, includes = _check_object(options.get("filters"), FILTERS), options.get("includes")
    _check_texts(filters.get("dataTypes"), DATA_TYPES, needed=True)
    for name, allowed in (("changeTypes", CHANGE_TYPES), ("fromSources", SOURCES)):
        _check_texts(filters.get(name), allowed)
    for name in ("watchDataInFieldIds", "watchSchemasOfFieldIds"):
        _check_texts(filters.get(name))
    scope = filters.get("recordChangeScope")
    if not isinstance(scope, str | None) or (scope and not scope.startswith(("tbl", "viw"))):
        raise error_responses.invalid_request("recordChangeScope must be the id of a table or view")
    if includes is not None:
        _check_includes(_check_object(includes, INCLUDES))
    return {"options": dict(options)}


def _check_includes(includes: Mapping[str, Any]) -> None:
    fields = includes.get("includeCellValuesInFieldIds")
    if fields != "all":
        _check_texts(fields)
    for name in INCLUDES - {"includeCellValuesInFieldIds"}:
        if not isinstance(includes.get(name), bool | None):
            raise error_responses.invalid_request(f"{name} must be true or false")


def _check_object(value: Any, allowed: set[str] | frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not set(value) <= allowed:
        raise error_responses.invalid_request(f"The specification of a webhook has {', '.join(sorted(allowed))}")
    return value


def _check_texts(value: Any, allowed: Mapping[str, str] | tuple[str, ...] = (), *, needed: bool = False) -> None:
    if value is None and not needed:
        return
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise error_responses.invalid_request("The filters of a webhook are lists of texts")
    if allowed and not set(value) <= set(allowed):
        raise error_responses.invalid_request(f"A filter of a webhook takes {', '.join(allowed)}")
