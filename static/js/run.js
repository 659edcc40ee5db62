"use strict";
/* The run page: a click on the tape goes to that effect, the list follows the effect on show. */
(() => {
  const stepsList = () => document.querySelector(".steps");
  const shown = () => Number(document.getElementById("effect")?.dataset.at);
  let wanted = null; // the effect asked for last, while its page is still on the way

  function go(seq) {
    const row = document.getElementById(`s${seq}`);
    if (row) return row.click();
    wanted = seq;
    const list = stepsList();
    const values = {};
    for (const input of document.querySelectorAll("#effect-tabs input")) values[input.name] = input.value;
    const url = `${location.pathname}?at=${seq}`;
    window.htmx.ajax("GET", url, { source: list, target: "#effect", swap: "outerHTML", values, push: "true" });
  }

  function select(seq) {
    const list = stepsList();
    if (!list || !seq) return;
    const row = document.getElementById(`s${seq}`);
    const old = list.querySelector("[aria-current]");
    if (old && old !== row) old.removeAttribute("aria-current");
    if (!row) return load(list, seq);
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

  function arrived() {
    if (wanted !== null && wanted !== shown()) return;
    wanted = null;
    select(shown());
  }

  document.addEventListener("click", (event) => {
    const mark = event.target.closest(".tape [data-seq]");
    if (mark) go(Number(mark.dataset.seq));
    const row = event.target.closest(".steps [data-row]");
    if (row) wanted = Number(row.id.slice(1));
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "effect" || event.target.closest?.(".steps")) arrived();
  });
  for (const failed of ["htmx:responseError", "htmx:sendError"]) document.addEventListener(failed, () => {
    wanted = null;
    select(shown());
  });
  document.addEventListener("htmx:historyRestore", () => select(shown()));
  document.addEventListener("DOMContentLoaded", () => select(shown()));
})();
