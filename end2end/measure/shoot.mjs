// Takes one screenshot: shoot.mjs ADDRESS FILE WIDTHxHEIGHT [CLICK [SAYS]]. The page is still once it hears from the server, says
// SAYS, and every animation has ended.

import { launched } from "./chromium.mjs";


const [, , address, file, size, click, says] = process.argv;
const [width, height] = size.split("x").map(Number);
const browser = await launched("--disable-background-networking", "--font-render-hinting=none");
const page = await browser.newPage({ viewport: { width, height } });
await page.goto(address);
await page.waitForFunction(() => document.documentElement.dataset.live === "true");
if (says) await page.getByText(says).first().waitFor();
if (click) {
  await page.click(click);
  await page.waitForSelector("#detail:not(:empty), #play-more[open]");
}
// The picture is measured once a second, and the window glides to its width; a live one never stands still.
let looks = says ? 1 : 10;
const scene = () => page.evaluate(() => [...document.querySelectorAll(".picture")].map((picture) => picture.getAttribute("style") + picture.querySelector("[id$=picture-box]")?.getAttribute("viewBox")).join());
for (let before, after = await scene(); before !== after && looks-- > 0; before = after, after = await scene()) await page.waitForTimeout(1_200);
await page.evaluate(() => Promise.all(document.getAnimations().filter((animation) => animation.effect.getTiming().iterations !== Infinity).map((animation) => animation.finished.catch(() => undefined))));
await page.screenshot({ path: file });
await browser.close();
