"""The operator's first week, typed day by day on a server of its own, with the emulators as vendors."""

import re
import shutil
import ssl
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from connector_gateway.cli.installation_settings import emulator_settings
from connector_gateway.verify.runner import load_checks
from deploy.virtual_server import NotBooted, VirtualServer, boot, unavailable
from examples.code_blocks import blocks_of
from harness.consent_pages import Browser
from harness.gateway_server import WIDE
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS
from workspace_sandbox.sandbox import Sandbox

PAGE = "docs/guide/operate/first-week.md"
NAME, URL = "gateway.example.com", "https://gateway.example.com"
CERTIFICATE = "/etc/ssl/certs/gateway.crt"
PROGRAMS = ("cron", "nginx", "openssl", "promtool", "sqlite3")
"""Programs of the packages that the page installs."""

LOCKED = "/opt/connector-gateway/bin/pip install --require-hashes -r requirements/run.txt"
CHECKS_PACKAGES = """\
#!/bin/sh -e
# In place of apt-get, which needs a network: checks that the packages are installed.
for package in "$@"; do
  case $package in update | install | -*) ;; *) dpkg-query --show "$package" ;; esac
done
"""
BORROWED = (
    f"mkdir /opt/borrowed && mount --bind {sysconfig.get_path('purelib')} /opt/borrowed\n"
    "echo /opt/borrowed > $(echo /opt/connector-gateway/lib/python*/site-packages)/borrowed.pth"
)
"""In place of the locked packages, which need a network: those of this environment, also if it is in ``/tmp``, which
services have for themselves."""

READY = f"curl -fs --retry 30 --retry-delay 1 --cacert {CERTIFICATE} {URL}/readyz"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[VirtualServer]:
    missing = ", ".join(program for program in PROGRAMS if shutil.which(program) is None)
    if reason := unavailable() or (missing and f"not installed here: {missing}"):
        pytest.skip(reason)
    folder = tmp_path / "server"
    folder.mkdir()
    with ExitStack() as stack:
        try:
            booted = stack.enter_context(boot(folder))
        except NotBooted as error:
            pytest.skip(f"systemd does not boot here: {error}")
        booted.run(f"echo 127.0.0.1 {NAME} >> /etc/hosts; sed -i 's/for: 1m/for: 1s/' deploy/alerts.yaml")
        booted.run(f"cat > /usr/local/sbin/apt-get <<'END'\n{CHECKS_PACKAGES}END\nchmod 755 /usr/local/sbin/apt-get")
        yield booted


@pytest.fixture
def sandbox(server: VirtualServer) -> Iterator[Sandbox]:
    """The vendors, at which the gateway's apps are registered as its guides describe."""
    with server.network(), run_emulators(**EMULATORS) as emulators:
        for connector, emulator in emulators.emulators.items():
            knobs = emulator.context.knobs
            registered = {"allowed_origins": [URL], "redirect_uris": [f"{URL}/connect/{connector}/callback"]}
            knobs |= {"limits": False} | {name: value for name, value in registered.items() if name in knobs}
        yield emulators


def fill_in(apps: str, sandbox: Sandbox) -> str:
    """Return the block that adds apps to the settings, with those of the sandbox and its URLs."""
    described = sandbox.describe()
    settings = emulator_settings(described["upstreams"], described["clients"])
    filled = re.sub(r"(\w+)=…", lambda match: f"{match[1]}={settings.pop(match[1])}", apps)
    budgets = {f"GATEWAY_{connector.upper()}_BUDGET": WIDE for connector in sandbox.emulators}
    added = "".join(f"{name}={value}\n" for name, value in (settings | budgets).items())
    return filled.replace("\nEND\n", f"\n{added}END\n")


def allow(link: str, certificate: str) -> None:
    """Open a connect link as a user, and allow access."""
    context = ssl.create_default_context(cadata=certificate)
    # Only the server resolves its name.
    context.check_hostname = False
    with httpx.Client(verify=context, timeout=30) as http, Browser() as browser:
        consent = http.post(local(link)).headers["refresh"].removeprefix("0; url=")
        callback = dict(parse_qsl(urlsplit(consent).query))["redirect_uri"]
        page = http.get(local(callback), params=browser.allow(consent))
    assert "Connected" in page.text


def local(url: str) -> str:
    """Return a URL of the gateway with an address instead of its name."""
    return url.replace(NAME, "127.0.0.1")


def identifier(prefix: str, printed: str) -> str:
    """Return the identifier or key in what a command printed."""
    found: list[str] = re.findall(rf"\b{prefix}_[\w-]+", printed)
    return found[0]


def hurry(text: str) -> str:
    """Return a block with shorter waits."""
    return text.replace(": 15s", ": 1s").replace("sleep 5", "sleep 0.2")


def test_an_operator_sets_up_a_server_as_the_page_describes(server: VirtualServer, sandbox: Sandbox) -> None:
    texts = [block.text for block in blocks_of(PAGE)]
    install, configure, script, tls, apps, links, key, call, verify, prometheus, alert, nightly, restore = texts

    server.run(install.replace(LOCKED, BORROWED))
    server.run(configure)
    server.run(script)
    sign_in = server.run(tls).splitlines()[-1]
    statuses = [
        server.run(f"curl --cacert {CERTIFICATE} -so /dev/null -w '%{{http_code}}' '{url}'")
        for url in (sign_in, f"{URL}/console")
    ]
    assert ["303", "404"] == statuses

    workspace_id = identifier("ws", server.run(fill_in(apps, sandbox)))
    server.run(READY)
    certificate, created = server.run(f"cat {CERTIFICATE}"), server.run(links.replace("ws_…", workspace_id))
    for link in re.findall(rf"{URL}/connect/\S+", created):
        allow(link, certificate)
    assert len(EMULATORS) == server.run("connector-gateway connections list").count("\tactive\t")

    api_key = identifier("cgw", server.run(key.replace("ws_…", workspace_id)))
    assert "database_id" in server.run(call.replace("cgw_…", api_key))
    reports = server.run(verify, GATEWAY_API_KEY=api_key)
    checked = [connector for connector in EMULATORS if load_checks(connector)]
    assert len(checked) == reports.count("\nfact\tresult\t") + reports.startswith("fact\tresult\t")

    server.run(hurry(prometheus))
    assert "GatewayDown" in server.run(hurry(alert))
    server.run(READY)

    one_of_them = nightly.replace("cgw_…", api_key).replace(" ".join(EMULATORS), checked[0])
    assert "" == server.run(one_of_them)
    assert "/etc/cron.daily/connector-gateway\n" in server.run("run-parts --test /etc/cron.daily")
    assert "confirmed" in server.run(f"cat /var/log/verify-{checked[0]}.log")

    assert "\nstatus\tactive\n" in server.run(restore.replace("conn_…", identifier("conn", created)))
    assert [] == re.findall(r'.*"level": "error".*', server.run("journalctl -u connector-gateway"))
