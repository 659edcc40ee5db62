"""Who may do what: people, projects, memberships, API keys and one-time links."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Store a person who signs in as `email` (kept in lower case)."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=200, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    def __str__(self) -> str:
        return self.email


class Project(models.Model):
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    is_demo = models.BooleanField(default=False)
    redaction_rules = models.JSONField(default=list, blank=True)
    """Extra secret patterns: [{"name": str, "pattern": regular expression}]."""
    price_overrides = models.JSONField(default=dict, blank=True)
    """{model glob: {"input": USD per million tokens, "output", "cache_read", "cache_write"}}."""

    def __str__(self) -> str:
        return self.slug


class Role(models.TextChoices):
    VIEWER = "viewer", "viewer"
    MEMBER = "member", "member"
    ADMIN = "admin", "admin"
    OWNER = "owner", "owner"

    @property
    def rank(self) -> int:
        return list(Role).index(self)

    def covers(self, needed: Role) -> bool:
        """True when this role may do what `needed` may."""
        return self.rank >= needed.rank


class Membership(models.Model):
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "project"], name="one_membership_a_project"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="known_role"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role} of {self.project_id}"


class Scope(models.TextChoices):
    INGEST = "ingest", "ingest: send runs"
    READ = "read", "read: look at runs and replays"
    REPLAY = "replay", "replay: read, and start replays"
    ADMIN = "admin", "admin: everything a key can do"

    def covers(self, needed: Scope) -> bool:
        """True when a key of this scope may do what `needed` names."""
        return needed in SCOPE_COVERS[self]


SCOPE_COVERS: dict[Scope, frozenset[Scope]] = {
    Scope.INGEST: frozenset({Scope.INGEST}),
    Scope.READ: frozenset({Scope.READ}),
    Scope.REPLAY: frozenset({Scope.READ, Scope.REPLAY}),
    Scope.ADMIN: frozenset(Scope),
}


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def live(self) -> ApiKeyQuerySet:
        """Keys that are neither revoked nor past their expiry."""
        fresh = models.Q(expires_at=None) | models.Q(expires_at__gt=Now())
        return self.filter(fresh, revoked_at=None)


class ApiKey(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200)
    start = models.CharField(max_length=12)
    """The first characters, so that a person can tell keys apart."""
    digest = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.INGEST)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(scope__in=Scope.values), name="known_scope"),
        ]

    def __str__(self) -> str:
        return f"{self.start}…"

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class LinkPurpose(models.TextChoices):
    SIGN_IN = "sign_in", "sign in"
    INVITE = "invite", "join a project"


class OneTimeLink(models.Model):
    digest = models.CharField(max_length=64, unique=True)
    purpose = models.CharField(max_length=10, choices=LinkPurpose.choices)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="invites")
    role = models.CharField(max_length=10, choices=Role.choices, blank=True)
    email = models.EmailField(max_length=254, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(purpose=LinkPurpose.SIGN_IN, user__isnull=False)
                | models.Q(purpose=LinkPurpose.INVITE, project__isnull=False),
                name="link_says_for_whom",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.pk}"
