// Keeps the playground's strip right, and sends what its buttons ask for without loading the page again.
const strip = document.getElementById("playground");
const pods = document.getElementById("play-pods");
const means = document.getElementById("play-means");
const more = document.getElementById("play-more");
const sentence = strip.querySelector(".tale-sentence");

// Whether the strip is open is remembered where the browser allows that; "Take part" on other pages opens it.
const OPEN = "rollcast.playground.open";
function remember(isOpen) {
  try {
    localStorage.setItem(OPEN, isOpen ? "1" : "0");
  } catch {
    // Then it is closed again on the next page.
  }
}
function remembered() {
  try {
    return localStorage.getItem(OPEN) === "1";
  } catch {
    return false;
  }
}
if (more) {
  if (remembered()) more.open = true;
  more.addEventListener("toggle", () => remember(more.open));
} else {
  strip.querySelector(".take-part").addEventListener("click", () => remember(true));
}

// Everything that is told changes texts and what is possible; nothing is built anew, so focus stays.
function tell({ texts, commands, off, pods: names }) {
  for (const [id, text] of Object.entries(texts)) {
    const element = document.getElementById(id);
    if (element && element.textContent !== text) element.textContent = text;
  }
  // The line may be too short for it.
  sentence.title = sentence.textContent;
  for (const [id, command] of Object.entries(commands)) {
    const button = document.getElementById(id);
    if (!button) return; // a strip that only tells
    button.disabled = off.includes(id);
    button.title = command;
    document.getElementById(`${id}-command`).textContent = command;
  }
  if (document.activeElement === pods) return;
  const known = [...pods.options].slice(1).map((option) => option.value);
  if (known.join() === names.join()) return;
  const chosen = pods.value;
  pods.replaceChildren(pods.options[0], ...names.map((name) => new Option(name)));
  pods.value = names.includes(chosen) ? chosen : "";
}

const events = new EventSource("/playground/events");
events.addEventListener("message", (event) => tell(JSON.parse(event.data)));

// Which command a button stands for, with what stands in the fields beside it.
function explain(event) {
  const button = event.target.closest?.(".deed");
  if (!button?.title) return;
  const field = document.getElementById(`${button.id}-field`);
  let command = button.title;
  if (field?.name === "replicas" && field.value) command = command.replace(/--replicas=\d+/, `--replicas=${field.value}`);
  if (field?.name === "revision" && field.value) command += ` --to-revision=${field.value}`;
  if (pods?.value && /^kubectl (delete|label) pod /.test(command)) command = command.replace(/( pod )\S+/, `$1${pods.value}`);
  means.textContent = command;
}
strip.addEventListener("pointerover", explain);
strip.addEventListener("focusin", explain);

// A pod that is opened on the page is the one that the buttons mean, until it is closed or another one is chosen.
const detail = document.getElementById("detail");
let opened = "";
function follow() {
  const name = detail.querySelector("h2")?.textContent ?? "";
  if (name === opened) return;
  if (pods.value === opened) pods.value = "";
  opened = name;
  if ([...pods.options].some((option) => option.value === name)) pods.value = name;
}
if (detail && pods) new MutationObserver(follow).observe(detail, { childList: true, subtree: true });

strip.addEventListener("submit", async (event) => {
  event.preventDefault();
  explain({ target: event.submitter }); // who touches cannot point first
  const body = new URLSearchParams(new FormData(event.target, event.submitter));
  try {
    const answer = await fetch("/playground", { method: "POST", body, headers: { accept: "application/json" } });
    if (!answer.ok) return;
    const told = await answer.json();
    if (told.isNew) location.assign("/playground");
    else tell(told);
  } catch {
    // The server is gone; the page says so itself.
  }
});
