"""The stub's wire format, judged by the vendors' own SDKs with strict validation on.

usage: prove.py STUB_PROGRAM SCENARIO. Exit 0 when all holds, 1 when not. Every required field is also taken out
in turn, and the SDK must refuse the answer: without that, a green run would say little.
"""

import os
import subprocess
import sys

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"

import anthropic
import openai

TOOL = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
        "additionalProperties": False}
passed, failed = 0, []


def check(name, holds, seen=""):
    global passed
    if holds:
        passed += 1
    else:
        failed.append(f"{name}: {seen}")
        print(f"FAILED {name}: {seen}")


def refuses(name, call):
    """The call must end in an error; which one is the SDK's business."""
    try:
        seen = call()
    except Exception:  # noqa: BLE001
        check(name, True)
        return
    check(name, False, f"accepted: {str(seen)[:200]}")


def claude(url, drop=None):
    headers = {"x-stub-drop": drop} if drop else {}
    return anthropic.Anthropic(api_key="k", base_url=url, max_retries=0, default_headers=headers,
                               _strict_response_validation=True)


def gpt(url, drop=None):
    headers = {"x-stub-drop": drop} if drop else {}
    return openai.OpenAI(api_key="k", base_url=url + "/v1", max_retries=0, default_headers=headers,
                         _strict_response_validation=True)


def ask_claude(client, messages, stream):
    arguments = dict(
        model="stub-1", max_tokens=500, messages=messages,
        system=[{"type": "text", "text": "Rules. " * 600, "cache_control": {"type": "ephemeral"}}],
        tools=[{"name": "read_file", "description": "Reads.", "input_schema": TOOL}])
    if not stream:
        return client.messages.create(**arguments)
    with client.messages.stream(**arguments) as events:
        return events.get_final_message()


def ask_gpt(client, messages, stream):
    arguments = dict(
        model="stub-1", max_completion_tokens=500, messages=messages,
        tools=[{"type": "function", "function": {"name": "read_file", "description": "Reads.", "strict": True,
                                                 "parameters": TOOL}}])
    if not stream:
        return client.chat.completions.create(**arguments)
    with client.chat.completions.stream(stream_options={"include_usage": True}, **arguments) as events:
        return events.get_final_completion()


def claude_loop(url, stream):
    client, messages = claude(url), [{"role": "user", "content": [{"type": "text", "text": "What does a.txt say?"}]}]
    first = ask_claude(client, messages, stream)
    name = f"messages stream={stream}"
    check(name + " tool_use", first.stop_reason == "tool_use", first)
    call = [block for block in first.content if block.type == "tool_use"][0]
    check(name + " input", call.input == {"path": "a.txt"}, call)
    check(name + " cache counters", first.usage.cache_read_input_tokens is not None
          and first.usage.cache_creation_input_tokens is not None, first.usage)
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]})
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call.id, "content": "hello\n"}]})
    second = ask_claude(client, messages, stream)
    check(name + " end_turn", second.stop_reason == "end_turn", second)
    check(name + " text", second.content[0].text == "It says hello.", second)
    check(name + " prefix served from the cache", second.usage.cache_read_input_tokens > 500, second.usage)


def gpt_loop(url, stream):
    client, messages = gpt(url), [{"role": "system", "content": "Rules. " * 600},
                                  {"role": "user", "content": "What does a.txt say?"}]
    first = ask_gpt(client, messages, stream)
    name = f"chat stream={stream}"
    choice = first.choices[0]
    check(name + " tool_calls", choice.finish_reason == "tool_calls", first)
    call = choice.message.tool_calls[0]
    check(name + " arguments", call.function.arguments == '{"path":"a.txt"}', call)
    check(name + " usage", first.usage is not None and first.usage.prompt_tokens > 500, first.usage)
    messages.append({"role": "assistant", "content": choice.message.content, "tool_calls": [
        {"id": call.id, "type": "function",
         "function": {"name": call.function.name, "arguments": call.function.arguments}}]})
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "hello\n"})
    second = ask_gpt(client, messages, stream)
    check(name + " stop", second.choices[0].finish_reason == "stop", second)
    check(name + " prefix served from the cache", second.usage.prompt_tokens_details.cached_tokens > 500, second.usage)


def errors(url):
    wanted = {400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError",
              409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError"}
    for status in [400, 401, 403, 404, 409, 422, 429, 500, 529]:
        for sdk, client, ask in [(anthropic, claude(url), ask_claude), (openai, gpt(url), ask_gpt)]:
            message = [{"role": "user", "content": f"ERROR {status}"}]
            try:
                seen = ask(client, message, False)
            except sdk.APIStatusError as error:
                named = wanted.get(status)
                kind = type(error).__name__
                check(f"{sdk.__name__} {status}", error.status_code == status and named in (None, kind), kind)
            except Exception as error:  # noqa: BLE001
                check(f"{sdk.__name__} {status}", False, repr(error))
            else:
                check(f"{sdk.__name__} {status}", False, seen)
    message = [{"role": "user", "content": "ERROR IN STREAM"}]
    try:
        ask_claude(claude(url), message, True)
        check("anthropic error in stream", False, "accepted")
    except anthropic.APIStatusError as error:
        check("anthropic error in stream", error.status_code == 200 and error.type == "overloaded_error", repr(error))
    refuses("openai error in stream", lambda: ask_gpt(gpt(url), message, True))


BODY_CLAUDE = ["id", "type", "role", "model", "content", "content/0/type", "content/0/text", "content/1/id",
               "content/1/name", "content/1/input", "usage", "usage/input_tokens", "usage/output_tokens",
               "usage/cache_creation/ephemeral_5m_input_tokens", "usage/cache_creation/ephemeral_1h_input_tokens"]
STREAM_CLAUDE = ["message_start/message", "message_start/message/content", "message_start/message/usage",
                 "message_start/message/usage/input_tokens", "message_start/message/usage/output_tokens",
                 "message_start/message/id", "message_start/message/model", "message_start/message/role",
                 "content_block_start/index", "content_block_start/content_block",
                 "content_block_start/content_block/type", "content_block_start/content_block/text",
                 "content_block_delta/index", "content_block_delta/delta", "content_block_delta/delta/type",
                 "content_block_delta/delta/text", "content_block_delta/delta/partial_json",
                 "content_block_stop/index", "message_delta/delta", "message_delta/usage",
                 "message_delta/usage/output_tokens"]
BODY_GPT = ["id", "object", "created", "model", "choices", "choices/0/index", "choices/0/message",
            "choices/0/finish_reason", "choices/0/message/role", "choices/0/message/tool_calls/0/id",
            "choices/0/message/tool_calls/0/type", "choices/0/message/tool_calls/0/function/name",
            "choices/0/message/tool_calls/0/function/arguments", "usage/prompt_tokens", "usage/completion_tokens",
            "usage/total_tokens"]
STREAM_GPT = ["chunk/choices", "chunk/choices/0/index", "chunk/choices/0/delta",
              "chunk/choices/0/delta/tool_calls/0/index", "chunk/choices/0/delta/tool_calls/0/function"]


def teeth(url):
    message = [{"role": "user", "content": "What does a.txt say?"}]
    for pointer in BODY_CLAUDE:
        refuses(f"messages without {pointer}", lambda: ask_claude(claude(url, f"body/{pointer}"), message, False))
    for spec in STREAM_CLAUDE:
        refuses(f"messages stream without {spec}", lambda: ask_claude(claude(url, spec), message, True))
    for pointer in BODY_GPT:
        refuses(f"chat without {pointer}", lambda: ask_gpt(gpt(url, f"body/{pointer}"), message, False))
    for spec in STREAM_GPT:
        refuses(f"chat stream without {spec}", lambda: ask_gpt(gpt(url, spec), message, True))


def main():
    stub = subprocess.Popen([sys.argv[1], "--scenario", sys.argv[2]], stdout=subprocess.PIPE, text=True)
    try:
        url = stub.stdout.readline().strip()
        for stream in [False, True]:
            claude_loop(url, stream)
            gpt_loop(url, stream)
        counted = claude(url).messages.count_tokens(model="stub-1", messages=[{"role": "user", "content": "x" * 400}])
        check("count_tokens", counted.input_tokens > 50, counted)
        check("anthropic models", [one.id for one in claude(url).models.list()] == ["stub-1"])
        check("openai models", [one.id for one in gpt(url).models.list()] == ["stub-1"])
        errors(url)
        teeth(url)
    finally:
        stub.kill()
        stub.wait()
    print(f"anthropic {anthropic.__version__}, openai {openai.__version__}: {passed} passed, {len(failed)} failed")
    return 1 if failed or passed < 90 else 0


sys.exit(main())
