// Sets the theme before anything is painted: ?theme=dark|light, else what the system prefers, followed while it changes.
const asked = new URLSearchParams(location.search).get("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const set = () => { document.documentElement.dataset.theme = asked === "dark" || asked === "light" ? asked : dark.matches ? "dark" : "light"; };
set();
dark.addEventListener("change", set);
// Markup that scripts make is data: what would run or load something is refused. Browsers ask this of all markup (Trusted Types).
const runs = /<(script|iframe|object|embed|base|link|meta)|[\s/"']on\w+\s*=|javascript:/i;
globalThis.trustedTypes?.createPolicy("default", { createHTML: (html) => (runs.test(html) ? null : html) });
// The script that starts the program may not come, as where the network changes: the page, which looks live, says that it is old, and the
// script is asked for again, by another address, as browsers remember that it did not come. It takes the notice away once it succeeds.
const startAgain = (address, tries) => {
  const go = () => {
    clearTimeout(timer);
    removeEventListener("online", go);
    import(`${address}&try=${tries}`).catch(() => startAgain(address, tries + 1));
  };
  const timer = setTimeout(go, 5_000);
  addEventListener("online", go);
};
const sayOld = () => {
  const why = "The script of this page could not start: this page shows the state at the time it was loaded.";
  document.getElementById("stopped-why").textContent = why;
  document.getElementById("stopped").className = "banner";
};
const isStart = ({ src }) => typeof src === "string" && src.includes("/start.js");
addEventListener("error", ({ target }) => {
  if (!isStart(target)) return;
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", sayOld);
  else sayOld();
  startAgain(target.src, 1);
}, true);
