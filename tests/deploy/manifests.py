"""The contents of the files for Kubernetes and systemd."""

from typing import Any

import yaml

from connector_gateway.cli.env_file import SETTING
from deploy.processes import DEPLOY

UNIT = (DEPLOY / "connector-gateway.service").read_text(encoding="utf-8")
MANIFESTS: dict[tuple[str, str], dict[str, Any]] = {
    (document["kind"], document["metadata"]["name"]): document
    for path in sorted(DEPLOY.glob("kubernetes/**/*.yaml"))
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
"""Objects by kind and name."""

PODS: dict[str, dict[str, Any]] = {
    name: document["spec"]["template"]["spec"]
    for (kind, name), document in MANIFESTS.items()
    if kind in {"Deployment", "StatefulSet"}
}
CONFIGURED: dict[str, str] = MANIFESTS["ConfigMap", "connector-gateway"]["data"]
MANIFEST_SETTINGS: dict[str, str] = {
    match[1]: match[2]
    for line in MANIFESTS["Secret", "connector-gateway"]["stringData"]["gateway.env"].splitlines()
    if (match := SETTING.match(line))
}
"""Return the settings in the mounted secret."""
