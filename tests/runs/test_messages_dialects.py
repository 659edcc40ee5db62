"""One conversation, told by every client in its own way, reads the same; what no adapter knows
stays in its place as the JSON it is."""

from typing import Any

import pytest

from runs.messages import answer_view, request_view, wire_answer, wire_request
from runs.messages.dialects import detect
from runs.messages.parts import Call, Data, Media, Message, Reasoning, Result, Text

PNG = "iVBORw0KGgo="
SYSTEM, ASK, THINK = "Be brief.", "Was ist das? 猫", "A cat, I think."
SAID, ONE, TWO = "Let me look.", "a cat", "<b>18 °C</b>"
BIG = 9007199254740993
EXPECTED = [
    Message("system", (Text(SYSTEM, ""),), ""),
    Message("user", (Text(ASK, ""), Media("image", "base64", PNG, "image/png", "")), ""),
    Message(
        "assistant",
        (
            Reasoning(THINK, ""),
            Text(SAID, ""),
            Call("c1", "look", {"x": BIG}, ""),
            Call("c2", "weather", {"city": "Zürich"}, ""),
        ),
        "",
    ),
    Message("tool", (Result("c1", "look", (Text(ONE, ""),), ""),), ""),
    Message("tool", (Result("c2", "weather", (Text(TWO, ""),), ""),), ""),
    Message("user", (Text("Thanks", ""),), ""),
]
X, CITY = f'{{"x":{BIG}}}', '{"city":"Zürich"}'


def chat_call(identity: str, name: str, arguments: object) -> dict:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT = {"messages": [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": [
        {"type": "text", "text": ASK},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
    {"role": "assistant", "reasoning_content": THINK, "content": SAID,
     "tool_calls": [chat_call("c1", "look", X), chat_call("c2", "weather", CITY)]},
    {"role": "tool", "tool_call_id": "c1", "content": ONE},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": TWO}]},
    {"role": "user", "content": "Thanks"}]}  # fmt: skip
RESPONSES = {"model": "gpt-5.2", "instructions": SYSTEM, "input": [
    {"role": "user", "content": [
        {"type": "input_text", "text": ASK},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": THINK}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": X},
    {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": CITY},
    {"type": "function_call_output", "call_id": "c1", "output": ONE},
    {"type": "function_call_output", "call_id": "c2",
     "output": [{"type": "input_text", "text": TWO}]},
    {"role": "user", "content": "Thanks"}]}  # fmt: skip
ANTHROPIC = {"system": [{"type": "text", "text": SYSTEM}], "messages": [
    {"role": "user", "content": [
        {"type": "text", "text": ASK},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": THINK, "signature": "s"},
        {"type": "text", "text": SAID},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"x": BIG}},
        {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Zürich"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": ONE},
        {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": TWO}]},
        {"type": "text", "text": "Thanks"}]}]}  # fmt: skip
GEMINI = {"systemInstruction": {"parts": [{"text": SYSTEM}]}, "contents": [
    {"role": "user", "parts": [
        {"text": ASK}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
    {"role": "model", "parts": [
        {"text": THINK, "thought": True}, {"text": SAID},
        {"functionCall": {"id": "c1", "name": "look", "args": {"x": BIG}}},
        {"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Zürich"}}}]},
    {"role": "user", "parts": [
        {"functionResponse": {"id": "c1", "name": "look", "response": {"output": ONE}}},
        {"function_response": {"id": "c2", "name": "weather", "response": {"result": TWO}}}]},
    {"role": "user", "parts": [{"text": "Thanks"}]}]}  # fmt: skip
LANGCHAIN = {"messages": [[
    {"type": "system", "content": SYSTEM},
    {"type": "human", "content": [
        {"type": "text", "text": ASK},
        {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PNG}]},
    {"type": "ai", "content": [
        {"type": "reasoning", "reasoning": THINK}, {"type": "text", "text": SAID},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"x": BIG}}],
     "tool_calls": [
        {"name": "look", "args": {"x": BIG}, "id": "c1", "type": "tool_call"},
        {"name": "weather", "args": {"city": "Zürich"}, "id": "c2", "type": "tool_call"}]},
    {"type": "tool", "content": ONE, "tool_call_id": "c1", "name": "look", "status": "success"},
    {"type": "tool", "content": TWO, "tool_call_id": "c2"},
    {"type": "human", "content": "Thanks"}]]}  # fmt: skip


def constructor(message: dict) -> dict:
    names = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessage"}
    path = ["langchain", "schema", "messages", names.get(message["type"], "ToolMessage")]
    kwargs = {key: value for key, value in message.items() if key != "type"}
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


SERIALISED = {"messages": [list(map(constructor, LANGCHAIN["messages"][0]))]}
AI_SDK = {"system": SYSTEM, "messages": [
    {"role": "user", "content": [
        {"type": "text", "text": ASK},
        {"type": "file", "mediaType": "image/png", "data": PNG}]},
    {"role": "assistant", "content": [
        {"type": "reasoning", "text": THINK}, {"type": "text", "text": SAID},
        {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"x": BIG}},
        {"type": "tool-call", "toolCallId": "c2", "toolName": "weather", "args": CITY}]},
    {"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "c1", "toolName": "look",
         "output": {"type": "text", "value": ONE}},
        {"type": "tool-result", "toolCallId": "c2", "toolName": "weather", "result": TWO}]},
    {"role": "user", "content": [{"type": "text", "text": "Thanks"}]}]}  # fmt: skip
OTEL = {
    "gen_ai.system_instructions": f'[{{"type":"text","content":"{SYSTEM}"}}]',
    "gen_ai.input.messages": [
        {"role": "user", "parts": [
            {"type": "text", "content": ASK},
            {"type": "blob", "mime_type": "image/png", "modality": "image", "content": PNG}]},
        {"role": "assistant", "parts": [
            {"type": "reasoning", "content": THINK}, {"type": "text", "content": SAID},
            {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": BIG}},
            {"type": "tool_call", "id": "c2", "name": "weather", "arguments": CITY}]},
        {"role": "tool", "parts": [
            {"type": "tool_call_response", "id": "c1", "response": ONE},
            {"type": "tool_call_response", "id": "c2", "name": "weather", "result": TWO}]},
        {"role": "user", "parts": [{"type": "text", "content": "Thanks"}], "name": None}],
}  # fmt: skip
REWYN = {"tool_specs": [], "messages": [
    {"role": "system", "content": [{"type": "text", "text": SYSTEM}], "name": None},
    {"role": "user", "content": [
        {"type": "text", "text": ASK},
        {"type": "image", "url": None, "data": PNG, "media_type": "image/png", "detail": None}]},
    {"role": "assistant", "content": [
        {"type": "reasoning", "text": THINK, "signature": "s"}, {"type": "text", "text": SAID},
        {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": BIG}},
        {"type": "tool_call", "id": "c2", "name": "weather", "arguments": {"city": "Zürich"}}]},
    {"role": "tool", "content": [
        {"type": "tool_result", "tool_call_id": "c1", "name": "look", "content": ONE},
        {"type": "tool_result", "tool_call_id": "c2", "name": "weather", "content": TWO}]},
    {"role": "user", "content": [{"type": "text", "text": "Thanks"}]}]}  # fmt: skip
RIG = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": [
        {"type": "text", "text": ASK},
        {"type": "image", "data": {"type": "base64", "value": PNG}, "media_type": "png"}]},
    {"role": "assistant", "content": [
        {"type": "reasoning", "text": THINK}, {"type": "text", "text": SAID},
        {"type": "tool_call", "id": {"provider": "c1"},
         "function": {"name": "look", "arguments": {"x": BIG}}},
        {"type": "tool_call", "id": {"provider": "c2"},
         "function": {"name": "weather", "arguments": {"city": "Zürich"}}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "call": {"provider": "c1"}, "name": "look",
         "content": [{"type": "text", "text": ONE}]},
        {"type": "tool_result", "call": {"provider": "c2"}, "name": "weather",
         "content": [{"type": "text", "text": TWO}]}]},
    {"role": "user", "content": "Thanks"},
]  # fmt: skip
BODIES: dict[str, Any] = {
    "openai-chat": CHAT, "openai-responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI,
    "langchain": LANGCHAIN, "langchain-serialised": SERIALISED, "ai-sdk": AI_SDK, "otel": OTEL,
    "rewyn": REWYN, "rig": {"messages": RIG}, "bare-chat-messages": CHAT["messages"],
}  # fmt: skip


def record(turns: list, ok: object = None) -> dict:
    kind = {"effect": "completion", "request": {"chat_history": turns}}
    return {"kind": kind, "outcome": {"Ok": ok} if ok else None}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_one_conversation_reads_the_same_in_every_dialect(body: object) -> None:
    assert list(wire_request(body, "").messages) == EXPECTED


FOREIGN = {
    "rig": RIG,
    "openai-chat": CHAT["messages"],
    "langchain": LANGCHAIN["messages"][0],
    "langchain-serialised": SERIALISED["messages"][0],
    "rewyn": REWYN["messages"],
}


@pytest.mark.parametrize("turns", FOREIGN.values(), ids=FOREIGN)
def test_a_record_may_hold_the_messages_of_any_client(turns: list) -> None:
    assert list(request_view(record(turns)).messages) == EXPECTED


def test_each_dialect_is_told_by_its_shape() -> None:
    named = {name: detect(body) for name, body in BODIES.items() if isinstance(body, dict)}
    assert named == {
        "openai-chat": "openai.chat", "openai-responses": "openai.responses",
        "anthropic": "anthropic.messages", "gemini": "google.gemini", "langchain": "langchain",
        "langchain-serialised": "langchain", "ai-sdk": "ai-sdk", "rewyn": "rewyn", "rig": "rig",
        "otel": "",
    }  # fmt: skip


SPOKEN = (Reasoning(THINK, ""), Text(SAID, ""), Call("c1", "look", {"x": BIG}, ""))
ANSWERS: dict[str, Any] = {
    "openai-chat": {"choices": [{"finish_reason": "stop", "message": {
        "role": "assistant", "reasoning": THINK, "content": SAID,
        "tool_calls": [chat_call("c1", "look", X)]}}]},
    "openai-responses": {"status": "stop", "output": RESPONSES["input"][1:4]},
    "anthropic": {"role": "assistant", "stop_reason": "stop",
                  "content": ANTHROPIC["messages"][1]["content"][:3]},
    "gemini": {"candidates": [{"finishReason": "stop", "content": {
        "role": "model", "parts": GEMINI["contents"][1]["parts"][:3]}}]},
    "langchain": {"generations": [[{"text": SAID, "message": {
        "type": "ai", "content": LANGCHAIN["messages"][0][2]["content"],
        "tool_calls": LANGCHAIN["messages"][0][2]["tool_calls"][:1],
        "response_metadata": {"finish_reason": "stop"}}}]]},
    "ai-sdk": {"text": SAID, "reasoning": THINK, "finishReason": "stop",
               "toolCalls": [{"toolCallId": "c1", "toolName": "look", "input": X}]},
    "ai-sdk-parts": {"content": AI_SDK["messages"][1]["content"][:3], "finishReason": "stop"},
    "otel": {"gen_ai.response.finish_reasons": ["stop"], "gen_ai.output.messages": [
        {"role": "assistant", "parts": OTEL["gen_ai.input.messages"][1]["parts"][:3]}]},
    "rewyn": {"finish_reason": "stop", "message": {
        "role": "assistant", "content": REWYN["messages"][2]["content"][:3]}},
    "rig": {"finish_reason": "stop", "choice": RIG[2]["content"][:3]},
}  # fmt: skip


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
def test_one_answer_reads_the_same_in_every_dialect(body: object) -> None:
    answer = wire_answer(body, "")
    assert answer.parts == SPOKEN
    assert answer.finish == "stop"


def test_a_tool_of_a_chat_page_is_its_call_and_its_result() -> None:
    part = {"type": "tool-look", "toolCallId": "c1", "state": "output-available",
            "input": {"x": 1}, "output": {"seen": "cat"}}  # fmt: skip
    turns = [{"role": "assistant", "parts": [{"type": "step-start"}, part]}]
    assert wire_request({"messages": turns}, "").messages[0].parts == (
        Call("c1", "look", {"x": 1}, ""),
        Result("c1", "look", (Data({"seen": "cat"}, ""),), ""),
    )


UNKNOWN = {"type": "hologram", "beam": [1, 2]}


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, UNKNOWN]}]},
        {"model": "m", "input": [{"role": "user", "content": [
            {"type": "input_text", "text": "a"}, UNKNOWN]}]},
        {"system": "", "messages": [{"role": "user", "content": [
            {"type": "text", "text": "a"}, UNKNOWN]}]},
        {"contents": [{"parts": [{"text": "a"}, UNKNOWN]}]},
        {"messages": [{"type": "human", "content": ["a", UNKNOWN]}]},
        {"prompt": [{"role": "user", "content": [{"type": "text", "text": "a"}, UNKNOWN]}],
         "system": ""},
        {"gen_ai.input.messages": [{"role": "user", "parts": [
            {"type": "text", "content": "a"}, UNKNOWN]}]},
        {"tool_specs": [], "messages": [{"role": "user", "content": ["a", UNKNOWN]}]},
    ],
)  # fmt: skip
def test_an_unknown_part_stays_in_its_place_as_json(body: object) -> None:
    *_, shown = wire_request(body, "").messages[-1].parts
    assert (shown.value, shown.unknown) == (UNKNOWN, True)


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "assistant", "tool_calls": [chat_call("c", "f", '"{\\"x\\":1e2}"')]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c", "name": "f", "input": '{"x":1e2}'}]},
        {"type": "ai", "content": "", "tool_calls": [
            {"name": "f", "args": '{"x":1e2}', "id": "c"}]},
        {"role": "assistant", "parts": [
            {"type": "tool_call", "id": "c", "name": "f", "arguments": '"{\\"x\\":1e2}"'}]},
    ],
)  # fmt: skip
def test_arguments_encoded_twice_are_opened_one_level_and_marked(turn: dict) -> None:
    (part,) = wire_request([turn], "").messages[0].parts
    assert (part.arguments["x"].text, part.opened) == ("1e2", True)


def test_what_is_encoded_three_times_is_opened_once() -> None:
    thrice = chat_call("c", "f", '"{\\"x\\":\\"{}\\"}"')
    (turn,) = wire_request([{"role": "assistant", "tool_calls": [thrice]}], "").messages
    assert turn.parts == (Call("c", "f", {"x": "{}"}, "", opened=True),)


def test_results_that_a_user_brings_stay_in_order_with_what_the_user_says() -> None:
    content = [{"type": "tool_result", "tool_use_id": "c1", "content": "18", "is_error": True},
               {"type": "text", "text": "and?"}]  # fmt: skip
    turns = wire_request([{"role": "user", "content": content}], "").messages
    assert [(turn.role, turn.heading, turn.pointer) for turn in turns] == [
        ("tool", "tool result", "/0/content/0"),
        ("user", "user", "/0"),
    ]
    assert turns[0].parts[0].is_error


def test_a_call_that_failed_says_why_in_any_dialect() -> None:
    gemini = wire_answer({"error": {"code": 429, "message": "slow", "status": "EXHAUSTED"}}, "")
    rewyn = wire_answer({"provider": "fake", "error": "RuntimeError: 503 overloaded"}, "")
    assert (gemini.failure.kind, gemini.failure.message) == ("EXHAUSTED", "slow")
    assert rewyn.failure.message == "RuntimeError: 503 overloaded"


def test_answers_of_records_stay_equal_to_their_providers_own(shared) -> None:
    from runs.messages import exact

    checked = 0
    for path in sorted((shared / "data" / "rig").glob("*.effects.json")):
        for one in exact.loads(path.read_bytes())["records"]:
            ok = (one["outcome"] or {}).get("Ok") or {}
            raw = wire_answer(ok.get("raw"), "").parts
            if "choice" in ok and not any(isinstance(part, Data) for part in raw):
                told = [_plain(part) for part in answer_view(one).parts]
                assert told == [_plain(part) for part in raw]
                checked += 1
    assert checked > 700


def _plain(part: object) -> object:
    return part.text if isinstance(part, Text) else part
