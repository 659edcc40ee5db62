"use strict";
/* Back pressed twice asks for two pages. The one asked for last is shown, whichever comes last. And
   a page on which something was removed is asked for anew: kept as it was, it would show it alive. */
(() => {
  let asked = null;
  document.addEventListener("htmx:historyCacheMiss", ({ detail }) => {
    asked?.abort();
    asked = detail.xhr;
  });

  const KEY = "changed";
  const changed = () => (sessionStorage.getItem(KEY) ?? "").split(" ").filter(Boolean);
  document.addEventListener("submit", (event) => {
    if ("changes" in event.target.dataset) sessionStorage.setItem(KEY, [...changed(), location.pathname].join(" "));
  });
  window.addEventListener("pageshow", ({ persisted }) => {
    const isBack = persisted || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
    if (!isBack || !changed().includes(location.pathname)) return;
    sessionStorage.setItem(KEY, changed().filter((one) => one !== location.pathname).join(" "));
    location.reload();
  });
})();
