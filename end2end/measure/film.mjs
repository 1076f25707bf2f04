// Makes one animated picture of moments of a page: film.mjs ADDRESS FILE WIDTHxHEIGHT SCALE FROM UNTIL STEP LIMIT. The
// window is drawn at SCALE; times are milliseconds of what is shown; a frame lasts as long as its moment did, the last one longer. The file may
// have LIMIT bytes.

import { writeFileSync } from "node:fs";
import sharp from "sharp";
import { launched } from "./chromium.mjs";
import { stillPicture } from "./still.mjs";

const [, , address, file, size, ...figures] = process.argv;
const [width, height] = size.split("x").map(Number);
const [scale, from, until, step, limit] = figures.map(Number);
/// Whoever looks reads the end before it begins anew.
const END_MILLIS = 3_000;
/// The first one that is small enough is taken: what is drawn in a few colours is sharpest without loss.
const WAYS = [{ lossless: true }, { nearLossless: true, quality: 60 }, { nearLossless: true, quality: 40 }, { nearLossless: true, quality: 20 }, { quality: 70 }];

const browser = await launched("--disable-background-networking", "--font-render-hinting=none", "--hide-scrollbars");
const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: scale, timezoneId: "UTC" });
await page.clock.install();
const frames = [];
for (let at = from; at <= until; at += step) {
  frames.push(await stillPicture(page, `${address}&at=${at}`));
}
await browser.close();

const delay = frames.map((_, index) => (index === frames.length - 1 ? END_MILLIS : step));
let film;
for (const way of WAYS) {
  film = await sharp(frames, { join: { animated: true } }).webp({ ...way, effort: 6, loop: 0, delay, minSize: true }).toBuffer();
  console.log(`${frames.length} frames, ${JSON.stringify(way)}: ${film.length} bytes`);
  if (film.length <= limit) break;
}
if (film.length > limit) throw new Error(`the film has ${film.length} bytes, at most ${limit} are allowed: make it smaller, shorter, or of fewer frames`);
writeFileSync(file, film);
