// Sets the theme before anything is painted: ?theme=dark|light, else what the system prefers, followed while it changes.
const asked = new URLSearchParams(location.search).get("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const set = () => { document.documentElement.dataset.theme = asked === "dark" || asked === "light" ? asked : dark.matches ? "dark" : "light"; };
set();
dark.addEventListener("change", set);
// Markup that scripts make is data: what would run or load something is refused. Browsers ask this of all markup (Trusted Types).
const runs = /<(script|iframe|object|embed|base|link|meta)|[\s/"']on\w+\s*=|javascript:/i;
globalThis.trustedTypes?.createPolicy("default", { createHTML: (html) => (runs.test(html) ? null : html) });
