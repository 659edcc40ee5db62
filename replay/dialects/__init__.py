"""Three model APIs and Rig's own form of a call: requests into each other, answers into one shape.

Pure: JSON in, JSON and notes out. ``read_request`` and ``read_body`` make a ``Prompt``,
``write_body`` spells it, ``change_body`` edits a recorded body in place of a rebuild;
``read_answer`` and ``read_outcome`` make an ``Answer`` of what came back and of what was recorded.
"""

from replay.dialects.answer import USAGE, Answer, AnswerCall, BadAnswer
from replay.dialects.answers import read_answer
from replay.dialects.override import Overrides, change_body, change_prompt
from replay.dialects.prompt import CHAT, MESSAGES, RESPONSES, Note, Prompt
from replay.dialects.read import api_of, read_body
from replay.dialects.recorded import read_outcome, recorded_api
from replay.dialects.reworded import MessageText
from replay.dialects.rig import read_request
from replay.dialects.write import known_fields, write_body

__all__ = [
    "CHAT",
    "MESSAGES",
    "RESPONSES",
    "USAGE",
    "Answer",
    "AnswerCall",
    "BadAnswer",
    "MessageText",
    "Note",
    "Overrides",
    "Prompt",
    "api_of",
    "change_body",
    "change_prompt",
    "known_fields",
    "read_answer",
    "read_body",
    "read_outcome",
    "read_request",
    "recorded_api",
    "write_body",
]
