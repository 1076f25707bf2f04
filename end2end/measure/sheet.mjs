// One picture with all pages side by side, for each size and theme: sheet.mjs PLAYGROUND RECORDINGS FOLDER. PLAYGROUND serves the
// playground with history, RECORDINGS a recording that is held, "rollover", and "failing-rollout-halts-then-undo".

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launched } from "./chromium.mjs";

const SIZES = [[1280, 720], [1920, 1080], [390, 844]];
const THEMES = ["light", "dark"];
/// Of each page on the sheet, in pixels.
const HEIGHT = 360;
const WIDTH = 2400;

const [, , playground, recordings, folder] = process.argv;
await mkdir(folder, { recursive: true });
const browser = await launched("--disable-background-networking", "--font-render-hinting=none");
const web = `${playground}/clusters/playground/namespaces/default/deployments/web`;
const of = (name, workload) => `${recordings}/clusters/${name}/namespaces/${name}/deployments/${workload}`;
const page = await browser.newPage();
const told = await (await page.request.get(`${playground}/api/v1/clusters/playground/namespaces/default/deployments/web/timeline`)).json();
const [uid, pod] = [told.deployments.at(-1).uid, told.deployments.at(-1).pods.at(-1).uid];
const PAGES = {
  list: `${playground}/`, namespace: `${playground}/clusters/playground/namespaces/shop`, deployment: web, pod: `${web}/pods/${pod}`, revision: `${web}/revisions/1`, rollouts: `${web}/rollouts`,
  share: `${web}/share`, compare: `${web}/compare?uid=${uid}`, wall: `${playground}/wall`, history: `${playground}/history`, links: `${playground}/shares`, missing: `${playground}/no-such-page`,
  failing: of("failing-rollout-halts-then-undo", "test"), replaced: of("rollover", "web"), "recordings on a wall": `${recordings}/wall`, "list of recordings": `${recordings}/`,
};
for (const theme of THEMES)
  for (const [width, height] of SIZES) {
    const taken = [];
    for (const [name, address] of Object.entries(PAGES)) {
      await page.setViewportSize({ width, height });
      await page.goto(`${address}${address.includes("?") ? "&" : "?"}theme=${theme}`);
      // Pages without a program are as they will be.
      await page.waitForFunction(() => document.documentElement.dataset.live === "true" || document.readyState === "complete");
      await page.waitForTimeout(1_500); // bars glide to where they belong
      taken.push([name, (await page.screenshot()).toString("base64")]);
    }
    await page.goto("about:blank");
    await page.setViewportSize({ width: WIDTH, height: 800 });
    await page.setContent(`<style>body{font:14px sans-serif;margin:8px;background:#888;display:flex;flex-wrap:wrap;gap:8px}figure{margin:0}img{height:${HEIGHT}px;display:block}</style>
      ${taken.map(([name, image]) => `<figure><figcaption>${name}</figcaption><img src="data:image/png;base64,${image}"></figure>`).join("")}`);
    await page.waitForFunction(() => [...document.images].every((image) => image.complete));
    const file = join(folder, `sheet-${width}x${height}-${theme}.png`);
    await page.screenshot({ path: file, fullPage: true });
    console.log(file);
  }
await browser.close();
