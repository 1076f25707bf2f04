/// Keys and focus: no invisible element has the focus, Esc closes what is open, and the focus returns.

import type { Page } from "@playwright/test";
import { atRest, expect, openLive, RolloutPage, test } from "../../fixtures/test.ts";
import { longName, longNames } from "../../fixtures/long.ts";
import { Server } from "../../fixtures/server.ts";

const place = ["rollover", "rollover", "web"] as const;
const held = () => Server.replaying("rollover", "--hold-at", "12");

/// Returns the focused element, and whether it is visible; empty at the end of the page.
const focused = (page: Page) =>
  page.evaluate(() => {
    const has = document.activeElement;
    if (!has || has === document.body) return null;
    const { left, right, top, bottom } = has.getBoundingClientRect();
    const isInside = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight && right - left > 2 && bottom - top > 2;
    const isSeen = has.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && isInside;
    return { what: `${has.tagName} ${has.id} ${has.getAttribute("aria-label") ?? has.textContent?.trim().slice(0, 40)}`, isSeen };
  });

test("Tab leads to the controls of time, and to nothing that cannot be seen", async ({ page, serve }) => {
  const server = await serve(held);
  await openLive(page, server.page(...place));
  const seen: string[] = [];
  for (let stop = 0; stop < 80; stop++) {
    await page.keyboard.press("Tab");
    const at = await focused(page);
    if (!at) break;
    expect(at.isSeen, at.what).toBe(true);
    seen.push(at.what);
  }
  expect(seen.filter((what) => what.includes("slider"))).toHaveLength(1);
  expect(seen.length).toBeLessThan(80);
});

test("Esc, a click beside and a button close the legend and the keys, and the panel stays", async ({ page, serve }) => {
  const server = await serve(held);
  await openLive(page, server.page(...place));
  const pod = new RolloutPage(page).living(3).first();
  await atRest(pod);
  await pod.click();
  await expect(page.getByTestId("pod-detail")).toBeVisible();
  for (const [name, id] of [["Legend", "legend"], ["Shortcuts", "keys"]] as const) {
    const [button, popup] = [page.getByRole("button", { name, exact: true }), page.getByTestId(id)];
    const closed = [
      () => page.keyboard.press("Escape"),
      () => page.getByTestId("verdict").click(),
      () => popup.getByRole("button", { name: "Close" }).click(),
    ];
    for (const close of closed) {
      await button.click();
      await expect(popup).toBeInViewport({ ratio: 1 });
      // It does not cover a time control.
      const [over, transport] = [(await popup.boundingBox())!, (await page.getByTestId("transport").boundingBox())!];
      expect(over.y + over.height).toBeLessThanOrEqual(transport.y);
      await close();
      await expect(popup).toBeHidden();
      await expect(page.getByTestId("pod-detail")).toBeVisible();
    }
  }
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("pod-detail")).toHaveCount(0);
});

test("a click opens the pod that was pressed, though the picture moves before the button is let go of", async ({ page, serve }) => {
  const server = await serve(held);
  await page.setViewportSize({ width: 1400, height: 700 });
  await openLive(page, server.page(...place));
  const pod = new RolloutPage(page).living(3).first();
  const name = await pod.getAttribute("data-pod");
  const { x, y, width, height } = await atRest(pod);
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.setViewportSize({ width: 1400, height: 1000 });
  await expect.poll(async () => Math.abs((await pod.boundingBox())!.y - y)).toBeGreaterThan(2 * height);
  await page.mouse.up();
  await expect(page.getByTestId("pod-detail")).toContainText(name!);
});

test("the list of keys opens with ? on every page of the program", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(held);
  const below = new URL(server.page(...place));
  for (const path of ["/", below.pathname, `${below.pathname}/rollouts`]) {
    await page.goto(server.address + path);
    // A page without a live connection does not show when it is hydrated.
    await expect(async () => {
      await page.keyboard.press("?");
      await expect(page.getByTestId("keys"), path).toBeVisible({ timeout: 500 });
    }).toPass({ timeout: 20_000 });
    await expect(page.getByTestId("keys").getByRole("button", { name: "Close" }), path).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(page.getByTestId("keys"), path).toBeHidden();
  }
});

test("after a panel the focus is on the pod whose bar was chosen", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(held);
  await openLive(page, server.address);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const rollout = new RolloutPage(page);
  // Bands move until all pods of the moment exist.
  await expect(rollout.pods(3, "available")).toHaveCount(6);
  const pod = rollout.pods(3, "available").first();
  const [head, canvas] = [await atRest(pod), (await page.locator("#canvas").boundingBox())!];
  await page.mouse.click(canvas.x + canvas.width - 4, head.y + head.height / 2);
  await expect(page.getByTestId("pod-detail")).toBeVisible();
  await page.mouse.move(2, 2);
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("pod-detail")).toHaveCount(0);
  await expect(pod).toBeFocused();
});

test("arrows lead from the picture to its pods", async ({ page, serve }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const server = await serve(held);
  await openLive(page, server.page(...place));
  const scroller = page.locator("#scroller");
  // A scrollable element handles the key itself, as this one would until it is measured.
  await expect.poll(() => scroller.evaluate((element) => element.scrollHeight - element.clientHeight)).toBeLessThan(5);
  await scroller.focus();
  await page.keyboard.press("ArrowDown");
  const pod = page.locator("[data-testid=pod]:focus");
  await expect(pod).not.toHaveAttribute("data-state", "gone");
  const first = (await pod.getAttribute("data-pod"))!;
  await page.keyboard.press("ArrowDown");
  await expect(pod).not.toHaveAttribute("data-pod", first);
});

test("the story is one Tab stop, in which arrows lead from line to line", async ({ page, serve }) => {
  const server = await serve(held);
  await openLive(page, server.page(...place));
  const story = page.getByTestId("story");
  const times = story.locator(".at");
  await story.focus();
  await page.keyboard.press("ArrowUp");
  await expect(times.last()).toBeFocused();
  await expect(times.last()).toHaveAttribute("aria-description", (await story.locator("li > span").last().textContent())!);
  await page.keyboard.press("ArrowUp");
  await expect(times.nth((await times.count()) - 2)).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(times.last()).toBeFocused();
  await page.keyboard.press("Tab");
  expect(await story.evaluate((story) => story.contains(document.activeElement))).toBe(false);
});

test("a long line of the story is described by its text, and Tab leads from it to the button for all of it", async ({ page, serve }, info) => {
  const long = longNames((name) => info.outputPath(name), ["web:v1", `web:${"ä".repeat(160)}`]);
  const server = await serve(() => Server.start(["replay", long, "--hold-at", "20"]));
  await openLive(page, server.page(longName("cluster"), longName("namespace"), longName("deployment")));
  const story = page.getByTestId("story");
  await page.locator(".axis button.mark").first().press("Enter");
  await expect(story.locator(".at:focus"), "a point leads to a line").toHaveAttribute("aria-description", /\S/);
  const line = story.locator("li").filter({ hasText: "Revision 2 starts" });
  const [time, text, more] = [line.locator(".at"), line.locator("span > span"), line.locator(".more")];
  await story.focus();
  await expect(more).toHaveAttribute("tabindex", "-1");
  await expect(async () => {
    await page.keyboard.press("ArrowUp");
    await expect(time).toBeFocused({ timeout: 100 });
  }).toPass();
  await expect(time).toHaveAttribute("aria-description", (await text.textContent())!);
  await page.keyboard.press("Tab");
  await expect(more).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(more).toHaveText("Less");
  await page.keyboard.press("Tab");
  expect(await story.evaluate((story) => story.contains(document.activeElement))).toBe(false);
  await expect(more).toHaveAttribute("tabindex", "-1");
});

test("after a panel the focus is on the pod of the table that opened it", async ({ page, serve }) => {
  await page.setViewportSize({ width: 1280, height: 720 });
  const server = await serve(held);
  await openLive(page, server.page(...place));
  await page.keyboard.press("t");
  const table = page.getByTestId("pod-table");
  const pod = table.getByRole("link").nth(2);
  await pod.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("pod-detail")).toBeVisible();
  await expect(table, "the panel lies over it").toBeHidden();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("pod-detail")).toHaveCount(0);
  await expect(pod).toBeFocused();
});

test("the table of pods takes nothing of the picture's height", async ({ page, serve }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const server = await serve(held);
  await openLive(page, server.page(...place));
  const height = async () => (await page.locator("#scroller").boundingBox())!.height;
  const before = await height();
  await page.keyboard.press("t");
  await expect(page.getByTestId("pod-table")).toBeInViewport();
  expect(await height()).toBe(before);
});
