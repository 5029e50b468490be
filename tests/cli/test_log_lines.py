"""What every line of the log tells."""

from contextvars import copy_context

from connector_gateway.cli.serving import with_run
from connector_gateway.core.runs import UNDER_WAY


def test_a_line_names_the_run_that_its_task_carries_out_unless_it_names_one() -> None:
    context = copy_context()
    context.run(UNDER_WAY.set, "run_1")
    lines = [context.run(with_run, None, "info", line) for line in ({"event": "a"}, {"event": "b", "run_id": "run_2"})]

    assert ["run_1", "run_2"] == [line["run_id"] for line in lines]
    assert "run_id" not in copy_context().run(with_run, None, "info", {"event": "c"})
