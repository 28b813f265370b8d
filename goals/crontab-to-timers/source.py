#!/usr/bin/env python3
"""Source adapter: crontab files. Reads them, changes nothing.

Settings: `path` (a crontab, or a folder of them), `zone` (the zone of their hosts), `zones` (by file
name, where one differs), `user` (whose user crontabs they are), `kind` ("auto", "user" or "system").
By hand: `source.py --account PATH` prints what became of every line.
"""

import json
import os
import re
import sys

sys.dont_write_bytecode = True
import crontab  # noqa: E402

SYSTEM = re.compile(r"/etc/crontab|/etc/cron\.d/|\buser\s+command", re.IGNORECASE)


def files_of(path):
    """The crontabs of a path. In a folder, names with a dot are passed over, as cron itself does."""
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if re.fullmatch(r"[A-Za-z0-9_-]+", name))
        return [os.path.join(path, name) for name in names]
    return [path]


def is_system(path, lines, kind):
    """Whether job lines carry a user column: the goal says so, or the place, or the file's own comments."""
    if kind in ("system", "user"):
        return kind == "system"
    real = os.path.realpath(path)
    if real == "/etc/crontab" or real.startswith("/etc/cron.d/"):
        return True
    return any(SYSTEM.search(line) for line in lines if crontab.kind_of(line) == "comment")


def hold_of(line, above, schedule, owner):
    """Why a line cannot be migrated as it stands, or None."""
    known = {crontab.environment_of(env)[0] for env in above}
    evidence = []
    for env in above:
        # Cron expands nothing here: a `${…}` is meant for a tool that fills in the file beforehand.
        found = crontab.placeholders(crontab.environment_of(env)[1], set())
        evidence += [env] if found else []
    evidence += [line] if crontab.placeholders(line, known) else []
    if evidence:
        reason = "The crontab is a template: placeholders must be filled in before it means anything."
    elif schedule is None:
        reason, evidence = "This line is no crontab entry that cron would take.", [line]
    elif owner is None:
        reason, evidence = "The file is a system crontab, and this line names no user.", [line]
    else:
        return None
    return {"kind": "impossible", "reason": reason, "evidence": evidence}


def jobs_of(path, settings):
    """One file: (jobs, what each line is)."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines[-1] == "":
        lines.pop()  # what follows the last line's end is no line
    # Names of files become parts of ids and units.
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", os.path.basename(path)).lstrip("-_.") or "crontab"
    zone = settings.get("zones", {}).get(name, settings.get("zone", "UTC"))
    system = is_system(path, lines, settings.get("kind", "auto"))
    jobs, kinds, above = [], [], []
    for number, line in enumerate(lines, start=1):
        kind = crontab.kind_of(line)
        kinds.append(kind)
        if kind == "environment":
            above.append(line)
            variable, value = crontab.environment_of(line)
            zone = value if variable == "CRON_TZ" else zone
        if kind != "job":
            continue
        schedule, rest = crontab.schedule_and_rest(line) or (None, "")
        owner, command = (None if system else settings["user"]), rest
        if system:
            owner, command = crontab.user_and_command(rest) or (None, rest)
        head = f"# {name}:{number}; {'system' if system else 'user'} crontab; user {owner}; zone {zone}"
        job = {
            "id": f"{name}.{number}",
            "title": command[:100] or line.strip()[:100],
            "tags": ["boot" if schedule == "@reboot" else "calendar"],
            "origin": f"{name}:{number}",
            "definition": "\n".join([head, *above, line]) + "\n",
        }
        hold = hold_of(line, above, schedule, owner)
        if hold:
            job["hold"] = hold
        if schedule and schedule != "@reboot":
            job["schedule"] = {"cron": schedule, "zone": zone}
        jobs.append(job)
    return jobs, kinds


def list_jobs(settings):
    jobs, kinds = [], []
    for path in files_of(settings["path"]):
        of_file, kinds_of_file = jobs_of(path, settings)
        jobs += of_file
        kinds += kinds_of_file
    count = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    return {"jobs": jobs, "accounting": {"lines": len(kinds), "kinds": count}}


def account(path):
    for file in files_of(path):
        jobs, kinds = jobs_of(file, {"user": "-"})
        held = {job["origin"]: job["hold"]["reason"] for job in jobs if "hold" in job}
        for number, kind in enumerate(kinds, start=1):
            origin = f"{os.path.basename(file)}:{number}"
            print(origin, kind, held.get(origin, ""), sep="\t")


def main():
    if sys.argv[1:2] == ["--account"]:
        return account(sys.argv[2])
    request = json.load(sys.stdin)
    try:
        if request["call"] != "list":
            raise ValueError(f"this source does not answer {request['call']}")
        reply = list_jobs(request["settings"])
    except KeyError as error:
        reply = {"error": {"what": f"the setting {error} is missing", "class": "job"}}
    except (OSError, ValueError) as error:
        reply = {"error": {"what": str(error), "class": "environment"}}
    json.dump(reply, sys.stdout)


if __name__ == "__main__":
    main()
