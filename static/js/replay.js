"use strict";
/* The replay form: one more field for a model, an address without what is not changed, and no start
   before the plan says what the controls do.
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

  const controls = document.getElementById("controls");
  const state = () => new URLSearchParams(new FormData(controls)).toString();
  let asked = controls && state();
  let planned = asked;
  const hold = () => {
    const go = document.getElementById("go");
    if (!go || !controls) return;
    const ahead = state() !== planned;
    if (ahead && !go.disabled) go.dataset.held = "";
    if ("held" in go.dataset) go.disabled = ahead;
  };
  controls?.addEventListener("input", hold);
  document.addEventListener("htmx:oobAfterSwap", () => {
    planned = asked;
    hold();
  });
  for (const failed of ["htmx:sendError", "htmx:responseError"])
    document.addEventListener(failed, () => { asked = null; });

  // What goes along with the runs that are kept is what the controls say now.
  document.getElementById("keep-runs")?.addEventListener("formdata", (event) => {
    const asked = new FormData(controls);
    asked.delete("run");
    event.formData.set("controls", new URLSearchParams(asked).toString());
  });

  const unchanged = (field) => field && field.value === field.dataset.unchanged;

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target.id !== "controls") return;
    // To leave a field is no change: the button that is just being pressed would be replaced.
    if (state() === asked) {
      event.preventDefault();
      return;
    }
    asked = state();
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
