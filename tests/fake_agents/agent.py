"""Stands in for `claude -p` and `codex exec`: prints what they print, calls the address that it is given.

usage: agent.py MODE [FILE] FLAGS... The flags are those of the real program and are only looked at.
"""

import http.client
import json
import os
import subprocess
import sys
import time
from urllib.parse import urlparse

mode, rest = sys.argv[1], sys.argv[2:]
prompt = sys.stdin.read()


def claude_call(tokens=100):
    url = urlparse(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    body = {"model": "stub-1", "max_tokens": tokens, "stream": True,
            "messages": [{"role": "user", "content": "work " * 200}]}
    connection.request("POST", "/v1/messages", json.dumps(body), {
        "content-type": "application/json", "anthropic-version": "2023-06-01",
        "x-api-key": os.environ["ANTHROPIC_API_KEY"]})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


def codex_call():
    base = next(word.split("=", 1)[1].strip('"') for word in rest if ".base_url=" in word)
    url = urlparse(base)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    body = {"model": "stub-1", "input": "work " * 200, "stream": True, "max_output_tokens": 100}
    connection.request("POST", url.path + "/responses", json.dumps(body), {
        "content-type": "application/json", "authorization": "Bearer " + os.environ["DOGWATCH_TOKEN"]})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def result(subtype="success", is_error=False, status=0, **more):
    print(json.dumps({"type": "result", "subtype": subtype, "is_error": is_error, "api_error_status": None,
                      "num_turns": 1, "result": "I did it", "total_cost_usd": 99.0,
                      "usage": {"input_tokens": 0, "output_tokens": 0}, "permission_denials": [], **more}))
    sys.exit(status)


def propose(text):
    with open("new_config.txt", "w") as file:
        file.write(text)


if mode == "good":
    assert claude_call()[0] == 200
    assert "-p" in rest and "--bare" in rest and "stub-1" in rest, rest
    propose(open("old_definition.txt").read().upper())
    result()
elif mode == "environment":
    propose(json.dumps({"env": dict(os.environ), "prompt": prompt, "home": os.listdir(os.environ["HOME"])}))
    result()
elif mode == "success-beside-error":
    propose("looks right")
    result(is_error=True, status=1, api_error_status=529)
elif mode == "interrupted":
    propose("looks right")
    sys.exit(0)
elif mode == "nothing-left":
    result()
elif mode == "cannot":
    with open("cannot.txt", "w") as file:
        file.write("there is no such table")
    result()
elif mode == "tamper":
    with open(rest[0], "a") as file:
        file.write("\n# always pass\n")
    propose("looks right")
    result()
elif mode == "greedy":
    while True:
        status, headers, body = claude_call()
        if status != 200:
            assert (status, headers["x-should-retry"], headers["retry-after"]) == (429, "false", None), body
            break
    propose("after the wall")
    result(is_error=True, status=1, api_error_status=429)
elif mode == "other-paths":
    url = urlparse(os.environ["ANTHROPIC_BASE_URL"])
    seen = []
    for path, key in [("/v1/files", os.environ["ANTHROPIC_API_KEY"]), ("/v1/messages", "guessed")]:
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        connection.request("POST", path, "{}", {"x-api-key": key})
        seen.append(connection.getresponse().status)
    propose(json.dumps(seen))
    result()
elif mode == "hang":
    subprocess.Popen(["sleep", "300"])
    claude_call()
    time.sleep(300)
elif mode == "codex":
    assert codex_call()[0] == 200
    propose("by codex")
    for line in [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"},
                 {"type": "error", "message": "Reconnecting... 1/1"},
                 {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "done"}},
                 {"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0,
                                                      "output_tokens": 1}}]:
        print(json.dumps(line))
elif mode == "codex-cut":
    propose("by codex")
    print(json.dumps({"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "done"}}))
    print(json.dumps({"type": "error", "message": "Reconnecting... 1/1"}))
else:
    sys.exit("unknown mode " + mode)
