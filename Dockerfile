# One image for web, worker and beat; the command says which.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
COPY requirements.lock ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /data --create-home rewyn
WORKDIR /app
COPY --from=build /venv /venv
COPY manage.py pyproject.toml ./
COPY rewyn_web rewyn_web
COPY runs runs
COPY replay replay
COPY sdk/src sdk/src
COPY templates templates
COPY static static
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONPATH=/app:/app/sdk/src REWYN_HOME=/data LC_ALL=C.UTF-8
USER rewyn
VOLUME /data
EXPOSE 8010
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["python", "manage.py", "healthcheck"]
CMD ["python", "manage.py", "web"]
