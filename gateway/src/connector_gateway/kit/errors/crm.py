"""Errors of contacts, companies, deals and pipelines."""

from connector_gateway.kit.errors.base import CallerError


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
    """The portal has no pipeline with that name or identifier."""

    location = ("parameter", "pipeline")
    remedy = "Use one of the pipelines in details."


class AmbiguousPipeline(CallerError, status=409):
    """Several pipelines have that name."""

    location = ("parameter", "pipeline")
    remedy = "Use one of the pipeline identifiers in details."


class StageNotFound(CallerError, status=404):
    """The pipeline has no stage with that name or identifier."""

    location = ("parameter", "dealstage")
    remedy = "Use one of the pipeline's stages in details."
