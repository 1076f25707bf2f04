/// The playground: a story by itself, buttons that do what their commands say, without scripts as well.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { expect, isLive, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const kubeconfig = () => join(mkdtempSync(join(tmpdir(), "rollcast-")), "kubeconfig");
const still = () => Server.simulating(kubeconfig());
const page_ = (server: Server) => server.page("playground", "default", "web");

test("the first story is told by itself, and the page shows what it tells", async ({ page, serve }) => {
  const server = await serve(() => Server.start(["demo", "--write-kubeconfig", kubeconfig()]));
  await page.goto(`${server.address}/playground`);
  await isLive(page);
  const strip = page.getByTestId("playground");
  await expect(strip).toContainText("What happens during a rollout?");
  await expect(strip).toContainText("kubectl set image deployment/web web=web:v2", { timeout: 30_000 });
  const rollout = new RolloutPage(page);
  await expect(rollout.pods(2, "available")).toHaveCount(4, { timeout: 30_000 });
  await expect(strip).toContainText("What if we kill a pod?", { timeout: 60_000 });
  // Neighbours live too, and the strip of the list only tells.
  await page.goto(server.address);
  await expect(page.getByTestId("deployment").filter({ hasText: "checkout" })).toBeVisible();
  await expect(page.getByTestId("playground").getByRole("button")).toHaveCount(0);
  await page.getByRole("link", { name: "Take part" }).click();
  await expect(page).toHaveURL(page_(server));
});

test("buttons do what their commands say, without a reload", async ({ page, serve }) => {
  const server = await serve(still);
  const rollout = new RolloutPage(page);
  await page.goto(page_(server));
  await isLive(page);
  await rollout.mark();
  const strip = page.getByTestId("playground");
  const press = (name: string) => strip.getByRole("button", { name, exact: true }).click();
  await expect(rollout.pods(1, "available")).toHaveCount(4, { timeout: 30_000 });

  await strip.getByRole("button", { name: "Never ready" }).hover();
  await expect(page.locator("#play-means")).toHaveText("kubectl set image deployment/web web=web:never-v2");
  await strip.getByText("All commands").click();
  await expect(page.locator("#play-never-command")).toHaveText("kubectl set image deployment/web web=web:never-v2");
  await expect(strip.getByText("Put it back")).toHaveCount(2); // the button, and its command that makes no sense now
  await expect(page.locator("#play-label-command")).toBeHidden();
  await press("Never ready");
  await expect(page.locator("#play-never-command")).toHaveText("kubectl set image deployment/web web=web:never-v3");
  await expect(rollout.pods(2, "unready")).toHaveCount(2, { timeout: 30_000 });
  await expect(rollout.pods(1, "available")).toHaveCount(3);

  await press("Undo to");
  await expect(rollout.verdict).toContainText("Revision 3 is live: 4 of 4", { timeout: 60_000 });

  const pod = await page.locator("#play-pods option").nth(1).textContent();
  await page.locator("#play-pods").selectOption(pod);
  await strip.getByRole("button", { name: "Remove label" }).hover();
  await expect(page.locator("#play-means")).toHaveText(`kubectl label pod ${pod} app-`);
  await press("Remove label");
  await expect(rollout.living("out")).toHaveCount(1);
  await page.locator("#play-pods").selectOption("");
  await press("Put it back");
  await expect(rollout.living("out")).toHaveCount(0);

  // A pod that is opened on the page is the one that is meant.
  await rollout.living(3).first().click();
  await expect(page.locator("#play-pods")).toHaveValue(await page.locator("#detail h2").innerText());
  await page.keyboard.press("Escape");
  await expect(page.locator("#play-pods")).toHaveValue("");

  await page.locator("#play-scale-field").fill("2");
  await press("Scale to");
  await expect(rollout.verdict).toContainText("2 of 2", { timeout: 30_000 });
  await press("Pause");
  await expect(strip.getByRole("button", { name: "Restart" })).toBeDisabled();
  await expect(strip.getByRole("button", { name: "Pause", exact: true })).toBeDisabled();
  await expect(rollout.badge).toContainText("Paused");
  await press("Resume");
  await page.locator("#play-scale-field").fill("51");
  // Fields have limits of their own; who goes around them is told.
  await page.locator("#play-scale-field").evaluate((field) => field.removeAttribute("max"));
  await press("Scale to");
  await expect(page.locator("#play-refused")).toHaveText("At most 50 pods here; kubectl has no such limit.");
  await page.locator("#play-speeds").selectOption("10");
  await press("Speed");
  await expect(page.locator("#chip")).toHaveText("Live at 1000 %");
  await expect(strip).toContainText("10 times as fast as yours");
  expect(await rollout.isUnreloaded()).toBe(true);
});

test("begun again, the page says what became of the old cluster and leads to the new one", async ({ page, serve }) => {
  const server = await serve(still);
  const rollout = new RolloutPage(page);
  await page.goto(page_(server));
  await isLive(page);
  await expect(rollout.pods(1, "available")).toHaveCount(4, { timeout: 30_000 });
  const before = await page.locator("#play-pods option").allTextContents();
  await page.getByRole("button", { name: "Begin again" }).click();
  await page.waitForURL(page_(server));
  await isLive(page);
  await expect(rollout.pods(1, "available")).toHaveCount(4, { timeout: 30_000 });
  // The same seed, the same names.
  expect((await page.locator("#play-pods option").allTextContents()).sort()).toEqual(before.sort());
});

test("without scripts the forms do the same", async ({ browser, serve }) => {
  const server = await serve(still);
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(page_(server));
  await page.getByRole("button", { name: "Next version" }).click();
  await expect(page).toHaveURL(page_(server));
  await expect(page.getByRole("button", { name: "Next version" })).toHaveAttribute("title", "kubectl set image deployment/web web=web:v3");
  await page.close();
});

for (const theme of ["light", "dark"]) {
  test(`the strip can be used by everyone (${theme})`, async ({ page, serve }) => {
    const server = await serve(still);
    await page.goto(`${page_(server)}?theme=${theme}`);
    await isLive(page);
    const found = await new AxeBuilder({ page }).include("#playground").analyze();
    expect(found.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  });
}
