"use strict";
/* Back pressed twice asks for two pages. The one asked for last is shown, whichever comes last. */
(() => {
  let asked = null;
  document.addEventListener("htmx:historyCacheMiss", ({ detail }) => {
    asked?.abort();
    asked = detail.xhr;
  });
})();
