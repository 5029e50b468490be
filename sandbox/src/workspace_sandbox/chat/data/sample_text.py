"""The names and sentences of the default workspace."""

NAMES = (
    "Anna de Vries/Anna; Zoë Brandt/zoe; Łukasz Żak/Łukasz; 田中 さくら/さくら; "
    "Óscar Núñez/Oscar; Мария Иванова/Маша; Ahmed El-Sayed/ahmed; Siobhán Ní Bhriain/siobhan; "
    "Jürgen Groß/juergen; 王 小明/小明; Priya Raghunathan/priya; Nguyễn Thị Hoa/Hoa; "
    "Bjørn Ødegård/bjorn; Renée Lefèvre/renee; Kwame Mensah/kwame; Ana María Gómez/ana; "
    "Dmitri Volkov/dmitri; Fatma Şahin/fatma; Grace Hopper Lee/grace; Håkon Sørensen/hakon; "
    "Ines Carvalho/ines; João Pereira/joao; Katarzyna Nowak/kasia; Liam Murphy/liam; "
    "Mei-Ling Chen/mei; Noah Williams/noah; Olga Petrenko/olga; Pedro Alvarez/pedro; "
    "Quentin Dubois/quentin; Rosa Bianchi/rosa; Sven Lindqvist/sven; Tariq Aziz/tariq; "
    "Ursula Meier/ursula; Viktor Horváth/viktor; Wanjiru Kamau/wanjiru; Xavier Roux/xavier; "
    "Yusuf Demir/yusuf; Zara Khan/zara; 김민준/민준; שרה לוי/שרה; "
    "Αλέξης Παππάς/Αλέξης; Emma Johansson/; Felix Wagner/felix; Gabriela Silva/gabi; "
    "Henry Adams/henry; Isla Campbell/isla"
)
"""The users as full name/display name, separated by semicolons."""

PEOPLE = [tuple(names.split("/")) for names in NAMES.split("; ")]

DELETED = (45, 46)
"""The deactivated users, counted from one."""

TITLES = ["", "Engineer", "Designer", "Office lead", "Support", "Head of Operations", "Analyst 📊"]

PURPOSES = ["", "", "Questions and answers", "Plans & decisions", "Daily business", "Wöchentlicher Austausch"]

REACTIONS = ["+1", "eyes", "tada", "heart", "white_check_mark", "rocket", "joy", "party_parrot", "wave::skin-tone-4"]

SENTENCES = [
    "Good morning :wave:",
    "The deploy is done, all green :white_check_mark:",
    "Can somebody review <https://code.northwind.example/pull/812|#812>?",
    "<@U04NW000002> could you have a look?",
    "Numbers for this week: 1 204 orders &amp; 37 returns",
    "Q3 &gt; Q2, finally",
    "Ich bin heute im Büro, wer kommt mit zum Mittagessen?",
    "本日の会議は15時からです。",
    "Сервер снова работает, спасибо!",
    "On it.",
    "👍🏽",
    "The invoice for ACME is overdue, see thread",
    "Incident closed: root cause was an expired certificate",
    "```SELECT count(*) FROM orders WHERE state = 'open';```",
    "Lunch at 12:30?",
    "<!here> the demo starts in five minutes",
    "Moved to <#C04RANDOM01|random>",
    "Who owns the *billing* dashboard these days?",
    "_typing from a train_, sorry for short answers",
    "Café ☕ is on the house today — naïve question: why?",
]

AREAS = ["team", "proj", "help", "ops", "sales", "news", "lang", "site", "customer", "guild"]
THEMES = [
    "billing",
    "checkout",
    "data",
    "design",
    "hiring",
    "infra",
    "mobile",
    "onboarding",
    "partners",
    "platform",
    "search",
    "security",
    "support",
    "travel",
    "warehouse",
]


def channel_names() -> list[str]:
    """Return the names of the public channels."""
    return [f"{area}-{theme}" for area in AREAS for theme in THEMES]


def private_names() -> list[str]:
    """Return the names of the private channels."""
    return [f"{area}-{theme}-private" for area in AREAS[:4] for theme in THEMES[:10]]
