"use strict";
/* A [data-json] box: its indented text as rows that fold. The text itself is never parsed into
   values, so every digit, escape and doubled key stays as it was recorded; only rows that are
   unfolded are made. */
(() => {
  const ROWS_AT_FIRST = 300, AT_ONCE = 200;
  const make = (tag, name, text) => {
    const el = document.createElement(tag);
    if (name) el.className = name;
    if (text !== undefined) el.textContent = text;
    return el;
  };

  /* Where the JSON string that begins at `from` ends. */
  function stringEnd(line, from) {
    for (let at = line.indexOf('"', from + 1); at >= 0; at = line.indexOf('"', at + 1)) {
      let slashes = 0;
      while (line[at - 1 - slashes] === "\\") slashes += 1;
      if (slashes % 2 === 0) return at;
    }
    return line.length;
  }

  /* Lines with, for each, the line that closes it (itself for a scalar) and the one it is in. */
  function read(text) {
    const lines = text.split("\n"), end = new Int32Array(lines.length), up = new Int32Array(lines.length);
    const open = [];
    lines.forEach((line, at) => {
      const last = line.at(-1), first = line.trimStart()[0];
      if (first === "}" || first === "]") end[open.pop() ?? at] = at;
      end[at] = at;
      up[at] = open.at(-1) ?? -1;
      if (last === "{" || last === "[") open.push(at);
    });
    for (const at of open) end[at] = lines.length; // the text is only a start
    return { lines, end, up };
  }

  function parts(line) {
    const said = line.trimStart();
    const close = said[0] === '"' ? stringEnd(said, 0) : 0;
    const keyed = close && said.startsWith('": ', close);
    const value = keyed ? said.slice(close + 3) : said;
    return { key: keyed ? said.slice(0, close + 1) : "", value: value.endsWith(",") ? value.slice(0, -1) : value };
  }

  const kindOf = (value) => value[0] === '"' ? "str" : /^[-\d]/.test(value) ? "num" : "lit";

  class Tree {
    constructor(box) {
      this.box = box;
      this.pre = box.querySelector("pre");
      Object.assign(this, read(this.pre.textContent));
      this.rows = new Map();
      this.level = 0;
      this.root = make("div", "json mono tree");
      this.root.tabIndex = 0;
      this.root.setAttribute("role", "group");
      this.root.setAttribute("aria-label", this.pre.getAttribute("aria-label"));
      this.fill(this.root, 0, this.lines.length, 0);
      this.openSome();
      this.pre.replaceWith(this.root);
      box.classList.add("ready");
      this.tools = box.querySelector(".json-tools");
      this.tools.hidden = false;
      this.listen();
    }

    * children(from, to) {
      for (let at = from; at < to; at = this.end[at] + 1) if (!/^\s*[}\]]/.test(this.lines[at])) yield at;
    }

    fill(into, from, to) {
      let count = 0;
      for (const at of this.children(from, to)) {
        if (count === AT_ONCE) return into.append(this.more(into, at, to));
        into.append(this.row(at));
        count += 1;
      }
    }

    more(into, from, to) {
      const button = make("button", "link more", `${[...this.children(from, to)].length.toLocaleString("en")} more`);
      button.type = "button";
      button.addEventListener("click", () => { button.remove(); this.fill(into, from, to); });
      return button;
    }

    row(at) {
      const { key, value } = parts(this.lines[at]);
      const holds = this.end[at] > at;
      const row = make(holds ? "summary" : "div", "row");
      row.dataset.line = at;
      if (!holds) row.tabIndex = -1;
      if (key) row.append(make("b", "", key), ": ");
      if (!holds) { row.append(make("bdi", kindOf(value), value)); this.rows.set(at, row); return row; }
      const size = [...this.children(at + 1, this.end[at])].length;
      const noun = value === "{" ? "member" : "item";
      row.append(value, make("span", "muted", ` ${size.toLocaleString("en")} ${noun}${size === 1 ? "" : "s"} ${value === "{" ? "}" : "]"}`));
      const holder = make("details"), inside = make("div", "kids");
      holder.append(row, inside);
      holder.addEventListener("toggle", () => this.filled(at));
      this.rows.set(at, row);
      return holder;
    }

    filled(at) {
      const holder = this.rows.get(at).parentElement, inside = holder.lastChild;
      if (holder.open && !inside.childNodes.length) this.fill(inside, at + 1, this.end[at]);
    }

    open(at) {
      this.rows.get(at).parentElement.open = true;
      this.filled(at);
    }

    closed() { return [...this.root.querySelectorAll("details:not([open]) > summary")].map((row) => Number(row.dataset.line)); }

    /* Level after level, as long as the page stays short. */
    openSome() {
      for (;;) {
        const next = this.closed();
        const cost = next.reduce((sum, at) => sum + Math.min(this.end[at] - at, AT_ONCE), 0);
        if (!next.length || (this.level > 0 && this.rows.size + cost > ROWS_AT_FIRST)) return;
        next.forEach((at) => this.open(at));
        this.level += 1;
      }
    }

    reveal(at) {
      const above = [];
      for (let one = this.up[at]; one >= 0; one = this.up[one]) above.unshift(one);
      for (const one of [...above, at]) {
        if (!this.rows.has(one)) {
          const inside = this.up[one] < 0 ? this.root : this.rows.get(this.up[one]).parentElement.lastChild;
          while (!this.rows.has(one) && inside.lastChild?.matches?.(".more")) inside.lastChild.click();
        }
        if (one !== at) this.open(one);
      }
      return this.rows.get(at);
    }

    pointerAt(at) {
      const steps = [];
      for (let one = at; this.up[one] >= 0; one = this.up[one]) {
        const { key } = parts(this.lines[one]);
        const index = () => { let n = 0; for (const c of this.children(this.up[one] + 1, one)) n += c < one; return String(n); };
        steps.unshift(key ? JSON.parse(key).replaceAll("~", "~0").replaceAll("/", "~1") : index());
      }
      return steps.map((step) => `/${step}`).join("");
    }

    valueAt(at) {
      const first = parts(this.lines[at]).value;
      if (this.end[at] === at) return first;
      const indent = this.lines[at].length - this.lines[at].trimStart().length;
      const rest = this.lines.slice(at + 1, this.end[at] + 1).map((line) => line.slice(indent));
      return [first, ...rest].join("\n").replace(/,$/, "");
    }
  }

  window.JsonTree = Tree;
})();
