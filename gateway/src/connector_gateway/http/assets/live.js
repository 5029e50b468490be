// Updates parts of a page: fetches the page again and replaces the parts that have changed.
"use strict";
const EVERY = 5000;
const LONGEST = 60000;
const state = document.getElementById("live-state");
let pause = EVERY;
let shown = "";

function say(text) {
  if (state && shown !== text) state.textContent = shown = text;
}

// The keyboard focus stays at the same control.
function replace(old, fresh) {
  const reachable = (part) => [...part.querySelectorAll("a[href], button, input, select")];
  const held = reachable(old).indexOf(document.activeElement);
  old.replaceWith(fresh);
  if (held >= 0) reachable(fresh)[held]?.focus();
}

// The header marks an automatic request, which does not extend the session.
async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html", "X-Console-Refresh": "1" }, cache: "no-store" });
  if (answer.redirected) return location.reload();
  if (!answer.ok) throw new Error(answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(old.id);
    if (fresh && fresh.innerHTML !== old.innerHTML) replace(old, document.adoptNode(fresh));
  }
}

async function tick() {
  if (!document.hidden) {
    try {
      await refresh();
      pause = EVERY;
      say("Updates automatically");
    } catch {
      pause = Math.min(2 * pause, LONGEST);
      say("The gateway does not respond; this page may be outdated.");
    }
  }
  setTimeout(tick, pause);
}

if (document.querySelector("[data-live]")) {
  say("Updates automatically");
  setTimeout(tick, pause);
}
