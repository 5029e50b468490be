"""Formulas of the Airtable emulator, by function of the vendor's formula field reference."""

from types import FunctionType

import pytest
from pyairtable import formulas

from harness.clocks import ManualClock
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.tables import TablesEmulator
from workspace_sandbox.tables.data.cell_values import Reader
from workspace_sandbox.tables.formulas.functions import FUNCTIONS
from workspace_sandbox.tables.formulas.parser import parse
from workspace_sandbox.tables.formulas.values import Row


@pytest.fixture(scope="module")
def row() -> Row:
    """Return a lead with a value in every field, read on Sunday 2026-11-22 at noon."""
    workspace = TablesEmulator(EmulatorContext(ManualClock())).workspace
    base = workspace.bases[0]
    leads = base.tables[0]
    return Row(Reader(base, 1_795_348_800.0, str), leads, next(iter(leads.records.values())))


@pytest.mark.parametrize(
    "formula",
    [
        # Texts
        "ARRAYJOIN({Company}, ';')={Company}",
        "FIND(LEFT({Company}, 4), ARRAYJOIN({Company}))=1",
        "ENCODE_URL_COMPONENT('a b&ü-_.~')='a%20b%26%C3%BC-_.~'",
        "REPLACE('Database', 2, 5, 'i')='Dise'",
        "REPT('ab', 3)='ababab'",
        "SUBSTITUTE('a-b-c', '-', '+', 2)='a-b+c'",
        "SUBSTITUTE('a-b', '', '+')='a-b'",
        "AND(T('a')='a', T(1)=BLANK())",
        "0.1+0.2&''='0.3'",
        # Logic
        "SWITCH({Stage}, 'Won', 1, 'Open', 2, 3)=2",
        "SWITCH('none', 'Won', 1)=BLANK()",
        "AND(XOR(1, 0), NOT(XOR(1, 1)), XOR(1, 1, 1))",
        "AND(ISERROR(ERROR()), ISERROR(1/0), NOT(ISERROR(1)))",
        "IF(ISERROR({Value}/0), TRUE())",
        # Numbers
        "AVERAGE(1, 2, 6)=3",
        "AND(CEILING(1.2)=2, CEILING(1.01, 0.1)=1.1, FLOOR(-1.2)=-2, FLOOR(17, 5)=15)",
        "AND(COUNT(1, 'a', 2)=2, COUNTA(1, 'a', '')=2, COUNTALL(1, '', BLANK())=3)",
        "AND(EVEN(3)=4, EVEN(-1.5)=-2, ODD(2)=3, ODD(-2)=-3, EVEN(2)=2)",
        "AND(ROUND(EXP(1), 3)=2.718, LOG(1000)=3, LOG(8, 2)=3, POWER(2, 10)=1024, SQRT(16)=4)",
        "AND(INT(-1.5)=-2, MOD(10, 3)=1)",
        "AND(ROUND(1.005, 2)=1.01, ROUNDDOWN(-1.99, 1)=-1.9, ROUNDUP(1.001, 2)=1.01, ROUND(1234, -2)=1200)",
        "AND(VALUE('$1,234.50')=1234.5, ISERROR(VALUE('none')))",
        "AND(ISERROR(SQRT(-1)), ISERROR(LOG(0)), ISERROR(MOD(1, 0)), ISERROR(POWER(10, 1000)))",
        "SUM({Companies}, 1)={Companies}+1",
        # Dates and times
        "DATEADD('2026-01-31', 1, 'month')='2026-02-28T00:00:00.000Z'",
        "DATETIME_FORMAT(DATEADD('2026-11-22', -2, 'weeks'), 'L')='11/08/2026'",
        "DATETIME_DIFF('2026-03-01', '2026-02-01', 'days')=28",
        "AND(DATETIME_DIFF('2026-02-27', '2026-01-28', 'M')=0, DATETIME_DIFF('2024-03-01', '2026-02-28', 'years')=-1)",
        "DATETIME_DIFF('2026-02-01T01:30:00Z', '2026-02-01', 'h')=1",
        "DATETIME_FORMAT('2026-02-01T15:04:05.006Z', 'dddd, MMMM Do YYYY [at] Q')='Sunday, February 1st 2026 at 1'",
        "DATETIME_FORMAT('2026-02-01T15:04:05.006Z', 'h:mm:ss.SSS a')='3:04:05.006 pm'",
        "DATETIME_FORMAT('2026-02-01')='2026-02-01T00:00:00+00:00'",
        "DATETIME_FORMAT(SET_TIMEZONE('2026-07-01T12:00:00Z', 'Europe/Berlin'), 'HH:mm Z')='14:00 +02:00'",
        "HOUR(SET_TIMEZONE('2026-07-01T23:30:00Z', 'Asia/Tokyo'))=8",
        "IS_SAME(DATETIME_PARSE('4 Mar 2017 23:00', 'D MMM YYYY HH:mm'), '2017-03-04T23:00:00Z')",
        "IS_SAME(DATETIME_PARSE('1/2/26 3:05 PM', 'M/D/YY h:mm A'), '2026-01-02T15:05:00Z')",
        "ISERROR(DATETIME_PARSE('tomorrow', 'YYYY'))",
        "AND(DATESTR('2026-02-01T15:04:05Z')='2026-02-01', TIMESTR('2026-02-01T15:04:05Z')='15:04:05')",
        "AND(HOUR('2026-02-01T15:04:05Z')=15, MINUTE('2026-02-01T15:04:05Z')=4, SECOND('2026-02-01T15:04:05Z')=5)",
        "AND(WEEKDAY('2026-11-22')=0, WEEKDAY('2026-11-22', 'Monday')=6, WEEKDAY('2026-11-23')=1)",
        "AND(WEEKNUM('2026-01-01')=1, WEEKNUM('2026-11-22')=48, WEEKNUM('2026-11-22', 'Monday')=47)",
        "AND(WORKDAY('2026-11-20', 1)='2026-11-23', WORKDAY('2026-11-20', 1, '2026-11-23')='2026-11-24')",
        "AND(WORKDAY_DIFF('2026-11-16', '2026-11-23')=6, WORKDAY('2026-11-23', -1)='2026-11-20')",
        "AND(FROMNOW('2026-11-20')='3 days', TONOW(NOW())='a few seconds', TODAY()='2026-11-22')",
        "AND(IS_SAME('2026-11-22', '2026-11-28', 'week'), NOT(IS_SAME('2026-11-22', '2026-11-21', 'week')))",
        "SET_LOCALE('2026-02-01', 'de')='2026-02-01'",
        "AND(IS_AFTER(LAST_MODIFIED_TIME(), '2026-01-01'), ISERROR(DATESTR('never')))",
        # Lists
        "ARRAYJOIN(ARRAYUNIQUE(ARRAYFLATTEN('a', 'b', 'a')), '')='ab'",
        "ARRAYJOIN(ARRAYCOMPACT(ARRAYFLATTEN('a', '', BLANK(), 'b')), '')='ab'",
        "ARRAYJOIN(ARRAYSLICE(ARRAYFLATTEN('a', 'b', 'c', 'd'), 2, 3), '')='bc'",
        "ARRAYJOIN(ARRAYSLICE(ARRAYFLATTEN('a', 'b', 'c', 'd'), -2), '')='cd'",
        # Patterns
        "AND(REGEX_MATCH('Hello', 'l+'), NOT(REGEX_MATCH('Hello', '^l')))",
        "AND(REGEX_EXTRACT('No. 12', '[0-9]+')='12', ISERROR(REGEX_EXTRACT('a', 'b')))",
        "REGEX_REPLACE('a1b22', '([0-9]+)', '<$1>')='a<1>b<22>'",
        "AND(ISERROR(REGEX_MATCH('a', '(?=a)')), ISERROR(REGEX_MATCH('a', '(')))",
    ],
)
def test_function_behaves_as_documented(row: Row, formula: str) -> None:
    assert parse(formula, row.table)(row)


@pytest.mark.parametrize(
    "formula", ["1/0", "{Value per star}/0=0", "NOT(ERROR())", "DATEADD('2026-01-01', 1000000000, 'years')"]
)
def test_formula_error_matches_no_record(row: Row, formula: str) -> None:
    assert not parse(formula, row.table)(row)


def test_every_function_of_the_sdk_is_supported() -> None:
    sdk_functions = {
        name for name, value in vars(formulas).items() if name.isupper() and isinstance(value, FunctionType)
    }

    assert len(sdk_functions) > 70
    assert set() == sdk_functions - set(FUNCTIONS)
