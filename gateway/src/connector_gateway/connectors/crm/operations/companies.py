"""The company linked to a contact: looked up, or created on request."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from connector_gateway.connectors.crm import mapping, vendor_models
from connector_gateway.connectors.crm.client import INDEX_LAG_SECONDS
from connector_gateway.connectors.crm.models import CreateOrUpdateContact
from connector_gateway.connectors.crm.operations import in_doubt_search
from connector_gateway.connectors.crm.operations.properties_and_owners import CrmCall, portal_id, within_portal
from connector_gateway.kit.errors import CompanyNotFound
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

LOOK_BACK_SECONDS = 2 * INDEX_LAG_SECONDS
"""The age up to which companies are listed, because a search may not find them yet."""


# Write steps


async def _send_company(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    company = await in_doubt_search.in_doubt_until_indexed(ctx.upstream.create_company(intent["domain"]))
    in_doubt_search.remember_creator(ctx, company)
    return {"id": company.id}


async def _find_companies(ctx: CrmCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the companies of that domain created by this app. Their other values come from the vendor."""
    ids, maker = (
        await in_doubt_search.ids_since(ctx, "companies", sent.earliest),
        in_doubt_search.known_creator_id(ctx, intent),
    )
    companies = await ctx.upstream.batch_read_objects("companies", ids, ["domain", *mapping.records.CREATOR_PROPERTIES])
    return in_doubt_search.in_order(
        Match({"id": company.id}, company.id, company.created_at.timestamp())
        for company in companies
        if mapping.companies.get_domain(company) == intent["domain"] and mapping.records.may_be_ours(company, maker)
    )


async def _send_link(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    await ctx.upstream.associate_with_company(intent["contact_id"], intent["company_id"])
    return {}


async def _find_link(ctx: CrmCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the association, which exists once however often it is created."""
    linked = await ctx.upstream.read_associations("contacts", intent["contact_id"], "companies")
    return [Match({})] if intent["company_id"] in linked else []


CREATE_COMPANY = WriteStep(
    "create the company",
    _send_company,
    _find_companies,
    object_kind="company",
    account_scope=within_portal,
    content_keys=lambda intent: [intent["domain"]],
    public_result=mapping.companies.public_company,
    dry_run_result=lambda _: {"id": "new-company"},
)
LINK_CONTACT = WriteStep("link the contact to the company", _send_link, _find_link)


# Planning


def remember_company(ctx: CrmCall, domain: str, company_id: str) -> None:
    """Remember a created company until the search includes it."""
    ctx.cache.put(f"company {domain}", company_id, LOOK_BACK_SECONDS)


async def lock_company_domain(ctx: CrmCall, params: CreateOrUpdateContact) -> AbstractAsyncContextManager[None]:
    """Lock the domain in the portal, against calls that create the same company through another connection."""
    domain = mapping.companies.company_domain(params.associate_company or "")
    if not domain or not params.create_company:
        return nullcontext()
    return ctx.exclusive(f"company {await portal_id(ctx)} {domain}")


async def planned_company(ctx: CrmCall, params: CreateOrUpdateContact, reference: str) -> tuple[str | None, str | None]:
    """Return the id of the company to link, or the domain of the one to create.

    Raises ``CompanyNotFound`` if there is neither.
    """
    domain, company_id = mapping.companies.company_domain(reference), await _find_company(ctx, reference)
    if company_id is None and not params.create_company:
        raise CompanyNotFound(
            f'No company has the domain "{domain}".', {"parameter": "associate_company", "value": reference}
        )
    return company_id, domain


async def _find_company(ctx: CrmCall, reference: str) -> str | None:
    """Return the id of the company with that domain or identifier, even if it was created a moment ago."""
    domain = mapping.companies.company_domain(reference)
    if domain is None:
        if not mapping.records.is_record_id(reference.strip()):
            message = "A company is identified by its domain, or by its numeric identifier."
            raise CompanyNotFound(message, {"parameter": "associate_company", "value": reference})
        return (await ctx.upstream.read_object("companies", reference.strip(), ["domain"])).id
    companies = (await ctx.upstream.search_objects("companies", mapping.companies.domain_search(domain))).results
    if companies:
        return companies[0].id
    # The search lags behind, and a second company with the same domain could not be undone.
    since = ctx.clock.now() - LOOK_BACK_SECONDS
    latest = [
        *await _recently_created(ctx, domain),
        *await in_doubt_search.listed_since(ctx, "companies", ["domain"], since),
    ]
    return next((company.id for company in latest if mapping.companies.get_domain(company) == domain), None)


async def _recently_created(ctx: CrmCall, domain: str) -> Sequence[vendor_models.Record]:
    """Return the company that this service just created for the domain, if it still exists."""
    company_id = ctx.cache.get(f"company {domain}")
    return [] if company_id is None else await ctx.upstream.batch_read_objects("companies", [company_id], ["domain"])
