"use strict";
/* [data-copy="#id"] copies that element's text; [data-copy-link] copies the page's address;
   [data-copy-url="…"] copies what that address answers, the whole of it. */
(() => {
  const toast = (text) => document.dispatchEvent(new CustomEvent("toast", { detail: text }));

  async function textFor(button) {
    if ("copyLink" in button.dataset) return location.href;
    if (button.dataset.copyUrl) {
      const answer = await fetch(button.dataset.copyUrl, { credentials: "same-origin" });
      if (answer.redirected) throw new Error("You are not signed in any more."); // to sign-in
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      return answer.text();
    }
    return document.querySelector(button.dataset.copy).textContent;
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-link], [data-copy-url]");
    if (!button) return;
    event.preventDefault();
    try {
      await navigator.clipboard.writeText(await textFor(button));
      toast("Copied");
    } catch (error) {
      toast(`Not copied: ${error.message}`);
    }
  });
})();
