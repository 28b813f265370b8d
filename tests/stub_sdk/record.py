"""Writes what the official SDKs send for one conversation, as tests/stub_sdk/{anthropic,openai}.json.

usage: record.py (in a virtual environment with both SDKs). tests/provider_client.rs compares our client's
requests with these files as JSON values.
"""

import http.server
import json
import os
import pathlib
import threading

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"

import anthropic
import openai

SCHEMA = {"type": "object", "properties": {"which": {"type": "string"}}, "required": ["which"],
          "additionalProperties": False}
MARK = {"type": "ephemeral"}
seen = []


class Listener(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(400)
        self.end_headers()

    def log_message(self, *_):
        pass


def keep(name, call):
    try:
        list(call())
    except (anthropic.APIStatusError, openai.APIStatusError):
        pass
    path = pathlib.Path(__file__).parent / f"{name}.json"
    path.write_text(json.dumps(seen.pop(), indent=1) + "\n")


server = http.server.HTTPServer(("127.0.0.1", 0), Listener)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"

keep("anthropic", lambda: anthropic.Anthropic(api_key="k", base_url=url, max_retries=0).messages.create(
    model="stub-1", max_tokens=500, stream=True, output_config={"effort": "low"},
    tool_choice={"type": "auto", "disable_parallel_tool_use": True},
    tools=[{"name": "read_config", "description": "Returns a text.", "strict": True, "input_schema": SCHEMA}],
    system=[{"type": "text", "text": "Rules.", "cache_control": MARK}],
    messages=[
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "read_config", "input": {"which": "old"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "no such text", "is_error": True,
             "cache_control": MARK}]}]))

keep("openai", lambda: openai.OpenAI(api_key="k", base_url=url, max_retries=0).chat.completions.create(
    model="stub-1", max_completion_tokens=500, stream=True, stream_options={"include_usage": True},
    reasoning_effort="low", tool_choice="auto", parallel_tool_calls=False,
    tools=[{"type": "function", "function": {"name": "read_config", "description": "Returns a text.",
                                             "strict": True, "parameters": SCHEMA}}],
    messages=[
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "read_config",
                                                          "arguments": "{\"which\":\"old\"}"}}]},
        {"role": "tool", "tool_call_id": "t1", "content": "ERROR: no such text"}]))
