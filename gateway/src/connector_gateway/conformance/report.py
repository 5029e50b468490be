"""The results of the checks: outcomes, a summary row for each subject, and a JUnit file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.etree.ElementTree import Element, SubElement, tostring

import aiohttp

from connector_gateway.conformance.checks import OPERATION_CHECKS, SERVICE_CHECKS, Check, CheckSubject
from connector_gateway.conformance.service_under_test import CheckFailed, CheckSkipped, TargetService
from connector_gateway.kit.operation import AnyConnector

SERVICE = "the service"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The outcome of one check of one subject."""

    subject: str
    check: Check
    result: Literal["holds", "broken", "skipped"]
    why: str = ""


async def run_checks(service: TargetService, connectors: Mapping[str, AnyConnector]) -> Sequence[CheckOutcome]:
    """Run all checks of the service and of every operation, sequentially."""
    subjects = [
        CheckSubject(service, connector, operation)
        for connector in connectors.values()
        for operation in connector.operations
    ]
    outcomes = [await _outcome(SERVICE, check, service) for check in SERVICE_CHECKS]
    return [*outcomes, *[await _outcome(one.name, check, one) for one in subjects for check in OPERATION_CHECKS]]


async def _outcome(name: str, check: Check, subject: Any) -> CheckOutcome:
    try:
        await check.perform(subject)
    except CheckSkipped as reason:
        return CheckOutcome(name, check, "skipped", str(reason))
    except CheckFailed as error:
        return CheckOutcome(name, check, "broken", str(error))
    except (aiohttp.ClientError, TimeoutError, KeyError, TypeError, AttributeError, ValueError) as error:
        return CheckOutcome(name, check, "broken", f"the response cannot be parsed: {error!r}")
    return CheckOutcome(name, check, "holds")


def rows(outcomes: Sequence[CheckOutcome]) -> Sequence[Mapping[str, Any]]:
    """Return the number of passed, failed and skipped checks for each subject."""
    return [
        {"subject": name} | {result: _count(outcomes, name, result) for result in ("holds", "broken", "skipped")}
        for name in dict.fromkeys(one.subject for one in outcomes)
    ]


def _count(outcomes: Sequence[CheckOutcome], name: str, result: str) -> int:
    return sum(one.subject == name and one.result == result for one in outcomes)


def junit(outcomes: Sequence[CheckOutcome]) -> bytes:
    """Return the outcomes as JUnit XML."""
    counts = {"tests": len(outcomes), "failures": _total(outcomes, "broken"), "skipped": _total(outcomes, "skipped")}
    suite = Element("testsuite", {"name": "conformance"} | {name: str(count) for name, count in counts.items()})
    for one in outcomes:
        case = SubElement(suite, "testcase", {"classname": one.subject, "name": one.check.name})
        if one.result != "holds":
            message = f"{one.why} ({', '.join(one.check.clauses)})"
            SubElement(case, {"broken": "failure", "skipped": "skipped"}[one.result], {"message": message})
    xml: bytes = tostring(suite, encoding="utf-8", xml_declaration=True)
    return xml


def _total(outcomes: Sequence[CheckOutcome], result: str) -> int:
    return sum(one.result == result for one in outcomes)
