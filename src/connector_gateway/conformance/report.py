"""What became of the checks: outcomes, a row for each subject, and a file for programs that read JUnit's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.etree.ElementTree import Element, SubElement, tostring

import aiohttp

from connector_gateway.conformance.checks import OF_OPERATIONS, OF_THE_SERVICE, Check, CheckSubject
from connector_gateway.conformance.target import CheckFailed, CheckSkipped, TargetService
from connector_gateway.kit.operation import AnyConnector

SERVICE = "the service"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check of one subject."""

    subject: str
    check: Check
    result: Literal["holds", "broken", "skipped"]
    why: str = ""


async def run_checks(place: TargetService, connectors: Mapping[str, AnyConnector]) -> Sequence[Outcome]:
    """Every check of every operation, and those of the service, one after the other."""
    subjects = [CheckSubject(place, room, operation) for room in connectors.values() for operation in room.operations]
    found = [await _outcome(SERVICE, check, place) for check in OF_THE_SERVICE]
    return [*found, *[await _outcome(one.name, check, one) for one in subjects for check in OF_OPERATIONS]]


async def _outcome(name: str, check: Check, subject: Any) -> Outcome:
    try:
        await check.perform(subject)
    except CheckSkipped as reason:
        return Outcome(name, check, "skipped", str(reason))
    except CheckFailed as fault:
        return Outcome(name, check, "broken", str(fault))
    except (aiohttp.ClientError, TimeoutError, KeyError, TypeError, AttributeError, ValueError) as fault:
        return Outcome(name, check, "broken", f"what came cannot be read: {fault!r}")
    return Outcome(name, check, "holds")


def rows(found: Sequence[Outcome]) -> Sequence[Mapping[str, Any]]:
    """How many checks of each subject hold, are broken, or could not be made."""
    return [
        {"subject": name} | {result: _count(found, name, result) for result in ("holds", "broken", "skipped")}
        for name in dict.fromkeys(one.subject for one in found)
    ]


def _count(found: Sequence[Outcome], name: str, result: str) -> int:
    return sum(one.subject == name and one.result == result for one in found)


def junit(found: Sequence[Outcome]) -> bytes:
    """The outcomes as XML, as JUnit writes them."""
    counted = {"tests": len(found), "failures": _of(found, "broken"), "skipped": _of(found, "skipped")}
    suite = Element("testsuite", {"name": "conformance"} | {name: str(count) for name, count in counted.items()})
    for one in found:
        case = SubElement(suite, "testcase", {"classname": one.subject, "name": one.check.name})
        if one.result != "holds":
            told = f"{one.why} ({', '.join(one.check.clauses)})"
            SubElement(case, {"broken": "failure", "skipped": "skipped"}[one.result], {"message": told})
    written: bytes = tostring(suite, encoding="utf-8", xml_declaration=True)
    return written


def _of(found: Sequence[Outcome], result: str) -> int:
    return sum(one.result == result for one in found)
