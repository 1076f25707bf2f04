// Makes one picture of the book: moment.mjs ADDRESS FILE WIDTHxHEIGHT LIMIT. The server holds its recording. The file is WebP and has
// at most LIMIT bytes.

import sharp from "sharp";
import { launched } from "./chromium.mjs";
import { stillPicture, writeSmall } from "./still.mjs";

const [, , address, file, size, limit] = process.argv;
const [width, height] = size.split("x").map(Number);

const browser = await launched("--disable-background-networking", "--font-render-hinting=none", "--hide-scrollbars");
const page = await browser.newPage({ viewport: { width, height }, timezoneId: "UTC" });
await page.clock.install();
const shown = await stillPicture(page, address);
await browser.close();

await writeSmall(() => sharp(shown), file, Number(limit));
