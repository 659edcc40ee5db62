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
      return before + words.join("(?:\\\\[bfnrt]|[^\\p{L}\\p{N}]){1,200}") + after;
    });
    const found = sources.filter(Boolean);
    return found.length ? new RegExp(found.join("|"), "gu") : null;
  };

  function found(text, wanted, most = 2000) {
    const { folded, at } = fold(text), places = [];
    for (const hit of folded.matchAll(wanted)) {
      if (places.length >= most) break;
      places.push([at[hit.index], at[hit.index + hit[0].length]]);
    }
    return places;
  }

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

  const BLOCK = "p, li, td, th, h1, h2, h3, h4, h5, h6, pre, blockquote, dt, dd, summary, div";
  const OWN_WORDS = "[data-plain], details.more > summary, .cut, .md-switch, .tree .muted, .tree .more";

  /* The element that shows one recorded text or value, whatever stands in it: prose, code, Markdown,
     rows of JSON. What is folded away from a text's head belongs to it. */
  function shownIn(element) {
    const own = element.closest(".found, .spoken, .tree") ?? element.closest(".said") ?? element.closest("pre") ?? element.closest("code");
    const fold = own?.parentElement;
    return fold?.matches("details.more") ? fold.previousElementSibling : own;
  }

  /* Texts that read as one, each with where it begins in them: a word ends where a block does. */
  function* runsOfText(within) {
    const walk = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    let held = null, before = null, isBehindOwnWords = false;
    for (let node; (node = walk.nextNode()); ) {
      const element = node.parentElement;
      if (element.closest(OWN_WORDS)) {
        isBehindOwnWords = true;
        continue;
      }
      const unit = shownIn(element), block = element.closest(BLOCK);
      if (held && !(unit && unit === held.unit)) {
        yield held;
        held = null;
      }
      held ??= { unit, text: "", nodes: [], starts: [], cuts: [] };
      if (held.nodes.length && block !== before) held.text += "\n";
      if (held.nodes.length && isBehindOwnWords) held.cuts.push(held.text.length);
      isBehindOwnWords = false;
      before = block;
      held.nodes.push(node);
      held.starts.push(held.text.length);
      held.text += node.data;
    }
    if (held) yield held;
  }

  /* Where the character at `index` of these texts is; an end stays in the text it ends. */
  function place({ nodes, starts }, index, isEnd = false) {
    let low = 0, high = nodes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (isEnd ? starts[middle] < index : starts[middle] <= index) low = middle; else high = middle - 1;
    }
    return [nodes[low], Math.min(index - starts[low], nodes[low].length)];
  }

  /* From one character to another, the page's own words between them left out. */
  function* rangesOf(run, from, to) {
    for (const cut of [...run.cuts.filter((at) => from < at && at < to), to]) {
      const range = new Range();
      range.setStart(...place(run, from));
      range.setEnd(...place(run, cut, true));
      yield range;
      from = cut;
    }
  }

  const mark = () => {
    const query = new URLSearchParams(location.search).get("q");
    const within = document.getElementById("effect");
    CSS.highlights.delete("search");
    const wanted = query && within && pattern(query);
    if (!wanted) return;
    const hits = [];
    for (const run of runsOfText(within)) {
      if (hits.length >= 2000) break;
      for (const [from, to] of found(run.text, wanted)) hits.push([...rangesOf(run, from, to)]);
    }
    if (!hits.length) return;
    CSS.highlights.set("search", new Highlight(...hits.flat()));
    const first = hits.find(([start]) => isShown(start)) ?? hits[0];
    for (const range of first) open(range.startContainer.parentElement);
    toSight(first[0]);
  };

  /* For texts not on the page yet: where what was looked for begins and ends in one. */
  window.rewynFound = (text, most) => {
    const wanted = pattern(new URLSearchParams(location.search).get("q") ?? "");
    return wanted ? found(text, wanted, most) : [];
  };
  mark();
  document.addEventListener("rewyn:json", mark);
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "effect" || event.target.id === "list") mark();
  });
})();
