/// An exported file, opened in Firefox and WebKit from the disk.

import { exported } from "../../fixtures/export.ts";
import { expect, isLive, says, test } from "../../fixtures/engine.ts";

test("a file comes alive and goes through time", { tag: "@nightly" }, async ({ tab }, info) => {
  await tab.goto(exported("rollover", info.outputPath("rollout.html")));
  await isLive(tab);
  await says(tab, "verdict", "Revision 3 was complete: 10 of 10 available.");
  await tab.press("ArrowLeft");
  await says(tab, "live", /^As it was at 2026-11-21 04:53:22/);
  await tab.press("[");
  await says(tab, "verdict", /^Revision 3/);
  await tab.press("[");
  await says(tab, "verdict", "Revision 2 was replacing revision 1: 0 of 10 new pods available.");
  await tab.press("l");
  await says(tab, "live", "Recording");
  expect(await tab.evaluate(() => document.fonts.check("16px Inter"))).toBe(true);
});
