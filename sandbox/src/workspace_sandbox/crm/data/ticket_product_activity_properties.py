"""The built-in properties of tickets, products, line items and activities."""

from workspace_sandbox.crm.data.property_definitions import Definition, choice, definitions_for, options

ACTIVITIES = ("tasks", "meetings", "calls", "emails")

GROUPS = {
    "tickets": "ticketinformation",
    "products": "productinformation",
    "line_items": "lineiteminformation",
    **dict.fromkeys(ACTIVITIES, "engagement"),
}

PRIORITIES = options("LOW=Low", "MEDIUM=Medium", "HIGH=High", "URGENT=Urgent")
CATEGORIES = options(
    *("PRODUCT_ISSUE=Product issue", "BILLING_ISSUE=Billing issue", "FEATURE_REQUEST=Feature request"),
    "GENERAL_INQUIRY=General inquiry",
)
SOURCES = options("CHAT=Chat", "EMAIL=Email", "FORM=Form", "PHONE=Phone")
TASK_STATES = options(
    *("NOT_STARTED=Not started", "IN_PROGRESS=In progress", "WAITING=Waiting", "COMPLETED=Completed"),
    "DEFERRED=Deferred",
)
TASK_TYPES = options("TODO=To-do", "CALL=Call", "EMAIL=Email")
TASK_PRIORITIES = options("NONE=None", "LOW=Low", "MEDIUM=Medium", "HIGH=High")
OUTCOMES = options("SCHEDULED=Scheduled", "COMPLETED=Completed", "RESCHEDULED=Rescheduled", "NO_SHOW=No show")
DIRECTIONS = options("INBOUND=Inbound", "OUTBOUND=Outbound")
CALL_STATES = options("COMPLETED=Completed", "BUSY=Busy", "NO_ANSWER=No answer", "FAILED=Failed", "CANCELED=Canceled")
EMAIL_DIRECTIONS = options(
    "EMAIL=Outgoing", "INCOMING_EMAIL=Incoming", "FORWARDED_EMAIL=Forwarded", "DRAFT_EMAIL=Draft"
)
EMAIL_STATES = options("SENT=Sent", "BOUNCED=Bounced", "FAILED=Failed", "SCHEDULED=Scheduled", "SENDING=Sending")

FREQUENCIES = options("monthly=Monthly", "quarterly=Quarterly", "annually=Annually")
WHEN = definitions_for("datetime", "hs_timestamp=Activity date")
GOODS = (
    *definitions_for("string", "name=Name", "hs_sku=SKU", "hs_url=URL"),
    *definitions_for("string", "description=Description", field_type="textarea"),
    *definitions_for("number", "price=Unit price", "hs_cost_of_goods_sold=Unit cost", "tax=Tax"),
    choice("recurringbillingfrequency", "Billing frequency", FREQUENCIES),
)

PLAIN: dict[str, tuple[Definition, ...]] = {
    "tickets": (
        *definitions_for("string", "subject=Ticket name"),
        *definitions_for("string", "content=Ticket description", field_type="textarea"),
        *definitions_for("datetime", "closed_date=Close date"),
        Definition("hs_pipeline", "Pipeline", "enumeration", "select"),
        Definition("hs_pipeline_stage", "Ticket status", "enumeration", "select"),
        choice("hs_ticket_priority", "Priority", PRIORITIES),
        choice("hs_ticket_category", "Category", CATEGORIES, "checkbox"),
        choice("source_type", "Source", SOURCES),
    ),
    "products": GOODS,
    "line_items": (
        *GOODS,
        *definitions_for(
            "number", "quantity=Quantity", "discount=Unit discount", "hs_discount_percentage=Discount percentage"
        ),
        *definitions_for("string", "hs_product_id=Product ID"),
        *definitions_for("number", "amount=Net price", read_only=True, calculated=True),
    ),
    "tasks": (
        *WHEN,
        *definitions_for("string", "hs_task_subject=Task title"),
        *definitions_for("string", "hs_task_body=Task notes", field_type="html"),
        choice("hs_task_status", "Task status", TASK_STATES),
        choice("hs_task_type", "Task type", TASK_TYPES),
        choice("hs_task_priority", "Priority", TASK_PRIORITIES),
    ),
    "meetings": (
        *WHEN,
        *definitions_for("string", "hs_meeting_title=Meeting name", "hs_meeting_location=Location"),
        *definitions_for("string", "hs_meeting_body=Description", field_type="html"),
        *definitions_for("datetime", "hs_meeting_start_time=Start time", "hs_meeting_end_time=End time"),
        choice("hs_meeting_outcome", "Outcome", OUTCOMES),
    ),
    "calls": (
        *WHEN,
        *definitions_for(
            "string", "hs_call_title=Call title", "hs_call_to_number=To number", "hs_call_from_number=From number"
        ),
        *definitions_for("string", "hs_call_body=Call notes", field_type="html"),
        *definitions_for("number", "hs_call_duration=Call duration"),
        choice("hs_call_direction", "Call direction", DIRECTIONS),
        choice("hs_call_status", "Call status", CALL_STATES),
    ),
    "emails": (
        *WHEN,
        *definitions_for("string", "hs_email_subject=Email subject", "hs_email_headers=Headers"),
        *definitions_for(
            "string", "hs_email_text=Email body", "hs_email_html=Email body (HTML)", field_type="textarea"
        ),
        choice("hs_email_direction", "Email direction", EMAIL_DIRECTIONS),
        choice("hs_email_status", "Email status", EMAIL_STATES),
    ),
}
