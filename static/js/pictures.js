"use strict";
/* A recorded image that no browser can draw says so, in the place of a broken picture. */
(() => {
  const SHOWN = ".media img";

  function tell(image) {
    const note = document.createElement("span");
    note.className = "muted";
    note.textContent = "cannot be drawn";
    image.replaceWith(note);
  }

  document.addEventListener("error", (event) => { if (event.target.matches?.(SHOWN)) tell(event.target); }, true);
  document.addEventListener("DOMContentLoaded", () => {
    for (const image of document.querySelectorAll(SHOWN)) if (image.complete && !image.naturalWidth) tell(image);
  });
})();
