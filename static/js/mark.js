"use strict";
/* A search leads to an effect with ?q=…: what was looked for is marked where it stands on the page,
   without touching the page (CSS Custom Highlight API), and the first place is scrolled to: one that
   is seen, or else the first in a fold, which opens. */
(() => {
  if (!window.CSS || !CSS.highlights) return;
  const SPACELESS = /[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u31ff\u3400-\u9fff\ua000-\ua48c\uac00-\ud7ff\uf900-\ufaff\u{20000}-\u{323af}]/u;

  /* Without case, accents and width, as the index has it; `at[i]` is where character i came from. */
  const fold = (text) => {
    const at = [];
    let folded = "";
    for (let i = 0; i < text.length; ) {
      const char = String.fromCodePoint(text.codePointAt(i));
      const made = char.normalize("NFKD").replace(/[\u0300-\u036f\u064b-\u065f\u0591-\u05c7\ufe0f\u200d]/g, "").toLowerCase().replace(/ß/g, "ss");
      for (let n = 0; n < made.length; n++) at.push(i);
      folded += made;
      i += char.length;
    }
    at.push(text.length);
    return { folded, at };
  };

  const pattern = (query) => {
    const terms = [...query.replace(/[“”„«»]/g, '"').matchAll(/"([^"]*)"(\*?)|([^\s"]+)/g)];
    const sources = terms.map(([, phrase, star, bare]) => {
      const said = phrase ?? bare;
      const words = fold(said).folded.match(/[\p{L}\p{N}\p{M}]+|\p{So}/gu);
      if (!words) return null;
      const whole = (word) => !SPACELESS.test(word.normalize("NFKC")) && !/\p{So}/u.test(word);
      const before = whole(words[0]) ? "(?:(?<![\\p{L}\\p{N}])|(?<=\\\\[bfnrt]))" : ""; // behind \n in JSON, too
      const after = !whole(words.at(-1)) ? "" : star || said.endsWith("*") ? "[\\p{L}\\p{N}\\p{M}]*" : "(?![\\p{L}\\p{N}])";
      return before + words.join("(?:\\\\[bfnrt]|[^\\p{L}\\p{N}]){1,20}") + after;
    });
    const found = sources.filter(Boolean);
    return found.length ? new RegExp(found.join("|"), "gu") : null;
  };

  const isShown = (range) => !range.startContainer.parentElement.closest("details:not([open])");

  function open(element) {
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }

  /* The place itself and not the element it is in, which may be pages long. */
  function toSight(range) {
    const element = range.startContainer.parentElement;
    element.scrollIntoView({ block: "center" });
    for (let box = element; box && box !== document.body; box = box.parentElement) {
      if (box.scrollHeight <= box.clientHeight || !/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
      box.scrollTop += range.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
    }
    const { top, bottom } = range.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) scrollBy(0, top - innerHeight / 2);
  }

  /* Texts that read as one: those of code, which colours cut into pieces, or any other alone. */
  function* runsOfText(within) {
    const walk = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    let held = [], block = null;
    for (let node; (node = walk.nextNode()); ) {
      if (node.parentElement.closest("[data-plain]")) continue; // the page's own words
      const own = node.parentElement.closest("pre, code");
      if (held.length && !(own && own === block)) {
        yield held;
        held = [];
      }
      block = own;
      held.push(node);
    }
    if (held.length) yield held;
  }

  /* Where the character at `index` of these texts is; an end stays in the text it ends. */
  function place(nodes, index, isEnd = false) {
    let from = 0;
    for (const node of nodes) {
      const behind = from + node.length;
      if (index < behind || (isEnd && index === behind)) return [node, index - from];
      from = behind;
    }
    return [nodes.at(-1), nodes.at(-1).length];
  }

  const mark = () => {
    const query = new URLSearchParams(location.search).get("q");
    const within = document.getElementById("effect");
    CSS.highlights.delete("search");
    const wanted = query && within && pattern(query);
    if (!wanted) return;
    const ranges = [];
    for (const nodes of runsOfText(within)) {
      if (ranges.length >= 2000) break;
      const { folded, at } = fold(nodes.map((node) => node.data).join(""));
      for (const hit of folded.matchAll(wanted)) {
        const range = new Range();
        range.setStart(...place(nodes, at[hit.index]));
        range.setEnd(...place(nodes, at[hit.index + hit[0].length], true));
        ranges.push(range);
      }
    }
    if (!ranges.length) return;
    CSS.highlights.set("search", new Highlight(...ranges));
    const first = ranges.find(isShown) ?? ranges[0];
    open(first.startContainer.parentElement);
    toSight(first);
  };

  /* For texts not on the page yet: whether one has what was looked for; nothing if nothing was. */
  window.rewynHas = () => {
    const wanted = pattern(new URLSearchParams(location.search).get("q") ?? "");
    return wanted && ((text) => fold(text).folded.search(wanted) >= 0);
  };
  mark();
  document.addEventListener("rewyn:json", mark);
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "effect" || event.target.id === "list") mark();
  });
})();
