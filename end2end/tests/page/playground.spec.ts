/// The playground: a story that plays by itself, buttons that do the same as their commands, without scripts as well.

import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { temporaryFolder } from "../../fixtures/environment.ts";
import { expect, isLive, openWatched, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const still = () => Server.simulating();
const page_ = (server: Server) => server.page("playground", "default", "web");
const more = (page: Page) => page.getByTestId("playground-more");
const open = (page: Page) => more(page).locator("> summary").click();

test("the first story is told by itself, and the page shows what it tells", async ({ page, serve }) => {
  const server = await serve(() => Server.start(["demo", "--write-kubeconfig", `${temporaryFolder()}/kubeconfig`]));
  await openWatched(page, `${server.address}/playground`);
  const strip = page.getByTestId("playground");
  await expect(strip).toContainText("What happens during a rollout?");
  await expect(strip).toContainText("kubectl set image deployment/web web=web:v2", { timeout: 30_000 });
  const rollout = new RolloutPage(page);
  await expect(rollout.pods(2, "available")).toHaveCount(4, { timeout: 30_000 });
  await expect(strip).toContainText("What if we kill a pod?", { timeout: 60_000 });
  // Other Deployments are live too, and the strip of the list only shows the story.
  await page.goto(server.address);
  await expect(page.getByTestId("deployment").filter({ hasText: "checkout" })).toBeVisible();
  await expect(page.getByTestId("playground").getByRole("button")).toHaveCount(0);
  await page.getByRole("link", { name: "Watch live" }).click();
  await expect(page).toHaveURL(page_(server));
  // On the Deployment's page the same strip has the buttons.
  await open(page);
  await expect(page.getByRole("button", { name: "Kill pod" })).toBeVisible();
});

test("buttons do what their commands say, without a reload", async ({ page, serve }) => {
  const server = await serve(still);
  const rollout = await openWatched(page, page_(server));
  await rollout.mark();
  await open(page);
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
  await expect(rollout.verdict).toContainText("Revision 3 is complete: 4 of 4", { timeout: 60_000 });

  const pod = await page.locator("#play-pods option").nth(1).textContent();
  await page.locator("#play-pods").selectOption(pod);
  await strip.getByRole("button", { name: "Remove label" }).hover();
  await expect(page.locator("#play-means")).toHaveText(`kubectl label pod ${pod} app-`);
  await press("Remove label");
  await expect(rollout.living("out")).toHaveCount(1);
  await page.locator("#play-pods").selectOption("");
  await press("Put it back");
  await expect(rollout.living("out")).toHaveCount(0);

  // A pod that is opened on the page is selected.
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
  // Fields have limits; a viewer who bypasses them gets an error.
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
  const rollout = await openWatched(page, page_(server));
  await expect(rollout.pods(1, "available")).toHaveCount(4, { timeout: 30_000 });
  const choices = async () => (await page.locator("#play-pods option").allTextContents()).sort();
  await expect.poll(choices).toHaveLength(5); // they come on a stream of their own
  const before = await choices();
  await open(page);
  // The new page has the address of the old one.
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name: "Begin again" }).click();
  await loaded;
  await expect(page).toHaveURL(page_(server));
  await isLive(page);
  await expect(rollout.pods(1, "available")).toHaveCount(4, { timeout: 30_000 });
  // The same seed gives the same names.
  await expect.poll(choices).toEqual(before);
});

test("without scripts the forms do the same", async ({ browser, serve }) => {
  const server = await serve(still);
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(page_(server));
  await open(page);
  await page.getByRole("button", { name: "Next version" }).click();
  await expect(page).toHaveURL(page_(server));
  await open(page);
  await expect(page.getByRole("button", { name: "Next version" })).toHaveAttribute("title", "kubectl set image deployment/web web=web:v3");
  await page.close();
});

/// Returns an event of the strip with other texts: they come first, each after its length as a varint (groups of seven bits).
async function telling(page: Page, server: Server, texts: string[]): Promise<string> {
  const asked = { form: { action: "speed", speed: "1" }, headers: { accept: "application/octet-stream", origin: server.address } };
  const answer = await (await page.request.post(`${server.address}/playground`, asked)).body();
  let at = 0;
  const length = () => {
    let [value, shift, byte] = [0, 0, 0];
    do {
      byte = answer[at++]!;
      value |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127);
    return value;
  };
  for (let text = 0; text < texts.length; text++) {
    const bytes = length();
    at += bytes;
  }
  const written = (text: string) => {
    const bytes = [...Buffer.from(text)];
    return bytes.length < 128 ? [bytes.length, ...bytes] : [(bytes.length & 127) | 128, bytes.length >> 7, ...bytes];
  };
  // The last byte says whether the Deployment is new, which is not part of an event.
  return Buffer.from([...texts.flatMap(written), ...answer.subarray(at, -1)]).toString("base64");
}

const sizes = [
  { width: 1280, height: 720 },
  { width: 390, height: 844 },
];
for (const viewport of sizes) {
  test(`closed, the strip has two lines of what is told; opened, it leaves the picture in reach (${viewport.width} × ${viewport.height})`, { tag: viewport.width === 390 ? [] : "@nightly" }, async ({ page, serve }) => {
    const server = await serve(still);
    // A long step that stays, whatever the story does.
    const texts = {
      "play-title": "What happens during a rollout?",
      "play-step": "Step 2 of 4",
      "play-sentence": "Another image: a new ReplicaSet appears. One pod more is allowed (maxSurge 25 %), and one may be missing (maxUnavailable 25 %).",
      "play-command": "kubectl set image deployment/web web=web:v2",
    };
    const told = await telling(page, server, Object.values(texts));
    await page.route("**/playground/events", (route) => route.fulfill({ contentType: "text/event-stream", body: `data: ${told}\n\n` }));
    await page.setViewportSize(viewport);
    await openWatched(page, page_(server));
    await page.request.post(`${server.address}/playground`, { form: { action: "version" }, headers: { origin: server.address } });
    await expect(new RolloutPage(page).living(2)).not.toHaveCount(0);
    const strip = page.getByTestId("playground");
    const sentence = strip.locator(".tale-sentence");
    await expect(sentence).toContainText(texts["play-command"]);
    const height = async () => (await strip.boundingBox())!.height;
    expect(await height()).toBeLessThanOrEqual(viewport.width > 900 ? 45 : 70);
    expect((await sentence.boundingBox())!.height).toBe(36);
    await expect(strip.locator(".tale-title")).toBeInViewport();
    await expect(strip.locator("#play-step")).toBeInViewport();
    // The tooltip has the text that is cut off.
    await expect(sentence).toHaveAttribute("title", `${texts["play-sentence"]} ${texts["play-command"]}`);
    if (viewport.width > 900) {
      await expect(strip.getByRole("button", { name: "Next story" })).toBeInViewport();
      await expect(strip.locator("#play-command")).toBeInViewport();
      expect(await sentence.evaluate((sentence) => sentence.scrollHeight <= sentence.clientHeight), "nothing of it is cut").toBe(true);
    }
    await expect(strip.getByRole("button", { name: "Next version" })).toBeHidden();

    await open(page);
    await expect(strip.getByRole("button", { name: "Next version" })).toBeVisible();
    for (const text of ["#play-sentence", "#play-command"]) {
      await expect(strip.locator(text)).toBeInViewport({ ratio: 1 });
      expect(await strip.locator(text).evaluate((element) => element.scrollWidth <= element.clientWidth + 1)).toBe(true);
    }
    expect(await height()).toBeLessThanOrEqual(viewport.height * 0.45);
    // The newest revision's band can be scrolled into view, and nothing covers it.
    const band = new RolloutPage(page).beside(2);
    await band.scrollIntoViewIfNeeded();
    await expect(band).toBeInViewport();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  });
}

test("whether the strip is open is remembered", async ({ page, serve }) => {
  const server = await serve(still);
  await page.goto(page_(server));
  await expect(more(page)).toHaveJSProperty("open", false);
  await isLive(page);
  await open(page);
  await page.reload();
  await expect(more(page)).toHaveJSProperty("open", true);
  await open(page); // closes it
  await page.reload();
  await isLive(page);
  await expect(more(page)).toHaveJSProperty("open", false);
});

test("where nothing may be stored the strip works all the same", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(still);
  await page.addInitScript(() => Object.defineProperty(window, "localStorage", { get: () => { throw new DOMException("forbidden", "SecurityError"); } }));
  await openWatched(page, page_(server));
  await open(page);
  await page.getByRole("button", { name: "Next version" }).click();
  await expect(page.locator("#play-version")).toHaveAttribute("title", "kubectl set image deployment/web web=web:v3");
  await page.goto(server.address);
  await page.getByRole("link", { name: "Open web" }).click();
  await expect(page).toHaveURL(page_(server));
  await open(page);
  await expect(more(page)).toHaveJSProperty("open", true);
});

for (const theme of ["light", "dark"]) {
  test(`the strip can be used by everyone (${theme})`, { tag: theme === "light" ? [] : "@nightly" }, async ({ page, serve }) => {
    const server = await serve(still);
    await openWatched(page, `${page_(server)}?theme=${theme}`);
    const isClean = async () => {
      const found = await new AxeBuilder({ page }).include("#playground").analyze();
      expect(found.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
    };
    await isClean();
    // Also by keyboard alone.
    await more(page).locator("> summary").press("Enter");
    await expect(page.getByRole("button", { name: "Next version" })).toBeVisible();
    await isClean();
  });
}
