"use strict";
/* A [data-stream]: plays the chunks of its table at the pace they were recorded at. */
(() => {
  const SAYING = new Set(["text", "reasoning", "arguments", "delta"]);

  function player(box) {
    const rows = [...box.querySelectorAll("tr[data-at]")];
    const find = (name) => box.querySelector(`[data-${name}]`);
    const [play, time, pace, clock, played] = ["play", "time", "pace", "clock", "played"].map(find);
    const times = rows.map((row) => Number(row.dataset.at));
    const whole = Math.max(...times, 1);
    let now = 0, before = 0, frame = 0;

    const told = (ms) => ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;

    /* What had been said by then, each part by itself. */
    function said(upTo) {
      const parts = new Map();
      for (const row of rows.slice(0, upTo)) {
        if (!SAYING.has(row.dataset.kind)) continue;
        const name = row.dataset.part;
        parts.set(name, (parts.get(name) ?? "") + row.lastElementChild.textContent);
      }
      played.replaceChildren(...[...parts.values()].map((text) => {
        const el = document.createElement("div");
        el.className = "said";
        el.dir = "auto";
        el.textContent = text;
        return el;
      }));
    }

    let drawn = -1;
    function draw() {
      const upTo = times.filter((at) => at <= now).length;
      time.value = String(now);
      clock.textContent = `${told(now)} of ${told(whole)}`;
      if (upTo === drawn) return;
      drawn = upTo;
      rows.forEach((row, index) => row.classList.toggle("later", index >= upTo));
      said(upTo);
    }

    function stop() {
      cancelAnimationFrame(frame);
      frame = 0;
      play.textContent = "Play";
    }

    function tick(stamp) {
      if (!box.isConnected) return;
      now = Math.min(now + (stamp - before) * Number(pace.value), whole);
      before = stamp;
      draw();
      if (now >= whole) return stop();
      frame = requestAnimationFrame(tick);
    }

    play.addEventListener("click", () => {
      if (frame) return stop();
      if (now >= whole) now = 0;
      play.textContent = "Pause";
      played.hidden = false;
      before = performance.now();
      frame = requestAnimationFrame(tick);
    });
    time.addEventListener("input", () => { stop(); now = Number(time.value); played.hidden = false; draw(); });

    time.max = String(Math.ceil(whole));
    now = whole;
    draw();
    box.querySelector(".player").hidden = false;
    box.dataset.ready = "";
  }

  const ready = () => { for (const box of document.querySelectorAll("[data-stream]:not([data-ready])")) player(box); };
  document.addEventListener("htmx:afterSwap", ready);
  document.addEventListener("DOMContentLoaded", ready);
})();
