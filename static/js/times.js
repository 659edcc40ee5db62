"use strict";
/* Every <time datetime> in the zone of whoever reads it: the time of day today, with the date on any
   other day, and the exact instant on hover, there and in UTC. What the server says is UTC. */
(() => {
  const format = (parts) => new Intl.DateTimeFormat("en", { hourCycle: "h23", ...parts });
  const minute = { hour: "2-digit", minute: "2-digit" };
  const clock = format(minute);
  const day = format({ month: "short", day: "numeric", ...minute });
  const year = format({ year: "numeric", month: "short", day: "numeric", ...minute });
  const exact = format({ year: "numeric", month: "short", day: "numeric", ...minute, second: "2-digit", fractionalSecondDigits: 3, timeZoneName: "short" });

  function said(then, now) {
    const minutes = Math.floor((now - then) / 60_000);
    if (minutes >= 0 && minutes < 60) return minutes ? `${minutes} min ago` : "just now";
    if (then.toDateString() === now.toDateString()) return clock.format(then);
    return (then.getFullYear() === now.getFullYear() ? day : year).format(then);
  }

  function say(now, time) {
    const then = new Date(time.dateTime);
    if (Number.isNaN(then.valueOf())) return;
    const text = said(then, now);
    if (time.textContent !== text) time.textContent = text;
    if (time.dataset.utc) return;
    time.dataset.utc = time.title;
    time.title = `${exact.format(then)} (${time.title})`;
  }

  const sayNew = () => { for (const time of document.querySelectorAll("time[datetime]:not([data-utc])")) say(new Date(), time); };
  const sayAll = () => { for (const time of document.querySelectorAll("time[datetime]")) say(new Date(), time); };

  for (const come of ["DOMContentLoaded", "htmx:afterSwap", "htmx:oobAfterSwap", "htmx:afterSettle", "htmx:historyRestore"]) document.addEventListener(come, sayNew);
  setInterval(sayAll, 60_000);
})();
