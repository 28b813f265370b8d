"""Reading crontab files: every line is one of blank, comment, environment, job."""

import re

NICKNAMES = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
ENVIRONMENT = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*$""")
FIELD = r"[0-9A-Za-z*,/\-]+"
SCHEDULE = re.compile(rf"\s*(@[a-z]+|{FIELD}(?:\s+{FIELD}){{4}})\s+(.*?)\s*$")
USER = re.compile(r"([a-z_][a-z0-9_-]*\$?)\s+(.*)$")
# Signs of a template that some tool fills in before the file is a crontab.
TEMPLATES = [r"\{\{.*?\}\}", r"\{%.*?%\}", r"<%.*?%>", r"%\{.*?\}", r"@@\w+@@"]
GIVEN_BY_CRON = {"HOME", "LOGNAME", "PATH", "SHELL", "USER", "LANG", "MAILTO"}


def environment_of(line):
    """(name, value) of an environment line, or None. Cron expands nothing in the value."""
    match = ENVIRONMENT.match(line)
    if not match:
        return None
    name = match.group(1) or match.group(2) or match.group(3)
    value = match.group(4)
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return name, value


def kind_of(line):
    """What a line is. A line that is nothing else is a job, readable or not: none is skipped."""
    stripped = line.strip()
    if not stripped:
        return "blank"
    if stripped.startswith("#"):
        return "comment"
    return "environment" if environment_of(line) else "job"


def schedule_and_rest(line):
    """(schedule, rest) of a job line, or None when it cannot be read as one."""
    match = SCHEDULE.match(line)
    if not match:
        return None
    schedule = " ".join(match.group(1).split())
    if schedule.startswith("@") and schedule != "@reboot" and schedule not in NICKNAMES:
        return None
    return schedule, match.group(2)


def user_and_command(rest):
    """(user, command) of what follows the schedule in a system crontab, or None."""
    match = USER.match(rest)
    return match.groups() if match else None


def placeholders(text, known):
    """Placeholders that something else would have to fill in. `known` are the names the file sets."""
    found = [hit for pattern in TEMPLATES for hit in re.findall(pattern, text)]
    for name in re.findall(r"\$\{(\w+)\}", text):
        if name not in known and name not in GIVEN_BY_CRON:
            found.append("${%s}" % name)
    return found
