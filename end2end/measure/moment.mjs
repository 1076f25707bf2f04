// Makes one picture of the book: moment.mjs ADDRESS FILE WIDTHxHEIGHT LIMIT. The server holds its recording. The file is WebP and has
// at most LIMIT bytes.

import { writeFileSync } from "node:fs";
import sharp from "sharp";
import { launched } from "./chromium.mjs";
import { stillPicture } from "./still.mjs";

const [, , address, file, size, limit] = process.argv;
const [width, height] = size.split("x").map(Number);
/// The first one that is small enough is taken: what is drawn in a few colours is sharpest without loss.
const WAYS = [{ lossless: true }, { nearLossless: true, quality: 60 }, { nearLossless: true, quality: 20 }, { quality: 70 }];

const browser = await launched("--disable-background-networking", "--font-render-hinting=none", "--hide-scrollbars");
const page = await browser.newPage({ viewport: { width, height }, timezoneId: "UTC" });
await page.clock.install();
const shown = await stillPicture(page, address);
await browser.close();

for (const way of WAYS) {
  const picture = await sharp(shown).webp({ ...way, effort: 6 }).toBuffer();
  if (picture.length > Number(limit)) continue;
  writeFileSync(file, picture);
  console.log(`${file}: ${picture.length} bytes, ${JSON.stringify(way)}`);
  process.exit(0);
}
throw new Error(`${file}: more than ${limit} bytes in every way`);
