"""``python -m deploy``: run the services of deploy/compose.yaml as local processes, for a try-out only.

PostgreSQL and Valkey are those of the tests, the balancer is nginx if available, and nothing is stored at the end.
"""

import argparse
import secrets
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.processes import Gateway, balancer, environment_of, gateways, nginx_program
from harness.postgres import new_database, postgres
from harness.valkey import valkey_server

NAMED = (
    "GATEWAY_SECRET_KEYS",
    "GATEWAY_OPERATOR_TOKEN",
    "GATEWAY_METRICS_TOKEN",
    "POSTGRES_PASSWORD",
    "VALKEY_PASSWORD",
)
"""The values that deploy/secrets.env.example requires."""


def main() -> int:
    """Start everything, print the URLs, and wait for Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m deploy", description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="where the balancer listens")
    port: int = parser.parse_args().port
    secret_values = {name: secrets.token_urlsafe(32) for name in NAMED} | {
        "GATEWAY_BASE_URL": f"http://127.0.0.1:{port}"
    }
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="connector-gateway-")))
        for name in ("work", "logs", "balancer", "store"):
            (folder / name).mkdir()
        own = {
            "GATEWAY_DATABASE_URL": new_database(stack.enter_context(postgres())).replace("+psycopg", ""),
            "GATEWAY_SHARED_URL": stack.enter_context(valkey_server(folder / "store")).url,
        }
        both = stack.enter_context(gateways(folder / "work", folder / "logs", secret_values, **own))
        stack.enter_context(balancer(both, port, folder / "balancer", nginx_program()))
        _print_urls(folder, port, both, environment_of("gateway-1", secret_values) | own)
        signal.pause()
    return 0


def _print_urls(folder: Path, port: int, both: Sequence[Gateway], environment: dict[str, str]) -> None:
    """Print the URLs, and write the settings to a file for commands."""
    settings = folder / "gateway.env"
    settings.touch(mode=0o600)
    settings.write_text("".join(f"{name}={value}\n" for name, value in environment.items()), encoding="utf-8")
    print(  # noqa: T201
        f"balancer     http://127.0.0.1:{port} ({'nginx' if nginx_program() else 'of the tests'})\n"
        f"gateways     {', '.join(one.address for one in both)}, logs in {folder / 'logs'}\n"
        f"console      {both[0].admin_address}/console, with GATEWAY_OPERATOR_TOKEN of {settings}\n"
        f"commands     GATEWAY_ENV_FILE={settings} {Path(sys.executable).parent}/connector-gateway workspaces list\n"
        "Ctrl-C stops it; nothing is stored.",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
