"""The connector's own errors, which join the catalogue."""

from connector_gateway.kit.errors import CallerError


class ProjectNotFound(CallerError, status=404):
    """The project does not exist, or the account cannot see it."""

    subject_parameters = ("project_id",)
    remedy = "Check the project_id, which the project's link in {vendor} contains, and the account's access to it."


class TaskNotFound(CallerError, status=404):
    """The task does not exist, or the account cannot see it."""

    subject_parameters = ("task_id",)
    remedy = "Check the task_id, which {list_tasks} returns, and the account's access to the task."
