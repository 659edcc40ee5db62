"""Everything this library raises on purpose.

```
RewynError
├── LogError (also a ValueError)   .kind is the word Rig uses for the same refusal
│   ├── DecodeError                the text is no JSON, or no effect log: kind "decode"
│   ├── EncodeError                a value that JSON cannot hold: kind "encode"
│   └── HeaderError                the header contradicts the log: "divergence", "internal"
│                                  or "handler_unavailable"
└── PushError                      the server refused, or could not be reached
```
"""

from __future__ import annotations


class RewynError(Exception):
    """The root of the tree above."""


class LogError(RewynError, ValueError):
    """An effect log that cannot be taken as it is; `kind` is Rig's word for the refusal."""

    kind = "internal"

    def __init__(self, message: str, *, kind: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if kind is not None:
            self.kind = kind


class DecodeError(LogError):
    """A text that is no JSON, or JSON that is no effect log.

    `line` and `column` count from 1 and are set when the text itself is wrong; `path` (such as
    `records[3].outcome`) is set when a value is.
    """

    kind = "decode"

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.path = path

    def inside(self, step: str | int) -> DecodeError:
        """The same error, with `path` seen from one level further out."""
        here = f"[{step}]" if isinstance(step, int) else step
        joint = "" if not self.path or self.path.startswith("[") else "."
        self.path = here + joint + (self.path or "")
        return self

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.message} at line {self.line} column {self.column}"
        return f"{self.message} at {self.path}" if self.path else self.message


class EncodeError(LogError):
    """A value that JSON cannot hold, or that is nested too deeply to write."""

    kind = "encode"


class HeaderError(LogError):
    """A header that contradicts the log: what `check_header` refuses."""


class PushError(RewynError):
    """A push that failed for good.

    `status` is None when no answer came; `code`, `message` and `field` are the server's.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.field = field
