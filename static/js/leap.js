"use strict";
/* A way to an effect that the server has to look for ([data-leap]): it is asked where that is before
   the page goes there, so that a way that leads nowhere is said and leaves no step to go back over. */
(() => {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-leap]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    window.htmx.ajax("GET", link.href, { source: link, swap: "none" });
  });
})();
