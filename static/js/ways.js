"use strict";
/* The way a reader goes from step to step of a run, a comparison, a review. Quick steps one way are
   one entry of the history. In a run the next effect that way is asked for ahead once the one on show
   is painted, and a step there is answered by what came: the same address, asked the same. */
(() => {
  const QUICK = 1000; // ms between steps that make one entry
  const FRESH = 10000; // ms for which what came ahead is shown; like a page that is open, it gets older
  const STEPS = ["effect", "pair", "review"];
  /* The keys that lead on, by the way they go; any other step is a jump. */
  const KIND = { j: "row", k: "row", m: "model", e: "error", t: "tool", n: "hit", N: "hit", "]": "last", tape: "tape" };
  const SOON = 200; // ms after which it is asked ahead where the browser finds no idle moment: it may find none for good
  const whenIdle = (then) => (window.requestIdleCallback ?? setTimeout)(then, { timeout: SOON });
  let told = ""; // the way, where what asks for the step knows it
  let step = null; // the one on its way or on show: {xhr, way, path, same, quick, shown}
  let ahead = null; // {path, since, text, stop}

  const following = () => document.querySelector("#follow[aria-pressed=true]");
  const isLive = () => document.querySelector("#grow[hx-get]");

  document.addEventListener("rewyn:way", ({ detail }) => { told = detail; });
  document.addEventListener("pointerdown", () => { told = ""; });

  document.addEventListener("htmx:beforeSend", ({ detail }) => {
    if (detail.requestConfig.verb !== "get") return drop(); // who writes changes what came ahead
    if (!STEPS.includes(detail.target?.id)) return;
    const way = told || detail.elt.dataset.key || (detail.elt.matches("[data-hit]") ? "n" : "");
    const path = detail.pathInfo.finalRequestPath;
    const now = performance.now();
    const same = Boolean(step && KIND[way] && KIND[way] === KIND[step.way]);
    told = "";
    step = { xhr: detail.xhr, way, path, same, quick: same && now - step.shown < QUICK };
    if (ahead?.path === path && now - ahead.since < FRESH) answer(detail.xhr, ahead);
    else drop();
    ahead = null;
  });

  /* A reader who follows a run that goes on is taken along: that is one entry too. */
  document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
    if (detail.xhr !== step?.xhr) return;
    if (step.quick || (step.same && following())) detail.history.type = "replace";
  });

  document.addEventListener("htmx:afterSettle", ({ detail, target }) => {
    if (!step || detail.xhr !== step.xhr || !STEPS.includes(target.id)) return;
    step.shown = performance.now();
    const shown = step;
    requestAnimationFrame(() => whenIdle(() => { if (step === shown) askAhead(); }));
  });

  /* One at a time, in the direction of the last step; never of a run that still changes. */
  function askAhead() {
    const on = [...document.querySelectorAll("#transport a[data-key]")].find((link) => link.dataset.key === step.way);
    if (!on || ahead || document.hidden || isLive() || navigator.connection?.saveData) return;
    const path = step.path.replace(/([?&]at=)\d+/, `$1${new URLSearchParams(on.search).get("at")}`);
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

  document.addEventListener("visibilitychange", drop); // perhaps to write in another window
  document.addEventListener("htmx:historyRestore", () => {
    step = null;
    drop();
  });
})();
