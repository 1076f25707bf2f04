// Takes a picture of a page that does not move: two looks at it are equal. Writes pictures that are small enough.

import { writeFileSync } from "node:fs";

/// What is drawn in a few colours is sharpest without loss.
const WAYS = [{ lossless: true }, { nearLossless: true, quality: 60 }, { nearLossless: true, quality: 40 }, { nearLossless: true, quality: 20 }, { quality: 70 }];
const SETTLED_MILLIS = 3_000;
const LIMIT_MILLIS = 20_000;

/// Opens an address in a page whose clock is installed, and returns the picture as PNG.
export async function stillPicture(page, address) {
  await page.goto(address);
  await page.waitForFunction(() => document.documentElement.dataset.live === "true");
  await page.evaluate(() => document.fonts.ready);
  // The picture is measured once a second, and the window glides to its width: both are over by the page's clock. Then two looks are equal.
  await page.clock.runFor(SETTLED_MILLIS);
  const deadline = Date.now() + LIMIT_MILLIS;
  const look = () => page.screenshot({ animations: "disabled" });
  let [before, last] = [Buffer.alloc(0), await look()];
  while (!before.equals(last)) {
    if (Date.now() > deadline) throw new Error(`${address} never stands still`);
    [before, last] = [last, await look()];
  }
  return last;
}

/// Writes what `read` returns as WebP, in the first way in which it has at most `limit` bytes. `options` are more of sharp's.
export async function writeSmall(read, file, limit, options) {
  for (const way of WAYS) {
    const bytes = await read().webp({ ...way, effort: 6, ...options }).toBuffer();
    console.log(`${file}: ${bytes.length} bytes, ${JSON.stringify(way)}`);
    if (bytes.length <= limit) return writeFileSync(file, bytes);
  }
  throw new Error(`${file}: more than ${limit} bytes in every way`);
}
