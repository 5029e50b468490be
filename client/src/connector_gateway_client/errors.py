"""An exception for every code of the service. Generated from the declarations; do not edit."""

from connector_gateway_client.exceptions import CallerError, ServiceFailure, UpstreamFailure


class MissingApiKey(CallerError):
    """The request carries no `Authorization: Bearer` header."""


class InvalidApiKey(CallerError):
    """The key is unknown, revoked or expired."""


class InvalidSignature(CallerError):
    """A delivery to a hook is not signed, wrongly signed, or too old."""


class WriteScopeRequired(CallerError):
    """A key with read scope calls an operation that writes."""


class OperationNotAllowed(CallerError):
    """The key is limited to other operations."""


class OriginNotAllowed(CallerError):
    """A web page of another origin, or a name that does not belong to this service, asks at the address for agents."""


class OperatorTokenRequired(CallerError):
    """A management route is called without the operator's token, and with a key that has no right to it."""


class AdminRoleRequired(CallerError):
    """An operator whose role is viewer tries to change something."""


class RateLimited(CallerError):
    """The key has used up its calls of the rolling minute, or too many wrong tokens come from the address."""


class BoardNotAuthorised(CallerError):
    """The board does not exist, or is outside what the account can see."""


class ListNotFound(CallerError):
    """The list does not exist on the board, or is archived."""


class CardNotFound(CallerError):
    """The card does not exist, or the account cannot see it."""


class LabelNotOnBoard(CallerError):
    """A label name is not defined on the board; nothing was written."""


class ConnectionNotFound(CallerError):
    """No connection of that identifier is open to this key."""


class ConnectionMismatch(CallerError):
    """The connection belongs to another connector than the route."""


class ConnectionPending(CallerError):
    """The connection was made without credentials, and nobody has connected an account yet."""


class CredentialsRefused(CallerError):
    """The third party does not accept the credentials that were given."""


class OtherAccount(CallerError):
    """The credentials are those of another account than the one the connection belongs to."""


class ConnectNotSetUp(CallerError):
    """Accounts of this connector cannot be connected in a browser, since the installation is not registered for it."""


class InvalidJson(CallerError):
    """The body is not a JSON text."""


class UnsupportedMediaType(CallerError):
    """The body is declared to be something other than JSON."""


class PayloadTooLarge(CallerError):
    """The body is larger than the service takes."""


class MalformedRequest(CallerError):
    """What was sent is not HTTP as this service understands it; the connection is closed."""


class HeadersTooLarge(CallerError):
    """Request line, headers and trailers are larger than the service takes; the connection is closed."""


class RequestIncomplete(CallerError):
    """The request did not arrive whole in time; nothing was done."""


class InvalidParameters(CallerError):
    """One or more parameters are missing, unknown or not of the expected form; `details` lists all of them."""


class InvalidMessage(CallerError):
    """What an agent's program sent is no message of JSON-RPC 2.0."""


class ToolNotFound(CallerError):
    """No tool of that name is open to this key."""


class ResultTooLarge(CallerError):
    """What was read is more than an agent is given at once."""


class InvalidCursor(CallerError):
    """The cursor is damaged, or was issued for another route, connection or filter."""


class RouteNotFound(CallerError):
    """There is nothing at this address."""


class MethodNotAllowed(CallerError):
    """The address exists, but not for this method."""


class IdempotencyInProgress(CallerError):
    """A call with the same idempotency key is still being carried out."""


class IdempotencyKeyReused(CallerError):
    """The idempotency key was used for another object: another card, another page, another channel."""


class MessageNotFound(CallerError):
    """The message does not exist where it was looked for."""


class NotMessageAuthor(CallerError):
    """Only messages that the app itself posted can be edited."""


class ThreadNotFound(CallerError):
    """The thread does not exist, or holds nothing that can be replied to."""


class ChannelNotFound(CallerError):
    """The channel does not exist, or is private and the app was not invited."""


class NotInChannel(CallerError):
    """The app may not post there because it is not a member."""


class ChannelArchived(CallerError):
    """The channel is archived or otherwise closed to writing."""


class AmbiguousChannel(CallerError):
    """Several channels share the name."""


class ChannelListTooLong(CallerError):
    """The name is not among the channels that were read, and there are more than can be read in a call."""


class EmojiNotFound(CallerError):
    """The workspace has no emoji of that name."""


class LabelNotFound(CallerError):
    """The mailbox lacks a label that is to be applied."""


class AttachmentNotFound(CallerError):
    """The message has no such attachment."""


class InvalidRecipient(CallerError):
    """One or more recipients are not valid addresses; nothing was sent."""


class ContactNotFound(CallerError):
    """The contact does not exist in the portal."""


class CompanyNotFound(CallerError):
    """No company has that domain or identifier."""


class DealNotFound(CallerError):
    """The deal does not exist in the portal."""


class PipelineNotFound(CallerError):
    """The portal has no pipeline of that name or identifier."""


class AmbiguousPipeline(CallerError):
    """Several pipelines share the name."""


class StageNotFound(CallerError):
    """The pipeline has no stage of that name or identifier."""


class LinkNotFound(CallerError):
    """The download link is unknown, altered or expired."""


class UrlNotAllowed(CallerError):
    """The link does not lead to a public http or https address."""


class UrlUnreachable(CallerError):
    """The link could not be fetched."""


class FileEmpty(CallerError):
    """The file behind the link has no content, and the application stores no empty files."""


class FileTooLarge(CallerError):
    """The file is larger than can be taken."""


class QuotaExceeded(CallerError):
    """The workspace has as many connections, keys or webhooks as it may have."""


class WorkspaceNotFound(CallerError):
    """No workspace of that identifier exists."""


class KeyNotFound(CallerError):
    """No API key of that identifier exists."""


class OperatorNotFound(CallerError):
    """No operator of that identifier or name exists."""


class WebhookNotFound(CallerError):
    """No webhook of that identifier exists."""


class HookNotFound(CallerError):
    """No secret was handed over for the hook."""


class HookSecretKnown(CallerError):
    """The secret of an application's deliveries is known already, so none is asked for."""


class RunNotFound(CallerError):
    """No run of that identifier is kept for this workspace."""


class RunNotRecorded(CallerError):
    """The call was refused because the key's minute was used up, and came after too many such calls to have a run."""


class DatabaseNotShared(CallerError):
    """The database does not exist, or was not selected when the connection was made."""


class AmbiguousDatabase(CallerError):
    """The database holds several data sources, and none of them alone covers the request."""


class PageNotFound(CallerError):
    """The page does not exist, or is not shared with the connection."""


class PageModified(CallerError):
    """The page changed after `if_unmodified_since`; nothing was written."""


class PageInTrash(CallerError):
    """The page is in the trash, where properties cannot be written."""


class UnsupportedBlock(CallerError):
    """A body block is of a kind that is not offered."""


class PersonNotFound(CallerError):
    """Nobody in the workspace has the address or name that a value gives."""


class AmbiguousPerson(CallerError):
    """Several people share the name."""


class BaseNotFound(CallerError):
    """The base does not exist, or the account cannot see it."""


class TableNotFound(CallerError):
    """The base has no table of that name or identifier."""


class ViewNotFound(CallerError):
    """The table has no view of that name."""


class RecordNotFound(CallerError):
    """The record does not exist where it was looked for."""


class FieldNotFound(CallerError):
    """The table has no field of that name."""


class TooManyRecords(CallerError):
    """More records at once than a call takes; none was created."""


class LossyCast(CallerError):
    """A value cannot become the destination's type without loss; nothing was written."""


class PropertyNotFound(CallerError):
    """A property name does not exist where it is used."""


class SelectOptionMissing(CallerError):
    """A select value is not one of the configured options; nothing was written."""


class OptionMissing(CallerError):
    """A value is not among the options of an enumeration; nothing was written."""


class UniqueValueTaken(CallerError):
    """Another record has the value of a property whose values are unique; nothing was written."""


class ReadOnlyField(CallerError):
    """The field is computed and cannot be written; nothing was written."""


class ConnectionRevoked(UpstreamFailure):
    """The third-party authorisation behind the connection was withdrawn."""


class ConnectionScopeMissing(UpstreamFailure):
    """The connection was authorised without a permission that this operation needs."""


class UpstreamForbidden(UpstreamFailure):
    """The third party's plan, policy or permissions forbid this."""


class UpstreamRefused(UpstreamFailure):
    """The third party understood the request and refused its values."""


class UpstreamConflict(UpstreamFailure):
    """A collision with another change: the application refused, or a call that goes first takes too long."""


class UpstreamRateLimited(UpstreamFailure):
    """The third party's budget is used up for longer than a call may wait."""


class UpstreamError(UpstreamFailure):
    """The third party failed, or answered something that cannot be read."""


class UpstreamUnexpected(UpstreamFailure):
    """The third party answered or refused in a way that is not known here."""


class UpstreamTimeout(UpstreamFailure):
    """The third party did not answer in time."""


class UpstreamUnavailable(UpstreamFailure):
    """The third party cannot be reached; nothing was sent."""


class OutcomeUnknown(UpstreamFailure):
    """A write was sent, its answer never came, and looking it up did not settle whether it was done."""


class InternalError(ServiceFailure):
    """A fault of this service."""


class Overloaded(ServiceFailure):
    """More calls are under way than the service takes, or it is stopping."""


class SecretUnreadable(ServiceFailure):
    """What was stored encrypted cannot be decrypted with the secret keys that this process has."""


class StorageUnavailable(ServiceFailure):
    """The database does not answer, or cannot be written to; what was to be recorded may be recorded all the same."""


class SharedStoreUnavailable(ServiceFailure):
    """The store in which several processes count calls together does not answer; nothing was sent."""
