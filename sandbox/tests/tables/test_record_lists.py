"""The Airtable emulator: lists and records."""

from urllib.parse import quote

import pytest

from sandbox.tests.tables.airtable_client import AirtableClient


def test_tables_are_found_by_id_and_encoded_name(airtable: AirtableClient) -> None:
    base, schema = airtable.examples["base_id"], airtable.schema("Companies / Konten")
    by_id = airtable.get(f"/v0/{base}/{schema['id']}")

    assert by_id == airtable.get(f"/v0/{base}/Companies%20%2F%20Konten")
    assert by_id == airtable.get(f"/v0/{base}/Companies%20%2f%20Konten/?")


def test_names_with_question_marks_and_quotes_are_found(airtable: AirtableClient) -> None:
    name = 'Bookings? "2026"'
    path = f"/v0/{airtable.examples['other_base_id']}/{quote(name, safe='')}"

    assert airtable.get(path)["records"]


def test_page_size_is_a_hundred_by_default(airtable: AirtableClient) -> None:
    assert 100 == len(airtable.get(airtable.leads)["records"])
    assert 7 == len(airtable.get(airtable.leads, pageSize=7)["records"])


def test_max_records_counts_over_all_pages(airtable: AirtableClient) -> None:
    assert 130 == len(airtable.list_all(airtable.leads, maxRecords=130, **{"fields[]": "Name"}))


def test_expired_offset_is_rejected_without_a_message(airtable: AirtableClient) -> None:
    offset = airtable.get(airtable.leads)["offset"]
    airtable.clock.at += 299
    again = airtable.get(airtable.leads, offset=offset)
    airtable.clock.at += 301
    response = airtable.request("GET", airtable.leads, params={"offset": offset})

    assert 100 == len(again["records"])
    assert 422 == response.status_code
    assert {"error": {"type": "LIST_RECORDS_ITERATOR_NOT_AVAILABLE"}} == response.json()


def test_offset_lifetime_is_set_by_a_knob(airtable: AirtableClient) -> None:
    airtable.knobs(offset_seconds=5)
    offset = airtable.get(airtable.leads)["offset"]
    airtable.clock.at += 6

    rejection = airtable.rejection("GET", f"{airtable.leads}?offset={quote(offset)}")

    assert (422, "LIST_RECORDS_ITERATOR_NOT_AVAILABLE") == rejection


def test_offset_of_another_table_is_rejected(airtable: AirtableClient) -> None:
    offset = airtable.get(airtable.leads)["offset"]
    path = f"/v0/{airtable.examples['base_id']}/Companies%20%2F%20Konten?offset={quote(offset)}"

    assert (422, "LIST_RECORDS_ITERATOR_NOT_AVAILABLE") == airtable.rejection("GET", path)


def test_view_filters_and_sorts_but_hides_no_fields(airtable: AirtableClient) -> None:
    rows = [record["fields"] for record in airtable.list_all(airtable.leads, view="Open leads")]
    values = [row.get("Value", -1) for row in rows]

    assert {"Open"} == {row["Stage"] for row in rows}
    assert sorted(values, reverse=True) == values
    assert any("Budget/Jahr €" in row for row in rows)


def test_view_is_found_by_name_or_id(airtable: AirtableClient) -> None:
    ids = {view["name"]: view["id"] for view in airtable.schema()["views"]}

    assert (
        airtable.get(airtable.leads, view="Hot / heiß")["records"]
        == airtable.get(airtable.leads, view=ids["Hot / heiß"])["records"]
    )
    assert {"records": []} == airtable.get(airtable.leads, view="Nothing yet")


def test_sort_overrides_the_order_of_the_view(airtable: AirtableClient) -> None:
    sort = {
        "sort[0][field]": "Stage",
        "sort[0][direction]": "desc",
        "sort[1][field]": "Name",
        "fields[]": ["Name", "Stage"],
    }
    rows = [record["fields"] for record in airtable.list_all(airtable.leads, view="Hot / heiß", **sort)]
    stages = ["Open", "Contacted", "Offer", "Won", "Lost"]

    assert sorted(rows, key=lambda row: (-stages.index(row["Stage"]), row["Name"].casefold())) == rows


@pytest.mark.parametrize(
    ("view", "kind"), [("Nowhere", "VIEW_NAME_NOT_FOUND"), ("viwNowhere0000000", "VIEW_ID_NOT_FOUND")]
)
def test_unknown_views_are_rejected(airtable: AirtableClient, view: str, kind: str) -> None:
    assert (422, kind) == airtable.rejection("GET", f"{airtable.leads}?view={view}")


def test_only_requested_fields_are_returned(airtable: AirtableClient) -> None:
    field = airtable.field("Stage")["id"]
    records = airtable.get(airtable.leads, **{"fields[]": ["Name", field]})["records"]

    assert [{"Name", "Stage"}] * 100 == [set(record["fields"]) for record in records]


def test_list_parameters_can_be_sent_in_a_body(airtable: AirtableClient) -> None:
    body = {"view": "Open leads", "fields": ["Name"], "pageSize": 3, "sort": [{"field": "Name", "direction": "desc"}]}
    query = {"view": "Open leads", "fields[]": "Name", "pageSize": 3, "sort[0][field]": "Name"}

    by_body = airtable.send("POST", f"{airtable.leads}/listRecords", body)
    next_page = airtable.send("POST", f"{airtable.leads}/listRecords", body | {"offset": by_body["offset"]})

    assert airtable.get(airtable.leads, **query, **{"sort[0][direction]": "desc"})["records"] == by_body["records"]
    assert 3 == len(next_page["records"])


@pytest.mark.parametrize(
    "query",
    [
        "pageSize=0",
        "pageSize=101",
        "pageSize=ten",
        "maxRecords=0",
        "cellFormat=string",
        "cellFormat=xml",
        "sort[0][field]=Name&sort[0][direction]=up",
        "sort[0][direction]=asc",
    ],
)
def test_invalid_list_parameters_are_rejected(airtable: AirtableClient, query: str) -> None:
    assert (422, "INVALID_REQUEST_UNKNOWN") == airtable.rejection("GET", f"{airtable.leads}?{query}")


@pytest.mark.parametrize("query", ["fields[]=Nope", "sort[0][field]=Nope"])
def test_unknown_fields_to_select_or_sort_are_rejected(airtable: AirtableClient, query: str) -> None:
    assert (422, "UNKNOWN_FIELD_NAME") == airtable.rejection("GET", f"{airtable.leads}?{query}")


@pytest.mark.parametrize(
    "formula",
    [
        "RECORD_ID()='{id}'",
        "{Name}='{name}'",
        '{Name} = "{name}"',
        "{fld}='{name}'",
        "AND({No.}=1, {Hot})",
        "AND({Hot}=TRUE(), RECORD_ID()='{id}')",
        "OR(RECORD_ID()='{id}', FALSE())",
        "NOT(RECORD_ID()!='{id}')",
        "((RECORD_ID()='{id}'))",
        "NOT(IS_AFTER(CREATED_TIME(), '2026-01-05T09:00:00.000Z'))",
        "IS_AFTER(DATETIME_PARSE('2026-01-05T10:00:00Z'), CREATED_TIME())",
        "NOT(OR(IS_AFTER(CREATED_TIME(), 'a while ago'), RECORD_ID()!='{id}'))",
        "FIND('{name}', {Name})",
        "AND(SEARCH(UPPER('{name}'), {Name}), LEN({Name})=LEN('{name}'))",
        "AND({No.}>=1, {No.}<=1, {No.}<2, {No.}>0)",
        "IF(RECORD_ID()='{id}', TRUE(), FALSE())",
        "RECORD_ID()&'!'=CONCATENATE('{id}', '!')",
        "AND({No.}=1, {No.}+2*3-4/2=5, -{No.}<0, 1+2*3=7, (1+2)*3=9, 10-2-3=5)",
        "AND(RECORD_ID()='{id}', LEFT('Wharf', 2)='Wh', RIGHT('Wharf')='f', MID('Wharf', 2, 3)='har')",
        "AND(RECORD_ID()='{id}', TRIM(' a ')='a', LOWER('A')='a', SUBSTITUTE('aba', 'a', 'c')='cbc')",
        "AND(RECORD_ID()='{id}', VALUE('2.50')=2.5, ROUND(2.5)=3, ROUND(-2.345, 2)=-2.35, ABS(-1)=1)",
        "AND(RECORD_ID()='{id}', SUM(1, 2, 3)=6, MIN(2, 1)=1, MAX(2, 1)=2, ISERROR(1/0))",
        "AND(RECORD_ID()='{id}', YEAR('2026-02-03')=2026, MONTH('2026-02-03')=2, DAY('2026-02-03')=3)",
        "AND(RECORD_ID()='{id}', IS_SAME('2026-02-03T10:00:00Z', '2026-02-03', 'day'))",
        "AND(RECORD_ID()='{id}', IS_BEFORE('2026-01-01', TODAY()))",
        "AND(RECORD_ID()='{id}', NOT(IS_SAME('x', '2026-02-03')), NOT(IS_SAME('2026-02-03', '2026-02-04')))",
        "AND(RECORD_ID()='{id}', IS_SAME(NOW(), TODAY(), 'days'), '2026-01-02'>'2026-01-01')",
        f"AND(RECORD_ID()='{{id}}', {'1+' * 3000}1=3001)",
    ],
)
def test_supported_formulas_filter_records(airtable: AirtableClient, formula: str) -> None:
    first = airtable.get(f"{airtable.leads}/{airtable.examples['record_id']}")
    by_id = "{" + airtable.schema()["primaryFieldId"] + "}"
    text = formula.replace("{id}", first["id"]).replace("{name}", first["fields"]["Name"]).replace("{fld}", by_id)

    records = airtable.get(airtable.leads, filterByFormula=text)["records"]

    assert [first["id"]] == [record["id"] for record in records]


def test_formula_matches_quoted_values_and_empty_cells(airtable: AirtableClient) -> None:
    lead = airtable.create(Name='It\'s "so"', Stage="Won")

    matches = airtable.get(airtable.leads, filterByFormula="AND({Name}='It\\'s \"so\"', {Email}='', {Value}=BLANK())")

    assert [lead["id"]] == [record["id"] for record in matches["records"]]


@pytest.mark.parametrize(
    "formula",
    [
        "LAMBDA({Name}, 'x')",
        "{Nope}='x'",
        "{Value}>",
        "IS_SAME(NOW(), TODAY(), 'age')",
        f"{'-' * 80}1",
        "AND(",
        "RECORD_ID(1)",
        "IS_AFTER(CREATED_TIME())",
        "{Name}='x' 'y'",
        "'open",
        "(" * 80,
        "AND()",
    ],
)
def test_unsupported_formulas_are_rejected(airtable: AirtableClient, formula: str) -> None:
    rejection = airtable.rejection("GET", f"{airtable.leads}?filterByFormula={quote(formula)}")

    assert (422, "INVALID_FILTER_BY_FORMULA") == rejection


def test_record_of_another_table_is_found_only_by_get(airtable: AirtableClient) -> None:
    company = airtable.get(f"/v0/{airtable.examples['base_id']}/Companies%20%2F%20Konten")["records"][0]["id"]

    assert company == airtable.get(f"{airtable.leads}/{company}")["id"]
    assert [] == airtable.get(airtable.leads, filterByFormula=f"RECORD_ID()='{company}'")["records"]
    assert (404, "MODEL_ID_NOT_FOUND") == airtable.rejection("PATCH", f"{airtable.leads}/{company}", {"fields": {}})


def test_empty_cells_are_omitted(airtable: AirtableClient) -> None:
    record = airtable.create(Name="Bare", Hot=False, Notes="", Tags=[], Value=None, Files=[])

    assert not {"Hot", "Notes", "Tags", "Value", "Files"} & set(record["fields"])


def test_computed_cells_can_contain_errors(airtable: AirtableClient) -> None:
    fields = airtable.create(Name="Bare")["fields"]

    assert {"specialValue": "NaN"} == fields["Average revenue"]
    assert {"error": "#ERROR!"} == fields["Value per star"]
    assert 0 == fields["Companies"]
    assert "City" not in fields


def test_computed_cells_follow_their_sources(airtable: AirtableClient) -> None:
    companies = airtable.get(f"/v0/{airtable.examples['base_id']}/Companies%20%2F%20Konten")["records"][:2]
    ids = [company["id"] for company in companies]

    fields = airtable.create(Name="Two", Value=9, Priority=4, Company=ids)["fields"]

    assert [company["fields"]["City"] for company in companies] == fields["City"]
    assert sum(company["fields"]["Revenue"] for company in companies) / 2 == fields["Average revenue"]
    assert (2, 2.25) == (fields["Companies"], fields["Value per star"])


def test_link_is_listed_on_the_other_record_until_deleted(airtable: AirtableClient) -> None:
    path = f"/v0/{airtable.examples['base_id']}/Companies%20%2F%20Konten"
    company = airtable.get(path)["records"][5]["id"]
    lead = airtable.create(Name="Linked", Company=[company])["id"]
    linked = airtable.get(f"{path}/{company}")["fields"]["Leads"]
    airtable.send("DELETE", f"{airtable.leads}/{lead}", None)

    assert lead in linked
    assert lead not in airtable.get(f"{path}/{company}")["fields"].get("Leads", [])


def test_responses_have_the_vendors_headers_and_are_compressed(airtable: AirtableClient) -> None:
    response = airtable.request("GET", airtable.leads)

    assert "application/json; charset=utf-8" == response.headers["Content-Type"]
    assert "gzip" == response.headers["Content-Encoding"]
    assert str(len(response.content)) == response.headers["airtable-uncompressed-content-length"]
    assert 'W/"' == response.headers["ETag"][:3]
