"use strict";
/* When a part of the page is replaced, the focus stays where it was: on the same link, button or
   field of what came, else on the nearest thing around it that is still there. A form with
   [data-lands] leads somewhere else, to the element of that id. What was typed and not yet sent
   stays in its form, if that is still there. And what was sent is not sent again while its answer is
   on the way.
   A link of the review pressed while the review is about to be replaced is pressed on the one that
   comes: htmx would forget it with what is replaced. */
(() => {
  const CONTROLS = "a[href], button, summary, select, input, textarea";
  let held = null; // {element, lands, marks, around}: what had the focus before the swap

  const read = (element, ...names) => names.map((name) => element.getAttribute(name) ?? "").join("\n");
  const told = (element) => element.textContent.trim();

  /* What an element is known by, from what fits one only to what fits one of several. */
  function marks(element) {
    const form = read(element.form ?? element, "action");
    return [
      (one) => read(one, "href", "name", "value", "data-key") === read(element, "href", "name", "value", "data-key") && told(one) === told(element),
      (one) => read(one, "name", "value") === read(element, "name", "value") && one.name,
      (one) => element.dataset.key && one.dataset.key === element.dataset.key,
      (one) => told(one) === told(element) && told(one),
    ].map((fits) => (one) => one.tagName === element.tagName && read(one.form ?? one, "action") === form && fits(one));
  }

  function around(element) {
    const ids = [];
    for (let box = element; box && box.id !== "main"; box = box.parentElement) if (box.id) ids.push(box.id);
    return ids;
  }

  function hold() {
    const element = document.activeElement;
    if (!element?.closest("main") || element.id === "main") return;
    const lands = element.form?.dataset.lands;
    held = { element, lands, marks: marks(element), around: around(element) };
  }

  function place({ lands, marks, around }) {
    const landing = lands && document.getElementById(lands);
    if (landing) return landing;
    const region = document.getElementById(around.findLast((id) => document.getElementById(id))) ?? document.getElementById("main");
    const all = [...region.querySelectorAll(CONTROLS)].filter((one) => !one.disabled && one.checkVisibility());
    for (const fits of marks) {
      const same = all.find(fits);
      if (same) return same;
    }
    return around.map((id) => document.getElementById(id)).find((one) => one?.checkVisibility());
  }

  function give() {
    const before = held;
    held = null;
    const lost = before && !before.element.isConnected && (document.activeElement ?? document.body) === document.body;
    const to = lost && place(before);
    if (!to) return;
    if (!to.matches(CONTROLS) && !to.hasAttribute("tabindex")) to.tabIndex = -1;
    to.focus({ preventScroll: true });
  }

  const TYPED = "form[method=post] :is(textarea, input:not([type=hidden], [type=checkbox], [type=radio]))[name]";
  let written = []; // {form, name, value} of fields that are about to be replaced

  function keep({ target, requestConfig }) {
    const fields = [...target.querySelectorAll(TYPED)].filter((one) => one.value !== one.defaultValue);
    written = fields.filter((one) => one.form !== requestConfig.elt)
      .map((one) => ({ form: read(one.form, "action"), name: one.name, value: one.value }));
  }

  function putBack() {
    const all = written.length ? [...document.querySelectorAll(TYPED)] : [];
    for (const { form, name, value } of written) {
      const field = all.find((one) => one.name === name && read(one.form, "action") === form);
      if (!field || field.value !== field.defaultValue) continue;
      field.value = value;
      const fold = field.closest("details");
      if (fold) fold.open = true;
    }
    written = [];
  }

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    keep(detail);
    hold();
  });
  document.addEventListener("htmx:afterSwap", putBack);
  document.addEventListener("htmx:afterSettle", () => { if (held) queueMicrotask(give); });

  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (detail.requestConfig.verb !== "get" && detail.elt.matches("form")) detail.elt.dataset.sent = "";
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => { delete detail.elt.dataset.sent; });
  document.addEventListener("submit", (event) => {
    if (!("sent" in event.target.dataset)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  const SETTLED = 50; // ms after which htmx has settled an answer, if it was one to settle
  let coming = false; // the review is about to be replaced
  let meant = null; // the marks of the link pressed meanwhile

  function came() {
    const link = meant && [...document.querySelectorAll("#review a[href]")];
    const same = link && meant.map((fits) => link.find(fits)).find(Boolean);
    coming = false;
    meant = null;
    same?.click();
  }

  const ofReview = ({ detail }) => detail.target?.id === "review";
  document.addEventListener("htmx:beforeRequest", (event) => { coming ||= ofReview(event); });
  document.addEventListener("htmx:afterRequest", (event) => { if (ofReview(event)) setTimeout(came, SETTLED); });
  document.addEventListener("htmx:afterSettle", (event) => { if (ofReview(event)) setTimeout(came); });
  document.addEventListener("click", (event) => {
    const link = coming && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.target.closest("#review a[href]");
    if (!link || link.closest("[hx-boost=false]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    meant = marks(link);
  }, true);

  /* Enter in a form that asks for a decision decides nothing: it ends the writing, and the keys and
     buttons of the decision are next. */
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("input")) return;
    const next = event.target.form?.querySelector("[data-decides]");
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
})();
