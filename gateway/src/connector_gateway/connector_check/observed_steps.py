"""The steps of writes, observed while they are sent: which request belongs to which step."""

from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, StepRunner, WriteStep

J = TypeVar("J")


STEP: ContextVar[WriteStep[Any] | None] = ContextVar("STEP", default=None)
"""The step that the running code sends."""


def observe(connector: AnyConnector) -> AnyConnector:
    """Return *connector* with operations that set ``STEP`` while they send a step."""
    return replace(connector, operations=tuple(_observe(one) for one in connector.operations), sample=None)


def _observe(operation: AnyOperation) -> AnyOperation:
    async def perform(ctx: Any, params: Any) -> Any:
        ctx.steps = ObservedSteps(ctx.steps)
        return await operation.handler(ctx, params)

    return replace(operation, handler=perform)


class ObservedSteps:
    """The steps of one attempt of a write."""

    def __init__(self, steps: StepRunner) -> None:
        self._steps = steps

    async def plan(self, build: Callable[[], Awaitable[J]]) -> J:
        """Return the plan."""
        return await self._steps.plan(build)

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Carry out a step."""
        return await self._steps.step(_observed(step), intent)

    async def try_step(self, step: WriteStep[Any], intent: StepInput) -> StepResult | None:
        """Carry out a step that the write can do without."""
        return await self._steps.try_step(_observed(step), intent)

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Record casts."""
        self._steps.record_casts(make)

    async def before_first_request(self) -> None:
        """Resolve a repeated write."""
        await self._steps.before_first_request()

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Make this call the owner of an object."""
        return await self._steps.adopt(step, intent, object_id)

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Undo a step."""
        await self._steps.undo(_observed(step), intent)


def _observed(step: WriteStep[Any]) -> WriteStep[Any]:
    async def send(ctx: Any, intent: StepInput, mark: str) -> StepResult:
        token = STEP.set(step)
        try:
            return await step.send(ctx, intent, mark)
        finally:
            STEP.reset(token)

    return replace(step, send=send)
