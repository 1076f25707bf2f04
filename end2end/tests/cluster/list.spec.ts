/// The list and the wall on a real control plane: three namespaces, and several clusters, one of which does not respond.

import { writeFileSync } from "node:fs";
import { expect, openLive, test } from "../../fixtures/test.ts";
import { kubeconfig, temporaryFolder } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

test("three namespaces and three clusters, of which one is dead, on one list and one wall", { tag: "@nightly" }, async ({ page, serve, tell }) => {
  const [rollout, stuck, killed] = [tell("rollout"), tell("image-missing"), tell("kill-pod")];
  const dead = `${temporaryFolder()}/dead.json`;
  writeFileSync(dead, JSON.stringify({ apiVersion: "v1", kind: "Config", "current-context": "d", contexts: [{ name: "d", context: { cluster: "d", user: "d" } }], clusters: [{ name: "d", cluster: { server: "http://127.0.0.1:9" } }], users: [{ name: "d", user: {} }] }));
  const file = `${temporaryFolder()}/clusters.toml`;
  writeFileSync(
    file,
    `[[cluster]]\nname = "gone"\nkubeconfig = "${dead}"\n[[cluster]]\nname = "here"\ncolour = "teal"\nkubeconfig = "${kubeconfig()}"\n[[cluster]]\nname = "narrow"\nkubeconfig = "${kubeconfig()}"\nnamespaces = ["${killed.namespace}"]\n`,
  );
  const server = await serve(() => Server.start(["serve", "--config", file]));
  await openLive(page, `${server.address}/?cluster=here`);
  const row = (namespace: string) => page.locator(".row").filter({ hasText: `/ ${namespace}` });

  // The unreachable cluster delays nobody.
  await Promise.all([rollout.steps(2), stuck.steps(2), killed.steps(2)]);
  for (const story of [rollout, stuck, killed]) await expect(row(story.namespace)).toContainText("is complete");
  await expect(page.getByTestId("trouble")).toContainText("Cluster “gone” unreachable since");

  // Each namespace has its own story.
  await Promise.all([rollout.toTheEnd(), stuck.next(), killed.next()]);
  await expect(row(rollout.namespace)).toContainText("Revision 3 is complete");
  await expect(row(stuck.namespace)).toContainText(/Revision 2 (is replacing|cannot start)/);
  await expect(row(stuck.namespace)).toContainText("cannot be pulled");
  await expect(row(killed.namespace)).toContainText("Revision 1");

  // A namespace's page, a label, and the second view of the same cluster.
  await page.goto(`${server.address}/clusters/here/namespaces/${rollout.namespace}`);
  await expect(page.getByTestId("deployment")).toHaveCount(1);
  await page.goto(`${server.address}/?cluster=narrow`);
  await expect(page.getByTestId("deployment")).toHaveCount(1);
  await expect(row(killed.namespace)).toHaveCount(1);
  await page.goto(`${server.address}/?q=${killed.namespace}`);
  await expect(page.getByTestId("deployment")).toHaveCount(2);

  // The wall of one namespace shows the stuck rollout, and the wall of all clusters reports the unreachable one.
  await page.goto(`${server.address}/wall?cluster=here&namespace=${stuck.namespace}`);
  await expect(page.locator(".tile")).toHaveCount(1);
  await expect(page.locator(".tile")).toContainText(/cannot start: image \S+ (is not found|cannot be pulled)/);
  await expect(page.getByTestId("stale")).toBeHidden();
  await page.goto(`${server.address}/wall`);
  await expect(page.getByTestId("stale")).toContainText("Cluster “gone” unreachable since");

  // A link to a finished rollout opens at its moment.
  await page.goto(`${server.address}/clusters/here/namespaces/${rollout.namespace}/deployments/nginx/rollouts`);
  await page.getByTestId("rollout").last().click();
  await expect(page.getByTestId("verdict")).toContainText("Revision 1");
  await expect(page.getByTestId("linked")).toContainText("You are looking at revision 1");
});
