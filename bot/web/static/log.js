// What the pages of a log do with script; without it every place can be reached by links.
"use strict";

const log = document.querySelector("ol.log[data-line]");
const RANGE = /^#L(\d+)(?:-L?(\d+))?$/;
const MOST_PARTS = 5; // Parts of a log on the page at once; older ones make way.
const AHEAD = 1500; // Pixels above the end of the page at which the next part is fetched.

function named() {
  const found = RANGE.exec(location.hash);
  if (!found) return null;
  const ends = [Number(found[1]), Number(found[2] || found[1])];
  return { first: Math.min(...ends), last: Math.max(...ends) };
}

// #L120-L130 lights these lines; where another part of the log holds them, that part is shown.
function light() {
  const lines = named();
  if (!lines) return;
  for (const line of log.querySelectorAll(".lit")) line.classList.remove("lit");
  const first = document.getElementById("L" + lines.first);
  if (!first) return seek(lines);
  for (let n = lines.first; n <= lines.last; n += 1) {
    const line = document.getElementById("L" + n);
    if (!line) break;
    line.classList.add("lit");
  }
  reveal(first);
}

function seek(lines) {
  const here = new URLSearchParams(location.search);
  if (log.dataset.whole === "yes" || here.get("from") === String(lines.first)) return;
  const address = new URL(log.dataset.line, location.href);
  address.searchParams.set("from", lines.first);
  if (lines.last > lines.first) address.searchParams.set("to", lines.last);
  address.hash = location.hash;
  location.replace(address);
}

function reveal(line) {
  for (let part = line; part && part !== log; part = part.parentElement) {
    if (part.tagName === "DETAILS") part.open = true;
  }
  line.scrollIntoView({ block: "center" });
}

// A click on a number names the line, with shift the lines from the one named before.
log?.addEventListener("click", (event) => {
  const number = event.target.closest("a.n");
  const line = number && /^#L(\d+)$/.exec(number.getAttribute("href"));
  if (!line) return;
  event.preventDefault();
  const before = named();
  const aim = event.shiftKey && before ? [before.first, Number(line[1])].sort((a, b) => a - b) : [line[1]];
  history.replaceState(null, "", "#" + aim.map((n) => "L" + n).join("-"));
  for (const lit of log.querySelectorAll(".lit")) lit.classList.remove("lit");
  for (let n = Number(aim[0]); n <= Number(aim[aim.length - 1]); n += 1) {
    document.getElementById("L" + n)?.classList.add("lit");
  }
});

// n and p go from place to place, over the edges of the parts too.
let here = null;

function standing(marked) {
  if (here && here.isConnected) return marked.indexOf(here);
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const line = target && target.closest("li");
  if (line && marked.includes(line)) return marked.indexOf(line);
  const above = marked.filter((one) => one.getBoundingClientRect().top < 0);
  return above.length - 1;
}

function step(way) {
  const marked = [...log.querySelectorAll("li.marked")];
  const next = marked[standing(marked) + way];
  if (!next) {
    const beyond = document.querySelector(way > 0 ? "a[rel=next-mark]" : "a[rel=prev-mark]");
    if (beyond) location.assign(beyond.href);
    return;
  }
  here?.classList.remove("here");
  here = next;
  here.classList.add("here");
  reveal(here);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const search = document.querySelector("input[type=search]");
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
  } else if (log && event.key === "n") step(1);
  else if (log && event.key === "p") step(-1);
});

// Near its end the page takes the next part in, and lets go of those far above.
function follow() {
  const parts = [{ lines: [...log.children], start: null }];
  const bars = document.querySelectorAll("nav.paging");
  if (!bars.length) return;
  const bottom = bars[bars.length - 1];
  let busy = false;
  async function take() {
    const next = bottom.querySelector("a[rel=next]");
    if (busy || !next) return;
    busy = true;
    try {
      const answer = await fetch(next.href);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const lines = [...page.querySelectorAll("ol.log[data-line] > li")];
      log.append(...lines);
      parts.push({ lines, start: next.href });
      const after = page.querySelector("nav.paging:last-of-type a[rel=next]");
      if (after) next.href = after.href;
      else next.remove();
      const beyond = document.querySelector("a[rel=next-mark]");
      const further = page.querySelector("a[rel=next-mark]");
      if (beyond && further) beyond.href = further.href;
      else beyond?.remove();
      if (parts.length > MOST_PARTS) release();
    } finally {
      busy = false;
    }
  }
  function release() {
    for (const line of parts.shift().lines) line.remove();
    for (const back of document.querySelectorAll("nav.paging a[rel=prev]")) back.href = parts[0].start;
  }
  addEventListener("scroll", () => bottom.getBoundingClientRect().top < innerHeight + AHEAD && take(), {
    passive: true,
  });
}

if (log) {
  addEventListener("hashchange", light);
  light();
  if (!location.hash) document.querySelector("li.lit")?.scrollIntoView({ block: "center" });
  follow();
}
