"use strict";
/* The way a reader goes from effect to effect. Quick steps one way are one entry of the history. */
(() => {
  const QUICK = 1000; // ms between steps that make one entry
  const NEIGHBOURS = ["way-forward", "way-back"];
  let told = ""; // the way, where what asks for the step knows it
  let step = null; // the one on its way or on show: {way, goesOn, shown}

  const seqIn = (path) => new URL(path, location.href).searchParams.get("at");
  const leadsTo = (way) => document.getElementById(way)?.search?.match(/[?&]at=(\d+)/)?.[1];
  const following = () => document.querySelector("#follow[aria-pressed=true]");

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
    const way = told || wayOf(detail.elt, detail.pathInfo.finalRequestPath);
    told = "";
    const goesOn = step && way && kind(way) === kind(step.way);
    step = { way, goesOn: goesOn && (performance.now() - step.shown < QUICK ? "quickly" : "slowly") };
  });

  /* A reader who follows a run that goes on is taken along: that is one entry too. */
  document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
    if (detail.target?.id !== "effect" || !step) return;
    if (step.goesOn === "quickly" || (step.goesOn && following())) detail.history.type = "replace";
  });

  document.addEventListener("htmx:afterSettle", ({ target }) => { if (target.id === "effect" && step) step.shown = performance.now(); });
  document.addEventListener("htmx:historyRestore", () => { step = null; });
})();
