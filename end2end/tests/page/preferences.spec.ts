/// Preferences of the viewer's system: dark or light also without scripts, reduced motion, forced colours.

import { expect, openPlayed, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

test("a page without scripts is dark where the system prefers it", async ({ browser, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "8"));
  for (const [colorScheme, ground] of [["dark", "rgb(15, 17, 19)"], ["light", "rgb(247, 247, 245)"]] as const) {
    const page = await browser.newPage({ javaScriptEnabled: false, colorScheme });
    for (const address of [server.page("rollover", "rollover", "web"), server.address]) {
      await page.goto(address);
      await expect(page.locator("body"), `${colorScheme} ${address}`).toHaveCSS("background-color", ground);
    }
    await page.close();
  }
});

test("with less motion nothing is animated while pods come and go", async ({ page, serve }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.addInitScript(() => {
    const moved: string[] = [];
    for (const event of ["animationstart", "transitionrun"]) document.addEventListener(event, ({ target }) => moved.push(`${event} ${(target as Element).outerHTML.slice(0, 80)}`), true);
    Object.assign(window, { moved });
  });
  const { rollout } = await openPlayed(page, serve, ["rollout", "rollout", "nginx"], "--when-watched", "--speed", "4");
  await expect(rollout.verdict).toHaveText("Revision 3 is complete: 3 of 3 available.", { timeout: 60_000 });
  expect(await page.evaluate(() => (window as unknown as { moved: string[] }).moved)).toEqual([]);
});

test("less motion counts from the moment at which the system is told", async ({ page, serve }) => {
  await openPlayed(page, serve, ["rollover", "rollover", "web"], "--hold-at", "8");
  /// Records the seconds that the picture shows, on each change.
  await page.evaluate(() => {
    const box = document.getElementById("picture-box")!;
    const shown = () => box.getAttribute("viewBox")!.split(" ")[2]!;
    const spans = [shown()];
    new MutationObserver(() => { if (shown() !== spans.at(-1)) spans.push(shown()); }).observe(box, { attributes: true });
    Object.assign(window, { spans });
  });
  const spans = () => page.evaluate(() => (window as unknown as { spans: string[] }).spans.length);
  await page.keyboard.press("-");
  await expect.poll(spans, "it glides").toBeGreaterThan(2);
  await page.waitForTimeout(2_000);
  const before = await spans();
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.waitForTimeout(500);
  await page.keyboard.press("-");
  await expect.poll(spans).toBeGreaterThan(before);
  await page.waitForTimeout(1_000);
  expect(await spans(), "it does not glide").toBe(before + 1);
});

test("in colours of one's own marks keep theirs: they carry the meaning", async ({ page, serve }) => {
  await page.emulateMedia({ forcedColors: "active" });
  const { server } = await openPlayed(page, serve, ["image-missing", "image-missing", "web"], "--hold-at", "20");
  const colour = (selector: string, of: string, pseudo?: string) =>
    page.locator(selector).first().evaluate((element, [of, pseudo]) => getComputedStyle(element, pseudo).getPropertyValue(of!), [of, pseudo] as const);
  const failing = await page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.cssText = "forced-color-adjust:none;color:var(--failing)";
    const told = getComputedStyle(probe).color;
    probe.remove();
    return told;
  });
  expect(await colour(".story .bad i", "background-color"), "points of the story").toBe(failing);
  expect(await colour(".badge.bad", "background-color"), "the badge").not.toBe(await colour("body", "background-color"));
  await page.getByRole("button", { name: "Legend" }).click();
  expect(await colour(".sample.point.bad", "border-top-color"), "points of the axis").toBe(failing);
  await page.goto(server.address);
  expect(await colour(".row .sentence.bad", "background-color", "::before"), "marks of the list").toBe(failing);
  // Marks of a selection or the focus are visible without shadows and backgrounds.
  await page.getByTestId("deployment").first().focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  expect(await colour(".row:focus-visible", "outline-style"), "the focus on a row").toBe("solid");
  const ground = await colour("body", "background-color");
  expect(await colour(".site a[aria-current]", "border-bottom-color"), "the page of the header").not.toBe(ground);
  expect(await colour(".site a:not([aria-current])", "border-bottom-color"), "another page").toBe(ground);
});
