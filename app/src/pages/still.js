// Pages without a program: times in the zone of whoever looks, and keys that go from row to row. Without this, times are in UTC and rows
// are links. The braces keep names apart
// from those of the script of the theme.
{
  const asked = new URLSearchParams(location.search);
  const chosen = () => {
    try {
      return localStorage.getItem("rollcast.zone");
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  // Times that an address names without a zone are in UTC: their meaning is not changed. Whoever chose UTC gets what the page has.
  if (!["tz", "since", "until"].some((name) => asked.has(name)) && chosen() !== "utc") {
    const ahead = -new Date().getTimezoneOffset();
    const two = (number) => String(Math.trunc(number)).padStart(2, "0");
    if (ahead) {
      const minutes = Math.abs(ahead);
      asked.set("tz", (ahead < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60));
      location.replace(location.pathname + "?" + asked + location.hash);
    }
  }

  addEventListener("keydown", (event) => {
    const here = document.activeElement;
    if (event.ctrlKey || event.metaKey || event.altKey || here.closest("input, select, textarea")) return;
    const links = [...document.querySelectorAll("[data-row]")].map((row) => row.querySelector("a")).filter(Boolean);
    const row = here.closest("[data-row]");
    // Arrows scroll the page until a row was chosen.
    const step = { j: 1, k: -1, ArrowDown: row && 1, ArrowUp: row && -1 }[event.key];
    if (!step || !links.length) return;
    const at = row ? links.indexOf(row.querySelector("a")) : -1;
    links[Math.min(Math.max(at + step, 0), links.length - 1)].focus();
    event.preventDefault();
  });
}
