"""The model a run was recorded with, where no other is asked for. Pure."""

from __future__ import annotations

from collections.abc import Collection

from replay.questions import Candidate
from runs.refusals import Refused


def the_recorded(models: Collection[tuple[str, str]]) -> Candidate:
    """The one model of the recorded calls, given as (provider, name); Refused where it is not one.

    Which of several a call is to be asked of is for a person to say.
    """
    if len(models) > 1:
        names = ", ".join(sorted(f"{provider}:{name}" for provider, name in models))
        text = f"The run used several models ({names}); name the model to ask."
        raise Refused("several_models", text, "models")
    if not models:
        raise Refused("no_model_calls", "This run has no model calls to replay.", "run")
    [(provider, name)] = models
    if not provider.strip() or not name.strip():
        text = "The recording does not name its provider and model; name the model to ask."
        raise Refused("bad_form", text, "models")
    return Candidate(provider, name)
