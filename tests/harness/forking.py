"""``pytest -n 6``: tests in processes that are forked once everything is imported and collected.

A process that is started anew spends five seconds of the processor's time on that, before its first test.
Whole files are handed out, in their order: tests of a file share what they have started. A warning is an error here, so
that none needs to be passed on.
"""

import atexit
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from multiprocessing.connection import Connection, Pipe, wait
from tempfile import TemporaryFile
from typing import Any, NoReturn, cast

import pytest
from _pytest.capture import FDCapture

NUMBER_BYTES = 2
"""Of a file, in the pipe that all processes take the next one from."""

ENDED = "ended"


@dataclass
class Worker:
    """A process that tests, as the first process knows it."""

    process_id: int
    at: tuple[str, tuple[str, int | None, str]] = ("before any test", ("", None, ""))
    """The test that it is at, with its location."""

    ended: bool = False


def pytest_addoption(parser: pytest.Parser) -> None:
    # Pytest keeps short options in lower case for itself; those who ask in this way may have them all the same.
    parser.getgroup("forking")._addoption("-n", dest="processes", type=int, default=0, help="processes that test")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in as many processes as are asked for; what each does is told here."""
    if not session.config.option.processes or session.config.option.collectonly or session.testsfailed:
        return None
    files = [list(tests) for _, tests in groupby(session.items, key=lambda item: item.path)]
    queue = _queue(len(files))
    cast(Any, session.config)._tmp_path_factory.getbasetemp()
    reporter: Any = session.config.pluginmanager.getplugin("terminalreporter")
    reporter.showfspath = False  # what comes next is from another file
    workers: dict[Connection[Any, Any], Worker] = {}
    for number in range(min(session.config.option.processes, len(files))):
        sys.stdout.flush()
        receiving, sending = Pipe(duplex=False)
        process_id = os.fork()
        if not process_id:
            _live(session, number, sending, chain.from_iterable(files[index] for index in queue))
        sending.close()
        workers[receiving] = Worker(process_id)
    _listen(session, workers)
    return True


def _queue(length: int) -> Iterator[int]:
    """The numbers below *length*, each of which one process gets."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(index.to_bytes(NUMBER_BYTES) for index in range(length)))
    os.close(writing)
    return iter(lambda: int.from_bytes(os.read(reading, NUMBER_BYTES) or b"\xff" * NUMBER_BYTES), 0xFFFF)


# In a process that tests


class Telling:
    """Tells the first process what happens in this one."""

    def __init__(self, session: pytest.Session, sending: "Connection[Any, Any]") -> None:
        self._session = session
        self._sending = sending

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._sending.send(("logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._session.config
        self._sending.send(("logreport", config.hook.pytest_report_to_serializable(config=config, report=report)))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._sending.send(("logfinish", {"nodeid": nodeid, "location": location}))


def _live(
    session: pytest.Session, number: int, sending: "Connection[Any, Any]", tests: Iterator[pytest.Item]
) -> NoReturn:
    """Begin, work and end; what the first process still needs is left alone."""
    try:
        _begin(session, number, sending)
        _work(session, tests)
        sending.send((ENDED, {}))
    except KeyboardInterrupt:
        session._setupstate.teardown_exact(None)
    except BaseException:  # noqa: BLE001  # the first process knows only that this one has died
        traceback.print_exc()
    finally:
        warnings.simplefilter("ignore")  # a folder that goes with the process is no fault of a test
        atexit._run_exitfuncs()
        os._exit(0)


def _begin(session: pytest.Session, number: int, sending: "Connection[Any, Any]") -> None:
    """Have nothing in common any more with the process that this one was forked from."""
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(Telling(session, sending))
    capturing = cast(Any, plugins.getplugin("capturemanager"))._global_capturing
    for stream in (capturing.out, capturing.err):
        if isinstance(stream, FDCapture):
            # Some modules have kept the streams that were there when they were imported, so that these remain.
            with TemporaryFile() as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())
    folders = cast(Any, session.config)._tmp_path_factory
    folders._exit_stack.pop_all()
    folders._basetemp /= f"process-{number}"
    folders._basetemp.mkdir()


def _work(session: pytest.Session, tests: Iterator[pytest.Item]) -> None:
    test = next(tests, None)
    while test is not None and not (session.shouldfail or session.shouldstop):
        following = next(tests, None)
        session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        test = following


# In the first process


def _listen(session: pytest.Session, workers: dict["Connection[Any, Any]", Worker]) -> None:
    """Pass on what the processes tell, until all have ended."""
    talking = dict(workers)
    try:
        while talking:
            for ready in cast(Sequence["Connection[Any, Any]"], wait(list(talking))):
                if not _passed_on(session, ready, talking[ready]):
                    del talking[ready]
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    except (session.Failed, session.Interrupted):
        for worker in talking.values():
            os.kill(worker.process_id, signal.SIGINT)
        raise
    finally:
        for worker in workers.values():
            os.waitpid(worker.process_id, 0)


def _passed_on(session: pytest.Session, ready: "Connection[Any, Any]", worker: Worker) -> bool:
    """Whether the process says more after this."""
    hook = session.config.hook
    try:
        what, told = ready.recv()
    except EOFError:
        if not worker.ended:
            hook.pytest_runtest_logreport(report=_died(worker))
        return False
    match what:
        case "logstart":
            worker.at = told["nodeid"], told["location"]
            hook.pytest_runtest_logstart(**told)
        case "logreport":
            report = hook.pytest_report_from_serializable(config=session.config, data=told)
            hook.pytest_runtest_logreport(report=report)
        case "logfinish":
            hook.pytest_runtest_logfinish(**told)
        case _:
            worker.ended = True
    return True


def _died(worker: Worker) -> pytest.TestReport:
    """The report of the test at which a process died, and after which it has run no other."""
    nodeid, location = worker.at
    text = f"Process {worker.process_id} died, and with it the tests that were to come in this file."
    return pytest.TestReport(nodeid, location, {}, "failed", text, "call")
