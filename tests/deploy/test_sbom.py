"""The list of packages installed in production, as ``make sbom`` writes it."""

import json
import re
import subprocess
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy.processes import DEPLOY
from harness.requirement import requirement

ROOT = DEPLOY.parent


@requirement("deployment-14")
def test_the_sbom_is_valid_and_has_each_locked_package_with_its_hashes(tmp_path: Path) -> None:
    path = tmp_path / "made" / "sbom.json"
    # The requirements of the tests count as installed.
    subprocess.run(["make", "-o", ".venv/test", "sbom", f"SBOM={path}"], cwd=ROOT, check=True, timeout=120)
    text = path.read_text(encoding="utf-8")
    listed = json.loads(text)
    hashed = {one["name"]: one["externalReferences"][0]["hashes"] for one in listed["components"]}

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert ("CycloneDX", "connector-gateway") == (listed["bomFormat"], listed["metadata"]["component"]["name"])
    locked = re.findall(
        r"^([\w.-]+)==", (ROOT / "requirements" / "tracing.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(locked) == sorted(hashed)
    assert all(hashed.values())
