// Starts the page: loads the program of its kind and of this build, and lets it take over what the server rendered.
const version = new URL(import.meta.url).search;
const { program } = document.getElementById("payload").dataset;
const page = await import(`./pkg/${program}.js${version}`);
await page.default({ module_or_path: new URL(`./pkg/${program}_bg.wasm${version}`, import.meta.url) });
page.hydrate();
