"""Who may call which route with which method. A route that is not here fails the tests.

Add a line for each new URL name: {method: need}, where a need is

- `anyone`: no sign-in (says itself who it answers, as a one-time link does)
- `person`: anybody who is signed in
- `viewer`, `member`, `admin`, `owner`: that role in the project of the address (`slug`)
- `scope:ingest`, `scope:read`, `scope:replay`, `scope:admin`: an API key that covers it, or a
  person with `X-Project` whose role covers it
- `key`: any API key, or a person with `X-Project` who is a member

Every method that is not named (of GET, POST, PUT, PATCH, DELETE) has to answer 405.
`PARAMETERS` says with what an address is filled in.
"""

from __future__ import annotations

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

PARAMETERS: dict[str, object] = {
    "slug": "acme",
    "token": "no-such-token",
    "link_id": 1,
    "member_id": 1,
    "key_id": 1,
    "run_id": "no-such-run",
    "seq": 1,
    "field": "agent",
    "view_id": 1,
    "replay_id": "no-such-replay",
    "side": "sent",
    "comment_id": 1,
    "digest": "0" * 64,
}

NEEDS: dict[str, dict[str, str]] = {
    "healthz": dict.fromkeys(METHODS, "anyone"),
    "readyz": dict.fromkeys(METHODS, "anyone"),
    # --- people, projects, keys ---
    "accounts:home": {"GET": "person"},
    "accounts:sign-in": {"GET": "anyone", "POST": "anyone"},
    "accounts:sign-in-link": {"GET": "anyone", "POST": "anyone"},
    "accounts:sign-out": {"POST": "anyone"},
    "accounts:join": {"GET": "anyone", "POST": "anyone"},
    "accounts:account": {"GET": "person", "POST": "person"},
    "accounts:password": {"POST": "person"},
    "accounts:projects": {"GET": "person", "POST": "person"},
    "accounts:project": {"GET": "viewer"},
    "accounts:settings": {"GET": "viewer", "POST": "owner"},
    "accounts:remove-demo": {"POST": "owner"},
    "accounts:remove-project": {"POST": "owner"},
    "accounts:redaction": {"GET": "admin", "POST": "admin"},
    "accounts:remove-redaction": {"POST": "admin"},
    "accounts:members": {"GET": "viewer"},
    "accounts:invite": {"POST": "owner"},
    "accounts:revoke-invite": {"POST": "owner"},
    "accounts:member-role": {"POST": "owner"},
    "accounts:remove-member": {"POST": "owner"},
    "accounts:leave": {"POST": "viewer"},
    "accounts:keys": {"GET": "admin", "POST": "admin"},
    "accounts:revoke-key": {"POST": "admin"},
    "accounts:connect": {"GET": "viewer", "POST": "admin"},
    "accounts:first-run": {"GET": "viewer"},
    # --- pages of runs ---
    "runs:list": {"GET": "viewer"},
    "runs:values": {"GET": "viewer"},
    "runs:news": {"GET": "viewer"},
    "runs:rows": {"GET": "viewer"},
    "runs:views": {"GET": "viewer", "POST": "viewer"},
    "runs:view": {"POST": "viewer"},
    "runs:selection-replay": {"GET": "member"},
    "runs:selection-tags": {"POST": "member"},
    "runs:selection-export": {"GET": "viewer"},
    "runs:selection-deletion": {"GET": "admin", "POST": "admin"},
    "runs:selection-undo": {"POST": "admin"},
    "runs:sessions": {"GET": "viewer"},
    "runs:session": {"GET": "viewer"},
    "runs:agents": {"GET": "viewer"},
    "runs:agent": {"GET": "viewer"},
    "runs:detail": {"GET": "viewer"},
    "runs:steps": {"GET": "viewer"},
    "runs:growth": {"GET": "viewer"},
    "runs:costliest": {"GET": "viewer"},
    "runs:log": {"GET": "viewer"},
    "runs:envelope": {"GET": "viewer"},
    "runs:offline": {"GET": "viewer"},
    "runs:find": {"GET": "viewer"},
    "runs:search": {"GET": "viewer"},
    "runs:effect": {"GET": "viewer"},
    "runs:effect-raw": {"GET": "viewer"},
    "runs:effect-value": {"GET": "viewer"},
    "runs:effect-media": {"GET": "viewer"},
    "runs:attachment": {"GET": "viewer"},
    "runs:comments": {"GET": "viewer", "POST": "member"},
    "runs:comment": {"POST": "member"},
    "runs:comment-deletion": {"POST": "viewer"},
    "runs:palette": {"GET": "viewer"},
    "runs:people": {"GET": "member"},
    "runs:mentions": {"GET": "viewer", "POST": "viewer"},
    "runs:import": {"GET": "member", "POST": "member"},
    "runs:patterns": {"GET": "person"},
    # --- pages of replays ---
    "replay:compare": {"GET": "viewer"},
    "replay:list": {"GET": "viewer"},
    "replay:detail": {"GET": "viewer"},
    "replay:body": {"GET": "viewer"},
    "replay:panel": {"GET": "viewer"},
    "replay:new": {"GET": "member", "POST": "member"},
    "replay:cancel": {"POST": "member"},
    "replay:retry": {"POST": "member"},
    # --- API ---
    "api:schema": {"GET": "anyone"},
    "api:docs": {"GET": "anyone"},
    "api-nothing": dict.fromkeys(METHODS, "anyone"),
    "api:me": {"GET": "key"},
    "api:runs": {"GET": "scope:read", "POST": "scope:ingest"},
    "api:redaction": {"GET": "scope:admin", "PUT": "scope:admin"},
    "api:redaction-preview": {"POST": "scope:admin"},
    "api:search": {"GET": "scope:read"},
    "api:effect-logs": {"POST": "scope:ingest"},
    "api:run": {"GET": "scope:read", "DELETE": "scope:admin"},
    "api:effects": {"GET": "scope:read", "POST": "scope:ingest"},
    "api:effect": {"GET": "scope:read"},
    "api:comments": {"GET": "scope:read", "POST": "scope:replay"},
    "api:finish": {"POST": "scope:ingest"},
    "api:log": {"GET": "scope:read"},
    "api:export": {"GET": "scope:read"},
    "replay-api:compare": {"GET": "scope:read"},
    "replay-api:replays": {"GET": "scope:read", "POST": "scope:replay"},
    "replay-api:replay": {"GET": "scope:read"},
    "replay-api:effects": {"GET": "scope:read"},
    "replay-api:cancel": {"POST": "scope:replay"},
    "replay-api:retry": {"POST": "scope:replay"},
}
