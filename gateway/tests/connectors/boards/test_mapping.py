"""Conversions between the vendor's JSON and public shapes, without HTTP."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from connector_gateway.connectors.boards import mapping, vendor_models
from connector_gateway.connectors.boards.models import CreateCard
from connector_gateway.kit.vendor_model import convert
from gateway.tests.connectors.boards.card_client import STEPS, UNKNOWN

SOME_DAY = "2026-11-20T10:00:00.000Z"
LABELS = [
    vendor_models.Label(id=number, name=name) for number, name in (("1", "bug"), ("2", ""), ("3", "bug"), ("4", "Bug"))
]


def build_params(**more: Any) -> CreateCard:
    return CreateCard.model_validate({"list_id": UNKNOWN, "name": "Fix door"} | more)


def build_checklist(*items: tuple[str, float]) -> vendor_models.Checklist:
    check_items = [vendor_models.CheckItem(id=name, name=name, pos=pos) for name, pos in items]
    return vendor_models.Checklist(id="c", name="QA", check_items=check_items)


def build_card(**more: Any) -> vendor_models.Card:
    fields: dict[str, Any] = {
        "id": "c",
        "name": "Fix door",
        "desc": "",
        "due": None,
        "labels": [],
        "idBoard": "b",
        "idList": "l",
    }
    return convert(fields | {"shortUrl": "", "dateLastActivity": SOME_DAY} | more, vendor_models.Card)


@pytest.mark.parametrize(
    ("text", "identifier"),
    [(UNKNOWN, UNKNOWN), (UNKNOWN.upper(), UNKNOWN), ("Ab12Cd34", None), ("", None), (f"{UNKNOWN}\n", None)],
)
def test_only_full_identifiers_are_recognised(text: str, identifier: str | None) -> None:
    assert mapping.full_identifier(text) == identifier


@pytest.mark.parametrize(
    ("names", "ids"), [([], []), (["bug"], ["1"]), (["Bug", "bug", "Bug"], ["4", "1"])], ids=["none", "first", "once"]
)
def test_labels_match_by_exact_name(names: list[str], ids: list[str]) -> None:
    assert mapping.label_ids(LABELS, names) == ids


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"desc": "", "labels": ["bug"]}, {"desc": "", "idLabels": ["1"]}),
        ({"due": "2026-12-01T10:00:00+02:00"}, {"due": "2026-12-01T08:00:00.000Z"}),
    ],
)
def test_only_specified_fields_are_sent(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    params = build_params(**fields)

    body = mapping.new_card(UNKNOWN, params, mapping.label_ids(LABELS, params.labels))

    assert body == {"idList": UNKNOWN, "name": "Fix door", "pos": "bottom"} | expected


@pytest.mark.parametrize(
    ("requested", "actual", "same"),
    [
        ({}, {}, True),
        ({"name": "Fix door "}, {}, True),
        ({"desc": "now\n"}, {"desc": "now"}, True),
        ({"desc": "now"}, {"desc": "later"}, False),
        ({"due": "2026-12-01"}, {"due": "2026-12-01T00:00:00.000Z"}, True),
        ({"due": "2026-12-01"}, {"due": None}, False),
        ({}, {"due": "2026-12-01T00:00:00.000Z"}, False),
        ({"labels": ["bug"]}, {"labels": [{"id": "l-bug", "name": ""}]}, True),
        ({"labels": ["bug"]}, {"labels": [{"id": "l-bug", "name": ""}, {"id": "l-auto", "name": ""}]}, False),
        ({}, {"labels": [{"id": "l-bug", "name": ""}]}, False),
        ({}, {"desc": "by hand"}, False),
        ({"labels": ["bug"]}, {"labels": []}, False),
        ({}, {"name": "Fix window"}, False),
    ],
)
def test_card_is_recognised_by_the_requested_fields(
    requested: dict[str, Any], actual: dict[str, Any], *, same: bool
) -> None:
    body = mapping.new_card("5" * 24, build_params(**requested), [f"l-{name}" for name in requested.get("labels", [])])

    assert mapping.is_card(build_card(**actual), body) is same


@pytest.mark.parametrize(
    ("member", "creator", "app_id", "ours"),
    [
        ("m", {"id": "a"}, None, True),
        ("m", {"id": "a"}, "a", True),
        ("m", {"id": "b"}, "a", False),
        ("m", None, "a", False),
        ("m", None, None, False),
        ("n", {"id": "a"}, "a", False),
    ],
)
def test_action_is_ours_by_member_and_app(
    member: str, creator: dict[str, str] | None, app_id: str | None, *, ours: bool
) -> None:
    action = {"id": "1", "date": SOME_DAY, "data": {}, "idMemberCreator": member, "appCreator": creator}

    assert mapping.created_by(convert(action, vendor_models.Action), "m", app_id) is ours


def test_item_positions_encode_the_intended_number_of_items() -> None:
    assert [16_385] == mapping.positions(1)
    assert [16_387, 32_774, 49_161] == mapping.positions(3)
    assert 100 == len(set(mapping.positions(100)))


@pytest.mark.parametrize(
    ("items", "unfinished"),
    [
        ([], True),
        ([("Draft", 16_389)], True),
        ([("Draft", 16_389.0), ("Ask", 32_778)], True),
        ([("Ask", 32_778), ("Draft", 16_389)], True),
        ([("Draft", 16_384)], False),
        ([("Draft", 16_388)], False),
        ([("Ask", 16_389)], False),
        ([("Draft", 16_389), ("Ask", 32_778), ("Mine", 40_000)], False),
        (list(zip(STEPS, [16_389, 32_778, 49_167, 65_556, 81_945], strict=True)), False),
    ],
)
def test_unfinished_checklist_is_recognised_by_its_first_items(
    items: list[tuple[str, float]], *, unfinished: bool
) -> None:
    assert mapping.is_unfinished(build_checklist(*items), STEPS) is unfinished


@pytest.mark.parametrize(
    ("items", "missing"),
    [
        ([], [0, 1, 2, 3, 4]),
        ([("Draft", 1), ("Ask", 2)], [2, 3, 4]),
        ([("Draft", 1), ("Draft", 2), ("Mine", 3)], [1, 3, 4]),
        ([(name, 1) for name in STEPS], []),
        ([(f"{name} ", 1) for name in STEPS], []),
    ],
)
def test_missing_items_account_for_equal_names(items: list[tuple[str, float]], missing: list[int]) -> None:
    missing_items = mapping.missing_items(mapping.stored_checklist(build_checklist(*items)), STEPS)

    assert missing_items == [(index, STEPS[index], mapping.positions(5)[index]) for index in missing]


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        (datetime(2026, 12, 1, 9, tzinfo=timezone(timedelta(hours=2))), "2026-12-01T07:00:00.000Z"),
        (datetime(2026, 12, 1, 9, 0, 0, 123_999, tzinfo=UTC), "2026-12-01T09:00:00.123Z"),
    ],
)
def test_timestamp_is_formatted_like_the_vendors(timestamp: datetime, text: str) -> None:
    assert mapping.to_timestamp(timestamp) == text
