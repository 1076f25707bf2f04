// Starts the page's program of this build, which takes over what the server rendered. Where it cannot begin (WebAssembly is forbidden, a
// file did not come) or ends, the page says so and stays as it was.
const version = new URL(import.meta.url).search;
const say = (why) => {
  document.getElementById("stopped-why").textContent = why;
  document.getElementById("stopped").className = "banner";
};
// A program that panics traps; what it still wanted to say, it cannot.
addEventListener("error", ({ error }) => {
  if (typeof WebAssembly === "object" && error instanceof WebAssembly.RuntimeError) say("This page stopped.");
});
try {
  const program = await import(`./pkg/rollcast.js${version}`);
  await program.default({ module_or_path: new URL(`./pkg/rollcast_bg.wasm${version}`, import.meta.url) });
  await program.hydrate();
} catch (error) {
  const why = typeof WebAssembly === "object" ? "The program of this page could not start" : "WebAssembly is off";
  say(`${why}: this is how things were when the page was loaded.`);
  throw error;
}
