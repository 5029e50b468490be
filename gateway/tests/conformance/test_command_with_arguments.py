"""``conformance`` with arguments calls every operation, and performs every write once."""

import json
from pathlib import Path
from xml.etree.ElementTree import parse

from click.testing import CliRunner

from connector_gateway.cli import main
from connector_gateway.connectors import CONNECTORS
from harness.example_calls import arguments, playground
from harness.file_server import scripted_response, serve_files

OPERATIONS = [(connector.name, operation) for connector in CONNECTORS.values() for operation in connector.operations]
CALLED = {"returns envelope", "rejects unknown connection"}
WRITTEN = {"supports dry run", "writes once per key"}


def test_every_operation_succeeds_and_every_write_is_done_once(tmp_path: Path) -> None:
    file, junit = tmp_path / "arguments.json", tmp_path / "junit.xml"
    with (
        playground(tmp_path) as gateway,
        serve_files({"/brief.txt": scripted_response(b"Needed", "text/plain")}) as site,
    ):
        tables = gateway.examples("tables")
        attached = {"record_id": tables["record_id"], "field": tables["attachment_field"], "url": f"{site}/brief.txt"}
        example_arguments = {**arguments(gateway), "tables_attach_file": attached}
        file.write_text(json.dumps(example_arguments), encoding="utf-8")
        reader = gateway.with_key("read", calls_per_minute=1000)
        keys = ["--url", gateway.base_url, "--key", gateway.key, "--read-key", reader.key]
        more = ["--arguments", str(file), "--write", "--junit", str(junit)]
        ended = CliRunner().invoke(main, ["conformance", *keys, *more])
    passed = {(case.get("classname"), case.get("name")) for case in parse(junit).getroot() if not len(case)}
    called = {(f"{connector} {operation.name}", check) for connector, operation in OPERATIONS for check in CALLED}
    written = {
        (f"{connector} {one.name}", check) for connector, one in OPERATIONS if one.scope == "write" for check in WRITTEN
    }

    assert ("", 0) == (ended.stderr, ended.exit_code)
    assert set() == (called | written) - passed
