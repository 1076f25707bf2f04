// What of the verdict leaves the page: the colour of its icon, and a notification for those who asked for one.
const badge = document.getElementById("badge");
const chip = document.getElementById("chip");
const button = document.getElementById("notify");
const icon = document.querySelector("link[rel=icon]");
const usual = icon.href;
const asked = `rollcast-notify:${location.pathname}`;
const may = "Notification" in window;

const toneNow = () => ["ok", "busy", "bad"].find((name) => badge.classList.contains(name));
const isWanted = () => button.getAttribute("aria-pressed") === "true";
const press = (isOn) => {
  button.setAttribute("aria-pressed", String(isOn));
  if (isOn) sessionStorage.setItem(asked, "yes");
  else sessionStorage.removeItem(asked);
};

let known = toneNow();
const look = () => {
  const tone = toneNow();
  icon.href = tone === "busy" || tone === "bad" ? usual.replace("/icon.svg", `/icon-${tone}.svg`) : usual;
  if (chip.classList.contains("past")) return; // somebody looks back: nothing happened
  const before = known;
  known = tone;
  const isNews = before !== undefined && tone !== before && (tone === "bad" || tone === "ok");
  if (isNews && isWanted() && Notification.permission === "granted") {
    const say = (id) => document.getElementById(id).textContent;
    // One of each Deployment at a time: the last word replaces the one before.
    new Notification(document.title, { body: `${say("verdict")} ${say("why")}`, tag: location.pathname, icon: icon.href });
  }
};
new MutationObserver(look).observe(badge, { attributeFilter: ["class"] });
look();

if (may) {
  button.hidden = false;
  press(sessionStorage.getItem(asked) === "yes" && Notification.permission === "granted");
  button.addEventListener("click", async () => {
    press(!isWanted() && (await Notification.requestPermission()) === "granted");
    if (Notification.permission === "denied") button.title = "This browser does not let the page notify you; its settings do.";
  });
}
