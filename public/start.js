// Starts the page's program of this build, which takes over what the server rendered. Where it cannot begin (WebAssembly is forbidden, a
// file did not come), the page says so and stays as the server rendered it.
const version = new URL(import.meta.url).search;
try {
  const program = await import(`./pkg/rollcast.js${version}`);
  await program.default({ module_or_path: new URL(`./pkg/rollcast_bg.wasm${version}`, import.meta.url) });
  program.hydrate();
} catch (error) {
  const bar = document.getElementById("stopped");
  const why = typeof WebAssembly === "object" ? "The program of this page could not start" : "WebAssembly is off";
  document.getElementById("stopped-why").textContent = `${why}: this is how things were when the page was loaded.`;
  bar.className = "banner";
  throw error;
}
