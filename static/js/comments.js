"use strict";
/* Who wants to write finds the cursor in the box, and sends by Ctrl Enter; a name below it is put
   into it; the mark in the step list follows what was said. */
(() => {
  document.addEventListener("click", (event) => {
    const write = event.target.closest(".comments .write > summary")?.parentElement;
    if (write) requestAnimationFrame(() => write.querySelector("textarea").focus());
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.target.closest(".comments textarea")?.form.requestSubmit();
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-mention]");
    const box = button?.closest("form").querySelector("textarea");
    if (!box) return;
    const before = box.value.slice(0, box.selectionStart);
    const gap = before && !/\s$/.test(before) ? " " : "";
    box.focus();
    box.setRangeText(`${gap}@${button.dataset.mention} `, box.selectionStart, box.selectionEnd, "end");
  });

  document.addEventListener("rewyn:thread", () => {
    const anew = { target: "#comments", select: "#comments", swap: "outerHTML show:none" };
    window.htmx.ajax("GET", location.href, anew);
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    const thread = event.detail.target?.id === "comments" && document.getElementById("comments");
    if (!thread) return;
    const row = document.querySelector(`#s${thread.dataset.seq} .t`);
    const count = Number(thread.dataset.count);
    if (!row) return;
    row.querySelector(".remarks")?.remove();
    if (!count) return;
    const mark = document.createElement("span");
    mark.className = "remarks";
    mark.title = `${count} comment${count > 1 ? "s" : ""}`;
    mark.textContent = `✎${count}`;
    row.insertBefore(mark, row.querySelector("small"));
  });
})();
