/// The main job: revision 2 replaces revision 1, pod by pod, live, without a reload.

import { cluster, expect, isLive, openWatched, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

test("revision 2 replaces revision 1 before our eyes", async ({ page, serve, tell }) => {
  const server = await serve(Server.watching);
  const story = tell("rollout");
  const rollout = new RolloutPage(page);
  await page.goto(server.page(cluster, story.namespace, "nginx")).then((response) => expect(response?.status()).toBe(404));
  await expect(page.getByTestId("missing")).toContainText("Looking for it");
  await page.waitForFunction(() => document.documentElement.dataset["live"] === "true");
  await rollout.mark();

  await story.steps(2); // deployed and complete
  await expect(rollout.verdict).toHaveText("Revision 1 is complete: 3 of 3 available.");
  await expect(rollout.pods(1, "available")).toHaveCount(3);

  await story.next(); // the image was changed
  await expect(rollout.beside(2)).toContainText("nginx:1.26");
  await expect(rollout.verdict).toContainText("Revision 2 is replacing revision 1");
  await expect(rollout.living(2).first()).toBeVisible(); // the surge pod
  await expect(rollout.pods(1, "terminating").first()).toBeVisible(); // an old pod lingers
  await expect(rollout.verdict).toHaveText("Revision 2 is complete: 3 of 3 available.");
  await expect(rollout.living(1)).toHaveCount(0); // and goes
  await expect(rollout.badge).toHaveText("Complete");
  await expect(rollout.story).toContainText("Revision 2 is complete after");
  await expect(rollout.story).toContainText("Revision 2 up 0 → 1");
  expect(await rollout.isUnreloaded()).toBe(true);
});

test("a reload in the middle of a rollout shows the same state, also without scripts", { tag: "@nightly" }, async ({ page, serve, tell, browser }) => {
  const server = await serve(Server.watching);
  const story = tell("failing-rollout-halts-then-undo");
  const address = server.page(cluster, story.namespace, "web");
  const rollout = new RolloutPage(page);
  await story.steps(4); // it has halted
  await openWatched(page, address);
  const halted = "Revision 2 is replacing revision 1: 0 of 4 new pods available.";
  const states = async (of: RolloutPage) => {
    const heads = of.page.locator("[data-testid=pod]:not([data-state=gone])");
    return (await heads.evaluateAll((all) => all.map((head) => `${head.getAttribute("data-pod")} ${head.getAttribute("data-state")}`))).sort();
  };
  await expect(rollout.pods(2, "unready")).toHaveCount(2);
  await expect(rollout.living(1)).toHaveCount(3);
  await expect(rollout.why).toContainText(": 5 of at most 5 pods desired, 3 of at least 3 are available.");
  const before = await states(rollout);
  await page.reload();
  await isLive(page);
  expect(await states(rollout)).toEqual(before);
  await expect(rollout.verdict).toHaveText(halted);

  const context = await browser.newContext({ javaScriptEnabled: false });
  const plain = new RolloutPage(await context.newPage());
  await plain.page.goto(address);
  expect(await states(plain)).toEqual(before);
  await expect(plain.verdict).toHaveText(halted);
  await context.close();
});
