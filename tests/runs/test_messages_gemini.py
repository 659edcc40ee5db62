"""Gemini bodies in the forms of its REST reference (ai.google.dev/api/generate-content and
/api/caching#Part). No capture has one: every member here is named there."""

from typing import Any

from runs.messages import wire_answer, wire_request
from runs.messages.parts import Call, Data, Media, Reasoning, Result, Text


def candidate(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0, **more}]}


def test_thoughts_and_calls_with_their_signatures() -> None:
    called = {"id": "8f2b1a3c", "name": "get_weather", "args": {"location": "Zürich"}}
    answer = wire_answer(
        candidate(
            {"text": "**Looking up**", "thought": True},
            {"functionCall": called, "thoughtSignature": "EpYCCpMC"},
            {"text": "", "thoughtSignature": "CrsBCrgB"},
        ),
        "",
    )
    assert answer.parts == (
        Reasoning("**Looking up**", ""),
        Call("8f2b1a3c", "get_weather", {"location": "Zürich"}, ""),
    )
    assert answer.finish == "STOP"


def test_a_function_s_response_with_media_beside_it() -> None:
    response = {
        "id": "8f2b1a3c", "name": "get_image", "response": {"output": "a chart"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}],
    }  # fmt: skip
    [turn] = wire_request(
        {"contents": [{"role": "user", "parts": [{"functionResponse": response}]}]}, ""
    ).messages
    [result] = turn.parts
    assert (turn.role, result.call_id, result.name) == ("tool", "8f2b1a3c", "get_image")
    assert result.parts == (
        Text("a chart", ""),
        Media("image", "base64", "iVBORw0KGgo=", "image/png", ""),
    )


def test_files_by_address() -> None:
    file = {"mimeType": "application/pdf", "fileUri": "https://generativelanguage/v1beta/files/a1"}
    [turn] = wire_request(
        {"contents": [{"parts": [{"fileData": file}, {"text": "Read it"}]}]}, ""
    ).messages
    assert (turn.role, turn.parts[0].media, turn.parts[0].value) == (
        "user",
        "document",
        file["fileUri"],
    )


def test_code_that_the_model_ran_is_a_call_and_its_result() -> None:
    code = {"id": "c1", "language": "PYTHON", "code": "print(6 * 7)"}
    answer = wire_answer(
        candidate(
            {"executableCode": code},
            {"codeExecutionResult": {"id": "c1", "outcome": "OUTCOME_OK", "output": "42\n"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "NameError"}},
        ),
        "",
    )
    assert answer.parts == (
        Call("c1", "code_execution", {"language": "PYTHON", "code": "print(6 * 7)"}, ""),
        Result("c1", "code_execution", (Text("42\n", ""),), ""),
        Result("", "code_execution", (Text("NameError", "", "OUTCOME_FAILED"),), "", is_error=True),
    )


def test_usage_has_its_thoughts_and_its_cache() -> None:
    usage = {
        "promptTokenCount": 1200, "cachedContentTokenCount": 1024, "candidatesTokenCount": 20,
        "thoughtsTokenCount": 300, "totalTokenCount": 1520,
    }  # fmt: skip
    answer = wire_answer({**candidate({"text": "Hi"}), "usageMetadata": usage}, "")
    assert {(fact.label, fact.value) for fact in answer.usage} == {
        ("Prompt token count", "1200"), ("Cached content token count", "1024"),
        ("Candidates token count", "20"), ("Thoughts token count", "300"),
        ("Total token count", "1520"),
    }  # fmt: skip


def test_a_blocked_prompt_says_why_there_is_no_answer() -> None:
    rating = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
    feedback = {"blockReason": "SAFETY", "safetyRatings": [rating]}
    answer = wire_answer({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 9}}, "")
    assert answer.parts == ()
    assert answer.failure is not None
    assert answer.failure.kind == "prompt blocked: SAFETY"
    assert [(fact.label, fact.value) for fact in answer.failure.facts] == [
        ("Blocked for Dangerous content", "HIGH"),
    ]  # fmt: skip


def test_an_answer_that_was_stopped_keeps_its_reason_and_what_had_come() -> None:
    harmless = {"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}
    blocked = {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "MEDIUM", "blocked": True}
    body = candidate(
        {"text": "Well"}, finishReason="SAFETY", finishMessage="Stopped.",
        safetyRatings=[harmless, blocked],
    )  # fmt: skip
    answer = wire_answer(body, "")
    assert (answer.finish, answer.parts) == ("SAFETY", (Text("Well", ""),))
    assert [(fact.label, fact.value) for fact in answer.facts] == [
        ("Finish message", "Stopped."), ("Blocked for Hate speech", "MEDIUM"),
    ]  # fmt: skip
    empty = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]}
    assert wire_answer(empty, "").finish == "MALFORMED_FUNCTION_CALL"


def test_what_an_answer_stands_on_is_kept_beside_it() -> None:
    grounding = {"webSearchQueries": ["Zürich weather"], "groundingChunks": []}
    said, ground = wire_answer(candidate({"text": "18 °C"}, groundingMetadata=grounding), "").parts
    assert said == Text("18 °C", "")
    assert (ground.label, ground.value) == ("Grounding metadata", grounding)


def test_tools_of_one_group_are_all_offered() -> None:
    group = {"functionDeclarations": [{"name": "look"}], "googleSearch": {}, "codeExecution": {}}
    tools = wire_request({"contents": "Hi", "tools": [group]}, "").tools
    assert [tool.name for tool in tools] == ["look", "googleSearch", "codeExecution"]


def test_a_part_of_a_new_kind_is_shown_as_json() -> None:
    [part] = wire_answer(candidate({"hologram": {"uri": "x"}}), "").parts
    assert isinstance(part, Data)
    assert part.unknown
