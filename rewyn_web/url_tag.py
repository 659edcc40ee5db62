"""`{% url %}` for every template, by addresses that are known."""

from __future__ import annotations

from django.template import Context, Library
from django.template.base import Parser, Token
from django.template.defaulttags import URLNode, url
from django.urls import NoReverseMatch
from django.utils.html import conditional_escape

from runs.addresses import address_of

register = Library()


class KnownURL(URLNode):
    def render(self, context: Context) -> str:
        args = [arg.resolve(context) for arg in self.args]
        try:
            address = address_of(self.view_name.resolve(context), *args)
        except NoReverseMatch:
            if self.asvar is None:
                raise
            address = ""
        if self.asvar is None:
            return conditional_escape(address) if context.autoescape else address
        context[self.asvar] = address
        return ""


@register.tag("url")
def known_url(parser: Parser, token: Token) -> URLNode:
    """Django's own where arguments are named: none of ours are."""
    found = url(parser, token)
    if found.kwargs:
        return found
    return KnownURL(found.view_name, found.args, found.kwargs, found.asvar)
