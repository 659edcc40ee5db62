"""Forms of people, projects, members and keys."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.utils import timezone

from runs.accounts.models import ApiKey, Project, Role, Scope, User
from runs.accounts.people import SLUG_LENGTH
from runs.messages.loose import is_blank

EMAIL_LENGTH = 254
NAME_LENGTH = 200
PASSWORD_LENGTH = 1000
"""More than any password; hashing a megabyte would be a way to keep a worker busy."""


def no_surrogates(value: str) -> None:
    """Half a character (a lone surrogate) has no UTF-8 form; no database takes it."""
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValidationError("This text has a broken character in it.", code="surrogate")


def visible(value: str) -> None:
    """A name nobody sees is a blank row in a list."""
    if is_blank(value):
        raise ValidationError("Nothing of this can be seen.", code="invisible")


class PlainField(forms.CharField):
    """Text a database can keep: no NUL, no lone surrogate, never longer than its column."""

    default_validators = [no_surrogates]


class EmailField(forms.EmailField):
    """An address in lower case."""

    default_validators = [no_surrogates, *forms.EmailField.default_validators]

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=EMAIL_LENGTH, **options)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value) or "").lower()


def text_field(**options: Any) -> PlainField:
    return PlainField(max_length=NAME_LENGTH, validators=[visible], **options)


def password_field(label: str, autocomplete: str) -> PlainField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return PlainField(label=label, max_length=PASSWORD_LENGTH, strip=False, widget=widget)


class PageForm(forms.Form):
    """A form in the look of the pages; where it is refused, the first field at fault is focused."""

    use_required_attribute = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            if not field.widget.is_hidden:
                field.widget.attrs.setdefault("class", "field")

    def add_error(self, field: str | None, error: Any) -> None:
        super().add_error(field, error)
        at_fault = [named for name, named in self.fields.items() if name in self.errors]
        for place, named in enumerate(at_fault):
            named.widget.attrs["autofocus"] = place == 0


class SignInForm(PageForm):
    email = EmailField(label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "username"}))
    password = password_field("Password", "current-password")


class NextForm(forms.Form):
    """Where to go after sign-in; only its text is checked here, its host where it is used."""

    next = PlainField(required=False, max_length=4000)


class NameForm(PageForm):
    name = text_field(label="Name", required=False)


class NewPasswordForm(PageForm):
    """Asks for the password in use, where there is one."""

    current = password_field("Password now", "current-password")
    password = password_field("New password", "new-password")
    again = password_field("Once more", "new-password")

    def __init__(self, user: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user
        if not user.has_usable_password():
            del self.fields["current"]

    def clean_current(self) -> str:
        current: str = self.cleaned_data["current"]
        if not self.user.check_password(current):
            raise ValidationError("This is not your password.")
        return current

    def clean(self) -> None:
        super().clean()
        _check_new_password(self, self.user)


class JoinForm(PageForm):
    """A new person from an invitation."""

    email = EmailField(label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "username"}))
    name = text_field(label="Name", required=False)
    password = password_field("Password", "new-password")
    again = password_field("Once more", "new-password")

    def clean(self) -> None:
        super().clean()
        email, name = self.cleaned_data.get("email", ""), self.cleaned_data.get("name", "")
        _check_new_password(self, User(email=email, name=name))


def _check_new_password(form: forms.Form, user: User) -> None:
    password, again = form.cleaned_data.get("password"), form.cleaned_data.get("again")
    if password is None:
        return
    if again is not None and password != again:
        form.add_error("again", "The two are not the same.")
    try:
        password_validation.validate_password(password, user)
    except ValidationError as error:
        form.add_error("password", error)


class ProjectForm(PageForm):
    name = text_field(label="Name")
    slug = forms.SlugField(
        label="Address",
        required=False,
        max_length=SLUG_LENGTH,
        help_text="Letters, digits and hyphens; left empty, it follows from the name.",
    )

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"].lower()
        if slug and Project.objects.filter(slug=slug).exists():
            raise ValidationError("This address is taken.")
        return slug


class ProjectNameForm(PageForm):
    name = text_field(label="Name")


class RemoveProjectForm(PageForm):
    """The address typed again is the confirmation."""

    confirm = PlainField(
        label="Type the address", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, project: Project, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.project = project

    def clean_confirm(self) -> str:
        confirm: str = self.cleaned_data["confirm"]
        if confirm != self.project.slug:
            raise ValidationError(f"Type {self.project.slug} to remove the project.")
        return confirm


class InviteForm(PageForm):
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.MEMBER)
    email = EmailField(
        label="E-mail",
        required=False,
        help_text="If given, only this address can join by the link. No mail is sent.",
    )


class RoleForm(PageForm):
    role = forms.ChoiceField(label="Role", choices=Role.choices)


class RedactionRuleForm(PageForm):
    """The rules of a rule are `runs.redaction.rules`'."""

    name = text_field(label="Name", help_text="Stands in its place: [redacted:name].")
    pattern = PlainField(
        label="Pattern",
        max_length=300,
        required=False,
        strip=False,
        help_text="A regular expression over texts, such as C-[0-9]{6}. No look-around, no flags.",
    )
    field = PlainField(
        label="Field",
        max_length=NAME_LENGTH,
        required=False,
        help_text="The name of a member, such as password, or a JSON pointer with * for any step."
        " Everything under it goes, or with a pattern what matches there.",
    )

    def rule(self) -> dict[str, str]:
        return {name: value for name, value in self.cleaned_data.items() if value}


EXPIRIES = {
    "7": "in 7 days",
    "30": "in 30 days",
    "90": "in 90 days",
    "365": "in a year",
    "": "never",
}


class KeyForm(PageForm):
    name = text_field(label="Name", help_text="What will use it: “support-triage in production”.")
    scope = forms.ChoiceField(label="Scope", choices=Scope.choices, initial=Scope.INGEST)
    expires = forms.ChoiceField(label="Expires", choices=EXPIRIES.items(), required=False)

    def __init__(self, project: Project, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.project = project

    def clean_name(self) -> str:
        """A live key's name is not given twice: a reload of the answer makes no second key."""
        name: str = self.cleaned_data["name"]
        if ApiKey.objects.live().filter(project=self.project, name=name).exists():
            raise ValidationError("A live key has this name.")
        return name

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["expires"]
        return timezone.now() + timedelta(days=int(days)) if days else None
