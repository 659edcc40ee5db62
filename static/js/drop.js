"use strict";
/* Dropped or chosen logs are sent one by one, each with an outcome of its own. */
(() => {
  const form = document.querySelector("form[data-drop]");
  if (!form) return;
  const zone = form.querySelector(".drop");
  const input = form.querySelector("input[type=file]");
  const rows = document.getElementById("outcomes");
  form.querySelector("[data-plain]").hidden = true; // files go as soon as they are chosen

  function row(file) {
    const line = document.createElement("tr");
    line.append(document.createElement("td"), document.createElement("td"));
    line.children[0].textContent = "sending…";
    line.children[0].className = "muted";
    line.children[1].textContent = file.name;
    rows.append(line);
    document.getElementById("outcomes-box").hidden = false;
    return line;
  }

  async function send(file, line) {
    const body = new FormData(form);
    body.delete("files");
    body.append("files", file);
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" } });
      const html = await answer.text();
      const words = answer.ok ? "" : window.rewynRefused(answer.status, answer.headers.get("Location"), html) ?? "choose it again";
      const outcome = document.createElement("tbody");
      outcome.innerHTML = html;
      if (words || !outcome.querySelector("tr")) throw new Error(words || `The server answered ${answer.status}.`);
      line.replaceWith(...outcome.children);
    } catch (error) {
      line.children[0].textContent = `not sent: ${error.message}`;
      line.children[0].className = "bad";
    }
  }

  async function sendAll(files) {
    const waiting = [...files].map((file) => [file, row(file)]);
    for (const [file, line] of waiting) await send(file, line);
    input.value = "";
  }

  form.addEventListener("submit", (event) => {
    if (!input.files.length && !rows.children.length) return;
    event.preventDefault();  // what came of the files sent so far stays to be read
    if (input.files.length) sendAll(input.files);
    else input.click();
  });
  input.addEventListener("change", () => sendAll(input.files));
  for (const name of ["dragenter", "dragover"]) document.addEventListener(name, (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  for (const name of ["dragleave", "drop"]) document.addEventListener(name, (event) => {
    event.preventDefault();
    zone.classList.remove("over");
  });
  document.addEventListener("drop", (event) => sendAll(event.dataTransfer.files));
})();
