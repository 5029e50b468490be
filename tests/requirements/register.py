"""Everything that is promised, in the order of the contract."""

from collections.abc import Sequence

from requirements.around import AROUND
from requirements.boards import BOARDS
from requirements.calls import CALLS
from requirements.chat import CHAT
from requirements.crm import CRM
from requirements.mail import MAIL
from requirements.notes import NOTES
from requirements.requirement import Requirement
from requirements.tables import TABLES

REGISTER: Sequence[Requirement] = (*CALLS, *NOTES, *BOARDS, *MAIL, *CHAT, *CRM, *TABLES, *AROUND)
