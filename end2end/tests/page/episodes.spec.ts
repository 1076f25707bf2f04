/// Episodes without a rollout on the History page: a killed pod is a recovery, which can be found, filtered and played.

import { temporaryFolder } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";
import { expect, isLive, RolloutPage, test } from "../../fixtures/test.ts";

test("a killed pod that is replaced is a recovery of its own, with a page that says so", { tag: "@nightly" }, async ({ page, serve }) => {
  test.setTimeout(300_000);
  const server = await serve(() => Server.simulating(["--speed", "5", "--data-dir", temporaryFolder()]));
  const ask = async (query: string) => ((await (await page.request.get(`${server.address}/api/v1/rollouts?${query}`)).json()) as { rollouts: { title: string; endedMillis: number | null }[] }).rollouts;
  await page.goto(server.page("playground", "default", "web"));
  await isLive(page, /^Live/);
  await expect(new RolloutPage(page).verdict).toContainText("4 of 4 available", { timeout: 60_000 });
  // A pod killed before the first rollout has settled belongs to that episode: another one is killed then.
  const recoveries = async () => {
    const found = await ask("kind=recovery");
    if (found.length === 0) await page.request.post(`${server.address}/playground`, { form: { action: "kill" }, headers: { origin: server.address } });
    return found.length;
  };
  await expect.poll(recoveries, { timeout: 150_000, intervals: [20_000] }).toBe(1);
  // The episode ends a minute after the Deployment came to rest.
  await expect.poll(async () => (await ask("kind=recovery"))[0]?.endedMillis, { timeout: 120_000 }).toEqual(expect.any(Number));
  const [recovery] = await ask("kind=recovery,failure");
  expect(recovery!.title).toMatch(/^Pod \w{5} deleted, recovered after /);
  await page.goto(`${server.address}/history`);
  const rows = page.getByTestId("past").filter({ hasText: recovery!.title });
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("Recovery");
  await page.getByText("Filters", { exact: true }).click();
  await page.getByRole("link", { name: "Scalings" }).click();
  await expect(page.getByTestId("past")).toHaveCount(0);
  await page.getByText("Filters", { exact: true }).click();
  await page.getByRole("link", { name: "Recoveries" }).click();
  await expect(page.locator("form.filter input[name=q]")).toHaveValue("kind:scaling,recovery");
  await rows.getByRole("link", { name: "web", exact: true }).click();
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("linked")).toContainText(`: ${recovery!.title}. Look at web as it is now`);
});
