/// Mouse on the picture: a tip for the place under the pointer, the wheel zooms, dragging moves time; the slider covers all stored history.

import type { Locator, Page } from "@playwright/test";
import { recording, temporaryFolder } from "../../fixtures/environment.ts";
import { atRest, expect, openLive, RolloutPage, test } from "../../fixtures/test.ts";
import { Server, type Serve } from "../../fixtures/server.ts";

async function opened(page: Page, serve: Serve): Promise<RolloutPage> {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  await openLive(page, server.page("rollover", "rollover", "web"));
  return new RolloutPage(page);
}

const box = async (page: Page, part: string) => (await page.locator(part).boundingBox())!;
/// Returns beginning and length of the shown time range, in seconds.
const shown = (page: Page) => page.locator("#picture-box").evaluate((box) => {
  const [from, , seconds] = box.getAttribute("viewBox")!.split(" ").map(Number);
  return { from: from!, seconds: seconds! };
});
const seconds = async (page: Page) => (await shown(page)).seconds;

test("bars, heads and the strip tell state, time and counts, under the pointer and by keys", async ({ page, serve }) => {
  const rollout = await opened(page, serve);
  const tip = page.getByTestId("tip");
  await expect(tip).toBeHidden();
  const pod = rollout.pods(3, "available").first();
  const [head, canvas, strip] = [await atRest(pod), await box(page, "#canvas"), await box(page, "#strip")];
  const name = (await pod.getAttribute("data-pod"))!;
  await page.mouse.move(canvas.x + canvas.width - 3, head.y + head.height / 2);
  await expect(tip).toHaveText(new RegExp(`^${name}available: since 04:53:1\\d, \\d[.]\\d s *$`));
  // There is no tip before the beginning of its bar.
  await page.mouse.move(canvas.x + 3, head.y + head.height / 2);
  await expect(tip).toBeHidden();
  await page.mouse.move(strip.x + strip.width - 3, strip.y + strip.height / 2);
  await expect(tip).toHaveText(/^04:53:1\d\d+ available, .*ceiling 13, floor 8 *$/);
  await page.mouse.move(2, 2);
  await expect(tip).toBeHidden();
  await rollout.beside(3).getByRole("link").focus();
  await page.keyboard.press("ArrowDown");
  await expect(tip).toContainText(/since 04:53/);
  await expect(tip).toBeInViewport({ ratio: 1 });
  await page.keyboard.press("Escape");
  await expect(tip).toBeHidden();
});

test("a wheel with Ctrl and two buttons show more time or less, and other wheels scroll", async ({ page, serve }) => {
  await opened(page, serve);
  await expect.poll(() => seconds(page)).toBe(12);
  const canvas = await box(page, "#canvas");
  const share = 0.4;
  await page.mouse.move(canvas.x + canvas.width * share, canvas.y + 20);
  await page.mouse.wheel(0, -240);
  const at = ({ from, seconds }: { from: number; seconds: number }) => from + seconds * share;
  const before = await shown(page);
  expect(before.seconds, "without Ctrl").toBe(12);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -240);
  await page.keyboard.up("Control");
  await expect.poll(() => seconds(page)).toBeCloseTo(6, 1);
  // The moment under the pointer stays in place.
  expect(at(await shown(page))).toBeCloseTo(at(before), 1);
  await expect(page).toHaveURL(/at=/);
  await page.getByRole("button", { name: "More time" }).click();
  await expect.poll(() => seconds(page)).toBeCloseTo(12, 1);
  await page.getByRole("button", { name: "Less time" }).click();
  await expect.poll(() => seconds(page)).toBeCloseTo(6, 1);
  await page.getByTestId("back-to-live").click();
  await expect.poll(() => seconds(page)).toBe(12);
});

test("who drags the picture sees another moment and opens nothing", async ({ page, serve }) => {
  await opened(page, serve);
  await expect.poll(() => seconds(page)).toBe(12);
  const [canvas, before] = [await box(page, "#canvas"), await shown(page)];
  const y = canvas.y + canvas.height * 0.8;
  await page.mouse.move(canvas.x + canvas.width * 0.6, y);
  await page.mouse.down();
  await page.mouse.move(canvas.x + canvas.width * 0.7, y, { steps: 3 });
  await page.mouse.move(canvas.x + canvas.width * 0.85, y, { steps: 3 });
  await page.mouse.up();
  // In WebKit the bar under the pointer gets the click.
  await page.locator("#bars .pod:not(.ribbon) .bar").first().dispatchEvent("click");
  await expect.poll(async () => before.from - (await shown(page)).from).toBeCloseTo(3, 1);
  expect(await seconds(page)).toBe(12);
  await expect(page).toHaveURL(/at=/);
  await expect(page.locator("#detail")).toBeEmpty();
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, -canvas.width * 0.25);
  await page.keyboard.up("Shift");
  await expect.poll(async () => before.from - (await shown(page)).from).toBeCloseTo(6, 1);
});

/// Sends a pointer event of one of several fingers on a part of the picture.
const finger = (on: Locator, type: string, pointerId: number, clientX: number, clientY: number) =>
  on.dispatchEvent(type, { pointerId, isPrimary: pointerId === 1, pointerType: "touch", button: type === "pointermove" ? -1 : 0, buttons: 1, clientX, clientY });

test("a second finger on the picture does not move time", { tag: "@nightly" }, async ({ page, serve }) => {
  await opened(page, serve);
  await expect.poll(() => seconds(page)).toBe(12);
  const [canvas, before, on] = [await box(page, "#canvas"), await shown(page), page.locator("#canvas")];
  const [first, second, y] = [canvas.x + canvas.width * 0.6, canvas.x + canvas.width * 0.1, canvas.y + canvas.height * 0.8];
  await finger(on, "pointerdown", 1, first, y);
  await finger(on, "pointerdown", 2, second, y);
  await finger(on, "pointermove", 2, second - canvas.width * 0.05, y);
  await finger(on, "pointerup", 2, second, y);
  await finger(on, "pointermove", 1, first + canvas.width * 0.25, y);
  await expect.poll(async () => before.from - (await shown(page)).from).toBeCloseTo(3, 1);
});

test("a finger that scrolls the page or zooms it does not leave the present", async ({ page, serve }) => {
  const rollout = await opened(page, serve);
  await expect.poll(() => seconds(page)).toBe(12);
  const [canvas, before, on] = [await box(page, "#canvas"), await shown(page), page.locator("#canvas")];
  await expect(on).toHaveCSS("touch-action", "pan-y pinch-zoom");
  const [x, y] = [canvas.x + canvas.width * 0.6, canvas.y + canvas.height * 0.8];
  await finger(on, "pointerdown", 1, x, y);
  await finger(on, "pointermove", 1, x + canvas.width * 0.25, y);
  await expect(page).toHaveURL(/at=/);
  await expect.poll(async () => before.from - (await shown(page)).from).toBeCloseTo(3, 1);
  // The browser scrolls from now on.
  await finger(on, "pointercancel", 1, x + canvas.width * 0.25, y);
  await expect(page).not.toHaveURL(/at=/);
  await expect(rollout.live).toHaveText(/Recording/);
  await expect.poll(async () => before.from - (await shown(page)).from).toBeCloseTo(0, 1);
  await expect.poll(() => seconds(page)).toBe(12);
});

test("a finger that is not quite still opens a pod", async ({ page, serve }) => {
  const rollout = await opened(page, serve);
  const bar = page.locator("#bars .pod:not(.ribbon)").last();
  const canvas = await box(page, "#canvas");
  const [pressedX, pressedY] = [canvas.x + canvas.width / 2, canvas.y + canvas.height / 2];
  await finger(bar, "pointerdown", 1, pressedX, pressedY);
  await finger(bar, "pointermove", 1, pressedX + 8, pressedY);
  await finger(bar, "pointerup", 1, pressedX + 8, pressedY);
  await finger(bar, "click", 1, pressedX + 8, pressedY);
  await expect(page.getByTestId("pod-detail")).toBeVisible();
  await expect(rollout.live).toHaveText(/Recording/);
  await expect(page).not.toHaveURL(/at=/);
});

test("the slider reaches the first moment that is kept, and has marks for rollouts", { tag: "@nightly" }, async ({ page, serve }) => {
  await opened(page, serve);
  const kept = page.getByTestId("overview-track");
  // Revision 1 was complete, 2 was superseded, 3 is in progress.
  for (const tone of ["ok", "quiet", "busy", "window"]) await expect(kept.locator(`path.${tone}`)).toHaveAttribute("d", /^M\d/);
  await page.getByRole("slider", { name: "Moment" }).fill("0");
  await expect(page.getByTestId("moment")).toHaveText(/04:53:07/);
  // The height distinguishes trouble for viewers who cannot see colours.
  const failing = await serve(() => Server.replaying("deadline-exceeded", "--hold-at", "20"));
  await openLive(page, failing.page("deadline-exceeded", "deadline-exceeded", "web"));
  for (const tone of ["ok", "bad"]) await expect(kept.locator(`path.${tone}`)).toHaveAttribute("d", /^M\d/);
  const [ok, bad] = await kept.locator("path.ok, path.bad").evaluateAll((paths) => paths.map((path) => path.getBoundingClientRect().height));
  expect(bad).toBeGreaterThan(1.4 * ok!);
});

test("a rollout that is kept is shown from a little before its begin to a little after its end, and played from its begin", async ({ page, serve }) => {
  const folder = temporaryFolder();
  const server = await serve(() => Server.start(["replay", recording("rollover"), "--speed", "1000", "--data-dir", folder]));
  type Kept = { revision: number; number: number; uid: string; startedMillis: number; endedMillis: number | null };
  let third: Kept | undefined;
  await expect
    .poll(async () => {
      const all = ((await (await fetch(`${server.address}/api/v1/rollouts`)).json()) as { rollouts: Kept[] }).rollouts;
      third = all.find(({ revision, endedMillis }) => revision === 3 && endedMillis !== null);
      return third !== undefined;
    }, { intervals: [1_000] })
    .toBe(true);
  const { uid, number, startedMillis, endedMillis } = third!;
  await openLive(page, `${server.page("rollover", "rollover", "web")}?uid=${uid}&rollout=${number}`);
  const took = (endedMillis! - startedMillis) / 1000;
  // Old pods may take a little longer to end than the rollout.
  await expect.poll(() => seconds(page)).toBeGreaterThan(took * 1.1);
  expect(await seconds(page)).toBeLessThan(took * 1.2 + 40);
  const begin = await page.locator("#ticks .tick").first().textContent();
  expect(begin).toMatch(/^04:53:1/);
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await expect(page.getByTestId("verdict")).toContainText("Revision 3 was replacing");
});
