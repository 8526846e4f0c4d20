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

addEventListener("hashchange", open);
open();
watch();
