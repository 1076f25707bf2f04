/// Large screens: space that few pods leave is for the table of pods; many pods use the whole window.

import type { Page } from "@playwright/test";
import { AxeBuilder } from "@axe-core/playwright";
import { isWhole } from "../../fixtures/environment.ts";
import type { MadeSet, State } from "../../fixtures/made.mjs";
import { held } from "../../fixtures/picture.ts";
import { expect, openLive, test } from "../../fixtures/test.ts";

const of = (pods: number, ...states: State[]): State[] => Array.from({ length: pods }, (_, index) => states[index % states.length]!);
const made: Record<string, MadeSet[]> = {
  one: [{ revision: 1, pods: ["available"] }],
  four: [
    { revision: 1, wanted: 2, pods: of(4, "available", "available", "terminating", "gone") },
    { revision: 2, wanted: 4, pods: of(2, "available", "starting") },
  ],
  forty: [
    { revision: 1, wanted: 20, pods: of(40, "available", "available", "terminating", "available") },
    { revision: 2, wanted: 40, pods: of(20, "available", "starting", "unready") },
  ],
};

const heightOf = (page: Page, part: string) => page.locator(part).evaluate((element) => element.getBoundingClientRect().height);

for (const [width, height] of [[1920, 1080], [2560, 1440]] as const) {
  test(`few pods share the window with their table, many have it alone, at ${width} × ${height}`, { tag: width === 1920 ? [] : "@nightly" }, async ({ page, serve }, info) => {
    const server = await serve(() => held(info, made, 0));
    await page.setViewportSize({ width, height });
    for (const name of isWhole ? ["one", "four"] : ["four"]) {
      await openLive(page, server.page(name, "shop", "web"));
      const table = page.getByTestId("pod-table");
      await expect.poll(() => heightOf(page, "[data-testid=pod-table]")).toBeGreaterThan(60);
      await expect(table).toBeInViewport({ ratio: 1 });
      // The picture is as high as its bands, and not cut off.
      await expect.poll(() => page.locator("#scroller").evaluate((scroller) => scroller.scrollHeight - scroller.clientHeight)).toBeLessThan(2);
      const bands = await page.getByTestId("band").evaluateAll((all) => all.map((band) => band.getBoundingClientRect().bottom));
      const { y } = (await table.boundingBox())!;
      expect(Math.max(...bands)).toBeLessThanOrEqual(y);
      expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
      // In a smaller window the picture has all of the space again.
      await page.setViewportSize({ width: 1280, height: 720 });
      await expect.poll(() => heightOf(page, "[data-testid=twin]")).toBeLessThan(2);
      await page.setViewportSize({ width, height });
      await expect.poll(() => heightOf(page, "[data-testid=pod-table]")).toBeGreaterThan(60);
    }
    await openLive(page, server.page("forty", "shop", "web"));
    await expect(page.getByTestId("pod").first()).toBeVisible();
    await expect.poll(() => heightOf(page, "[data-testid=twin]")).toBeLessThan(2);
    expect(await heightOf(page, "#scroller")).toBeGreaterThan(height / 2);
  });
}
