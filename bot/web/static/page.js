// What pages do with script; without it they can be read all the same.
"use strict";

// A link to a case opens its folded part.
function open() {
  const name = decodeURIComponent(location.hash.slice(1));
  const aim = name && document.getElementById(name);
  for (let part = aim; part; part = part.parentElement) {
    if (part.tagName === "DETAILS") part.open = true;
  }
  if (aim) aim.scrollIntoView({ block: "start" });
  return aim;
}

// A page on which something is awaited looks again, and is shown anew when it has changed.
function watch() {
  const live = document.querySelector("[data-live]");
  if (!live) return;
  let tag = null;
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.href, { method: "HEAD", cache: "no-store" });
      const now = answer.headers.get("ETag");
      if (answer.ok && tag && now !== tag) location.reload();
      if (answer.ok) tag = now;
    } catch {
      // The server is away; the next look may find it.
    }
  }, Number(live.dataset.live) * 1000);
}

// A curve says what it is pointed at, and the arrow keys walk along one that has the focus.
function say() {
  for (const plot of document.querySelectorAll(".plot")) {
    const hits = [...plot.querySelectorAll(".hit")];
    const said = plot.querySelector(".said");
    const drawing = plot.querySelector(".drawn > svg");
    if (!hits.length || !said || !drawing) continue;
    let at = -1;
    const show = (place) => {
      if (hits[at]) hits[at].classList.remove("at");
      at = Math.max(0, Math.min(place, hits.length - 1));
      hits[at].classList.add("at");
      said.textContent = hits[at].textContent;
    };
    hits.forEach((hit, place) => hit.addEventListener("pointerenter", () => show(place)));
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, End: hits.length, Home: -hits.length }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      show(at < 0 ? (step < 0 ? hits.length - 1 : 0) : at + step);
    });
  }
}

// From case to case by key: j and ] forward, k and [ back, u up, ? the list of keys.
function walk() {
  const keys = document.querySelector(".keys");
  if (!keys) return;
  const where = {
    j: 'a[rel="next"]', "]": 'a[rel="next"]', k: 'a[rel="prev"]', "[": 'a[rel="prev"]',
    u: ".crumbs li:nth-last-child(2) a",
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "?") {
      keys.open = !keys.open;
      if (keys.open) keys.querySelector("summary").focus();
    }
    const link = where[event.key] && document.querySelector(where[event.key]);
    if (link) link.click();
  });
}

say();
walk();
// Signing in leads back to this very place, its question and its line included.
function rememberPlace() {
  const link = document.querySelector("a[data-sign-in]");
  if (!link) return;
  link.addEventListener("click", () => {
    link.href = "/sign-in?next=" + encodeURIComponent(location.pathname + location.search + location.hash);
  });
}

addEventListener("hashchange", open);
rememberPlace();
open();
watch();
