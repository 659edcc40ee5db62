"use strict";
/* A line at the bottom of the page for a moment, on a `toast` event. */
(() => {
  function show(text) {
    document.getElementById("toast")?.remove();
    const box = document.createElement("div");
    box.id = "toast";
    box.className = "toast";
    box.setAttribute("role", "status");
    box.textContent = text;
    document.body.append(box);
    setTimeout(() => box.remove(), 4000);
  }

  document.addEventListener("toast", (event) => show(event.detail.value ?? event.detail));
})();
