// Makes one animated picture of moments of a page: film.mjs ADDRESS FILE WIDTHxHEIGHT SCALE FROM UNTIL STEP LIMIT. The
// window is drawn at SCALE; times are milliseconds of what is shown; a frame lasts as long as its moment did, the last one longer. The file may
// have LIMIT bytes.

import sharp from "sharp";
import { launched } from "./chromium.mjs";
import { stillPicture, writeSmall } from "./still.mjs";

const [, , address, file, size, ...figures] = process.argv;
const [width, height] = size.split("x").map(Number);
const [scale, from, until, step, limit] = figures.map(Number);
/// Whoever looks reads the end before it begins anew.
const END_MILLIS = 3_000;

const browser = await launched("--disable-background-networking", "--font-render-hinting=none", "--hide-scrollbars");
const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: scale, timezoneId: "UTC" });
await page.clock.install();
const frames = [];
for (let at = from; at <= until; at += step) {
  frames.push(await stillPicture(page, `${address}&at=${at}`));
}
await browser.close();

const delay = frames.map((_, index) => (index === frames.length - 1 ? END_MILLIS : step));
await writeSmall(() => sharp(frames, { join: { animated: true } }), file, limit, { loop: 0, delay, minSize: true });
