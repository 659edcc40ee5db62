"use strict";
/* What one does in a folded JSON: find, fold by level, walk by arrow keys, copy a value or its pointer. */
(() => {
  const Tree = window.JsonTree;
  const toast = (text) => document.dispatchEvent(new CustomEvent("toast", { detail: text }));
  const visible = (row) => row.offsetParent !== null;

  Tree.prototype.listen = function () {
    const find = this.tools.querySelector("[data-find]");
    let waiting;
    find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.find(find.value), 120); });
    find.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.found?.length ? this.go(event.shiftKey ? -1 : 1) : this.find(find.value);
    });
    this.root.addEventListener("click", (event) => this.select(event.target.closest(".row")));
    this.root.addEventListener("focusin", (event) => this.select(event.target.closest(".row")));
    this.root.addEventListener("keydown", (event) => this.walk(event));
    this.tools.addEventListener("click", (event) => this[event.target.closest("[data-do]")?.dataset.do]?.());
  };

  Tree.prototype.find = function (text) {
    const wanted = text.toLowerCase();
    this.found = [];
    this.at = -1;
    if (wanted) this.lines.forEach((line, at) => { if (line.toLowerCase().includes(wanted)) this.found.push(at); });
    const told = this.tools.querySelector("[data-found]");
    told.textContent = wanted ? "nothing" : "";
    if (this.found.length) this.go(1);
  };

  Tree.prototype.go = function (by) {
    this.at = (this.at + by + this.found.length) % this.found.length;
    const row = this.reveal(this.found[this.at]);
    this.tools.querySelector("[data-found]").textContent = `${(this.at + 1).toLocaleString("en")} of ${this.found.length.toLocaleString("en")}`;
    this.select(row);
    row?.scrollIntoView({ block: "center" });
  };

  Tree.prototype.select = function (row) {
    if (!row || this.marked === row) return;
    this.marked?.classList.remove("on");
    row.classList.add("on");
    this.marked = row;
    this.chosen = Number(row.dataset.line);
    this.tools.querySelector("[data-pointer]").textContent = this.pointerAt(this.chosen) || "the whole";
    this.tools.querySelector(".chosen").hidden = false;
  };

  Tree.prototype.copy = async function (text) {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied");
    } catch (error) {
      toast(`Not copied: ${error.message}`);
    }
  };

  Tree.prototype.value = function () { return this.copy(this.valueAt(this.chosen)); };
  Tree.prototype.pointer = function () { return this.copy(this.pointerAt(this.chosen)); };
  Tree.prototype.unfold = function () { this.closed().filter((at) => visible(this.rows.get(at))).forEach((at) => this.open(at)); };

  Tree.prototype.fold = function () {
    const open = [...this.root.querySelectorAll("details[open]")].filter(visible);
    const deepest = open.filter((one) => !one.querySelector("details[open]"));
    deepest.forEach((one) => { if (open.length > 1) one.open = false; });
  };

  Tree.prototype.walk = function (event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const rows = [...this.root.querySelectorAll(".row")].filter(visible);
      const next = rows[rows.indexOf(this.marked) + step];
      next?.focus();
      event.preventDefault();
    }
    const holder = this.marked?.parentElement;
    if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && holder?.matches("details")) {
      holder.open = event.key === "ArrowRight";
      event.preventDefault();
    }
  };

  /* What a search that led here was for is unfolded; mark.js marks it. */
  const AT_MOST = 20;
  Tree.prototype.unfoldFound = function () {
    const lines = new Set(), isRow = (at) => !/^\s*[}\]]/.test(this.lines[at]);
    let at = 0, end = this.lines[0].length; // of the line, in the text
    for (const [from, to] of window.rewynFound?.(this.lines.join("\n")) ?? []) {
      while (end < from) end += this.lines[at += 1].length + 1;
      if (isRow(at)) lines.add(at);
      for (; end < to; end += this.lines[at].length + 1) if (isRow(at += 1)) lines.add(at);
      if (lines.size >= AT_MOST) break;
    }
    lines.forEach((line) => this.reveal(line));
  };

  const draw = () => {
    const fresh = [...document.querySelectorAll("[data-json]:not(.ready)")].map((box) => new Tree(box));
    fresh.forEach((tree) => tree.unfoldFound());
    if (fresh.length) document.dispatchEvent(new CustomEvent("rewyn:json"));
  };
  document.addEventListener("htmx:afterSwap", draw);
  document.addEventListener("DOMContentLoaded", draw);
})();
