#!/usr/bin/env python3
"""Worker: one crontab entry to a systemd timer and its service.

Reads a request with the old `definition` on stdin and writes {"config", "remark"}. What it cannot
carry over it refuses: {"refused": why} and exit status 2.
"""

import datetime
import json
import re
import sys
import zoneinfo

sys.dont_write_bytecode = True
import crontab  # noqa: E402

HEAD = re.compile(r"# (\S+):(\d+); (system|user) crontab; user (\S+); zone (\S+)$")
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()
# Variables that steer cron and are no part of a command's environment.
CRON_OWN = {"MAILTO", "MAILFROM", "CRON_TZ", "RANDOM_DELAY", "CONTENT_TYPE"}
OTHER_SHELL = r'''"exec \"$$SHELL\" -c \"$$1\""'''


class Refused(Exception):
    """Why an entry cannot be carried over."""


def field_values(text, low, high, names=()):
    """The numbers of one cron field."""

    def number(word):
        if word.lower() in names:
            return names.index(word.lower()) + (1 if names is MONTHS else 0)
        if not word.isdigit() or not low <= int(word) <= high:
            raise Refused(f"\"{word}\" is not a value from {low} to {high}")
        return int(word)

    values = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = (number(word) for word in span.split("-", 1))
        elif step:
            raise Refused(f"\"{part}\": a step needs a range or *")
        else:
            first = last = number(span)
        if first > last or (step and (not step.isdigit() or int(step) == 0)):
            raise Refused(f"\"{part}\" is no range that cron would take")
        values.update(range(first, last + 1, int(step or 1)))
    return sorted(values)


def calendar_part(values, low, high):
    """The same numbers as systemd writes them: `*`, `00/5`, `10..18` or `01,07`."""
    if values == list(range(low, high + 1)):
        return "*"
    step = values[1] - values[0] if len(values) > 2 else 0
    if step > 1 and values == list(range(values[0], high + 1, step)):
        return f"{values[0]:02}/{step}"
    runs = []
    for value in values:
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(f"{a:02}..{b:02}" if a < b else f"{a:02}" for a, b in runs)


def keeps_whole_hours(zone):
    """Whether the zone's distance to UTC is always a whole number of hours."""
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    days = (start + datetime.timedelta(days=7 * week) for week in range(52 * 18))
    return all(day.astimezone(zone).utcoffset().total_seconds() % 3600 == 0 for day in days)


def on_calendar(schedule, zone_name):
    """OnCalendar lines whose union fires when the cron expression does."""
    try:
        zone = zoneinfo.ZoneInfo(zone_name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise Refused(f"unknown time zone {zone_name}")
    minute, hour, day, month, weekday = crontab.NICKNAMES.get(schedule, schedule).split()
    minutes = calendar_part(field_values(minute, 0, 59), 0, 59)
    hours = calendar_part(field_values(hour, 0, 23), 0, 23)
    days = calendar_part(field_values(day, 1, 31), 1, 31)
    months = calendar_part(field_values(month, 1, 12, MONTHS), 1, 12)
    # Cron knows Sunday as 0 and as 7.
    weekdays = sorted({value % 7 for value in field_values(weekday, 0, 7, DAYS)})
    names = ",".join(DAYS[value].title() for value in weekdays) if len(weekdays) < 7 else ""
    if (hours, days, months, names) == ("*", "*", "*", "") and keeps_whole_hours(zone):
        # systemd leaves out the hour that a clock change repeats and cron does not. In UTC no hour is
        # repeated, and minutes past the hour are the same.
        zone_name = "UTC"
    time = f"{hours}:{minutes}:00 {zone_name}"
    if day.startswith("*") or weekday.startswith("*"):
        return [f"{names} *-{months}-{days} {time}".strip()]
    # Neither begins with a star: for cron either is enough, and systemd unites its OnCalendar lines.
    by_weekday = f"{names} *-{months}-* {time}".strip()
    return [f"*-{months}-{days} {time}", by_weekday]


def quoted(text, dollars):
    """One systemd word: specifiers, quotes and, in commands, variables taken literally."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + (text.replace("$", "$$") if dollars else text) + '"'


def literal_command(command):
    r"""The command as the shell gets it: cron reads `\%` as a percent sign and `%` as the start of input."""
    if re.search(r"(?<!\\)%", command):
        raise Refused("its command has input after a percent sign; a service has no such input")
    return command.replace("\\%", "%")


def convert(job, definition):
    """(config, remark)"""
    head, *above, line = definition.rstrip("\n").split("\n")
    match = HEAD.match(head)
    if not match:
        raise Refused("the definition does not begin with its origin")
    file, number, kind, user, zone = match.groups()
    # What cron itself sets, unless the crontab says otherwise; systemd's own defaults differ.
    environment = {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    environment.update(crontab.environment_of(env) for env in above)
    found = crontab.placeholders(line, environment)
    if found:
        raise Refused(f"unknown placeholders: {', '.join(found)}")
    schedule, command = crontab.schedule_and_rest(line) or (None, None)
    if schedule is None:
        raise Refused("this is no crontab entry that cron would take")
    if kind == "system":
        _, command = crontab.user_and_command(command) or (None, None)
        if command is None:
            raise Refused("the line names no user")
    command = quoted(literal_command(command), dollars=True)
    if schedule == "@reboot":
        triggers = ["OnBootSec=1min"]
    else:
        triggers = [f"OnCalendar={entry}" for entry in on_calendar(schedule, zone)]
    start = f"/bin/sh -c {command}"
    if environment["SHELL"] != "/bin/sh":
        # The crontab's own shell, found when it runs; systemd wants a path that exists now.
        start = f"/bin/sh -c {OTHER_SHELL} sh {command}"
    variables = ["Environment=" + quoted(f"{name}={value}", dollars=False)
                 for name, value in environment.items() if name not in CRON_OWN]
    config = "\n".join([
        f"### {job}.timer", "[Unit]", f"Description=When line {number} of {file} fires", "",
        "[Timer]", *triggers, "AccuracySec=1s", "Persistent=false", "",
        "[Install]", "WantedBy=timers.target", "",
        f"### {job}.service", "[Unit]", f"Description=What line {number} of {file} runs", "",
        "[Service]", "Type=oneshot", f"User={user}", "WorkingDirectory=~",
        *variables, f"ExecStart={start}", "",
    ])
    mail = environment.get("MAILTO")
    return config, f"Output went by mail to {mail}; now it goes to the journal." if mail else ""


def main():
    request = json.load(sys.stdin)
    try:
        config, remark = convert(request["job"], request["definition"])
    except Refused as refusal:
        json.dump({"refused": str(refusal)}, sys.stdout)
        return 2
    json.dump({"config": config, "remark": remark}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
