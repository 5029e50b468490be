"""What a page says of an error: in words of the console, and beside the fields that it concerns."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.core.envelope import described
from connector_gateway.http.console.forms import Form
from connector_gateway.kit.errors import GatewayError, InvalidParameters
from connector_gateway.kit.operation import AnyConnector


def explain(error: GatewayError, form: Form | None, connector: AnyConnector | None) -> Mapping[str, Any]:
    """Return what a page says of *error*; what concerns a field of *form* stands beside the field."""
    told = described(error, "console", connector)
    if form is None:
        return told
    marked = [control.field.label for control in form.controls if control.error and not control.is_fixed]
    if not (marked and isinstance(error, InvalidParameters)):
        return told | {"details": form.rest}
    remedy = "Correct what is marked, then send the form again."
    return told | {"message": f"Not accepted: {', '.join(marked)}.", "remedy": remedy, "details": form.rest}
