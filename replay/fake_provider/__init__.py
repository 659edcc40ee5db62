"""A loopback provider that speaks OpenAI Chat, OpenAI Responses and Anthropic Messages on the wire.

Standard library only. In a test::

    with FakeProvider([{"when": {"model": "m"}, "answer": {"text": "hi"}}]) as fake:
        call(base_url=fake.openai_base_url)
    fake.asked[0].body["temperature"]

``manage.py fake_provider`` runs the same server. ``rules`` says how answers are chosen.
"""

from replay.fake_provider.rules import BadRules, Rule, load_rules, parse_rules
from replay.fake_provider.server import Asked, FakeProvider

__all__ = ["Asked", "BadRules", "FakeProvider", "Rule", "load_rules", "parse_rules"]
