// Starts the page's program of this build, which takes over what the server rendered. Where it cannot begin (WebAssembly is forbidden, a
// file did not come) or ends, the page says so and stays as it was. Files that did not come are asked for again.
const version = new URL(import.meta.url).search;
const code = new URL(`./pkg/rollcast_bg.wasm${version}`, import.meta.url);
const say = (why) => {
  const shown = document.getElementById("stopped-why");
  // A screen reader would say the same again with each try.
  if (shown.textContent !== why) shown.textContent = why;
  document.getElementById("stopped").className = "banner";
};
// A program that panics traps; what it still wanted to say, it cannot.
addEventListener("error", ({ error }) => {
  if (typeof WebAssembly === "object" && error instanceof WebAssembly.RuntimeError) {
    say("This page stopped.");
    // Its router would take clicks on links, and do nothing.
    addEventListener("click", (event) => event.stopImmediatePropagation(), true);
  }
});
const root = document.documentElement;
// Nobody reloads a wall. It does so itself, but only while its server responds: neither the browser's error page nor a text that there are
// too many requests (429) would ever go away. A redirect, whose status is 0, leads to the sign-in, perhaps on another server, whose pages
// `fetch` may not read.
const askStatus = async (address = location.href) => {
  const signal = AbortSignal.timeout(10_000); // some requests are never answered
  return (await fetch(address, { method: "HEAD", redirect: "manual", cache: "no-store", signal }).catch(() => ({}))).status;
};
// Some proxies do not know HEAD (501).
const responds = (status) => status < 429 || status === 501;
// The program asks for it (`browser::reload`).
const reload = async () => {
  if (responds(await askStatus())) location.reload();
  else setTimeout(reload, 5_000);
};
new MutationObserver(reload).observe(root, { attributeFilter: ["data-reload"] });
// A wall that stopped waits for half a minute, so that a page that stops at once does not reload in a loop, and its reason stays readable.
// A page that is not connected any more cannot read why its stream is refused: a proxy may want it to sign in again. Where that leads to a
// page whose stream is refused as well, it never was connected, and is not asked about.
let isLost;
setInterval(async () => {
  // A server that was updated since it made this page says that its program is gone (410); proxies say 404 of what they do not pass on.
  if (document.querySelector("#stopped.banner") && (await askStatus(code)) === 410) {
    if ((await askStatus()) < 400) location.reload();
    return;
  }
  const isStopped = document.querySelector("#stopped.banner ~ .wall");
  const wasLost = isLost;
  isLost = root.dataset.live === "false";
  if (!isStopped && !(isLost && wasLost)) return;
  const status = await askStatus();
  if (isStopped ? responds(status) : [0, 401, 403].includes(status)) location.reload();
}, 30_000);
// The parts of the program that this page needs come while the program does, which asks for each by the name of its file. One that did not
// come is asked for again by whoever needs it later.
const parts = new Map([...document.querySelectorAll('link[rel=preload][href*="/pkg/parts/"]')].map(({ href }) => [href.split("/").at(-1), fetch(href)]));
parts.forEach((answer, file) => answer.catch(() => parts.delete(file)));
globalThis.enclosed = (file) => {
  const answer = parts.get(file);
  parts.delete(file);
  return answer;
};
// Browsers refuse many changes of the address in a short time (Safari a hundred in half a minute), and the router of the program panics
// when they do. The last one that was refused is tried again, unless another one follows.
let again;
const change = (set, state) => {
  clearTimeout(again);
  try {
    set(...state);
  } catch {
    again = setTimeout(change, 1000, set, state);
  }
};
addEventListener("popstate", () => clearTimeout(again));
for (const name of ["pushState", "replaceState"]) {
  const set = history[name].bind(history);
  history[name] = (...state) => change(set, state);
}
// A network that changes takes away what is on its way. After the last pause, only a network that comes back is a reason to try.
const PAUSES = [5_000, 10_000, 30_000];
const pause = (millis) =>
  new Promise((go) => {
    addEventListener("online", go, { once: true });
    if (millis) setTimeout(go, millis);
  });
const failed = (error) => {
  const why = typeof WebAssembly === "object" ? "The script of this page could not start" : "WebAssembly is off";
  say(`${why}: this page shows the state at the time it was loaded.`);
  if (typeof WebAssembly !== "object") throw error;
  console.error(error);
};
let program;
for (let tries = 0, isThere = false; !isThere; tries++) {
  try {
    // By another address: browsers remember that a module did not come.
    program ??= await import(`./pkg/rollcast.js${version}${tries ? `&try=${tries}` : ""}`);
    await program.default({ module_or_path: code });
    isThere = true;
    // This script may itself have been asked for again (`theme.js`).
    if (tries > 0 || version.includes("&try=")) document.getElementById("stopped").className = "unused";
  } catch (error) {
    failed(error);
    await pause(PAUSES[tries]);
  }
}
// A part of the program that does not come is asked for again: meanwhile nothing is live.
const LATE = "A part of this page did not come yet: it shows the state at the time it was loaded.";
const late = setTimeout(say, 10_000, LATE);
await program.hydrate().catch(failed);
clearTimeout(late);
if (document.getElementById("stopped-why").textContent === LATE) document.getElementById("stopped").className = "unused";
