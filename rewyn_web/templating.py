"""Django's templates, whose text can always be sent.

A recording may hold half of a surrogate pair anywhere a text can stand, and half a pair has no
UTF-8. Templates show what they know of as `cleaned`; what slips through must cost one character,
not the page.
"""

from __future__ import annotations

import re
from typing import Any

from django.template import TemplateDoesNotExist
from django.template.backends.django import DjangoTemplates, Template, reraise
from django.utils.safestring import SafeString, mark_safe

_HALF_PAIR = re.compile("[\ud800-\udfff]")


class SendableTemplates(DjangoTemplates):
    def from_string(self, template_code: str) -> SendableTemplate:
        return SendableTemplate(self.engine.from_string(template_code), self)

    def get_template(self, template_name: str) -> SendableTemplate:
        try:
            return SendableTemplate(self.engine.get_template(template_name), self)
        except TemplateDoesNotExist as missing:
            reraise(missing, self)
            raise


class SendableTemplate(Template):
    def render(self, context: Any = None, request: Any = None) -> SafeString:
        text = super().render(context, request)
        return mark_safe(_HALF_PAIR.sub("\ufffd", text))
