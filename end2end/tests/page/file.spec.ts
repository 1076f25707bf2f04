/// An exported file: opened from the disk, without a server and without a network.

import { AxeBuilder } from "@axe-core/playwright";
import { isWhole } from "../../fixtures/environment.ts";
import { exported } from "../../fixtures/export.ts";
import { expect, isLive, RolloutPage, test } from "../../fixtures/test.ts";

test("a file plays, steps and tells, and asks nobody for anything", async ({ page, context }, info) => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url().slice(0, 200)));
  await context.setOffline(true);
  const file = exported("rollover", info.outputPath("rollout.html"));
  const rollout = new RolloutPage(page);
  await page.goto(file);
  await isLive(page, "Recording");
  await expect(page).toHaveTitle("Complete: rollover / web — Rollcast");
  await expect(page.getByTestId("linked")).toContainText("nothing in it is live");
  await expect(rollout.verdict).toHaveText("Revision 3 was complete: 10 of 10 available.");
  await expect(rollout.living(3)).toHaveCount(10);
  // A line of the story links to its moment, with the texts and the picture of that moment.
  await rollout.story.locator("li").filter({ hasText: "Revision 2 starts" }).getByRole("button").click();
  await expect(rollout.live).toHaveText(/^As it was at 2026-11-21 04:53:09/);
  await expect(rollout.verdict).toHaveText("Revision 2 was replacing revision 1: 0 of 10 new pods available.");
  await expect(rollout.living(1)).toHaveCount(10);
  await expect(rollout.story).not.toContainText("Revision 3 starts");
  // Details are of that moment, too.
  await rollout.beside(1).getByRole("link").click();
  const detail = page.getByTestId("revision-detail");
  await expect(detail).toContainText("10, 10 of them available");
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  await page.getByTestId("pod-table").getByRole("link").first().click();
  await expect(page.getByTestId("pod-detail")).toContainText("Available for 0.");
  await page.getByTestId("back-to-live").click();
  await expect(page.getByTestId("pod-detail")).toContainText("Gone since");
  await page.getByRole("link", { name: "Rollouts" }).click();
  await expect(page.getByTestId("rollouts-detail")).toContainText("Revision 2, 2026-11-21 04:53:12, superseded after 3.0 s.");
  await page.keyboard.press("Escape");
  // One click, or the space key, plays it from its beginning to its end.
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await expect(page.getByRole("button", { name: "Stop", exact: true })).toBeVisible();
  await expect(rollout.verdict).toHaveText(/Revision 3 was replacing revision 1/);
  await page.getByRole("combobox", { name: "Speed" }).selectOption("20 ×");
  await expect(page.getByTestId("back-to-live")).toHaveText("End");
  await expect(rollout.verdict).toHaveText("Revision 3 was complete: 10 of 10 available.");
  // Controls that need a server are missing, and their keys do nothing.
  for (const name of ["Share", "Notify me", "Copy link", "Compare"]) await expect(page.getByText(name, { exact: true })).toHaveCount(0);
  await page.keyboard.press("/");
  expect(page.url()).toBe(file);
  expect(asked.filter((url) => !url.startsWith("data:"))).toEqual([file]);
});

test("a file is complete without scripts, and accessible in both themes", async ({ page, browser }, info) => {
  const file = exported("image-missing", info.outputPath("rollout.html"), "--revision", "2", "--redact");
  const context = await browser.newContext({ javaScriptEnabled: false });
  const still = await context.newPage();
  await still.goto(file);
  await expect(still.getByTestId("verdict")).toContainText("Revision 2 could not start: image image-1:tag-");
  await expect(still.getByTestId("story")).toContainText("Revision 2 starts");
  await context.close();
  for (const colorScheme of isWhole ? ["light", "dark"] as const : ["dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(file);
    await isLive(page, "Recording");
    expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe(colorScheme);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  }
});
