"""An exception for every code of the service. Generated from the declarations; do not edit."""

from connector_gateway_client.base_errors import CallerError, ServiceFailure, UpstreamFailure


class MissingApiKey(CallerError):
    """The request has no `Authorization: Bearer` header."""


class InvalidApiKey(CallerError):
    """The key is unknown, revoked or expired."""


class InvalidSignature(CallerError):
    """The signature of a vendor's webhook request is missing, wrong or too old."""


class WriteScopeRequired(CallerError):
    """A key with read scope calls an operation that writes."""


class ConfirmationRequired(CallerError):
    """The key requires that a person confirms this write. Nothing was written; `dry_run` is what would be."""


class ConfirmationDeclined(CallerError):
    """A person was asked through the agent's client, and declined this write. Nothing was written."""


class OperationNotAllowed(CallerError):
    """The key does not allow this operation."""


class OriginNotAllowed(CallerError):
    """The MCP endpoint was called from a web page of another origin, or with a host name that is not this service's."""


class OperatorTokenRequired(CallerError):
    """A management route was called without an operator's token, and with a key that does not allow it."""


class AdminRoleRequired(CallerError):
    """An operator with the role viewer requested a change."""


class RateLimited(CallerError):
    """The key has used up its calls of the rolling minute, or the client's network has sent too many wrong tokens."""


class ConnectionNotFound(CallerError):
    """No connection with that identifier is available to this key."""


class ConnectionMismatch(CallerError):
    """The connection belongs to another connector than the route."""


class ConnectionPending(CallerError):
    """The connection was created without credentials, and no vendor account has been connected yet."""


class CredentialsRefused(CallerError):
    """The vendor rejects the credentials."""


class OtherAccount(CallerError):
    """The credentials belong to another vendor account than the connection."""


class ConnectNotSetUp(CallerError):
    """Accounts of this connector cannot be connected in a browser, because the installation has no OAuth app for it."""


class InvalidJson(CallerError):
    """The body is not valid JSON."""


class UnsupportedMediaType(CallerError):
    """The body is not declared as JSON, or has a Content-Encoding."""


class PayloadTooLarge(CallerError):
    """The body is larger than the limit."""


class MalformedRequest(CallerError):
    """The request is not valid HTTP. The connection is closed."""


class HeadersTooLarge(CallerError):
    """The request line, headers and trailers are larger than the limit. The connection is closed."""


class RequestIncomplete(CallerError):
    """The request did not arrive completely in time. Nothing was done."""


class InvalidParameters(CallerError):
    """One or more parameters are missing, unknown or invalid; `details` lists all of them."""


class InvalidMessage(CallerError):
    """The message of an MCP client is not valid JSON-RPC 2.0."""


class ToolNotFound(CallerError):
    """No tool with that name is available to this key."""


class ResultTooLarge(CallerError):
    """The result is larger than the limit for agents."""


class InvalidCursor(CallerError):
    """The cursor is invalid, or was issued for another route, connection or filter."""


class RouteNotFound(CallerError):
    """This route does not exist."""


class MethodNotAllowed(CallerError):
    """The route does not support this method."""


class IdempotencyInProgress(CallerError):
    """A call with the same idempotency key is still in progress."""


class IdempotencyKeyReused(CallerError):
    """The idempotency key was used for another object: another card, page or channel."""


class DatabaseNotShared(CallerError):
    """The database does not exist, or was not selected when the account was connected."""


class AmbiguousDatabase(CallerError):
    """The database has several data sources, and none of them has all properties of the request."""


class PageNotFound(CallerError):
    """The page does not exist, or is not shared with the connection."""


class PageModified(CallerError):
    """The page changed after `if_unmodified_since`. Nothing was written."""


class PageInTrash(CallerError):
    """The page is in the trash, where properties cannot be written."""


class UnsupportedBlock(CallerError):
    """A block of the page body has a type that is not supported."""


class PersonNotFound(CallerError):
    """No person in the workspace has the e-mail address or name of a value."""


class AmbiguousPerson(CallerError):
    """Several people have that name."""


class BoardNotAuthorised(CallerError):
    """The board does not exist, or the account cannot see it."""


class ListNotFound(CallerError):
    """The list does not exist on the board, or is archived."""


class CardNotFound(CallerError):
    """The card does not exist, or the account cannot see it."""


class LabelNotOnBoard(CallerError):
    """The board has no label with that name. Nothing was written."""


class MessageNotFound(CallerError):
    """The message does not exist in the channel or mailbox."""


class NotMessageAuthor(CallerError):
    """The message was not posted by the app, which can only edit its own messages."""


class ThreadNotFound(CallerError):
    """The thread does not exist, or has no message that can be replied to."""


class ChannelNotFound(CallerError):
    """The channel does not exist, or is private and the app was not invited."""


class NotInChannel(CallerError):
    """The app cannot post to the channel because it is not a member."""


class ChannelArchived(CallerError):
    """The channel is archived, or writing to it is restricted."""


class AmbiguousChannel(CallerError):
    """Several channels have that name."""


class ChannelListTooLong(CallerError):
    """The name is not among the channels that were read, and there are more channels than one call reads."""


class EmojiNotFound(CallerError):
    """The workspace has no emoji with that name."""


class LabelNotFound(CallerError):
    """The mailbox does not have a label that should be added."""


class AttachmentNotFound(CallerError):
    """The message has no attachment with that identifier."""


class InvalidRecipient(CallerError):
    """One or more recipients are not valid e-mail addresses. Nothing was sent."""


class ContactNotFound(CallerError):
    """The contact does not exist in the portal."""


class CompanyNotFound(CallerError):
    """No company has that domain or identifier."""


class DealNotFound(CallerError):
    """The deal does not exist in the portal."""


class PipelineNotFound(CallerError):
    """The portal has no pipeline with that name or identifier."""


class AmbiguousPipeline(CallerError):
    """Several pipelines have that name."""


class StageNotFound(CallerError):
    """The pipeline has no stage with that name or identifier."""


class BaseNotFound(CallerError):
    """The base does not exist, or the account cannot see it."""


class TableNotFound(CallerError):
    """The base has no table with that name or identifier."""


class ViewNotFound(CallerError):
    """The table has no view with that name."""


class RecordNotFound(CallerError):
    """The record does not exist in the table."""


class FieldNotFound(CallerError):
    """The table has no field with that name."""


class TooManyRecords(CallerError):
    """The call contains more records than the limit. None was created."""


class LinkNotFound(CallerError):
    """The download link is invalid or expired."""


class UrlNotAllowed(CallerError):
    """The URL is not a public http or https URL."""


class UrlUnreachable(CallerError):
    """The file at the URL could not be fetched."""


class FileEmpty(CallerError):
    """The file at the URL is empty, and the vendor does not store empty files."""


class FileTooLarge(CallerError):
    """The file is larger than the limit."""


class QuotaExceeded(CallerError):
    """The workspace has its maximum number of connections, keys or webhooks."""


class WorkspaceNotFound(CallerError):
    """No workspace with that identifier exists."""


class KeyNotFound(CallerError):
    """No API key with that identifier exists."""


class AgentsOff(CallerError):
    """Clients of agents cannot be authorised, because GATEWAY_AGENT_OAUTH is off."""


class OperatorNotFound(CallerError):
    """No operator with that identifier or name exists."""


class WebhookNotFound(CallerError):
    """No webhook with that identifier exists."""


class HookNotFound(CallerError):
    """The hook has no stored secret."""


class HookSecretKnown(CallerError):
    """The hook already has a secret."""


class RunNotFound(CallerError):
    """The workspace has no run with that identifier."""


class RunNotRecorded(CallerError):
    """The call exceeded the key's rate limit, and is counted in the run of an earlier such call."""


class LossyCast(CallerError):
    """A value cannot be converted to the type of its property or field without loss. Nothing was written."""


class PropertyNotFound(CallerError):
    """The database or object type has no property with that name."""


class SelectOptionMissing(CallerError):
    """A select value is not one of the configured options. Nothing was written."""


class OptionMissing(CallerError):
    """A value is not an option of its enumeration property. Nothing was written."""


class UniqueValueTaken(CallerError):
    """Another record has the value of a property whose values are unique. Nothing was written."""


class ReadOnlyField(CallerError):
    """The field is computed and cannot be written. Nothing was written."""


class ConnectionRevoked(UpstreamFailure):
    """The vendor authorisation behind the connection was withdrawn."""


class ConnectionScopeMissing(UpstreamFailure):
    """The connection was authorised without a permission that this operation needs."""


class UpstreamForbidden(UpstreamFailure):
    """The vendor's plan, policy or permissions forbid this."""


class UpstreamRefused(UpstreamFailure):
    """The vendor understood the request and rejected its values."""


class UpstreamConflict(UpstreamFailure):
    """The request conflicts with another change: the vendor rejected it, or a call that goes first takes too long."""


class UpstreamRateLimited(UpstreamFailure):
    """The vendor's rate limit is used up for longer than a call may wait."""


class UpstreamError(UpstreamFailure):
    """The vendor failed, or returned a response that cannot be read."""


class UpstreamUnexpected(UpstreamFailure):
    """The vendor returned a response or an error that this gateway does not recognise."""


class UpstreamTimeout(UpstreamFailure):
    """The vendor did not respond in time."""


class UpstreamUnavailable(UpstreamFailure):
    """The vendor cannot be reached. Nothing was sent."""


class OutcomeUnknown(UpstreamFailure):
    """A write was sent but got no response, and a search could not establish whether it took effect."""


class InternalError(ServiceFailure):
    """This service failed."""


class Overloaded(ServiceFailure):
    """The service is processing its maximum number of calls, or is shutting down."""


class SecretUnreadable(ServiceFailure):
    """A stored secret cannot be decrypted with the secret keys of this process."""


class StorageUnavailable(ServiceFailure):
    """The database does not respond, or is read-only. Changes may still have been saved."""


class SharedStoreUnavailable(ServiceFailure):
    """The store in which several processes count calls does not respond. Only steps in the details were carried out."""
