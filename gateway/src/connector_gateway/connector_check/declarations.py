"""Checks of what a connector declares, before and after its examples were called."""

from collections.abc import Iterator, Sequence

from connector_gateway.connector_check.emulated_vendor import SentRequest
from connector_gateway.connector_check.history_runner import Reply, Subject
from connector_gateway.connector_check.results import DECLARATIONS, Finding
from connector_gateway.kit.operation import AnyConnector, AnyOperation


def check_connector(connector: AnyConnector) -> Iterator[Finding]:
    """Yield what is missing or contradictory in a declaration."""
    for rejection in connector.error_table.rejections:
        if not rejection.source:
            yield Finding(DECLARATIONS, "", f"The rejection {rejection.statuses} of the error table states no source.")
    for operation in connector.operations:
        yield from (Finding(DECLARATIONS, operation.name, one) for one in _find_problems(connector, operation))


def _find_problems(connector: AnyConnector, operation: AnyOperation) -> Iterator[str]:
    if not operation.description:
        yield "It has no docstring, by which people and agents choose it."
    requests = [*operation.requests.cold, *operation.requests.warm]
    for budget in sorted({charge.budget for charges in requests for charge in charges} - set(connector.budgets)):
        yield f"Its typical requests are charged to {budget}, which is not among the budgets."
    if not operation.examples:
        yield "It declares no example: add examples=[…] with arguments that are valid on the emulator."
    if operation.overwrites and len(operation.examples) == 1:
        yield "It overwrites, and declares no second example, which gives the same object another state."


def check_examples(subject: Subject, operation: AnyOperation) -> Iterator[Finding]:
    """Yield examples whose arguments cannot be built from those of the emulator."""
    for number in range(len(operation.examples)):
        try:
            subject.arguments(operation, number)
        except (LookupError, TypeError, AttributeError) as error:
            names = ", ".join(subject.vendor.examples)
            problem = f"Its example {number + 1} raised {error!r}. The emulator's examples are {names}."
            yield Finding(DECLARATIONS, operation.name, problem)


def check_call(operation: AnyOperation, reply: Reply, sent: Sequence[SentRequest]) -> Iterator[Finding]:
    """Yield contradictions between a declaration and a call of its example."""
    steps = [one.step for one in sent if one.step]
    if not reply.is_ok:
        problem = f"Its example fails with {reply.code} on the emulator: {explain_error(reply, sent)}"
        yield Finding(DECLARATIONS, operation.name, problem)
    elif operation.scope == "read" and steps:
        problem = f"It is declared to read, and carries out the step {steps[0].name!r}."
        yield Finding(DECLARATIONS, operation.name, problem)
    elif operation.scope == "write" and not steps:
        yield Finding(DECLARATIONS, operation.name, "It is declared to write, and carries out no step.")
    elif operation.scope == "write" and operation.idempotent:
        for step in (one for one in steps if one.object_kind):
            problem = f"It is declared to be idempotent, and its step {step.name!r} creates a {step.object_kind}."
            yield Finding(DECLARATIONS, operation.name, problem)


def explain_error(reply: Reply, sent: Sequence[SentRequest]) -> str:
    """Return the message of an error, with its details and the last request to the vendor."""
    error = reply.body["error"]
    details = f" Details: {error['details']}" if error.get("details") else ""
    last = f" The last request was {sent[-1].method} {sent[-1].path} → {sent[-1].status}." if sent else ""
    return f"{error['message']}{details}{last}"
