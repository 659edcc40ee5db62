"use strict";
/* Keys are clicks on what is on the page: [data-key="e"] is clicked by e, a [data-rows] list is
   walked by j and k. In a list with data-rows="open" a step also opens the row. */
(() => {
  const typing = (el) => el && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));
  const pressable = (el) => el && /^(A|BUTTON|SUMMARY)$/.test(el.tagName);
  const rowsOf = (list) => [...list.querySelectorAll("[data-row]")];

  const current = (list) => list.querySelector("[data-row][aria-current]");

  function mark(list, row) {
    current(list)?.removeAttribute("aria-current");
    row.setAttribute("aria-current", "true");
    row.scrollIntoView({ block: "nearest" });
  }

  function walk(list, by) {
    const rows = rowsOf(list);
    const at = rows.indexOf(current(list));
    const next = rows[at < 0 ? 0 : at + by];
    if (!next) return;
    mark(list, next);
    if (list.dataset.rows === "open") next.click();
  }

  function press(list, key) {
    const row = list && current(list);
    if (key === "j" || key === "k") return list ? (walk(list, key === "j" ? 1 : -1), true) : false;
    if (key === "Enter" && row && list.dataset.rows !== "open") return (row.querySelector("a").click(), true);
    if (key === "x" && row) return (row.querySelector("input[type=checkbox]")?.click(), true);
    return false;
  }

  function byKey(key) {
    const el = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    if (!el || el.getAttribute("aria-disabled") === "true") return false;
    if (typing(el)) { el.focus(); el.select?.(); } else el.click();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && typing(document.activeElement)) return document.activeElement.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && pressable(document.activeElement)) return;
    if (event.key === "?") {
      document.getElementById("keys")?.showModal();
      return event.preventDefault();
    }
    const list = document.querySelector("[data-rows]");
    if (byKey(event.key) || press(list, event.key)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-rows=open] [data-row]");
    if (row) mark(row.closest("[data-rows]"), row);
  });
})();
