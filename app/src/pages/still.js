// Pages without a program: times in the zone of whoever looks, and keys that choose it or go from row to row. Without this, times are in UTC and rows
// are links. The braces keep names apart
// from those of the script of the theme.
{
  const REMEMBERED = "rollcast.zone";
  const asked = new URLSearchParams(location.search);
  const chosen = () => {
    try {
      return localStorage.getItem(REMEMBERED);
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  /// The offset of the viewer's zone from UTC, as addresses name it; nothing where there is none.
  const own = () => {
    const ahead = -new Date().getTimezoneOffset();
    const two = (number) => String(Math.trunc(number)).padStart(2, "0");
    const minutes = Math.abs(ahead);
    return ahead ? (ahead < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60) : "";
  };
  /// The offset of a zone: "utc", "own" or a name such as "Europe/Berlin". The viewer's where none is named, or an unknown one.
  const offset = (zone) => {
    if (zone === "utc") return "";
    if (!zone || zone === "own") return own();
    try {
      const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
      return format.formatToParts().find((part) => part.type === "timeZoneName").value.replace("GMT", "");
    } catch {
      return own();
    }
  };
  const go = (zone) => {
    asked.set("tz", zone);
    location.replace(location.pathname + "?" + asked + location.hash);
  };
  // Times that an address names without an offset are in UTC: their meaning is not changed. Whoever chose UTC gets what the page has.
  const wanted = offset(asked.get("zone") ?? chosen());
  if (!["tz", "since", "until"].some((name) => asked.has(name)) && wanted) go(wanted);

  // Between the viewer's zone and UTC: the times that the address names are the same moments.
  const toggle = () => {
    const from = (asked.get("tz") || "utc").replace(" ", "+"); // a plus sign that nobody encoded
    const to = from === "utc" ? own() : "utc";
    if (!to) return;
    const millis = (zone) => (zone === "utc" ? 0 : Date.parse("1970-01-01T00:00Z") - Date.parse("1970-01-01T00:00" + zone));
    for (const name of ["since", "until"]) {
      const written = (asked.get(name) ?? "").trim().replace(" ", "T");
      const at = Date.parse((/^\d{4}-\d\d-\d\d$/.test(written) ? written + "T00:00" : written) + "Z");
      if (!Number.isNaN(at)) asked.set(name, new Date(at - millis(from) + millis(to)).toISOString().slice(0, Math.max(16, written.length)));
    }
    try {
      localStorage.setItem(REMEMBERED, to === "utc" ? "utc" : "own");
    } catch {
      // the address remembers it
    }
    go(to);
  };

  // A menu closes with Escape, and when somebody clicks elsewhere; the focus goes back to it.
  const menus = () => [...document.querySelectorAll("details.menu[open]")];
  addEventListener("click", (event) => menus().forEach((menu) => menu.contains(event.target) || (menu.open = false)));

  addEventListener("keydown", (event) => {
    const here = document.activeElement;
    if (event.key === "Escape")
      menus().forEach((menu) => {
        menu.open = false;
        if (menu.contains(here)) menu.querySelector("summary").focus();
      });
    if (event.ctrlKey || event.metaKey || event.altKey || here.closest("input, select, textarea")) return;
    if (event.key === "z" || event.key === "Z") return toggle();
    if (event.key === "?") return document.getElementById("keys")?.togglePopover();
    const links = [...document.querySelectorAll("[data-row]")].map((row) => row.querySelector("a.name")).filter(Boolean);
    const row = here.closest("[data-row]");
    // Arrows scroll the page until a row was chosen.
    const step = { j: 1, k: -1, ArrowDown: row && 1, ArrowUp: row && -1 }[event.key];
    if (!step || !links.length) return;
    const at = row ? links.indexOf(row.querySelector("a.name")) : -1;
    links[Math.min(Math.max(at + step, 0), links.length - 1)].focus();
    event.preventDefault();
  });
}
