"use strict";
/* A request of this page that the server did not take. What was typed stays where it is; a notice
   says why, in the words of the page that a form sent without scripts is answered with, and what to
   do. Who signed in anew meanwhile can send again: the page takes the new token, if they are still
   who they were. What a page asks by itself rests while nobody is signed in. */
(() => {
  const STAYS = "What you typed is still here.";
  const shown = () => document.getElementById("refused");
  const why = () => shown()?.dataset.why;
  const byItself = ({ triggeringEvent: by }) => !by || by.type === "refresh";
  let out = ""; // nobody is signed in: "resting" where nothing was refused that somebody did, else "sent"
  const account = (page) => page.querySelector(".rail .who a");

  function notice(reason, ...words) {
    const text = document.createElement("span");
    text.append(...words);
    if (why() === reason && shown().firstChild.innerHTML === text.innerHTML) return;
    shown()?.remove();
    const box = document.createElement("div");
    const close = document.createElement("button");
    Object.assign(box, { id: "refused", className: "refused note bad" });
    Object.assign(close, { type: "button", className: "btn quiet", textContent: "Close" });
    box.dataset.why = reason;
    box.setAttribute("role", "alert");
    box.append(text, close);
    document.body.append(box);
  }

  const toast = (words) => { document.dispatchEvent(new CustomEvent("toast", { detail: words })); };

  function bold(text) {
    const found = document.createElement("b");
    found.textContent = text;
    return found;
  }

  function signedOut(address, alone = out === "resting") {
    out = alone && out !== "sent" ? "resting" : "sent";
    const link = document.createElement("a");
    Object.assign(link, { href: address, target: "_blank", rel: "noopener", textContent: "Sign in in a new tab" });
    notice("out", bold("You are not signed in any more."), ` ${out === "sent" ? STAYS : "Nothing new comes to this page."} `, link, ", then come back to this one.");
  }

  /* `said`: what to begin with if the person is who they were. */
  async function renewed(said) {
    const mine = account(document);
    if (!mine) return;
    const answer = await fetch(mine.href, { cache: "no-store" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = account(page);
    if (!now) return signedOut(answer.url);
    const rested = out === "resting";
    out = "";
    if (now.textContent !== mine.textContent) {
      const who = `This page was opened by ${mine.textContent}; ${now.textContent} is signed in now.`;
      return notice("other", bold(who), " Nothing was sent. Keep what you typed, and reload the page.");
    }
    const headers = page.body.getAttribute("hx-headers");
    document.body.setAttribute("hx-headers", headers);
    const token = JSON.parse(headers)["X-CSRFToken"];
    for (const field of document.querySelectorAll("[name=csrfmiddlewaretoken]")) field.value = token;
    if (rested) {
      shown()?.remove();
      return toast(said);
    }
    notice("again", bold(said), ` ${STAYS} Send it again.`);
  }

  const renew = (said) => { renewed(said).catch(() => {}); }; // a server that is away is asked again

  function told(status, page) {
    const [head, text] = ["h1", ".empty p"].map((part) => page.querySelector(part)?.textContent.trim());
    return head && text ? `${head}: ${text}` : `The server answered ${status}.`;
  }

  /* Gives the words for what has a place of its own to say it, none where the notice has said it. */
  window.rewynRefused = (status, address, text, alone = false) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    if (status === 401) return signedOut(address, alone);
    if (page.querySelector("[data-forged]")) return renew("You signed in anew since this page was opened. Nothing was sent.");
    return told(status, page);
  };

  function refused({ xhr, requestConfig }) {
    const alone = byItself(requestConfig);
    const words = window.rewynRefused(xhr.status, xhr.getResponseHeader("Location"), xhr.responseText, alone);
    if (typeof words === "string") say(requestConfig, words);
  }

  /* What the page asks by itself is asked again soon: that it failed is said in passing. */
  function say(request, words) {
    if (request.verb === "get") toast(words);
    else notice("refused", bold(words), ` ${STAYS}`);
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (out && byItself(event.detail.requestConfig)) event.preventDefault();
  });
  document.addEventListener("htmx:responseError", ({ detail }) => refused(detail));
  document.addEventListener("htmx:sendError", ({ detail }) => say(detail.requestConfig, "The server cannot be reached."));

  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.successful) return;
    if (out) renew("You are signed in again.");
    else if (shown() && detail.requestConfig.verb !== "get") shown().remove();
  });
  for (const back of ["focus", "visibilitychange"])
    window.addEventListener(back, () => { if (out && !document.hidden) renew("You are signed in again."); });
  document.addEventListener("click", (event) => { if (event.target.closest("#refused button")) shown().remove(); });
})();
