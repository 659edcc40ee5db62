"use strict";
/* The tape: facts under the pointer, a click or a drag to an effect, and the same by keys. The marks
   are read once for each tape; a move looks its mark up and writes two attributes. */
(() => {
  const LANE = 18;
  const NEAR = 1; // per cent of the tape within which the lane under the pointer goes first
  let tape = null; // {box, svg, marks: by x, lanes: y → by x, tip}
  let dragged = null;

  function read(box) {
    const svg = box?.querySelector(".tape");
    if (!svg) return null;
    if (tape?.svg === svg) return tape;
    const marks = [...svg.querySelectorAll("[data-seq]")].map((el) => {
      const x = parseFloat(el.getAttribute("x"));
      return { seq: Number(el.dataset.seq), fact: el.dataset.fact, x, end: x + parseFloat(el.getAttribute("width")), lane: Math.floor(el.getAttribute("y") / LANE) };
    }).sort((a, b) => a.x - b.x || a.seq - b.seq);
    const lanes = new Map();
    for (const mark of marks) lanes.set(mark.lane, [...lanes.get(mark.lane) ?? [], mark]);
    const tip = document.createElement("output");
    tip.className = "tape-tip";
    tip.hidden = true;
    tip.setAttribute("aria-hidden", "true");
    box.append(tip);
    for (const [name, value] of Object.entries({ role: "slider", tabindex: "0", "aria-label": "Position in the run", "aria-valuemin": 1, "aria-valuemax": box.dataset.last })) box.setAttribute(name, value);
    tape = { box, svg, marks, lanes, tip, frame: null };
    say();
    return tape;
  }

  function nearest(marks, at) {
    let low = 0;
    let high = marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (marks[middle].x <= at) low = middle + 1; else high = middle;
    }
    const [before, after] = [marks[low - 1], marks[low]];
    if (!before || !after) return before ?? after;
    return at <= before.end || at - before.end <= after.x - at ? before : after;
  }

  const away = (mark, at) => Math.max(mark.x - at, at - mark.end, 0);

  function under(event) {
    tape.frame ??= tape.svg.getBoundingClientRect();
    const at = (event.clientX - tape.frame.left) / tape.frame.width * 100;
    const lane = tape.lanes.get(Math.floor((event.clientY - tape.frame.top) / LANE));
    const own = lane && nearest(lane, at);
    return own && away(own, at) <= NEAR ? own : nearest(tape.marks, at);
  }

  function show(mark) {
    tape.tip.hidden = false;
    tape.tip.textContent = mark.fact;
    const middle = Math.min((mark.x + mark.end) / 2, 100);
    tape.tip.style.insetInlineStart = `${middle}%`;
    tape.tip.style.translate = `${-middle}% 0`;
  }

  function head(mark) {
    tape.box.querySelector(".tape-head > svg").setAttribute("x", `${mark.x}%`);
  }

  const shownSeq = () => Number(document.getElementById("effect")?.dataset.at);

  function say() {
    const at = shownSeq();
    const mark = tape.marks.findLast((one) => one.seq === at);
    tape.box.setAttribute("aria-valuenow", at);
    tape.box.setAttribute("aria-valuetext", mark?.fact ?? `#${at}`);
  }

  const go = (seq) => document.dispatchEvent(new CustomEvent("rewyn:go", { detail: seq }));
  const boxOf = (event) => event.target.closest?.(".tape-box");

  document.addEventListener("pointermove", (event) => {
    const box = dragged ? tape.box : boxOf(event);
    if (!box || !read(box)) return;
    const mark = under(event);
    if (!mark) return;
    show(mark);
    if (dragged) {
      dragged = mark;
      head(mark);
    }
  });
  document.addEventListener("pointerdown", (event) => {
    const box = event.button === 0 && boxOf(event);
    if (!box || !read(box)) return;
    tape.frame = null;
    dragged = under(event) ?? null;
    if (!dragged) return;
    box.setPointerCapture(event.pointerId);
    box.classList.add("dragging");
    head(dragged);
  });
  function drop(event) {
    if (!dragged) return;
    const mark = dragged;
    dragged = null;
    tape.box.classList.remove("dragging");
    tape.tip.hidden = true;
    if (event.type === "pointerup") go(mark.seq);
  }
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", drop);
  document.addEventListener("pointerout", (event) => {
    if (tape && !dragged && boxOf(event) && !tape.box.contains(event.relatedTarget)) tape.tip.hidden = true;
  });
  for (const moved of ["resize", "scroll"]) window.addEventListener(moved, () => { if (tape) tape.frame = null; }, { passive: true });

  /* Where a key leads from the effect on show: by marks in the order of the run. */
  document.addEventListener("keydown", (event) => {
    const box = event.target.matches?.(".tape-box") && event.target;
    if (!box || !read(box)) return;
    const order = [...tape.marks].sort((a, b) => a.seq - b.seq);
    const at = shownSeq();
    const place = order.findLastIndex((mark) => mark.seq <= at);
    const page = Math.max(Math.round(order.length / 10), 1);
    const to = { ArrowRight: place + 1, ArrowUp: place + 1, ArrowLeft: order[place]?.seq < at ? place : place - 1, ArrowDown: place - 1, PageUp: place + page, PageDown: place - page, Home: 0, End: order.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const mark = order[Math.min(Math.max(to, 0), order.length - 1)];
    if (!mark || mark.seq === at) return;
    show(mark);
    document.dispatchEvent(new CustomEvent("rewyn:way", { detail: "tape" }));
    go(mark.seq);
  });
  document.addEventListener("focusout", (event) => { if (event.target.matches?.(".tape-box") && tape) tape.tip.hidden = true; });

  const ready = () => read(document.querySelector(".tape-box"));
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "effect" && tape) say();
    if (event.target.id === "grow") ready();
  });
  document.addEventListener("htmx:historyRestore", ready);
  document.addEventListener("DOMContentLoaded", ready);
})();
