"use strict";
/* Keys are clicks on what is on the page: [data-key="e"] is clicked by e, a [data-rows] list is
   walked by j and k. In a list with data-rows="open" a step also opens the row. */
(() => {
  const texts = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=file], [type=submit])";
  const typing = (el) => Boolean(el?.matches?.(texts));
  const pressable = (el) => el && /^(A|BUTTON|SUMMARY)$/.test(el.tagName);
  const rowsOf = (list) => [...list.querySelectorAll("[data-row]")];

  const current = (list) => list.querySelector("[data-row][aria-current]");

  function mark(list, row) {
    current(list)?.removeAttribute("aria-current");
    row.setAttribute("aria-current", "true");
    row.scrollIntoView({ block: "nearest" });
  }

  /* Rows between two windows may not be loaded; the transport's own link knows the way then. */
  const apart = (a, b) => a && a.parentElement !== b.parentElement
    && a.parentElement.nextElementSibling !== b.parentElement
    && b.parentElement.nextElementSibling !== a.parentElement;

  /* A row that was just put in: its link is not boosted before htmx has settled it. */
  const fresh = (row) => row.closest(".htmx-settling, .htmx-added");

  function walk(list, by) {
    const rows = rowsOf(list);
    const from = current(list);
    const next = rows[from ? rows.indexOf(from) + by : 0];
    const opens = list.dataset.rows === "open";
    if (!next || (opens && (!from || apart(from, next) || fresh(next)))) return false;
    mark(list, next);
    if (opens) {
      document.dispatchEvent(new CustomEvent("rewyn:way", { detail: by > 0 ? "j" : "k" }));
      next.click();
    }
    return true;
  }

  function press(list, key) {
    const row = list && current(list);
    if (key === "j" || key === "k") return list ? walk(list, key === "j" ? 1 : -1) : false;
    if (key === "Enter" && row && list.dataset.rows !== "open") return (row.querySelector("a").click(), true);
    const cell = /^[1-9]$/.test(key) && row?.querySelectorAll("[data-cell]")[key - 1];
    if (cell) return (cell.querySelector("a")?.click(), true);
    if (key === "x" && row) return (row.querySelector("input[type=checkbox]")?.click(), true);
    return false;
  }

  const OF_LISTS = ["j", "k", "x", "Enter"]; // at the end of a list they do nothing, and are silent

  /* What the page's list of keys says of one that leads nowhere at the moment. */
  function nowhere(key) {
    const listed = [...document.querySelectorAll("#keys kbd")].find((one) => one.textContent === key);
    const what = listed && !OF_LISTS.includes(key) && listed.parentElement.nextElementSibling.textContent;
    return what ? `Nothing here for ${key}: ${what}` : "";
  }

  function say(text) {
    if (text) document.dispatchEvent(new CustomEvent("toast", { detail: text }));
    return Boolean(text);
  }

  function byKey(key) {
    const el = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    if (!el) return say(nowhere(key));
    if (el.getAttribute("aria-disabled") === "true") return say(el.dataset.says);
    if (typing(el)) { el.focus(); el.select?.(); } else el.click();
    return true;
  }

  /* A key pressed while a step loads means the page that is coming, so it waits until htmx has
     settled it: a link clicked before that is not boosted yet and would load a whole page. A key
     that is held down steps only as long as it is: what its repeating left waiting goes with it. */
  let waiting = [];
  const LATE = 150; // ms after which a repeated key is one that came while the page was busy
  let loading = false;
  const act = (key) => press(document.querySelector("[data-rows]"), key) || byKey(key);

  function loaded(event) {
    if (!event.detail.boosted) return;
    loading = false;
    setTimeout(() => { while (!loading && waiting.length) act(waiting.shift().key); });
  }

  document.addEventListener("htmx:beforeRequest", (event) => { loading ||= Boolean(event.detail.boosted); });
  document.addEventListener("htmx:afterSettle", loaded);
  document.addEventListener("htmx:afterRequest", (event) => { if (!event.detail.successful) loaded(event); });

  document.addEventListener("keyup", (event) => { waiting = waiting.filter((one) => one.key !== event.key || !one.repeat); });
  window.addEventListener("blur", () => { waiting = waiting.filter((one) => !one.repeat); });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && typing(document.activeElement)) return document.activeElement.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && pressable(document.activeElement)) return;
    if (event.key === "?") {
      document.getElementById("keys")?.showModal();
      return event.preventDefault();
    }
    if (event.repeat && performance.now() - event.timeStamp > LATE) return;
    if (loading) {
      if (event.key.length === 1 && !(event.repeat && waiting.length)) waiting.push({ key: event.key, repeat: event.repeat });
    } else if (act(event.key)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-rows=open] [data-row]");
    if (row) mark(row.closest("[data-rows]"), row);
  });
})();
