"""The catalogue of all errors, each with its remedy.

GatewayError
├── CallerError              errors that the caller can correct
│   ├── caller identity      MissingApiKey, InvalidApiKey, WriteScopeRequired, OperationNotAllowed, OriginNotAllowed,
│   │                        OperatorTokenRequired, AdminRoleRequired, RateLimited
│   ├── request format       InvalidJson, UnsupportedMediaType, PayloadTooLarge, MalformedRequest, HeadersTooLarge,
│   │                        RequestIncomplete, InvalidParameters, InvalidCursor, RouteNotFound, MethodNotAllowed,
│   │                        IdempotencyInProgress, IdempotencyKeyReused, InvalidMessage, ToolNotFound, ResultTooLarge
│   ├── resources            ConnectionNotFound, ConnectionMismatch, ConnectionPending, WorkspaceNotFound, KeyNotFound,
│   │                        WebhookNotFound, OperatorNotFound, RunNotFound, RunNotRecorded, and those of
│   │                        the connectors: PageNotFound, CardNotFound …
│   └── rejected values      CredentialsRefused, OtherAccount, QuotaExceeded, ConnectNotSetUp, LossyCast,
│                            SelectOptionMissing, LabelNotOnBoard, InvalidRecipient, ReadOnlyField …
├── UpstreamFailure          the vendor rejected the request, failed or did not respond
│   ├── rejected             ConnectionRevoked, ConnectionScopeMissing, UpstreamForbidden, UpstreamRefused,
│   │                        UpstreamConflict, UpstreamRateLimited
│   └── failed               UpstreamError, UpstreamUnexpected, UpstreamTimeout, UpstreamUnavailable, OutcomeUnknown
└── ServiceFailure           this service failed, or is unavailable
        InternalError, Overloaded, SecretUnreadable, StorageUnavailable, SharedStoreUnavailable
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

Detail = Mapping[str, Any]
"""Machine-readable facts about one error: ``parameter``, ``property``, ``value``, ``allowed``, ``index`` …"""

SUBJECT_KEYS = frozenset({"parameter", "property", "field", "scopes", "vendor_code"})
"""The keys of a detail that name the subject of the error."""

KEY = ("header", "Authorization")
CONNECTION = ("parameter", "connection_id")
BODY = ("parameter", "body")
"""The locations of errors: the API key, the connection and the body."""

VALUE = {"value"}
"""The keys of a detail that has a value without its subject."""

InDoubtReason = Literal["failed", "edge", "garbled", "cut", "silent", "interrupted"]
"""The reason why the outcome of a write is unknown: the vendor reported a failure, an edge in front of it did so while
the request may continue, the response was unreadable, the connection broke, no response arrived in time, or this
service stopped during the write.
"""


class GatewayError(Exception):
    """An error that ends a call without its result.

    ``message`` is safe to return to the caller. ``private`` is for the log and may contain the vendor's text. ``doubt``
    is set if a write may have been carried out, and gives the reason why that is unknown.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    """The name of the class in snake case, which is part of the public contract."""

    remedy: str
    """The next step, with references in braces (``core.remedies``). An instance can have a more specific one."""

    prescribed: ClassVar[Mapping[str, str]] = {}
    """A prescribed sentence before the remedy over HTTP, by the connectors that it is prescribed for."""

    subject_parameters: ClassVar[tuple[str, ...]] = ()
    """The parameters that name the subject of the error, if an operation has one of them."""

    location: ClassVar[tuple[str, str] | None] = None
    """The kind and name of the part of a request that the error is about, by default the first of
    ``subject_parameters``.
    """

    def __init_subclass__(cls, *, status: int | None = None) -> None:
        """Add the class to the catalogue with *status* and its own code.

        A class without a status shares the entry of its parent.
        """
        super().__init_subclass__()
        if status is not None:
            cls.status, cls.code = status, re.sub(r"\B[A-Z]", r"_\g<0>", cls.__name__).lower()

    def __init__(
        self,
        message: str,
        *details: Detail,
        private: str = "",
        retry_after: float | None = None,
        doubt: InDoubtReason | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = list(details)
        self.private = private
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))
        self.doubt = doubt
        if remedy is not None:
            self.remedy = remedy

    @classmethod
    def default_location(cls) -> Mapping[str, str]:
        """Return the location of details that have none."""
        kind, name = cls.location or (
            ("parameter", cls.subject_parameters[0]) if cls.subject_parameters else ("place", "request")
        )
        return {kind: name}

    def attach_subject(self, parameters: Mapping[str, Any]) -> None:
        """Name the parameter that the error is about, unless its details already name a subject."""
        name = next((name for name in self.subject_parameters if parameters.get(name) is not None), None)
        if name is None or any(not SUBJECT_KEYS.isdisjoint(detail) for detail in self.details):
            return
        others = [detail for detail in self.details if detail.keys() != VALUE]
        self.details = [{"parameter": name, "value": parameters[name]}, *others]


class CallerError(GatewayError):
    """The caller can put it right."""


class UpstreamFailure(GatewayError):
    """The third party refused, failed or fell silent."""


class ServiceFailure(GatewayError):
    """We are at fault, or not able just now."""


# Caller identity


class MissingApiKey(CallerError, status=401):
    """The request carries no ``Authorization: Bearer`` header."""

    location = KEY
    remedy = "Call with {authorization}."


class InvalidApiKey(CallerError, status=401):
    """The key is unknown, revoked or expired."""

    location = KEY
    remedy = "Use a key that is neither revoked nor expired; an operator creates a new one with {create_key}."


class InvalidSignature(CallerError, status=401):
    """A delivery to a hook is not signed, wrongly signed, or too old."""

    remedy = "Sign the raw body with the secret that is set as {HOOK_SECRET}, and send it immediately."


class WriteScopeRequired(CallerError, status=403):
    """A key with read scope calls an operation that writes."""

    location = KEY
    remedy = "Use a key whose scope is read_write; an operator creates one with {create_key}."


class OperationNotAllowed(CallerError, status=403):
    """The key is limited to other operations."""

    location = KEY
    remedy = (
        "Use another {operation}, or a key that allows this one; an operator sees what a key allows with {list_keys}."
    )


class OriginNotAllowed(CallerError, status=403):
    """A web page of another origin, or a name that does not belong to this service, asks at the address for agents."""

    location = ("header", "Origin")
    remedy = "Connect from a program instead of a web page, or use the address that is set as GATEWAY_BASE_URL."


class OperatorTokenRequired(CallerError, status=403):
    """A management route is called without the operator's token, and with a key that has no right to it."""

    location = KEY
    remedy = "Use the token of an operator. For connections, a key with manages_connections will do."


class AdminRoleRequired(CallerError, status=403):
    """An operator whose role is viewer tries to change something."""

    location = KEY
    remedy = "Use the token of an operator whose role is admin; {list_operators} shows the roles."


class RateLimited(CallerError, status=429):
    """The key has used up its calls of the rolling minute, or too many wrong tokens come from the address."""

    location = KEY
    remedy = "Wait {wait}, then call again."


# Request format


class InvalidJson(CallerError, status=400):
    """The body is not a JSON text."""

    location = BODY
    remedy = "Send one JSON object, encoded in UTF-8, with each key once."


class UnsupportedMediaType(CallerError, status=415):
    """The body is declared to be something other than JSON."""

    location = ("header", "Content-Type")
    remedy = "Send the header 'Content-Type: application/json'."


class PayloadTooLarge(CallerError, status=413):
    """The body is larger than the service takes."""

    location = BODY
    remedy = "Send less, for example fewer items per call."


class MalformedRequest(CallerError, status=400):
    """What was sent is not HTTP as this service understands it; the connection is closed."""

    remedy = "Send HTTP/1.1, and wait for responses before sending many more requests on one connection."


class HeadersTooLarge(CallerError, status=431):
    """Request line, headers and trailers are larger than the service takes; the connection is closed."""

    remedy = "Send fewer or shorter headers, and long values in the body."


class RequestIncomplete(CallerError, status=408):
    """The request did not arrive whole in time; nothing was done."""

    location = BODY
    remedy = "Send the complete request: its headers within 10 seconds, its body within 30."


class InvalidParameters(CallerError, status=422):
    """One or more parameters are missing, unknown or not of the expected form; ``details`` lists all of them."""

    remedy = "Correct the {parameters} listed in details."


class InvalidMessage(CallerError, status=400):
    """What an agent's program sent is no message of JSON-RPC 2.0."""

    location = BODY
    remedy = "Send one request or notification at a time, as libraries for the protocol do."


class ToolNotFound(CallerError, status=404):
    """No tool of that name is open to this key."""

    location = KEY
    remedy = "List the tools and call one of them; the list depends on the key and on the workspace's connections."


class ResultTooLarge(CallerError, status=422):
    """What was read is more than an agent is given at once."""

    remedy = "Ask for less: a smaller limit, fewer fields, or a link instead of the content."


class InvalidCursor(CallerError, status=422):
    """The cursor is damaged, or was issued for another route, connection or filter."""

    location = ("parameter", "cursor")
    remedy = (
        "Pass next_cursor of the previous response unchanged as {cursor}, with the same filters, or leave {cursor} out."
    )


class RouteNotFound(CallerError, status=404):
    """There is nothing at this address."""

    remedy = "See {routes} for what there is."


class MethodNotAllowed(CallerError, status=405):
    """The address exists, but not for this method."""

    remedy = "Use a method named in the Allow header."


class HookSecretKnown(CallerError, status=409):
    """The secret of an application's deliveries is known already, so none is asked for."""

    remedy = (
        "To have another secret handed over, delete this one with {forget_hook}, or remove {HOOK_SECRET} from "
        "the settings."
    )


class IdempotencyInProgress(CallerError, status=409):
    """A call with the same idempotency key is still being carried out."""

    location = ("parameter", "idempotency_key")
    remedy = "Wait {wait}, then repeat with the same {idempotency_key} to get the result of the first call."


class IdempotencyKeyReused(CallerError, status=422):
    """The idempotency key was used for another object: another card, another page, another channel."""

    location = ("parameter", "idempotency_key")
    remedy = (
        "Use a new {idempotency_key} for another object, or name the object of the first call to get its result; "
        "first_run_id in details is that call."
    )


# Resources


class ConnectionNotFound(CallerError, status=404):
    """No connection of that identifier is open to this key."""

    location = CONNECTION
    remedy = "Use an identifier that {list_connections} lists."


class ConnectionMismatch(CallerError, status=422):
    """The connection belongs to another connector than the route."""

    location = CONNECTION
    remedy = "Use a connection of the {operation}'s own connector; {list_connections} lists them."


class ConnectionPending(CallerError, status=409):
    """The connection was made without credentials, and nobody has connected an account yet."""

    location = CONNECTION
    remedy = (
        "Have the account's user open the connect link and allow the access, or create a new link with "
        "{reconnect_connection}."
    )


class CredentialsRefused(CallerError, status=422):
    """The third party does not accept the credentials that were given."""

    location = ("parameter", "credentials")
    remedy = "Copy the credentials from the application again, check that they have not expired, and use those."


class OtherAccount(CallerError, status=409):
    """The credentials are those of another account than the one the connection belongs to."""

    location = ("parameter", "credentials")
    remedy = "Connect the account that was connected before, or set {allow_other_account}."


class QuotaExceeded(CallerError, status=409):
    """The workspace has as many connections, keys or webhooks as it may have."""

    remedy = "Remove what is no longer needed, or have the operator raise the setting that details name."


class ConnectNotSetUp(CallerError, status=409):
    """Accounts of this connector cannot be connected in a browser, since the installation is not registered for it."""

    location = CONNECTION
    remedy = (
        "Set {CLIENT_ID} and {CLIENT_SECRET} and start the service again, or create the connection with credentials."
    )


class WorkspaceNotFound(CallerError, status=404):
    """No workspace of that identifier exists."""

    location = ("parameter", "workspace_id")
    remedy = "Use an identifier that {list_workspaces} lists."


class KeyNotFound(CallerError, status=404):
    """No API key of that identifier exists."""

    location = ("parameter", "key_id")
    remedy = "Use an identifier that {list_keys} lists."


class OperatorNotFound(CallerError, status=404):
    """No operator of that identifier or name exists."""

    location = ("parameter", "operator_id")
    remedy = (
        "Use an operator that {list_operators} lists; the built-in one, whose token is GATEWAY_OPERATOR_TOKEN, "
        "is not among them."
    )


class WebhookNotFound(CallerError, status=404):
    """No webhook of that identifier exists."""

    location = ("parameter", "webhook_id")
    remedy = "Use an identifier that {list_webhooks} lists."


class HookNotFound(CallerError, status=404):
    """No secret was handed over for the hook."""

    remedy = "Open an address with {open_hook}, and have the application send its verification request there."


class RunNotFound(CallerError, status=404):
    """No run of that identifier is kept for this workspace."""

    location = ("parameter", "run_id")
    remedy = "Check the run_id. Runs are listed by {list_runs}, and deleted after the retention time."


class RunNotRecorded(CallerError, status=404):
    """The call was refused because the key's minute was used up, and came after too many such calls to have a run."""

    location = ("parameter", "run_id")
    remedy = (
        "The key's last run with the code rate_limited counts the calls that have no run in and_more; find it with "
        "{list_runs}. Call less often."
    )


class DatabaseNotShared(CallerError, status=403):
    """The database does not exist, or was not selected when the connection was made."""

    subject_parameters = ("database_id",)
    remedy = (
        "Share the database with the connection in {vendor}, then call again; {list_databases} lists those that "
        "are shared."
    )
    prescribed = dict.fromkeys(("notes",), "Add the database to the shared selection, then retry.")


class PageNotFound(CallerError, status=404):
    """The page does not exist, or is not shared with the connection."""

    subject_parameters = ("page_id",)
    remedy = (
        "Check the page identifier, which {search_pages} returns, and share the page with the connection in {vendor}."
    )


class PersonNotFound(CallerError, status=404):
    """Nobody in the workspace has the address or name that a value gives."""

    location = ("parameter", "properties")
    remedy = (
        "Use the e-mail address, the exact name or the identifier of a person in the workspace; name guests by "
        "identifier."
    )


class PropertyNotFound(CallerError, status=404):
    """A property name does not exist where it is used."""

    location = ("parameter", "properties")
    remedy = "Use a property name that {list_databases|list_properties} returns, spelled the same."
    prescribed = dict.fromkeys(("notes",), "Read the current property list, then correct the name.")


class BoardNotAuthorised(CallerError, status=403):
    """The board does not exist, or is outside what the account can see."""

    subject_parameters = ("board_id", "list_id", "card_id")
    remedy = "Obtain access or point to another board."


class ListNotFound(CallerError, status=404):
    """The list does not exist on the board, or is archived."""

    subject_parameters = ("list_id",)
    remedy = "Use a list_id that {describe_board} returns, instead of a name."
    prescribed = dict.fromkeys(
        ("boards",), "Read current identifiers from the lists route. List names are not stable identifiers."
    )


class CardNotFound(CallerError, status=404):
    """The card does not exist, or the account cannot see it."""

    subject_parameters = ("card_id",)
    remedy = (
        "Check the card_id, which {create_card} returns and the card's link in {vendor} contains, and the "
        "account's access to its board."
    )


class MessageNotFound(CallerError, status=404):
    """The message does not exist where it was looked for."""

    subject_parameters = ("message_ts", "message_id")
    remedy = "Use an identifier that {search_messages|post_message} returns; in chat, with the channel of the message."


class ThreadNotFound(CallerError, status=404):
    """The thread does not exist, or holds nothing that can be replied to."""

    subject_parameters = ("thread_ts", "thread_id")
    remedy = (
        "Use the thread identifier of a message that exists, or leave {thread_ts|thread_id} out to start a "
        "conversation."
    )


class LabelNotFound(CallerError, status=404):
    """The mailbox lacks a label that is to be applied."""

    location = ("parameter", "add")
    remedy = "Correct the name, or set {create_missing} to true."


class AttachmentNotFound(CallerError, status=404):
    """The message has no such attachment."""

    subject_parameters = ("attachment_id",)
    remedy = "Use an attachment_id that {search_messages} returns with {include_body} true."


class LinkNotFound(CallerError, status=404):
    """The download link is unknown, altered or expired."""

    remedy = "Fetch the attachment again to get a new link."


class ChannelNotFound(CallerError, status=404):
    """The channel does not exist, or is private and the app was not invited."""

    subject_parameters = ("channel",)
    remedy = (
        "Use a channel that {list_channels} returns; a private one is listed after the app was invited to it in "
        "{vendor}."
    )


class NotInChannel(CallerError, status=403):
    """The app may not post there because it is not a member."""

    subject_parameters = ("channel",)
    remedy = "Invite the app to the channel in {vendor}, then call again."


class ChannelArchived(CallerError, status=409):
    """The channel is archived or otherwise closed to writing."""

    subject_parameters = ("channel",)
    remedy = "Unarchive the channel in {vendor}, or use another one that {list_channels} returns."


class AmbiguousChannel(CallerError, status=409):
    """Several channels share the name."""

    location = ("parameter", "channel")
    remedy = "Name the channel by one of the identifiers in details."


class ChannelListTooLong(CallerError, status=422):
    """The name is not among the channels that were read, and there are more than can be read in a call."""

    location = ("parameter", "channel")
    remedy = "Name the channel by its identifier, which {list_channels} returns."


class EmojiNotFound(CallerError, status=404):
    """The workspace has no emoji of that name."""

    subject_parameters = ("emoji",)
    remedy = "Use the short name of an emoji that the workspace has, such as eyes."


class ContactNotFound(CallerError, status=404):
    """The contact does not exist in the portal."""

    subject_parameters = ("contact_id",)
    remedy = (
        "Use a contact_id that {look_up_contacts} returns, or create the contact first with {create_or_update_contact}."
    )


class CompanyNotFound(CallerError, status=404):
    """No company has that domain or identifier."""

    subject_parameters = ("associate_company",)
    remedy = "Correct the domain or identifier, or set {create_company} to true with a domain."


class DealNotFound(CallerError, status=404):
    """The deal does not exist in the portal."""

    subject_parameters = ("deal_id",)
    remedy = "Check the deal_id, which {create_deal} returns and the deal's link in {vendor} contains."


class PipelineNotFound(CallerError, status=404):
    """The portal has no pipeline of that name or identifier."""

    location = ("parameter", "pipeline")
    remedy = "Use one of the pipelines in details."


class StageNotFound(CallerError, status=404):
    """The pipeline has no stage of that name or identifier."""

    location = ("parameter", "dealstage")
    remedy = "Use one of the pipeline's stages in details."


class BaseNotFound(CallerError, status=404):
    """The base does not exist, or the account cannot see it."""

    subject_parameters = ("base_id",)
    remedy = "Check the base_id, and give the connection access to the base in {vendor}."


class TableNotFound(CallerError, status=404):
    """The base has no table of that name or identifier."""

    subject_parameters = ("table",)
    remedy = "Use a table that {list_tables} returns."


class ViewNotFound(CallerError, status=404):
    """The table has no view of that name."""

    subject_parameters = ("view",)
    remedy = "Use one of the views that {list_tables} returns for the table."


class RecordNotFound(CallerError, status=404):
    """The record does not exist where it was looked for."""

    subject_parameters = ("record_id",)
    remedy = "Use a record_id that {read_records} returns for the table."


class FieldNotFound(CallerError, status=404):
    """The table has no field of that name."""

    location = ("parameter", "fields")
    remedy = "Use a field name that {list_tables} returns, spelled the same."


# Rejected values and states


class LossyCast(CallerError, status=422):
    """A value cannot become the destination's type without loss; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Send a value that the type in details can hold exactly."


class SelectOptionMissing(CallerError, status=409):
    """A select value is not one of the configured options; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use one of the options in details, or add the option in {vendor}."
    prescribed = dict.fromkeys(("notes",), "Add the option, allow new options on the mapping, or translate the value.")


class OptionMissing(CallerError, status=409):
    """A value is not among the options of an enumeration; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use one of the allowed values in details."


class UniqueValueTaken(CallerError, status=409):
    """Another record has the value of a property whose values are unique; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use another value, or change the record that has it; details name the property, the value and the record."


class AmbiguousPerson(CallerError, status=409):
    """Several people share the name."""

    location = ("parameter", "properties")
    remedy = "Name the person by e-mail address, or by one of the identifiers in details."


class AmbiguousDatabase(CallerError, status=409):
    """The database holds several data sources, and none of them alone covers the request."""

    location = ("parameter", "database_id")
    remedy = "Name properties of one data source only; details lists the sources."


class AmbiguousPipeline(CallerError, status=409):
    """Several pipelines share the name."""

    location = ("parameter", "pipeline")
    remedy = "Name the pipeline by one of the identifiers in details."


class PageModified(CallerError, status=409):
    """The page changed after ``if_unmodified_since``; nothing was written."""

    location = ("parameter", "if_unmodified_since")
    remedy = (
        "Read the page again, and if the change still applies, send last_edited_at of details as {if_unmodified_since}."
    )


class PageInTrash(CallerError, status=409):
    """The page is in the trash, where properties cannot be written."""

    location = ("parameter", "properties")
    remedy = "Restore the page by sending {archived} false, alone or with the properties."


class UnsupportedBlock(CallerError, status=422):
    """A body block is of a kind that is not offered."""

    location = ("parameter", "children")
    remedy = "Use paragraph, bulleted_list_item or callout."


class LabelNotOnBoard(CallerError, status=409):
    """A label name is not defined on the board; nothing was written."""

    location = ("parameter", "labels")
    remedy = "Create the label with the same name or drop it; {describe_board} returns the board's labels."


class InvalidRecipient(CallerError, status=422):
    """One or more recipients are not valid addresses; nothing was sent."""

    location = ("parameter", "to")
    remedy = "Correct the addresses listed in details."


class NotMessageAuthor(CallerError, status=403):
    """Only messages that the app itself posted can be edited."""

    subject_parameters = ("message_ts",)
    remedy = "Edit a message that this connection posted with {post_message}."


class TooManyRecords(CallerError, status=422):
    """More records at once than a call takes; none was created."""

    location = ("parameter", "records")
    remedy = "Send at most ten records per call."


class ReadOnlyField(CallerError, status=422):
    """The field is computed and cannot be written; nothing was written."""

    location = ("parameter", "fields")
    remedy = "Leave out the fields in details, which {vendor} computes."


class UrlNotAllowed(CallerError, status=422):
    """The link does not lead to a public http or https address."""

    location = ("parameter", "url")
    remedy = "Use an http or https link that anyone on the internet can open; details have the reason."


class UrlUnreachable(CallerError, status=422):
    """The link could not be fetched."""

    location = ("parameter", "url")
    remedy = "Open the link without signing in, and correct what the reason in details says; then call again."


class FileEmpty(CallerError, status=422):
    """The file behind the link has no content, and the application stores no empty files."""

    location = ("parameter", "url")
    remedy = "Use a link to a file with content."


class FileTooLarge(CallerError, status=413):
    """The file is larger than can be taken."""

    location = ("parameter", "url")
    remedy = "Use a smaller file."


# Rejected by the vendor


class ConnectionRevoked(UpstreamFailure, status=401):
    """The third-party authorisation behind the connection was withdrawn."""

    location = CONNECTION
    remedy = (
        "Have an operator, or a program whose key has manages_connections, reconnect the account with "
        "{reconnect_connection}, whose link the account's user opens."
    )
    prescribed = dict.fromkeys(("notes", "boards"), "Reconnect the account; flows resume on their next scheduled run.")


class ConnectionScopeMissing(UpstreamFailure, status=403):
    """The connection was authorised without a permission that this operation needs."""

    location = CONNECTION
    remedy = "Reconnect the account with {reconnect_connection}, and grant every permission that is asked for."


class UpstreamForbidden(UpstreamFailure, status=403):
    """The third party's plan, policy or permissions forbid this."""

    location = CONNECTION
    remedy = "Ask an administrator of the account in {vendor} to allow it."


class UpstreamRefused(UpstreamFailure, status=422):
    """The third party understood the request and refused its values."""

    remedy = (
        "Check the values against what {vendor} accepts; its own reason, if it gave one, is vendor_message in details."
    )


class UpstreamConflict(UpstreamFailure, status=409):
    """A collision with another change: the application refused, or a call that goes first takes too long."""

    remedy = "Call again once. If the conflict persists, change the value that vendor_message in details names."


class UpstreamRateLimited(UpstreamFailure, status=429):
    """The third party's budget is used up for longer than a call may wait."""

    location = CONNECTION
    remedy = "Wait {wait}, then retry."


# Failures of the vendor


class UpstreamError(UpstreamFailure, status=502):
    """The third party failed, or answered something that cannot be read."""

    remedy = "Call again later; if it persists, report the run_id to the operator."


class ResponseTooLarge(UpstreamError):
    """The third party answered more than is read at once; told as ``UpstreamError`` where less cannot be asked for."""

    remedy = "Ask for less at once: a smaller limit, or a narrower search."


class UpstreamUnexpected(UpstreamFailure, status=502):
    """The third party answered or refused in a way that is not known here."""

    remedy = "Report the run_id to the operator; {show_run} explains the call."


class UpstreamTimeout(UpstreamFailure, status=504):
    """The third party did not answer in time."""

    remedy = "Call again later."


class UpstreamUnavailable(UpstreamFailure, status=503):
    """The third party cannot be reached; nothing was sent."""

    remedy = "Call again later."


class OutcomeUnknown(UpstreamFailure, status=502):
    """A write was sent, its answer never came, and looking it up did not settle whether it was done."""

    remedy = "Look in {vendor} whether it was done; repeating with the same {idempotency_key} is safe."


# Failures of this service


class InternalError(ServiceFailure, status=500):
    """A fault of this service."""

    remedy = "Report the run_id to the operator; {show_run} explains the call."


class Overloaded(ServiceFailure, status=503):
    """More calls are under way than the service takes, or it is stopping."""

    remedy = "Wait {wait}, then call again."


class SecretUnreadable(ServiceFailure, status=503):
    """What was stored encrypted cannot be decrypted with the secret keys that this process has."""

    remedy = (
        "Ask the operator to add the missing secret key to GATEWAY_DECRYPT_ONLY_KEYS and to start the service again; "
        "until then other connections work."
    )


class StorageUnavailable(ServiceFailure, status=503):
    """The database does not answer, or cannot be written to; what was to be recorded may be recorded all the same."""

    remedy = (
        "Wait {wait}, then repeat: a read unchanged, a write with the same {idempotency_key}. Before a write "
        "without a key is repeated, look in {vendor} whether it was done."
    )


class SharedStoreUnavailable(ServiceFailure, status=503):
    """The store in which several processes count calls together does not answer; nothing was sent."""

    remedy = "Wait {wait}, then call again."


def all_errors() -> Iterator[type[GatewayError]]:
    """Yield every entry of the catalogue, in the order of this module."""
    for family in GatewayError.__subclasses__():
        yield from family.__subclasses__()


EVERY_REQUEST: frozenset[type[GatewayError]] = frozenset(
    (
        MissingApiKey,
        InvalidApiKey,
        MalformedRequest,
        HeadersTooLarge,
        InvalidParameters,
        RateLimited,
        InternalError,
        SecretUnreadable,
        StorageUnavailable,
        SharedStoreUnavailable,
    )
)
"""The errors of any API route, including management."""

EVERY_CALL: frozenset[type[GatewayError]] = EVERY_REQUEST | {
    OperationNotAllowed,
    ConnectionNotFound,
    ConnectionMismatch,
    ConnectionPending,
    ConnectionRevoked,
    ConnectionScopeMissing,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamConflict,
    UpstreamRateLimited,
    UpstreamError,
    UpstreamUnexpected,
    UpstreamTimeout,
    UpstreamUnavailable,
    Overloaded,
}
"""The errors of any operation."""

EVERY_WRITE: frozenset[type[GatewayError]] = frozenset(
    {WriteScopeRequired, IdempotencyInProgress, IdempotencyKeyReused, OutcomeUnknown}
)
"""Further errors of any operation that writes."""

UNREADABLE_BODY: frozenset[type[GatewayError]] = frozenset(
    {InvalidJson, UnsupportedMediaType, PayloadTooLarge, RequestIncomplete}
)
"""Further errors of any route with a body."""
