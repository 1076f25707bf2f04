// Frames per second of a page while pods change: frames.mjs ROLLCAST PODS CHANGES_PER_SECOND. Replays a made recording in which
// available pods become unready and available again, and reads the browser's own frame times for ten seconds. Before and after it looks
// at the picture: frames of a picture that shows nothing are no figure.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { changing } from "../fixtures/made.mjs";
import { colour, decoded, mean, share } from "../fixtures/pixels.mjs";
import { launched } from "./chromium.mjs";
import { replaying } from "./replay.mjs";

const SECONDS = 40;
/** Of the newest part of a band, this much at least is in the colour of pods that are there. */
const LEAST_DRAWN = 0.3;

const [, , rollcast, podsText, rateText] = process.argv;
const [pods, rate] = [Number(podsText), Number(rateText)];
if (!rollcast || !(pods > 0) || !(rate > 0)) {
  console.error("frames.mjs ROLLCAST PODS CHANGES_PER_SECOND");
  process.exit(2);
}

/** How much of the newest part of the first band is drawn in the colour of available pods.
 * @param {import("@playwright/test").Page} page */
async function drawn(page) {
  const band = await page.locator("[data-testid=band] .ground").first().boundingBox();
  const canvas = await page.locator("#canvas").boundingBox();
  if (!band || !canvas) return 0;
  // The last second or so: what is older may not be known yet.
  const box = { x: canvas.x + canvas.width * 0.97, width: canvas.width * 0.02, y: band.y + 14, height: band.height - 28 };
  const [ground, available] = await page.evaluate(() => ["--surface", "--available"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name)));
  return share(mean(await decoded(await page.screenshot()), box), colour(String(ground)), colour(String(available))).share;
}

/** Says that nothing is drawn, where that is so.
 * @param {import("@playwright/test").Page} page */
async function demandPicture(page) {
  const found = await drawn(page);
  if (found < LEAST_DRAWN) throw new Error(`the picture of ${pods} pods shows ${Math.round(found * 100)} % of its band in their colour: there is nothing to measure`);
}

/** @param {string} address */
async function measured(address) {
  const browser = await launched();
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(address);
    await page.waitForSelector("html[data-live=true]");
    await page.waitForSelector("[data-testid=band]");
    for (const deadline = Date.now() + 20_000; (await drawn(page)) < LEAST_DRAWN && Date.now() < deadline; );
    await demandPicture(page);
    const frames = page.evaluate(
      () =>
        new Promise((done) => {
          /** @type {number[]} */
          const times = [];
          const start = performance.now();
          let before = start;
          /** @param {number} now */
          const frame = (now) => {
            times.push(now - before);
            before = now;
            if (now - start < 10_000) requestAnimationFrame(frame);
            else done(times.slice(1));
          };
          requestAnimationFrame(frame);
        }),
    );
    // Meanwhile keys are pressed: from the press to the frame that follows it.
    await page.evaluate(() => {
      /** @type {number[]} */
      const delays = [];
      Object.assign(window, { delays });
      addEventListener("keydown", (event) => requestAnimationFrame(() => setTimeout(() => delays.push(performance.now() - event.timeStamp))));
    });
    for (let press = 0; press < 60; press++) {
      await page.keyboard.press("Shift");
      await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
    }
    const times = /** @type {number[]} */ (await frames).sort((a, b) => a - b);
    const delays = /** @type {number[]} */ (await page.evaluate(() => /** @type {any} */ (window).delays)).sort((a, b) => a - b);
    await demandPicture(page);
    const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
    const late = (/** @type {number[]} */ all) => Number(all[Math.floor(all.length * 0.95)]).toFixed(1);
    return `${(1000 / mean).toFixed(1)} frames/s, p95 ${late(times)} ms, longest ${Number(times.at(-1)).toFixed(1)} ms; a key shows after p95 ${late(delays)} ms`;
  } finally {
    await browser.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), "rollcast-frames-"));
/** @type {{ address: string, stop: () => void } | undefined} */
let server;
try {
  const file = join(folder, `frames-${pods}.jsonl`);
  writeFileSync(file, changing(pods, rate, SECONDS).join("\n"));
  server = await replaying(rollcast, file, "--loop");
  console.log(`${pods} pods, ${rate} changes/s: ${await measured(`${server.address}/clusters/frames-${pods}/namespaces/shop/deployments/web`)}`);
} catch (error) {
  console.error(`frames.mjs: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  server?.stop();
  rmSync(folder, { recursive: true, force: true });
}
