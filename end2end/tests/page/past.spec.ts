/// Past moments: with their date, in the past tense, without later knowledge, and without commands that would change the present state.

import type { Page } from "@playwright/test";
import { temporaryFolder } from "../../fixtures/environment.ts";
import { exported } from "../../fixtures/export.ts";
import { expect, isLive, openPlayed, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const FAILING = ["deadline-exceeded", "deadline-exceeded", "web"] as const;
/// Verbs in the present tense in headlines.
const PRESENT = /\b(is|are|has|cannot|crashes)\b/;

/// Checks that no command of the page changes the cluster, and that it shows another day.
async function isPast(page: Page): Promise<void> {
  const rollout = new RolloutPage(page);
  await expect(rollout.verdict).not.toHaveText(PRESENT);
  await expect(rollout.why).toHaveText(/^At that moment: /);
  await expect(page.getByTestId("remedy")).toHaveCount(0);
  const text = () => page.evaluate(() => document.body.innerText);
  expect(await text()).not.toMatch(/rollout (undo|resume)|Undo this|Go back to|Roll back to/);
  await expect(page.getByTestId("day")).toHaveText(/^20\d\d-\d\d-\d\d$/);
  await expect(page.getByTestId("moment")).toHaveText(/^20\d\d-\d\d-\d\d /);
}

test("a past moment of a failing rollout offers no command that changes today's cluster", async ({ page, serve, browser }) => {
  const { server, rollout } = await openPlayed(page, serve, FAILING, "--hold-at", "12");
  await expect(rollout.verdict).toContainText("Revision 2 is failing");
  await expect(page.getByTestId("remedy")).toContainText("rollout undo");
  await page.goto(`${server.page(...FAILING)}?at=2026-11-21T04:53:40Z`);
  await isLive(page, "As it was at 2026-11-21 04:53:40 UTC");
  await expect(rollout.verdict).toHaveText("Revision 2 was failing: container nginx crashed with exit code 1.");
  await isPast(page);
  // The detail of an earlier revision has commands that show it, and no rollback.
  await rollout.beside(1).getByRole("link").click();
  const detail = page.getByTestId("revision-detail");
  await expect(detail).toContainText("Created2026-11-21 04:53:");
  await expect(detail).toContainText("rollout history");
  await isPast(page);
  // The same on the rendered page, and on the revision's own page.
  const address = page.url();
  const context = await browser.newContext({ javaScriptEnabled: false });
  const still = await context.newPage();
  await still.goto(address);
  await isPast(still);
  await expect(still.getByTestId("live")).toHaveText(/^As it was at 2026-11-21 04:53:/);
  await still.goto(address.replace("/web?", "/web/revisions/1?"));
  await expect(still.getByTestId("revision-detail")).toContainText("Created2026-11-21 04:53:");
  await expect(still.getByTestId("live")).toHaveText(/^As it was at 2026-11-21 04:53:/);
  expect(await still.evaluate(() => document.body.innerText)).not.toContain("rollout undo");
  await context.close();
});

test("a file of a failing rollout offers no command either", async ({ page, context }, info) => {
  await context.setOffline(true);
  await page.goto(exported("deadline-exceeded", info.outputPath("rollout.html"), "--revision", "2"));
  await isLive(page, "Recording");
  await isPast(page);
});

test("a kept rollout tells its day and nothing that was still to come", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(() => Server.simulating(["--speed", "5", "--data-dir", temporaryFolder()]));
  const rollout = new RolloutPage(page);
  const act = (action: string) => page.request.post(`${server.address}/playground`, { form: { action }, headers: { origin: server.address } });
  await page.goto(server.page("playground", "default", "web"));
  await isLive(page, /^Live/);
  await expect(rollout.verdict).toContainText("4 of 4 available", { timeout: 60_000 });
  for (const [number, version] of [2, 3].entries()) {
    await act("version");
    await expect(rollout.verdict).toContainText(`Revision ${number + 2}`, { timeout: 30_000 });
    await expect(rollout.badge).toHaveText("Complete", { timeout: 60_000 });
    expect(version).toBe(number + 2);
  }
  const list = async () => ((await (await page.request.get(`${server.address}/api/v1/rollouts`)).json()) as { rollouts: { uid: string; rollout: number; revision: number; endedMillis: number | null }[] }).rollouts;
  await expect.poll(async () => (await list()).filter(({ revision, endedMillis }) => revision === 3 && endedMillis !== null).length, { timeout: 30_000 }).toBe(1);
  await page.goto(`${server.address}/history`);
  await page.locator("[data-row] a.name, tbody a").filter({ hasText: /revision 3|web/ }).first().click();
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("linked")).toHaveText(/^Recording of a finished rollout \(20\d\d-\d\d-\d\d\)\. Look at web as it is now$/);
  await expect(page.getByRole("link", { name: "Share" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Notify me" })).toHaveCount(0);
  // In progress its duration is unknown; at its end it is shown.
  const measured = page.getByTestId("measured");
  await page.locator("#slider").fill("5500");
  await expect(rollout.badge).not.toHaveText("Complete");
  await expect(measured).toHaveCount(0);
  await isPast(page);
  await page.getByTestId("back-to-live").click();
  await expect(rollout.verdict).toHaveText("Revision 3 was complete: 4 of 4 available.");
  await expect(measured).toHaveText(/^to complete.*[\d.]+ s$/);
});
