"""Provider keys sealed with a key of the environment, so that the database alone gives none away.

`REWYN_SEAL_KEY` holds one or more long random texts, separated by commas: the first seals, all of
them open. `SECRET_KEY` opens too, and seals where `REWYN_SEAL_KEY` is not set. Each text becomes a
Fernet key by HKDF-SHA256. A sealed value names its project: copied into another it does not open.
"""

from __future__ import annotations

import base64
import json
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

INFO = b"rewyn-web provider keys"


class SealedOtherwise(ValueError):
    """None of the keys of the environment opens it, or it belongs to another project."""


def seal(secret: str, project_id: int) -> str:
    held = json.dumps({"project": project_id, "key": secret})
    return _box().encrypt(held.encode()).decode("ascii")


def unseal(sealed: str, project_id: int) -> str:
    """The secret; raises SealedOtherwise."""
    try:
        held = json.loads(_box().decrypt(sealed.encode()))
    except InvalidToken:
        raise SealedOtherwise("It was sealed with another REWYN_SEAL_KEY.") from None
    if held["project"] != project_id:
        raise SealedOtherwise("It was sealed for another project.")
    return str(held["key"])


def reseal(sealed: str) -> str:
    """The same secret, sealed with the first key there is; raises SealedOtherwise."""
    try:
        return _box().rotate(sealed.encode()).decode("ascii")
    except InvalidToken:
        raise SealedOtherwise("It was sealed with another REWYN_SEAL_KEY.") from None


def _box() -> MultiFernet:
    texts = (*settings.SEAL_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return _made(tuple(texts))


@lru_cache(maxsize=4)
def _made(texts: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(text)) for text in texts])


def _derived(text: str) -> bytes:
    made = HKDF(algorithm=SHA256(), length=32, salt=None, info=INFO).derive(text.encode())
    return base64.urlsafe_b64encode(made)
