"""Settings, in Django's order. Every value comes from the environment, with safe defaults."""

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from environs import Env

BASE_DIR = Path(__file__).resolve().parent.parent
SDK_SRC = str(BASE_DIR / "sdk" / "src")
if SDK_SRC not in sys.path:  # the root project is not a wheel; its SDK is used from the tree
    sys.path.insert(0, SDK_SRC)

env = Env()

# --- Where things are kept -------------------------------------------------------------------

REWYN_HOME = Path(env.str("REWYN_HOME", str(BASE_DIR / ".rewyn-web"))).resolve()


def _kept_secret(name: str) -> str:
    """A secret made once and kept readable to its owner only (the embedded default)."""
    path = REWYN_HOME / name
    held = path.read_text().strip() if path.exists() else None
    if held:
        return held
    made = REWYN_HOME / f"{name}.{os.getpid()}"
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(48))
    if held is None:
        with suppress(FileExistsError):
            os.link(made, path)  # whole or not at all, and the first of two that start at once
        made.unlink()
    else:  # empty: made when the disk was full
        os.replace(made, path)
    return path.read_text().strip()


FOLDERS_MADE = [path for path in (REWYN_HOME, *REWYN_HOME.parents) if not path.exists()]
"""By this very process, deepest first; a command that finds no installation takes them away."""
try:
    REWYN_HOME.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(REWYN_HOME, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied")
    _secret = env.str("SECRET_KEY", "") or _kept_secret("secret_key")
except OSError as error:
    sys.exit(
        f"REWYN_HOME {REWYN_HOME} cannot be used: {error.strerror}. Name a folder to write to."
    )

# --- Core ------------------------------------------------------------------------------------

DEBUG = env.bool("DEBUG", False)
SECRET_KEY = _secret
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
CSRF_FAILURE_VIEW = "runs.accounts.middleware.refused_as_forged"
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", [])
BASE_URL = env.str("BASE_URL", "")
"""Where people reach this server: what links begin with that lead here from elsewhere."""
USE_X_FORWARDED_HOST = False
if env.bool("BEHIND_TLS_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "csp",
    "axes",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rewyn_web",
    "runs.accounts",
    "runs",
    "replay",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "runs.api.straight.StraightToTheView",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "runs.accounts.sessions.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "runs.accounts.middleware.SignInMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "rewyn_web.urls"
WSGI_APPLICATION = "rewyn_web.wsgi.application"
APPEND_SLASH = False

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "rewyn_web.templating.SendableTemplates",
        "NAME": "django",  # by which template_partials knows the engine it serves
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["rewyn_web.url_tag"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "runs.context.shell",
            ],
        },
    },
]

# --- Database --------------------------------------------------------------------------------

SQLITE_OPTIONS = {
    # IMMEDIATE is what keeps concurrent writers from failing with "database is locked".
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=268435456;"
        "PRAGMA cache_size=-8000; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=0;"
        # Where a worker runs, `runs.storage.sqlite_log` writes the log back sooner.
        "PRAGMA wal_autocheckpoint=16000"
    ),
}

DATABASES: dict[str, Any] = {
    "default": env.dj_db_url("DATABASE_URL", f"sqlite:///{REWYN_HOME / 'db.sqlite3'}")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"].update(OPTIONS=SQLITE_OPTIONS, CONN_MAX_AGE=60)
    # A file: an in-memory test database cannot be shared by the threads of a live server.
    DATABASES["default"]["TEST"] = {"NAME": str(REWYN_HOME / "test.sqlite3")}
else:
    DATABASES["default"].update(CONN_MAX_AGE=60, CONN_HEALTH_CHECKS=True)
    # Of small statements whose SQL is made once (`runs.bulk.cursor`) the server keeps the plan; the
    # ORM's own are never prepared. A pooler that gives each transaction another connection must be
    # able to follow, or it has to be off.
    if env.bool("DATABASE_PREPARED_STATEMENTS", True):
        DATABASES["default"].setdefault("OPTIONS", {})["prepare_threshold"] = 2
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# --- People ----------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "runs.accounts.backends.SignedIn",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "accounts:sign-in"
LOGIN_REDIRECT_URL = "/"
SESSION_ENGINE = "runs.accounts.sessions"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SESSION_COOKIE_NAME = "rewyn_session"
SESSION_COOKIE_SAMESITE = "Lax"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "runs.accounts.views.locked_out"
AXES_VERBOSE = False

# --- Pages -----------------------------------------------------------------------------------

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "rewyn_web.assets.KnownAddresses"},
}
STATIC_ROOT = Path(env.str("STATIC_ROOT", str(REWYN_HOME / "staticfiles")))
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
# Served from the finders: no collectstatic step before the first start.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- API -------------------------------------------------------------------------------------

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "runs.api.auth.KeyAuthentication",
        "runs.api.auth.SessionProjectAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["runs.api.auth.ScopePermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "runs.api.errors.handle",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "runs.api.negotiation.JSONOnly",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "rewyn-web",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "DESCRIPTION": "Ship effect logs, read runs, start replays.",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "RunStatus": "runs.models.RunStatus.values",
        "EffectStatus": "runs.models.EffectStatus.values",
    },
}
# Ingest reads its body itself, within the limits below; forms are small, files go to disk.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 500
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

INGEST_MAX_BODY_BYTES = env.int("INGEST_MAX_BODY_BYTES", 64 * 1024 * 1024)
"""Bytes of one request as sent; more is answered 413."""
INGEST_MAX_DECODED_BYTES = env.int("INGEST_MAX_DECODED_BYTES", 128 * 1024 * 1024)
"""Bytes of one request after decompression; more is answered 413 (a zip bomb ends here)."""
INGEST_MAX_RECORDS = env.int("INGEST_MAX_RECORDS", 50_000)
"""Records of one request; more is answered 422."""
INGEST_MAX_POSITION = env.int("INGEST_MAX_POSITION", 1_000_000)
"""The last position an effect may have in its run; one beyond is rejected (422)."""
INGEST_MAX_NAME_LENGTH = 200
"""Characters of an id, key or name; a longer one is rejected for that item (422)."""
INGEST_MAX_DEPTH = env.int("INGEST_MAX_DEPTH", 256)
"""Nesting of one record; deeper is rejected (422)."""
RUN_STALLED_AFTER_SECONDS = env.int("RUN_STALLED_AFTER_SECONDS", 15 * 60)
TOMBSTONE_DAYS = env.int("TOMBSTONE_DAYS", 30)
API_KEY_CACHE_SECONDS = 3

# --- Jobs ------------------------------------------------------------------------------------

REDIS_URL = env.str("REDIS_URL", "")
CELERY_BROKER_URL = REDIS_URL or "memory://"
EMBEDDED_WORKER = not REDIS_URL
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"unacked_restore_throttle": 1, "visibility_timeout": 3600}
    if REDIS_URL
    else {"polling_interval": 0.05}
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", 6)
WORKER_ALIVE_FILE = env.str("WORKER_ALIVE_FILE", "")
"""A worker touches it every few seconds while it is connected (a container's health check)."""
CELERY_BEAT_SCHEDULE = {"tidy": {"task": "runs.tidy", "schedule": 3600.0}}
REPLAY_LEASE_SECONDS = env.float("REPLAY_LEASE_SECONDS", 15.0)
"""A running job whose heartbeat is older than this is taken up again."""
REPLAY_SWEEP_SECONDS = env.float("REPLAY_SWEEP_SECONDS", 2.0)
REPLAY_MAX_ATTEMPTS = env.int("REPLAY_MAX_ATTEMPTS", 5)
REPLAY_PARALLEL_CALLS = env.int("REPLAY_PARALLEL_CALLS", 4)
WORKER_PARALLEL_CALLS = max(env.int("WORKER_PARALLEL_CALLS", 0), 0)
"""Provider calls of one worker at once, all its replays together; 0: as its replays have."""
REPLAY_CALL_ATTEMPTS = env.int("REPLAY_CALL_ATTEMPTS", 4)
REPLAY_CALL_TIMEOUT_SECONDS = env.float("REPLAY_CALL_TIMEOUT_SECONDS", 120.0)

# --- Providers of replays --------------------------------------------------------------------

SEAL_KEYS: list[str] = list(filter(None, env.list("REWYN_SEAL_KEY", [])))
"""What seals the provider keys that projects keep: the first seals, all of them open."""
if any(len(key) < 32 for key in SEAL_KEYS):
    sys.exit("REWYN_SEAL_KEY is too short: 32 characters or more, say of `openssl rand -hex 32`.")
REPLAY_PRIVATE_ADDRESSES = env.bool("REPLAY_PRIVATE_ADDRESSES", False)
"""Whether a project's providers may be on loopback and in private ranges (`make run`: yes)."""
PROVIDER_KEY_VARIABLES: list[str] = env.list("PROVIDER_KEY_VARIABLES", [])
"""Variables whose value every project may have sent to a base URL of its choice."""

# --- Logging ---------------------------------------------------------------------------------

LOG_LEVEL = env.str("LOG_LEVEL", "WARNING").upper()
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {"one_line": {"()": "rewyn_web.logs.RefusedInOneLine"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "plain",
            "filters": ["one_line"],
        }
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "axes": {"level": "ERROR"},
        # They tell of requests by address (of a webhook it holds what its receiver knows it by),
        # and below that by body.
        **{name: {"level": "WARNING"} for name in ("httpx2", "httpcore2", "openai", "anthropic")},
        # Warns that `memory://` names no host, each time it is opened.
        "kombu.connection": {"level": "ERROR"},
    },
}
