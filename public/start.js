// Starts the page: loads the program of this build and lets it take over what the server rendered.
const version = new URL(import.meta.url).search;
const page = await import(`./pkg/rollcast.js${version}`);
await page.default({ module_or_path: new URL(`./pkg/rollcast_bg.wasm${version}`, import.meta.url) });
page.hydrate();
