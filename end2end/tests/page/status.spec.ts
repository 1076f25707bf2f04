/// The status page: linked from the connection's chip, the same without scripts, readable on a phone, in both themes.

import { AxeBuilder } from "@axe-core/playwright";
import { expect, openWatched, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

test("the mark of the connection leads to the state of each kind", async ({ page, serve }) => {
  const server = await serve(() => Server.simulating());
  await openWatched(page, server.page("playground", "default", "web"));
  await page.locator("#chip").click();
  await expect(page).toHaveURL(/\/status$/);
  const cluster = page.getByTestId("cluster");
  await expect(cluster).toContainText("playground");
  for (const kind of ["Deployment", "ReplicaSet", "Pod", "Event"]) await expect(cluster.getByTestId(kind)).toContainText("Granted");
});

for (const theme of ["dark", "light"])
  test(`it is readable on a phone and by screen readers, ${theme}`, { tag: theme === "light" ? [] : "@nightly" }, async ({ page, serve }) => {
    const server = await serve(() => Server.simulating());
    for (const [width, height] of [[1280, 720], [390, 844]] as const) {
      await page.setViewportSize({ width, height });
      await page.goto(`${server.address}/status?theme=${theme}`);
      await expect(page.getByTestId("kinds")).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect((await new AxeBuilder({ page }).analyze()).violations.map((violation) => violation.id)).toEqual([]);
    }
  });
