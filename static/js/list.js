"use strict";
/* The run list: empty filters stay out of the address, rows are selected one by one or up to here,
   and rows that came anew take their place cell by cell, under cursor, focus and selection. */
(() => {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-lean]")) return;
    for (const field of event.target.elements) if (field.name && !field.value) field.disabled = true;
  });

  document.addEventListener("toggle", (event) => {
    if (!event.target.matches?.(".filter[open]")) return;
    for (const other of document.querySelectorAll(".filter[open]")) if (other !== event.target) other.open = false;
    event.target.querySelector("input, select")?.focus();
  }, true);

  document.addEventListener("click", (event) => {
    if (event.target.closest(".filter")) return;
    for (const open of document.querySelectorAll(".filter[open]")) open.open = false;
  });

  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector(".filter[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });

  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-rows] tr[data-row]");
    if (!row || event.target.closest("a, button, input, label") || String(getSelection())) return;
    row.querySelector("a").click();
  });

  const boxes = () => [...document.querySelectorAll("[data-rows] [data-pick]")];
  let last = null;
  let shift = false;

  document.addEventListener("click", (event) => { shift = event.shiftKey; }, true);

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!box.matches("[data-pick], [data-pick-all]")) return;
    const all = boxes();
    if ("pickAll" in box.dataset) for (const one of all) one.checked = box.checked;
    else if (shift && last?.isConnected) upTo(all, box);
    last = box;
    shift = false;
    count();
  });
  document.addEventListener("reset", () => setTimeout(count));
  window.addEventListener("pageshow", count);

  function upTo(all, box) {
    const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
    for (const one of all.slice(Math.max(from, 0), to + 1)) one.checked = box.checked;
  }

  /* x is a click of keys.js; with shift it reaches from the row selected last. r takes the row one
     stands on where none is selected. */
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    const box = document.querySelector("[data-rows] [aria-current] [data-pick]");
    if (!box) return;
    if (event.key === "X") {
      box.checked = true;
      shift = true;
      box.dispatchEvent(new Event("change", { bubbles: true }));
      event.preventDefault();
    } else if (event.key === "r" && !boxes().some((one) => one.checked)) box.click();
  }, true);

  function count() {
    const bar = document.getElementById("picked");
    if (!bar) return;
    const all = boxes();
    const count = all.filter((box) => box.checked).length;
    bar.hidden = count === 0;
    bar.querySelector("b").textContent = count;
    for (const one of bar.querySelectorAll("[data-needs]")) one.disabled = count !== Number(one.dataset.needs);
    const every = document.querySelector("[data-pick-all]");
    every.checked = count > 0 && count === all.length;
    every.indeterminate = count > 0 && count < all.length;
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "fresh") return;
    const shown = new Map(boxes().map((box) => [box.value, box.closest("tr")]));
    for (const row of event.target.querySelectorAll("tr")) {
      const old = shown.get(row.querySelector("[data-pick]").value);
      if (old) [...row.cells].forEach((cell, at) => renew(old.cells[at], cell));
    }
    event.target.replaceChildren();
  });

  function renew(old, cell) {
    if (!old || cell.matches(".pick") || old.contains(document.activeElement) || old.innerHTML === cell.innerHTML) return;
    old.replaceChildren(...cell.childNodes);
  }
})();
