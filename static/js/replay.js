"use strict";
/* The replay form: one more field for a model, and an address without what is not changed.
   A replay's page: rows that came by a poll mark the answers one is reading. */
(() => {
  const models = document.getElementById("models");
  const add = document.querySelector("[data-add-model]");
  const plain = document.querySelector("[data-plain-plan]");
  if (plain) plain.hidden = true;

  if (add && models) {
    add.hidden = false;
    add.addEventListener("click", () => {
      const field = models.lastElementChild.cloneNode();
      field.value = "";
      field.removeAttribute("id");
      field.setAttribute("aria-label", "Another model");
      models.append(field);
      field.focus();
    });
  }

  const unchanged = (field) => field && field.value === field.dataset.unchanged;

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target.id !== "controls") return;
    const sent = event.detail.parameters;
    const kept = Object.keys(sent).map((name) => [name, [].concat(sent[name]).filter((value) => value !== "")]);
    for (const [name, values] of kept) {
      if (values.length) sent[name] = values.length > 1 ? values : values[0];
      else delete sent[name];
    }
    if (sent.calls === "all") delete sent.calls;
    const system = document.getElementById("system");
    if (unchanged(system)) delete sent.system;
    else sent.system = system.value;
  });

  document.addEventListener("htmx:afterSettle", () => {
    const at = document.querySelector("#place [name=at]")?.value;
    if (!at) return;
    for (const row of document.querySelectorAll("#rows [aria-current]")) row.removeAttribute("aria-current");
    document.getElementById(`r${at}`)?.setAttribute("aria-current", "true");
  });
})();
