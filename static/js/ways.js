"use strict";
/* The way a reader goes from effect to effect. Quick steps one way are one entry of the history.
   The next effect that way is asked for ahead once the one on show is painted, and a step there is
   answered by what came: the same address, asked the same. */
(() => {
  const QUICK = 1000; // ms between steps that make one entry
  const FRESH = 10000; // ms for which what came ahead is shown; like a page that is open, it gets older
  const NEIGHBOURS = ["way-forward", "way-back"];
  const idle = window.requestIdleCallback ?? setTimeout;
  let told = ""; // the way, where what asks for the step knows it
  let step = null; // the one on its way or on show: {way, path, same, quick, shown}
  let ahead = null; // {path, since, text, stop}

  const seqIn = (path) => new URL(path, location.href).searchParams.get("at");
  const leadsTo = (way) => document.getElementById(way)?.search?.match(/[?&]at=(\d+)/)?.[1];
  const following = () => document.querySelector("#follow[aria-pressed=true]");
  const isLive = () => document.querySelector("#grow[hx-get]");

  function wayOf(elt, path) {
    if (elt.id.startsWith("way-")) return elt.id;
    if (elt.matches("[data-hit]")) return "hit";
    return NEIGHBOURS.find((way) => leadsTo(way) === seqIn(path)) ?? "";
  }

  /* Forward and back are one way to go through the list. */
  const kind = (way) => (NEIGHBOURS.includes(way) ? "neighbours" : way);

  document.addEventListener("rewyn:go", ({ detail }) => { told = detail.way ?? ""; });

  document.addEventListener("htmx:beforeSend", ({ detail }) => {
    if (detail.target?.id !== "effect" || detail.requestConfig.verb !== "get") return;
    const path = detail.pathInfo.finalRequestPath;
    const way = told || wayOf(detail.elt, path);
    told = "";
    const now = performance.now();
    const same = Boolean(step && way && kind(way) === kind(step.way));
    step = { way, path, same, quick: same && now - step.shown < QUICK };
    if (ahead?.path === path && now - ahead.since < FRESH) answer(detail.xhr, ahead);
    else drop();
    ahead = null;
  });

  /* A reader who follows a run that goes on is taken along: that is one entry too. */
  document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
    if (detail.target?.id !== "effect" || !step) return;
    if (step.quick || (step.same && following())) detail.history.type = "replace";
  });

  document.addEventListener("htmx:afterSettle", ({ target }) => {
    if (target.id !== "effect" || !step) return;
    step.shown = performance.now();
    const shown = step;
    requestAnimationFrame(() => idle(() => { if (step === shown) askAhead(); }));
  });

  /* One at a time, in the direction of the last step; never of a run that still changes. */
  function askAhead() {
    const seq = leadsTo(step.way);
    if (!seq || ahead || document.hidden || isLive() || navigator.connection?.saveData) return;
    const path = step.path.replace(/([?&]at=)\d+/, `$1${seq}`);
    const stop = new AbortController();
    const headers = { "HX-Request": "true", "HX-Target": "effect" };
    const text = fetch(path, { headers, signal: stop.signal, cache: "no-store" })
      .then((came) => (came.ok && !came.redirected ? came.text() : Promise.reject(came)));
    text.catch(() => { if (ahead?.text === text) ahead = null; });
    ahead = { path, since: performance.now(), text, stop };
  }

  function drop() {
    ahead?.stop.abort();
    ahead = null;
  }

  /* htmx's own request takes what came, or goes out if nothing did. */
  function answer(xhr, { path, text }) {
    xhr.send = () => text.then((response) => {
      const came = { status: 200, response, responseURL: new URL(path, location.href).href };
      for (const [name, value] of Object.entries(came)) Object.defineProperty(xhr, name, { value });
      xhr.onload();
    }, () => XMLHttpRequest.prototype.send.call(xhr));
  }

  /* Somebody who writes, or comes from elsewhere, may have changed what came ahead. */
  document.addEventListener("htmx:beforeSend", ({ detail }) => { if (detail.requestConfig.verb !== "get") drop(); });
  document.addEventListener("visibilitychange", drop);
  document.addEventListener("htmx:historyRestore", () => {
    step = null;
    drop();
  });
})();
