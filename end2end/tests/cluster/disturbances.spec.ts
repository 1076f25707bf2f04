/// Actions of users on pods, and their effects.

import { cluster, expect, openWatched, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

test("a killed pod raises no revision and lingers beside its replacement", { tag: "@nightly" }, async ({ page, serve, tell }) => {
  const server = await serve(Server.watching);
  const story = tell("kill-pod");
  const rollout = new RolloutPage(page);
  await story.steps(3); // deployed, complete, a pod chosen
  await openWatched(page, server.page(cluster, story.namespace, "nginx"));
  await expect(rollout.pods(1, "available")).toHaveCount(3);

  await story.next(); // killed
  await expect(rollout.pods(1, "terminating")).toHaveCount(1);
  await expect(rollout.living(1)).toHaveCount(4); // the replacement is there while it lingers
  await story.toTheEnd();
  await expect(rollout.living(1)).toHaveCount(3);
  await expect(rollout.verdict).toHaveText("Revision 1 is complete: 3 of 3 available.");
  await expect(rollout.beside(2)).toHaveCount(0);
  await expect(rollout.story).toContainText("was deleted, not by the rollout; the Deployment stays at revision");
});

test("a relabelled pod moves out of rotation and back", { tag: "@nightly" }, async ({ page, serve, tell }) => {
  const server = await serve(Server.watching);
  const story = tell("relabel-pod");
  const rollout = new RolloutPage(page);
  await story.steps(3);
  await openWatched(page, server.page(cluster, story.namespace, "nginx"));

  await story.next(); // the label is gone
  await expect(page.getByTestId("gutter-out")).toBeVisible();
  await expect(rollout.pods("out", "available")).toHaveCount(1);
  await story.steps(2); // its replacement is up
  await expect(rollout.pods(1, "available")).toHaveCount(3);
  await expect(rollout.why).toContainText("1 pod is running outside its ReplicaSet.");
  await expect(rollout.story).toContainText("released by revision 1: its labels no longer match");

  await story.toTheEnd(); // the label is back: one of four goes
  await expect(rollout.living("out")).toHaveCount(0);
  await expect(rollout.living(1)).toHaveCount(3);
  await expect(rollout.story).toContainText("adopted again");
});
