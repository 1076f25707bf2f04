/// The history database on a real control plane: a killed server continues after a restart, and stored rollouts are found and opened.

import { AxeBuilder } from "@axe-core/playwright";
import { expect, openLive, test } from "../../fixtures/test.ts";
import { kubeconfig, temporaryFolder } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

test("what was rolled out is there after the server was killed, as a list, as a gap and pod by pod", { tag: "@nightly" }, async ({ page, serve, tell }) => {
  const story = tell("rollout");
  const folder = temporaryFolder();
  const first = await serve(() => Server.start(["serve", "--kubeconfig", kubeconfig(), "--data-dir", folder]));
  await openLive(page, first.page("rollcast-test", story.namespace, "nginx"));
  await story.toTheEnd();
  await expect(page.getByTestId("verdict")).toContainText("Revision 3 is complete");
  const before = (await first.document("rollcast-test", story.namespace, "nginx")).deployments[0]!;
  // The index is written within seconds.
  const history = (server: Server, more = "") => `${server.address}/history?q=${story.namespace}${more}`;
  const past = page.getByTestId("past");
  await expect(async () => {
    await page.goto(history(first, "&outcome=complete"));
    await expect(past).toHaveCount(3, { timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
  await page.goto("about:blank");
  await first.kill();

  const second = await serve(() => first.again());
  await page.goto(history(second));
  await expect(past).toHaveCount(3);
  await expect(past.first().locator(".revision")).toHaveText("3");
  await expect(past.first()).toContainText("Complete");
  await openLive(page, second.page("rollcast-test", story.namespace, "nginx"));
  await expect(page.getByTestId("story")).toContainText("Revision 2 is complete");
  const after = (await second.document("rollcast-test", story.namespace, "nginx")).deployments[0]!;
  // However short it was, the time in between is a gap: from the last written observation to the first list.
  expect(before.gaps).toHaveLength(0);
  expect(after.gaps).toHaveLength(1);
  expect(after.gaps[0]!.toMillis).toBeGreaterThan(after.gaps[0]!.fromMillis);
  expect(after.rollouts).toEqual(before.rollouts);
  expect(after.scales).toEqual(before.scales);

  // Opens one of them separately, at its end and in the middle.
  await openLive(page, `${second.page("rollcast-test", story.namespace, "nginx")}?uid=${before.uid}&rollout=1`);
  await expect(page.getByTestId("linked")).toContainText("Recording of a finished rollout");
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 was complete");
  const middle = new Date(before.rollouts[1]!.startedMillis! + 400).toISOString();
  await openLive(page, `${second.page("rollcast-test", story.namespace, "nginx")}?uid=${before.uid}&rollout=1&at=${middle}`);
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 was replacing revision 1");

  // The list plays it from its beginning to its end.
  await page.goto(history(second));
  await expect(page.getByTestId("workload").locator("rect")).toHaveCount(3);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("moment")).not.toHaveText("");
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 was replacing revision 1");
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 was complete");

  // Checks accessibility.
  const compared = `${second.page("rollcast-test", story.namespace, "nginx")}/compare?uid=${before.uid}`;
  for (const theme of ["light", "dark"]) {
    for (const [address, part] of [[history(second), "past"], [compared, "compare"]] as const) {
      await page.goto(`${address}&theme=${theme}`);
      await expect(page.getByTestId(part).first()).toBeVisible();
      await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${address} ${theme} ${id}: ${nodes.map((node) => node.html).join(" ")}`)).toEqual([]);
    }
  }
  // The steps of a start also differ by pattern: the colours of neighbours are similar.
  for (const pattern of ["hatch", "dots"]) await expect(page.getByTestId("startup").first().locator(`rect[fill="url(#tile-${pattern})"]`).first()).toBeAttached();
});

test("a folder that cannot be written is said, and the page goes on", async ({ page, serve, tell }) => {
  const story = tell("rollout");
  const server = await serve(() => Server.start(["serve", "--kubeconfig", kubeconfig(), "--data-dir", "/dev/null/nowhere"]));
  await story.steps(2);
  await openLive(page, server.page("rollcast-test", story.namespace, "nginx"));
  await expect(page.getByTestId("unwritten")).toContainText(/History has not been written since .*: cannot create .dev.null.nowhere: .* Live data is still shown[.]/);
  await expect(page.getByTestId("verdict")).toContainText("Revision 1 is complete");
});
