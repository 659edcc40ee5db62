"""Google Gemini: contents of parts, in camelCase (REST) or snake_case (the Python client)."""

from collections.abc import Callable, Iterator
from typing import Any

from runs.messages.facts import facts_of, name_of, structured, usage_facts
from runs.messages.loose import items, named, obj, text
from runs.messages.openai_chat import failure
from runs.messages.parts import (
    Answer,
    Data,
    Fact,
    Failure,
    Media,
    Message,
    Part,
    Reasoning,
    Request,
    Result,
    Text,
    Tool,
)
from runs.messages.turns import call, each, media_of, turn

_CONFIG = ("generationConfig", "generation_config", "config")
_SYSTEM = ("systemInstruction", "system_instruction")
_REQUEST = {"contents", "tools", *_CONFIG, *_SYSTEM}
_INLINE = ("inlineData", "inline_data")
_FILE = ("fileData", "file_data")
_CALL = ("functionCall", "function_call")
_RESPONSE = ("functionResponse", "function_response")
_CODE = ("executableCode", "executable_code")
_RAN = ("codeExecutionResult", "code_execution_result")
_SIGNATURE = ("thoughtSignature", "thought_signature")
_CODE_TOOL = "code_execution"
_DECLARED = ("functionDeclarations", "function_declarations")
_CANDIDATE = {
    "content", "index", "finishReason", "finish_reason", "safetyRatings", "safety_ratings",
    "logprobsResult", "logprobs_result",
}  # fmt: skip


def request(body: dict[str, Any], pointer: str) -> Request:
    key, config = named(body, *_CONFIG)
    members = obj(config)
    system_at, system = named(body, *_SYSTEM)
    if system is None:
        system_at, system = f"{key}/system_instruction", members.get("system_instruction")
    inner = {"system_instruction", "tools"}
    tools_at, tools = "tools", body.get("tools")
    if tools is None:
        tools_at, tools = f"{key}/tools", members.get("tools")
    return Request(
        "completion",
        messages=(
            *_system(system, f"{pointer}/{system_at}"),
            *messages(body.get("contents"), f"{pointer}/contents"),
        ),
        tools=_tools(tools, f"{pointer}/{tools_at}"),
        facts=(*facts_of(body, _REQUEST), *facts_of(members, inner)),
        parts=(
            *structured(body, _REQUEST, pointer),
            *structured(members, inner, f"{pointer}/{key}"),
        ),
    )


def answer(body: dict[str, Any], pointer: str) -> Answer:
    if "error" in body and "candidates" not in body:
        return Answer(failure=failure(body["error"], f"{pointer}/error"))
    said: list[Part] = []
    facts: list[Fact] = []
    finish = []
    for index, candidate in enumerate(map(obj, items(body.get("candidates")))):
        at = f"{pointer}/candidates/{index}"
        said += _parts(candidate.get("content"), f"{at}/content")
        said += structured(candidate, _CANDIDATE, at)  # what it cites, what it was grounded on
        facts += _rated(candidate)
        finish.append(text(named(candidate, "finishReason", "finish_reason")[1]))
    usage = obj(named(body, "usageMetadata", "usage_metadata")[1])
    named_facts = {
        "id": named(body, "responseId", "response_id")[1],
        "model": named(body, "modelVersion", "model_version")[1],
    }
    return Answer(
        parts=tuple(said),
        facts=(*facts_of(named_facts), *facts),
        usage=usage_facts(usage),
        finish=", ".join(filter(None, finish)),
        failure=_blocked(body, pointer),
    )


def _blocked(body: dict[str, Any], pointer: str) -> Failure | None:
    """Why there are no candidates, if the prompt was refused."""
    key, feedback = named(body, "promptFeedback", "prompt_feedback")
    reason = text(named(obj(feedback), "blockReason", "block_reason")[1])
    if not reason:
        return None
    said = text(named(obj(feedback), "blockReasonMessage", "block_reason_message")[1])
    facts = tuple(_rated(obj(feedback)))
    return Failure(f"prompt blocked: {reason}", said, facts, pointer=f"{pointer}/{key}")


def _rated(members: dict[str, Any]) -> Iterator[Fact]:
    """What was said beside a reason to stop, and the ratings that stopped it."""
    message = named(members, "finishMessage", "finish_message")[1]
    if isinstance(message, str):
        yield Fact("Finish message", message)
    for rating in map(obj, items(named(members, "safetyRatings", "safety_ratings")[1])):
        if rating.get("blocked") is True:
            category = text(rating.get("category")).removeprefix("HARM_CATEGORY_")
            yield Fact(f"Blocked for {name_of(category)}", text(rating.get("probability")))


def messages(value: object, pointer: str) -> tuple[Message, ...]:
    if isinstance(value, str):
        return (Message("user", (Text(value, pointer),), pointer, raw=value),)
    listed = [value] if isinstance(value, dict) else items(value)
    return each(listed, pointer, _turn)


def _turn(value: object, pointer: str) -> tuple[Message, ...]:
    role = text(obj(value).get("role")) or "user"
    return turn(role, tuple(_parts(value, pointer)), pointer, value)


def _system(value: object, pointer: str) -> tuple[Message, ...]:
    said = tuple(_parts(value, pointer))
    return (Message("system", said, pointer, raw=value),) if said else ()


def _parts(content: object, pointer: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(content, pointer)] if content else []
    listed = enumerate(items(obj(content).get("parts")))
    shown = (_part(one, f"{pointer}/parts/{index}") for index, one in listed)
    return [part for part in shown if part is not None]


def _signs_only(part: dict[str, Any]) -> bool:
    """Nothing but the signature of what was thought before: it is for the model, not for people."""
    return part.get("text") == "" and named(part, *_SIGNATURE)[1] is not None


def _part(value: object, pointer: str) -> Part | None:
    if isinstance(value, str):
        return Text(value, pointer)
    part = obj(value)
    for names, read in _READERS:
        key, member = named(part, *names)
        if isinstance(member, dict):
            return read(member, f"{pointer}/{key}")
    said = part.get("text")
    if _signs_only(part):
        return None
    if not isinstance(said, str):
        return Data(value, pointer, unknown=True)
    thought = part.get("thought") is True
    return Reasoning(said, f"{pointer}/text") if thought else Text(said, f"{pointer}/text")


def _call(member: dict[str, Any], pointer: str) -> Part:
    arguments = member.get("args")
    identity, name = text(member.get("id")), text(member.get("name"))
    at = f"{pointer}/args"
    return call({} if arguments is None else arguments, at, identity, name, text=False)


def _response(member: dict[str, Any], pointer: str) -> Part:
    """The API wants an object; by its convention what a tool said stands alone under `output`
    (`result` in older clients), and what went wrong under `error`."""
    response = member.get("response")
    at = f"{pointer}/response"
    keys = list(response) if isinstance(response, dict) else []
    failed = keys == ["error"]
    if failed or keys in (["output"], ["result"]):
        response, at = obj(response)[keys[0]], f"{at}/{keys[0]}"
    said: Part = Text(response, at) if isinstance(response, str) else Data(response, at)
    identity, name = text(member.get("id")), text(member.get("name"))
    return Result(identity, name, (said, *_parts(member, pointer)), pointer, failed)


def _code(member: dict[str, Any], pointer: str) -> Part:
    """Code that the model ran by itself, as the call it is; its result comes in the next part."""
    arguments = {key: value for key, value in member.items() if key != "id"}
    return call(arguments, pointer, text(member.get("id")), _CODE_TOOL, text=False)


def _ran(member: dict[str, Any], pointer: str) -> Part:
    outcome = text(member.get("outcome"))
    failed = outcome != "OUTCOME_OK"
    said = Text(text(member.get("output")), f"{pointer}/output", outcome if failed else "")
    return Result(text(member.get("id")), _CODE_TOOL, (said,), pointer, failed)


def _inline(member: dict[str, Any], pointer: str) -> Part:
    return _media(member, pointer, "base64", text(member.get("data")))


def _file(member: dict[str, Any], pointer: str) -> Part:
    return _media(member, pointer, "url", text(named(member, "fileUri", "file_uri")[1]))


def _media(member: dict[str, Any], pointer: str, source: str, value: str) -> Part:
    kind = text(named(member, "mimeType", "mime_type")[1])
    name = text(named(member, "displayName", "display_name")[1])
    return Media(media_of(kind), source, value, kind, pointer, name)


def _tools(value: object, pointer: str) -> tuple[Tool, ...]:
    """Functions, and the provider's own tools by their names."""
    offers: list[Tool] = []
    for index, group in enumerate(map(obj, items(value))):
        at = f"{pointer}/{index}"
        for key, member in group.items():
            if key in _DECLARED:
                declared = enumerate(items(member))
                offers += [_tool(one, f"{at}/{key}/{place}") for place, one in declared]
            elif member is not None:
                offers.append(Tool(key, "", member, f"{at}/{key}", raw=member))
    return tuple(offers)


def _tool(value: object, pointer: str) -> Tool:
    offer = obj(value)
    schema = named(offer, "parameters", "parametersJsonSchema", "parameters_json_schema")[1]
    name, description = text(offer.get("name")), text(offer.get("description"))
    return Tool(name, description, schema, pointer, raw=value)


_READERS: tuple[tuple[tuple[str, ...], Callable[[dict[str, Any], str], Part]], ...] = (
    (_CALL, _call),
    (_RESPONSE, _response),
    (_CODE, _code),
    (_RAN, _ran),
    (_INLINE, _inline),
    (_FILE, _file),
)
