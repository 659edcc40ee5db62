"use strict";
/* A run that is going on: what is new comes to the end of the list and nothing else moves. With
   "Follow" pressed, each new effect is gone to. */
(() => {
  const KEPT = ["family", "errors_only", "fold", "req", "tab"]; // of the address
  const KEY = "follow";
  const shown = () => document.getElementById("effect")?.dataset.at ?? "1";
  const button = () => document.getElementById("follow");
  const lastSeq = () => document.getElementById("grow")?.dataset.last;
  const following = () => sessionStorage.getItem(KEY) === location.pathname;
  let stepping = false; // an effect is on its way
  let asked = ""; // for which state of the page the last question was

  function state() {
    const now = new URLSearchParams(location.search);
    const kept = KEPT.flatMap((name) => now.getAll(name).map((value) => [name, value]));
    const missing = document.querySelector("#effect[data-missing]") ? [["missing", "on"]] : [];
    return new URLSearchParams([["at", shown()], ...missing, ...kept]);
  }

  function setFollow(on) {
    if (on) sessionStorage.setItem(KEY, location.pathname);
    else sessionStorage.removeItem(KEY);
    button()?.setAttribute("aria-pressed", String(on));
    if (on) toLast();
  }

  function toLast() {
    if (shown() !== lastSeq()) document.getElementById("way-last")?.click();
  }

  function ready() {
    const follow = button();
    if (!follow) return;
    follow.hidden = false;
    follow.setAttribute("aria-pressed", String(following()));
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-follow]")) setFollow(!following());
    // Somebody who goes elsewhere wants to stay there.
    else if (event.isTrusted && event.target.closest(".steps [data-row], .tape-box, #transport a") && following()) setFollow(false);
  });
  document.addEventListener("keydown", (event) => {
    if (following() && /^[jkemt[]$/.test(event.key) && !event.target.closest("input, textarea, select")) setFollow(false);
  }, true);

  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.elt.id !== "grow") return;
    asked = String(state());
    detail.path += `&${asked}`;
  });
  document.addEventListener("htmx:beforeRequest", ({ detail }) => { if (detail.target?.id === "effect") stepping = true; });
  document.addEventListener("htmx:afterRequest", ({ detail }) => { if (detail.target?.id === "effect") stepping = false; });

  /* An answer to a page that has changed meanwhile, or one that would take what is being typed, is
     left: the next question comes soon. */
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.requestConfig?.elt?.id !== "grow" || detail.xhr.status !== 200) return;
    const typing = ["jump", "find"].includes(document.activeElement?.id);
    const dragging = document.querySelector(".tape-box.dragging");
    if (stepping || typing || dragging || asked !== String(state()) || !detail.requestConfig.elt.isConnected) detail.shouldSwap = false;
  });

  let scrolled = 0;
  document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
    if (detail.target.id === "list") scrolled = document.querySelector(".steps").scrollTop;
  });
  document.addEventListener("htmx:oobAfterSwap", ({ detail }) => {
    if (detail.target.id === "list") document.querySelector(".steps").scrollTop = scrolled;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "grow") return;
    ready();
    if (following()) toLast();
    else document.getElementById(`s${shown()}`)?.setAttribute("aria-current", "true");
  });
  document.addEventListener("htmx:historyRestore", ready);
  document.addEventListener("DOMContentLoaded", ready);
})();
