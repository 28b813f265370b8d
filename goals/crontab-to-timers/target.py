#!/usr/bin/env python3
"""Target adapter: systemd units in two folders.

Setting: `directory`. Units are staged in `staging/OPERATION/`, checked there by systemd's own tools, and
cut over into `production/`; `operations/` keeps one record for each cutover. Enabling the timers
(`systemctl enable --now`) stays with whoever owns the host.
"""

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Instants are printed in UTC and words in English, whatever the host is set to.
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TZ": "UTC", "LC_ALL": "C",
               "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
INSTANT = re.compile(r"^\s*(?:Next elapse|Iter(?:\.|ation) #\d+): \w{3} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC$")
EPOCH = datetime.datetime(1970, 1, 1)
# For a model that writes configs (worker = "chat"); docs/adapters.md.
GUIDE = """A config is two systemd units in one text, named after the job and each begun by a line of its own:

### JOB.timer
[Timer]
OnCalendar=*-*-* 02:15:00 Europe/Berlin
[Install]
WantedBy=timers.target
### JOB.service
[Service]
Type=oneshot
User=etl
ExecStart=/bin/sh -c "etl load-sales"

It is checked by systemd-analyze and kept; it is not run, so nothing shows what the command does. A specifier begins with
%, so a % that the command means is written %%, and a $ that the shell is to see is $$. Cron's day of the month or day of
the week is two OnCalendar lines when both are restricted.
"""


class Failed(Exception):
    """A question without an answer, with the class of the failure."""

    def __init__(self, what, kind):
        super().__init__(what)
        self.kind = kind


def analyze(*arguments):
    """Runs systemd-analyze: (exit status, all it said)."""
    try:
        done = subprocess.run(["systemd-analyze", *arguments], env=ENVIRONMENT, timeout=20,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"systemd-analyze: {error}", "environment")
    return done.returncode, done.stdout + done.stderr


def units_of(config):
    """{file name: text} of a config: one timer, one service."""
    parts = re.split(r"^### (\S+)$\n", config, flags=re.MULTILINE)
    names = parts[1::2]
    if parts[0].strip() or sorted(name.rsplit(".", 1)[-1] for name in names) != ["service", "timer"]:
        raise Failed("a config is one `### NAME.timer` and one `### NAME.service` unit", "job")
    return dict(zip(names, parts[2::2]))


def timer_of(config):
    return next(text for name, text in units_of(config).items() if name.endswith(".timer"))


def calendars(timer):
    return re.findall(r"^OnCalendar=(.+)$", timer, flags=re.MULTILINE)


def write_durably(path, text):
    """A whole file or none: written beside its place, flushed, then renamed."""
    folder = os.path.dirname(path)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, 0o644)
    os.rename(temporary, path)
    sync_folder(folder)


def sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def read_record(path):
    """The record of an operation, or None."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


class Target:
    def __init__(self, settings):
        root = os.path.abspath(settings["directory"])
        self.staging, self.production, self.operations = (
            os.path.join(root, name) for name in ("staging", "production", "operations"))

    def record_path(self, action, operation):
        if not re.fullmatch(r"[0-9A-Za-z-]+", operation):
            raise Failed("an operation id of letters and digits was expected", "job")
        if action == "stage":
            return os.path.join(self.staging, operation, "operation.json")
        return os.path.join(self.operations, operation + ".json")

    def info(self, _):
        status, text = analyze("--version")
        version = text.split("\n")[0].strip() if status == 0 else "unknown"
        return {"name": "crontab-to-timers", "version": f"1 on {version}",
                "one_effect_per_id": {"stage": True, "cut_over": True}, "guide": GUIDE}

    def effect(self, request):
        try:
            units = units_of(request["config"])
            if any(name.rsplit(".", 1)[0] != request["job"] for name in units):
                raise Failed("a config's units are named after its job", "job")
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", request["job"]):
                raise Failed("this job's id is no name for a unit", "job")
        except Failed as error:
            return {"outcome": "refused", "why": str(error), "class": "job"}
        path = self.record_path(request["action"], request["operation_id"])
        record = read_record(path)
        if record is None:
            record = {key: request[key] for key in ("operation_id", "action", "job", "config_digest")}
            record["units"] = {name: hashlib.sha256(text.encode()).hexdigest()
                               for name, text in units.items()}
            if request["action"] == "stage":
                self.stage(os.path.dirname(path), units, record)
            else:
                self.cut_over(path, units, record)
        if record["job"] != request["job"] or record["action"] != request["action"]:
            return {"outcome": "unknown", "why": "this id belongs to another job's operation"}
        return self.answer("applied", record)

    def stage(self, folder, units, record):
        """The folder appears with all it holds or not at all; a second one of that name cannot."""
        os.makedirs(self.staging, exist_ok=True)
        temporary = tempfile.mkdtemp(dir=self.staging, prefix=".new-")
        for name, text in units.items():
            write_durably(os.path.join(temporary, name), text)
        write_durably(os.path.join(temporary, "operation.json"), json.dumps(record))
        try:
            os.rename(temporary, folder)
        except OSError:
            shutil.rmtree(temporary)
            if not os.path.exists(folder):
                raise
        sync_folder(self.staging)

    def cut_over(self, path, units, record):
        """Units first, the record last. Cut short in between, the look-up says absent, and the same id
        sent again puts the same bytes in the same places."""
        os.makedirs(self.production, exist_ok=True)
        os.makedirs(self.operations, exist_ok=True)
        for name, text in units.items():
            write_durably(os.path.join(self.production, name), text)
        write_durably(path, json.dumps(record))

    def place(self, record):
        if record["action"] == "stage":
            return os.path.join(self.staging, record["operation_id"])
        return self.production

    def answer(self, outcome, record):
        return {"outcome": outcome, "reference": f"{self.place(record)}/{record['job']}.timer",
                "config_digest": record["config_digest"],
                "observed": "units written: " + ", ".join(sorted(record["units"]))}

    def look_up(self, question):
        record = read_record(self.record_path(question["action"], question["operation_id"]))
        if record is None:
            return {"outcome": "absent"}
        for name, digest in record["units"].items():
            try:
                with open(os.path.join(self.place(record), name), "rb") as file:
                    same = hashlib.sha256(file.read()).hexdigest() == digest
            except FileNotFoundError:
                same = False
            if not same:
                return {"outcome": "cannot_tell", "why": f"{name} is not as the operation left it"}
        return {**self.answer("found", record),
                "operation_id": record["operation_id"], "job": record["job"]}

    def run_state(self, question):
        """A staging run: systemd's own tools read what was staged."""
        folder = os.path.dirname(question["staged"]["reference"])
        if os.path.dirname(folder) != self.staging or not os.path.isdir(folder):
            raise Failed("nothing is staged under this reference", "unclear")
        timer = os.path.basename(question["staged"]["reference"])
        status, log = analyze("verify", "--recursive-errors=no", "--man=no",
                              os.path.join(folder, timer.replace(".timer", ".service")),
                              os.path.join(folder, timer))
        log = f"systemd-analyze verify: status {status}\n{log}"
        with open(os.path.join(folder, timer), encoding="utf-8") as file:
            entries = calendars(file.read())
        for entry in entries:
            calendar_status, text = analyze("calendar", entry)
            log += f"systemd-analyze calendar: status {calendar_status}\n{text}"
            status = status or calendar_status
        if status == 0:
            return {"state": "succeeded", "log": log}
        return {"state": "failed", "class": "job", "why": "systemd refuses the units", "log": log}

    def firing_times(self, question):
        timer = timer_of(question["config"])
        entries = calendars(timer)
        if not entries and "\nOnBootSec=" in timer:
            raise Failed("this timer has no calendar: it starts at boot", "job")
        if not entries:
            raise Failed("this timer has neither a calendar nor a start at boot", "unclear")
        windows = []
        for start in question["starts"]:
            instants = set()
            for entry in entries:
                instants.update(elapses(entry, start, question["count"]))
            windows.append(sorted(instants)[: question["count"]])
        return {"windows": windows, "method": "systemd-analyze calendar, union of: " + "; ".join(entries)}

    def consequences(self, question):
        entries = calendars(timer_of(question["config"]))
        told = ["The crontab line goes on firing until it is removed from its crontab.",
                "A start that comes while the last run goes on is dropped; cron would start a second run."]
        following = sorted(instant for entry in entries for instant in elapses(entry, question["at"], 1))
        if following:
            at = EPOCH + datetime.timedelta(milliseconds=following[0])
            told.append(f"Once enabled, the timer first fires at {at} UTC; no missed start is made up.")
        else:
            told.append("Once enabled, it starts one minute after the next boot, not now.")
        return {"consequences": told}


def elapses(entry, after_ms, count):
    """The next instants of one OnCalendar entry, in Unix milliseconds."""
    base = (EPOCH + datetime.timedelta(seconds=after_ms // 1000)).strftime("%Y-%m-%d %H:%M:%S UTC")
    status, text = analyze("calendar", f"--iterations={count}", f"--base-time={base}", entry)
    if status != 0:
        raise Failed(f"systemd-analyze calendar refuses \"{entry}\": {text.strip()}", "job")
    hits = (INSTANT.match(line) for line in text.split("\n"))
    instants = [datetime.datetime.strptime(hit.group(1), "%Y-%m-%d %H:%M:%S") for hit in hits if hit]
    found = [int((instant - EPOCH).total_seconds()) * 1000 for instant in instants]
    return [instant for instant in found if instant > after_ms]


def main():
    request = json.load(sys.stdin)
    calls = ("info", "effect", "look_up", "run_state", "firing_times", "consequences")
    try:
        if request["call"] not in calls:
            raise Failed(f"this target does not answer {request['call']}", "job")
        reply = getattr(Target(request["settings"]), request["call"])(request["params"])
    except Failed as error:
        reply = {"error": {"what": str(error), "class": error.kind}}
    except KeyError as error:
        reply = {"error": {"what": f"the setting or parameter {error} is missing", "class": "job"}}
    except OSError as error:
        reply = {"error": {"what": str(error), "class": "environment"}}
    json.dump(reply, sys.stdout)


if __name__ == "__main__":
    main()
