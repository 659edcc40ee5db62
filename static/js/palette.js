"use strict";
/* Ctrl K opens the palette; what is typed is asked of the server, arrows choose, Enter goes there.
   The focus stays in the box: what is chosen is told by aria-activedescendant. */
(() => {
  const dialog = () => document.getElementById("palette");
  const box = () => document.getElementById("palette-q");
  const options = () => [...document.querySelectorAll("#palette-list [role=option][id]")];
  let coming = false; // choices for what is in the box are on their way
  let entered = false; // Enter was pressed before they came

  function open() {
    dialog().showModal();
    box().value = "";
    coming = true;
    window.htmx.trigger(box(), "opened");
  }

  function choose(option) {
    for (const one of options()) one.setAttribute("aria-selected", String(one === option));
    if (option) box().setAttribute("aria-activedescendant", option.id);
    else box().removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  function move(by) {
    const all = options();
    const from = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
    choose(all[(from + by + all.length) % all.length]);
  }

  function go() {
    const chosen = options().find((one) => one.getAttribute("aria-selected") === "true");
    if (!chosen) return;
    dialog().close();
    chosen.click();
  }

  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    if (!dialog() || document.querySelector("dialog[open]:not(#palette)")) return;
    event.preventDefault();
    if (dialog().open) dialog().close();
    else open();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette]") && dialog()) {
      event.preventDefault();
      open();
    } else if (event.target === dialog() || event.target.closest("#palette-list [role=option][id]")) dialog().close();
  });

  document.addEventListener("keydown", (event) => {
    if (event.target !== box()) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && coming) entered = true;
    else if (event.key === "Enter") go();
    else return;
    event.preventDefault();
  });

  document.addEventListener("input", (event) => { if (event.target === box()) coming = true; });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "palette-list") return;
    // Enter may have been pressed for more than this answer is to.
    coming = document.querySelector("#palette-list [data-asked]").dataset.asked !== box().value.trim();
    choose(options()[0]);
    if (coming) return;
    if (entered) go();
    entered = false;
  });
})();
