"""Invalid queries and bodies, and the errors that report them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from pydantic_core import to_json

from connector_gateway.core.calls.arguments import (
    KEY_IN_HEADER,
    MAX_DEPTH,
    MAX_QUERY,
    MAX_VALUES,
    Arguments,
    Body,
    decode,
)
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.calls.response_envelope import error_payload
from connector_gateway.kit.errors import InvalidJson, InvalidParameters, PayloadTooLarge
from connector_gateway.kit.models import IdempotencyKey, Identifier, Params, UtcDatetime
from harness.requirement import requirement


class Order(Params):
    """An order."""

    order_id: Identifier | None = None
    name: Annotated[str, Field(max_length=20)]
    count: Annotated[int, Field(ge=1, le=100)] = 1
    express: bool = False
    colours: list[str] = Field(default_factory=list, max_length=3)
    size: Literal["small", "large"] = "small"
    due: UtcDatetime | None = None
    extra: dict[str, Any] | None = None
    sender: str | None = Field(default=None, alias="from")
    idempotency_key: IdempotencyKey | None = None


class Address(Params):
    """A nested object."""

    street: str
    town: str = "here"


class ParamsWithSecret(Params):
    """Parameters with a secret."""

    token: dict[str, str] = Field(repr=False)


def from_query(*query: tuple[str, str], path: Mapping[str, str] | None = None) -> Order:
    return Arguments(path=path or {}, query=[("connection_id", "conn_1"), *query]).read(Order)


def from_text(text: str | bytes, *query: tuple[str, str], path: Mapping[str, str] | None = None) -> Order:
    body = text if isinstance(text, bytes) else text.encode()
    return Arguments(path=path or {}, query=query, body=Body(body)).read(Order)


def from_body(*query: tuple[str, str], path: Mapping[str, str] | None = None, **values: Any) -> Order:
    return from_text(to_json({"connection_id": "conn_1", "name": "n"} | values), *query, path=path)


def collect_violations(read: Any, *arguments: Any, **more: Any) -> Sequence[Mapping[str, Any]]:
    with pytest.raises(InvalidParameters) as raised:
        read(*arguments, **more)
    payload = error_payload(raised.value)
    to_json(payload)
    details = [dict(detail) for detail in payload["details"]]
    assert {"invalid_parameters"} == {detail.pop("code") for detail in details}
    return details


def invalid_parameters(read: Any, *arguments: Any, **more: Any) -> list[str]:
    """Return the invalid parameters."""
    return list(dict.fromkeys(violation["parameter"] for violation in collect_violations(read, *arguments, **more)))


# Text


@requirement("common-19", "common-22")
@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "42", 42),
        ("express", "true", True),
        ("express", "1", True),
        ("express", "false", False),
        ("express", "0", False),
        ("colours", "red,green", ["red", "green"]),
        ("colours", "red", ["red"]),
        ("size", "large", "large"),
        ("from", "me", "me"),
    ],
)
def test_query_text_is_parsed_by_parameter_type(name: str, text: str, value: Any) -> None:
    order = from_query(("name", "n"), (name, text))

    assert value == order.model_dump(by_alias=True)[name]


@requirement("common-22")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("count", "5.0"),
        ("count", "five"),
        ("count", ""),
        ("count", "0"),
        ("count", "101"),
        ("count", "9" * 18),
        ("count", "9" * 5000),
        ("count", "٣"),
        ("count", " 5"),
        ("express", "yes"),
        ("express", "TRUE"),
        ("express", ""),
        ("colours", "a,b,c,d"),
        ("size", "huge"),
        ("size", ""),
        ("due", "tomorrow"),
        ("due", "2026-13-01"),
        ("due", "9999-12-31T23:59:59-23:59"),
        ("name", "n" * 21),
    ],
)
def test_invalid_query_text_is_rejected_with_the_parameter_name(name: str, text: str) -> None:
    params = {"name": "n"} | {name: text}

    assert [name] == invalid_parameters(from_query, *params.items())


@requirement("common-27")
def test_a_repeated_query_parameter_is_rejected() -> None:
    assert ["name"] == invalid_parameters(from_query, ("name", "a"), ("name", "a"))


def test_a_repeated_connection_in_a_query_is_rejected() -> None:
    assert ["connection_id"] == invalid_parameters(from_query, ("name", "a"), ("connection_id", "conn_2"))


@requirement("common-19")
def test_a_path_parameter_is_rejected_in_the_query() -> None:
    assert ["order_id"] == invalid_parameters(from_query, ("name", "n"), ("order_id", "a"), path={"order_id": "b"})


@pytest.mark.parametrize("order_id", ["..", "%2e%2e", "a/b", "a?b", "a#b", " ", "", "a b", "ä", "-", "a" * 201])
def test_an_identifier_with_url_syntax_is_rejected(order_id: str) -> None:
    assert ["order_id"] == invalid_parameters(from_query, ("name", "n"), path={"order_id": order_id})


def test_invalid_utf_8_is_rejected_with_the_parameter_name() -> None:
    assert ["name"] == invalid_parameters(from_query, ("name", "caf\udce9"))


def test_a_parameter_name_with_invalid_utf_8_is_rejected_with_an_encodable_error() -> None:
    strange = ("caf\udce9", "x")

    assert ["query"] == invalid_parameters(from_query, ("name", "n"), strange, strange)
    assert ["query"] == invalid_parameters(from_body, strange, strange)


# Bodies


@requirement("common-19", "common-23")
def test_body_values_are_not_converted() -> None:
    order = from_body(count=3, express=True, colours=["red"], due="2026-11-02T10:00:00+01:00")

    assert (3, True, ["red"]) == (order.count, order.express, order.colours)
    assert order.due is not None
    assert "2026-11-02T09:00:00+00:00" == order.due.isoformat()


@requirement("common-23")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", None),
        ("name", 5),
        ("name", ["n"]),
        ("name", {"n": 1}),
        ("name", True),
        ("name", "n" * 21),
        ("count", "5"),
        ("count", 5.0),
        ("count", 1.5),
        ("count", True),
        ("count", 10**30),
        ("express", "true"),
        ("express", 1),
        ("colours", "red"),
        ("colours", [1]),
        ("colours", ["a"] * 4),
        ("colours", {"a": 1}),
        ("size", "huge"),
        ("size", 1),
        ("due", 5),
        ("due", ""),
        ("due", "0000-01-01"),
        ("extra", []),
        ("idempotency_key", ""),
        ("idempotency_key", "k" * 1001),
        ("idempotency_key", 5),
    ],
)
def test_a_value_of_another_type_is_rejected_with_the_parameter_name(name: str, value: Any) -> None:
    assert name == invalid_parameters(from_body, **{name: value})[0].partition(".")[0]


def test_allowed_values_are_reported() -> None:
    (violation,) = collect_violations(from_body, size="huge")

    assert ["small", "large"] == violation["allowed"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("count", "5"), ("count", 500), ("express", "yes"), ("size", "huge"), ("extra", ["a", 1, None]), ("due", 2.5)],
)
def test_an_invalid_value_is_reported_unchanged(name: str, value: Any) -> None:
    (violation,) = collect_violations(from_body, **{name: value})

    assert (name, value, type(value)) == (violation["parameter"], violation["value"], type(violation["value"]))


def test_an_unstorable_text_is_reported_with_an_encodable_error() -> None:
    (violation,) = collect_violations(from_text, '{"connection_id": "c", "name": "a\\ud800b"}')

    assert "a?b" == violation["value"]


@requirement("common-28")
@pytest.mark.parametrize("name", ["order_id", "count", "express", "colours", "size", "due", "from", "idempotency_key"])
def test_null_for_an_optional_parameter_equals_its_omission(name: str) -> None:
    assert from_body() == from_body(**{name: None})


@requirement("common-28")
def test_null_for_a_required_parameter_is_rejected() -> None:
    assert ["name"] == invalid_parameters(from_body, name=None)


def test_null_in_a_free_form_object_is_retained() -> None:
    assert {"a": None} == from_body(extra={"a": None}).extra


def test_null_in_a_declared_object_equals_omission() -> None:
    assert Address(street="s") == Address.model_validate({"street": "s", "town": None})


@requirement("common-31")
def test_twenty_violations_are_listed_and_the_others_counted() -> None:
    *listed, more = collect_violations(from_body, **{f"unknown_{number}": 1 for number in range(33)})

    assert [f"unknown_{number}" for number in range(20)] == [violation["parameter"] for violation in listed]
    assert {"place": "request", "message": "There are 13 more errors.", "more": 13} == more


def test_exactly_twenty_violations_are_listed_without_a_count() -> None:
    assert 20 == len(collect_violations(from_body, **{f"unknown_{number}": 1 for number in range(20)}))


@requirement("common-31")
@pytest.mark.parametrize(
    "params",
    [
        {"n" * 100_000: 1},
        {"size": "x" * 100_000},
        {"count": ["x" * 100_000] * 50},
        {"count": {"x" * 300: "y" * 300, "z": [["w" * 300]]}},
        {"extra": {"a" * 1000: {"b" * 1000: "\x00" * 1000}}},
    ],
)
def test_reported_texts_and_paths_have_at_most_two_hundred_characters(params: Any) -> None:
    assert 200 == max(map(len, iterate_texts(collect_violations(from_body, **params))))


@requirement("common-31")
def test_an_error_about_large_values_is_small() -> None:
    huge = {"k" * 150 + str(number): ["v" * 180] * 100 for number in range(10)}

    violations = collect_violations(
        from_body, **dict.fromkeys(("count", "express", "colours", "size", "due", "name", "from"), huge)
    )

    assert 7 == len(violations)
    assert len(to_json(violations)) < 64 * 1024


def test_an_invalid_secret_is_not_repeated() -> None:
    violations = collect_violations(
        Arguments(path={}, body=Body(b'{"token": {"secret": 5}}')).read, ParamsWithSecret, connection=False
    )

    assert [{"parameter": "token.secret", "message": "Input should be a valid string"}] == list(violations)


def iterate_texts(value: Any) -> Iterator[str]:
    """Return every text in a JSON value, including names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        yield from (text for item in value.values() for text in iterate_texts(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in iterate_texts(item))


@requirement("common-29")
def test_the_header_key_is_checked_together_with_all_parameters() -> None:
    body = Body(b'{"connection_id": "c", "count": "5"}')

    arguments = Arguments(path={}, body=body, key=NormalizedKey.parse("k" * 1001))

    assert ["idempotency_key", "name", "count"] == invalid_parameters(arguments.read, Order, keyed=True)


@requirement("common-29")
def test_all_violations_are_reported_together() -> None:
    text = '{"count": "5", "colour": 1, "size": "huge", "extra": {"a": "\\u0000"}}'

    assert ["connection_id", "extra.a", "name", "count", "size", "colour"] == invalid_parameters(
        from_text, text, ("x", "y")
    )[1:]


@requirement("common-26")
def test_an_unknown_parameter_is_rejected_with_the_allowed_names() -> None:
    (violation,) = collect_violations(from_body, nmae="n")

    assert ("nmae", "Unknown parameter") == (violation["parameter"], violation["message"])
    assert "name" in violation["allowed"]
    assert "connection_id" in violation["allowed"]


def test_a_key_in_a_body_that_has_no_parameter_for_it_belongs_in_the_header() -> None:
    arguments = Arguments(path={}, body=Body(b'{"connection_id": "c", "token": {}, "idempotency_key": "k"}'))
    (violation,) = collect_violations(arguments.read, ParamsWithSecret, keyed=True)

    assert ("idempotency_key", KEY_IN_HEADER) == (violation["parameter"], violation["message"])


def test_a_missing_parameter_is_named() -> None:
    (violation,) = collect_violations(from_text, '{"connection_id": "conn_1"}')

    assert {"parameter": "name", "message": "Field required"} == violation


def test_a_parameter_with_an_alias_is_reported_by_its_alias() -> None:
    assert "me" == from_text('{"connection_id": "c", "name": "n", "from": "me"}').sender
    assert ["sender"] == invalid_parameters(from_body, sender="me")


@requirement("common-32")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        '{"name": "n",}',
        '{"name": "n"} {}',
        '{"name": NaN}',
        '{"name": Infinity}',
        '{"name": -Infinity}',
        '{"name": "a", "name": "b"}',
        '{"extra": {"a": 1, "a": 2}}',
        '{"\\ud800": 1, "\\ud800": 2}',
        '{"name": "a\nb"}',
        '{"count": ' + "9" * 5000 + "}",
        '{"extra": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"count": 01}',
        "\ufeff{}",
        '{"count": 1E+99999999999999999999}',
    ],
)
def test_invalid_json_is_rejected(text: str) -> None:
    with pytest.raises(InvalidJson) as raised:
        from_text(text)

    assert raised.value.message.endswith(".")
    assert len(raised.value.message) < 300
    assert to_json(raised.value.message)


@pytest.mark.parametrize("text", [b"\xff\xfe", b'{"name": "\xe9"}', b'{"name": "\xed\xa0\x80"}', b"\x00"])
def test_invalid_utf_8_is_invalid_json(text: bytes) -> None:
    with pytest.raises(InvalidJson):
        from_text(text)


@requirement("common-33")
@pytest.mark.parametrize("text", ["[]", '"text"', "5", "null", "true"])
def test_json_other_than_an_object_is_rejected(text: str) -> None:
    assert ["body"] == invalid_parameters(from_text, text)


@requirement("common-25")
@pytest.mark.parametrize("character", ["\x00", "\x08", "\x1b", "\x7f", "\ud800"])
def test_unstorable_characters_are_rejected_at_any_depth(character: str) -> None:
    escaped = f"\\u{ord(character):04x}"
    text = f'{{"connection_id": "c", "name": "a{escaped}", "extra": {{"list": [{{"deep": "{escaped}"}}]}}}}'

    assert ["name", "extra.list.0.deep"] == invalid_parameters(from_text, text)


@requirement("common-25")
@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800"])
def test_names_with_unstorable_characters_are_rejected_with_an_encodable_error(character: str) -> None:
    escaped = f"\\u{ord(character):04x}"
    text = f'{{"connection_id": "c", "name": "n", "{escaped}": 1, "extra": {{"{escaped}": 1}}}}'

    assert {"body", "extra"} <= set(invalid_parameters(from_text, text))


def test_tabs_line_ends_and_all_scripts_are_retained() -> None:
    name = "a\tb\nc\rd é 会 👩‍👩‍👧 \u2028"

    assert name == from_body(name=name).name


@requirement("common-25")
@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 500])
def test_deep_nesting_is_rejected(depth: int) -> None:
    text = '{"connection_id": "c", "name": "n", "extra": {"a": ' + "[" * depth + "]" * depth + "}}"

    assert invalid_parameters(from_text, text)[0].startswith("extra.a.0")


@requirement("common-25")
@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e999999999", "1e-999999999", "9" * 1000])
def test_numbers_out_of_range_are_rejected_with_the_parameter_name(number: str) -> None:
    text = f'{{"connection_id": "c", "name": "n", "extra": {{"a": [{number}]}}}}'

    assert ["extra.a.0"] == invalid_parameters(from_text, text)


@requirement("common-24")
@pytest.mark.parametrize("number", ["1e308", "5e-324", "0.1", "12345678901234567890.123456789", "0e999"])
def test_numbers_stay_exact(number: str) -> None:
    order = from_text(f'{{"connection_id": "c", "name": "n", "extra": {{"a": {number}}}}}')

    assert order.extra is not None
    assert decode(number.encode()) == order.extra["a"]


def test_an_unreadable_body_is_rejected_when_it_is_needed() -> None:
    arguments = Arguments(path={}, body=Body(error=PayloadTooLarge("Too large.")))

    with pytest.raises(PayloadTooLarge):
        arguments.read(Order)


# The connection


@requirement("common-20")
def test_the_connection_can_be_in_the_query_of_a_request_with_a_body() -> None:
    assert "n" == from_text('{"name": "n"}', ("connection_id", "conn_1")).name


def test_a_connection_with_equal_values_in_query_and_body_is_accepted() -> None:
    assert "n" == from_body(("connection_id", "conn_1")).name


@requirement("common-21")
def test_a_connection_with_different_values_in_query_and_body_is_rejected() -> None:
    assert ["connection_id"] == invalid_parameters(from_body, ("connection_id", "conn_2"))


@pytest.mark.parametrize("value", ["5", "null", '""', "[]", "true", '"\\u0000"', '"\\ud800"'])
def test_an_invalid_connection_identifier_is_rejected(value: str) -> None:
    assert ["connection_id"] == invalid_parameters(from_text, f'{{"connection_id": {value}, "name": "n"}}')


@requirement("common-19")
def test_other_query_parameters_of_a_body_request_are_rejected() -> None:
    assert ["name"] == invalid_parameters(from_body, ("name", "n"))


@requirement("common-27")
def test_a_path_parameter_is_rejected_in_the_body() -> None:
    assert ["order_id"] == invalid_parameters(from_body, path={"order_id": "a"}, order_id="a")


@pytest.mark.parametrize(
    ("query", "text", "named"),
    [
        ((("connection_id", "conn_1"),), b"", "conn_1"),
        ((), b'{"connection_id": "conn_2"}', "conn_2"),
        ((("connection_id", "conn_1"),), b'{"connection_id": "conn_2"}', "conn_1"),
        ((), b"{", None),
        ((), b"[]", None),
        ((), b'{"connection_id": 5}', None),
        ((), b'{"connection_id": "\\u0000"}', None),
        ((("connection_id", ""),), b"", None),
    ],
)
def test_the_connection_is_recorded_even_if_other_parameters_are_invalid(
    query: Sequence[tuple[str, str]], text: bytes, named: str | None
) -> None:
    assert named == Arguments(path={}, query=query, body=Body(text)).connection_id


@pytest.mark.parametrize("key", ["{}", "[]", "5"])
def test_a_body_key_of_another_type_is_rejected_despite_a_header_key(key: str) -> None:
    text = f'{{"connection_id": "c", "name": "n", "idempotency_key": {key}}}'
    arguments = Arguments(path={}, body=Body(text.encode()), key=NormalizedKey.parse("k"))

    assert ["idempotency_key"] == invalid_parameters(arguments.read, Order, keyed=True)


# Costs


def build_body(*members: str) -> bytes:
    return "{{{}}}".format(",".join(members)).encode()


@requirement("common-180")
@pytest.mark.parametrize(
    "value",
    [
        ",".join(["1"] * MAX_VALUES),
        ",".join(["1.5"] * MAX_VALUES),
        ",".join(["[]"] * MAX_VALUES),
        ",".join(["{}"] * MAX_VALUES),
        ",".join(["[1]"] * (MAX_VALUES // 2 + 1)),
        ",".join(['{"a":1}'] * (MAX_VALUES // 2 + 1)),
    ],
)
def test_a_body_with_too_many_values_is_rejected(value: str) -> None:
    error = Body(f'{{"extra": [{value}]}}'.encode()).error

    assert isinstance(error, PayloadTooLarge)
    assert [{"max_values": MAX_VALUES}] == error.details


def test_commas_in_texts_do_not_count_as_values() -> None:
    text = "," * (2 * MAX_VALUES)

    assert {"name": text} == Body(build_body(f'"name": "{text}"')).value
    assert text == Body(f'"{text}"'.encode()).value


def test_the_maximum_number_of_values_is_accepted() -> None:
    values = [1] * (MAX_VALUES - 2)

    assert {"extra": values} == Body(to_json({"extra": values})).value


@requirement("common-180")
def test_duplicate_names_are_detected_in_linear_time() -> None:
    def measure(names: int) -> float:
        body = build_body(*[f'"n{number}":{{}}' for number in range(names)], f'"n{names - 1}":1')
        started = time.thread_time()
        with pytest.raises(InvalidJson, match="occurs twice"):
            decode(body)
        return time.thread_time() - started

    # The minimum of several runs, since garbage may be collected in between.
    long, short = (min(measure(names) for _ in range(3)) for names in (4_000, 1_000))

    assert long < 12 * max(short, 0.0005)


@requirement("common-167")
def test_a_query_with_too_many_parameters_is_rejected_with_the_limit() -> None:
    first, *_ = collect_violations(from_query, *[("name", "n")] * (MAX_QUERY + 1))

    assert {"parameter": "query", "message": "Has more than 200 parameters"} == first


@requirement("common-31")
@pytest.mark.parametrize("text", ["1" * 4299, "-1" + "0" * 300, "-0." + "1" * 300])
@pytest.mark.parametrize("shape", ["{}", "[{}]", '{{"x":{}}}', "[[{}]]"])
def test_an_error_about_a_long_number_is_small(text: str, shape: str) -> None:
    value = shape.format(text)
    values = f"[{','.join([value] * 400)}]"
    body = build_body(
        f'"colours":{values}', f'"name":{values}', f'"count":{value}', f'"extra":{value}', f'"from":{values}'
    )

    assert len(to_json(collect_violations(from_text, body))) < 64 * 1024


@requirement("common-31")
@pytest.mark.parametrize("text", ["\\u0001", "\\u001f", '\\"', "é", "\U0001f600"])
def test_an_error_about_a_long_text_is_small(text: str) -> None:
    value = "[{}]".format(",".join([f'"{text * 300}"'] * 40))
    body = build_body(f'"colours":[{",".join([value] * 40)}]', f'"name":{value}')

    assert len(to_json(collect_violations(from_text, body))) < 64 * 1024
