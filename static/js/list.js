"use strict";
/* The run list: empty filters stay out of the address, and selected rows are counted. */
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

  const boxes = () => [...document.querySelectorAll("[data-pick]")];

  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-pick], [data-pick-all]")) return;
    if ("pickAll" in event.target.dataset) for (const box of boxes()) box.checked = event.target.checked;
    count();
  });
  document.addEventListener("reset", () => setTimeout(count));

  function count() {
    const count = boxes().filter((box) => box.checked).length;
    const bar = document.getElementById("picked");
    bar.hidden = count === 0;
    bar.querySelector("b").textContent = count;
    for (const one of bar.querySelectorAll("[data-needs]")) one.disabled = count !== Number(one.dataset.needs);
  }
})();
