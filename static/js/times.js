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
    const text = "clock" in time.dataset ? year.format(then) : said(then, now);
    if (time.textContent !== text) time.textContent = text;
    if (time.dataset.utc) return;
    time.dataset.utc = time.title;
    time.title = `${exact.format(then)} (${time.title})`;
  }

  const sayNew = () => { for (const time of document.querySelectorAll("time[datetime]:not([data-utc])")) say(new Date(), time); };
  const sayAll = () => { for (const time of document.querySelectorAll("time[datetime]")) say(new Date(), time); };

  /* A [data-instant] field holds UTC as the server wrote it. The reader sees and types the time of
     their own zone; what is sent says which that is. */
  const two = (number) => String(number).padStart(2, "0");
  const local = (then) => `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}T${two(then.getHours())}:${two(then.getMinutes())}`;

  function offset(then) {
    const minutes = -then.getTimezoneOffset();
    const size = Math.abs(minutes);
    return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  }

  function takeOver(field) {
    if (field.defaultValue) field.value = local(new Date(`${field.defaultValue}Z`));
    const label = field.closest("label")?.firstChild;
    if (label) label.data = label.data.replace("(UTC)", "(your time)");
    field.dataset.instant = "local";
  }
  const takeOverAll = () => { for (const field of document.querySelectorAll("[data-instant='']")) takeOver(field); };

  document.addEventListener("formdata", ({ target, formData }) => {
    for (const field of target.querySelectorAll?.("[data-instant='local']") ?? []) {
      const then = new Date(field.value);
      if (!Number.isNaN(then.valueOf()) && formData.has(field.name)) formData.set(field.name, `${field.value}${offset(then)}`);
    }
  });

  document.addEventListener("DOMContentLoaded", takeOverAll);
  for (const come of ["DOMContentLoaded", "htmx:afterSwap", "htmx:oobAfterSwap", "htmx:afterSettle", "htmx:historyRestore"]) document.addEventListener(come, sayNew);
  setInterval(sayAll, 60_000);
})();
