"use strict";
/* The run page: the list follows the effect on show, and what the list is narrowed to goes along in
   the address. */
(() => {
  const stepsList = () => document.querySelector(".steps");
  const shown = () => Number(document.getElementById("effect")?.dataset.at);
  const OF_LIST = ["family", "errors_only", "fold", "q"];
  let wanted = null; // the effect asked for last, while its page is still on the way
  let scrolled = null; // how far the list was scrolled when it was folded

  /* One effect comes at a time: what is pressed meanwhile on a page that is about to go waits, and
     is pressed on the one that came. A tab is then that of the effect that came. */
  let coming = false;
  let held = null;

  function came() {
    const again = held;
    coming = false;
    held = null;
    if (again) setTimeout(again);
  }

  function again(link) {
    const at = Number(new URLSearchParams(link.search).get("at"));
    return link.id ? () => document.getElementById(link.id)?.click() : () => at && go(at);
  }

  document.addEventListener("htmx:beforeRequest", ({ detail }) => { coming ||= detail.target?.id === "effect"; });
  document.addEventListener("click", (event) => {
    if (!coming || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target.closest?.("#effect a[href^='?'], #transport a[href^='?'], .steps a[data-row], a[data-hit]");
    if (!link) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    held = again(link);
    if (link.matches("[data-row]")) select(Number(link.id.slice(1)));
  }, true);

  function go(seq) {
    if (coming) { held = () => go(seq); return; }
    const row = document.getElementById(`s${seq}`);
    if (row) return row.click();
    wanted = seq;
    const values = {};
    for (const input of document.querySelectorAll("#effect-tabs input")) values[input.name] = input.value;
    const url = `${location.pathname}?at=${seq}`;
    window.htmx.ajax("GET", url, { source: stepsList(), target: "#effect", swap: "outerHTML", values, push: "true" });
  }

  /* `still`: the list stays where the reader has it, if the effect was marked in it already. */
  function select(seq, still = false) {
    const list = stepsList();
    if (!list || !seq) return;
    const row = document.getElementById(`s${seq}`);
    const old = list.querySelector("[aria-current]");
    if (old && old !== row) old.removeAttribute("aria-current");
    markHit(seq);
    if (!row) return load(list, seq);
    if (still && old === row) return;
    row.setAttribute("aria-current", "true");
    row.scrollIntoView({ block: "nearest" });
  }

  function load(list, seq) {
    for (const part of list.querySelectorAll(".window.waiting")) {
      if (Number(part.dataset.first) <= seq && seq <= Number(part.dataset.last)) {
        part.scrollIntoView({ block: "nearest" });
        window.htmx.trigger(part, "wanted");
      }
    }
  }

  /* Hits of a search in the run: the one on show is marked; on and back go round. */
  const hits = () => [...document.querySelectorAll("[data-hit]")];
  const seqOf = (hit) => Number(hit.dataset.hit);

  function markHit(seq) {
    for (const hit of hits()) {
      if (seqOf(hit) !== seq) hit.removeAttribute("aria-current");
      else {
        hit.setAttribute("aria-current", "true");
        hit.scrollIntoView({ block: "nearest" });
      }
    }
  }

  function toHit(on) {
    const all = hits();
    const at = wanted ?? shown();
    const next = on ? all.find((hit) => seqOf(hit) > at) ?? all[0] : all.findLast((hit) => seqOf(hit) < at) ?? all.at(-1);
    if (!next) return;
    wanted = seqOf(next);
    next.click();
  }

  function arrived(still) {
    if (wanted !== null && wanted !== shown()) return;
    wanted = null;
    select(shown(), still);
  }

  /* The address is the state: a step keeps what the list is narrowed to, and what narrows the list
     keeps the effect on show with its tabs. */
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    const into = detail.target?.id;
    const url = new URL(detail.path, location.href);
    if (detail.verb !== "get" || url.pathname !== location.pathname) return;
    const now = new URLSearchParams(location.search);
    if (into === "effect") {
      // The tabs on the page are newer than those a link was made with.
      for (const name of ["req", "tab"]) if (detail.formData.has(name)) url.searchParams.delete(name);
    }
    const kept = into === "effect" ? OF_LIST : into === "list" ? ["req", "tab"] : [];
    for (const name of kept) {
      if (!url.searchParams.has(name) && !detail.formData.has(name)) for (const value of now.getAll(name)) url.searchParams.append(name, value);
    }
    if (into === "list" && shown()) {
      detail.formData.delete("at");
      url.searchParams.set("at", shown());
    }
    detail.path = url.pathname + url.search;
  });

  document.addEventListener("click", (event) => {
    const row = event.target.closest(".steps [data-row]");
    if (row) wanted = Number(row.id.slice(1));
    const way = event.target.closest("[data-hits]");
    if (way) {
      event.preventDefault();
      toHit(way.dataset.hits === "on");
    }
  });

  document.addEventListener("rewyn:go", ({ detail }) => go(detail));

  /* ← puts away what the effect on show made, → brings it back. */
  document.addEventListener("keydown", (event) => {
    const folds = { ArrowLeft: "true", ArrowRight: "false" }[event.key];
    if (!folds || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, .tape-box, pre, .scroll-x") || document.querySelector("dialog[open]")) return;
    const fold = document.getElementById(`f${shown()}`);
    if (fold?.getAttribute("aria-expanded") === folds) fold.click();
  });

  /* What is replaced goes at once, for htmx would say goodbye to each of its elements; but not what
     asked for it or has the focus, of which htmx has yet to know where it stood. */
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const pane = detail.target;
    const needed = [detail.requestConfig?.elt, document.activeElement].some((one) => pane?.contains(one));
    if (pane?.id === "effect" && detail.shouldSwap && !needed) pane.replaceChildren();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id !== "list") return;
    scrolled = event.detail.requestConfig?.elt.matches(".fold-it") ? stepsList().scrollTop : null;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "list" && scrolled !== null) stepsList().scrollTop = scrolled;
    else if (event.target.id === "effect" || event.target.closest?.("#list")) arrived(event.target.id === "effect");
    if (event.target.id === "effect") came();
  });
  for (const failed of ["htmx:responseError", "htmx:sendError", "htmx:timeout", "htmx:sendAbort", "htmx:swapError"]) document.addEventListener(failed, () => {
    wanted = held = null;
    came();
    select(shown());
  });
  document.addEventListener("htmx:historyRestore", () => select(shown()));
  document.addEventListener("DOMContentLoaded", () => select(shown()));
})();
