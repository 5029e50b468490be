// Keeps parts of a page up to date: asks for the page again, and puts its parts in place of those that have changed.
"use strict";
const EVERY = 5000;
const LONGEST = 60000;
const state = document.getElementById("live-state");
let pause = EVERY;
let shown = "";

function say(text) {
  if (state && shown !== text) state.textContent = shown = text;
}

// Who works in a part with the keyboard stays where he was.
function replace(old, fresh) {
  const reachable = (part) => [...part.querySelectorAll("a[href], button, input, select")];
  const held = reachable(old).indexOf(document.activeElement);
  old.replaceWith(fresh);
  if (held >= 0) reachable(fresh)[held]?.focus();
}

// The header says that nobody asked for the page: who is away is signed out in time.
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
      say("This page keeps itself up to date.");
    } catch {
      pause = Math.min(2 * pause, LONGEST);
      say("The gateway does not answer just now; what is shown may be old.");
    }
  }
  setTimeout(tick, pause);
}

if (document.querySelector("[data-live]")) {
  say("This page keeps itself up to date.");
  setTimeout(tick, pause);
}
