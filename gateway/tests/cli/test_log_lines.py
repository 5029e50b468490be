"""Fields and escaping of log lines."""

from contextvars import copy_context

from connector_gateway.cli.serve.server import add_run_id, render_for_people
from connector_gateway.core.history.runs import CURRENT_RUN


def test_a_log_line_has_the_current_run_unless_it_names_one() -> None:
    context = copy_context()
    context.run(CURRENT_RUN.set, "run_1")
    lines = [
        context.run(add_run_id, None, "info", line) for line in ({"event": "a"}, {"event": "b", "run_id": "run_2"})
    ]

    assert ["run_1", "run_2"] == [line["run_id"] for line in lines]
    assert "run_id" not in copy_context().run(add_run_id, None, "info", {"event": "c"})


def test_a_console_log_line_escapes_control_characters() -> None:
    line = {"timestamp": "2026-11-24T12:00:00Z", "level": "warning", "event": "gone\x1b[2J", "connector": "chat"}

    output = render_for_people(None, "warning", {**line, "exception": "Traceback\n  ValueError: \x07"})

    assert ["warning", "gone\\x1b[2J", "connector=chat"] == output.splitlines()[0].split()[1:]
    assert ["    Traceback", "      ValueError: \\x07"] == output.splitlines()[1:]
