/// Lost connections: the page reports them within seconds, keeps its picture, and recovers by itself.

import { cluster, expect, openWatched, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

test("a server that is killed and started again is noticed, and the page recovers by itself", { tag: "@nightly" }, async ({ page, serve, tell, complaints }) => {
  const server = await serve(Server.watching);
  const story = tell("rollout");
  const rollout = new RolloutPage(page);
  await story.steps(2);
  await openWatched(page, server.page(cluster, story.namespace, "nginx"));
  await rollout.mark();
  await page.waitForLoadState("networkidle"); // a file that is on its way when the server ends is reported, too

  await server.kill();
  await expect(rollout.banner).toContainText("Rollcast unreachable since", { timeout: 10_000 });
  await expect(rollout.live).toHaveText("Reconnecting");
  await expect(rollout.pods(1, "available")).toHaveCount(3); // the last good picture stays

  await story.next(); // the world goes on meanwhile
  const again = await serve(server.again);
  expect(again.address).toBe(server.address);
  await expect(rollout.banner).toBeHidden();
  await expect(rollout.verdict).toHaveText("Revision 2 is complete: 3 of 3 available.");
  expect(await rollout.isUnreloaded()).toBe(true);
  // The browser reports refused connections itself; there must be no other errors.
  const others = complaints.filter((text) => !text.includes("WebSocket connection to"));
  complaints.splice(0, complaints.length, ...others);
});
