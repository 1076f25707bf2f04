/// An open panel leaves the time controls within reach.

import type { Locator, Page } from "@playwright/test";
import { isWhole } from "../../fixtures/environment.ts";
import { expect, isLive, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

/// Returns time controls that are covered, or outside of the window.
const covered = (page: Page) =>
  page.getByTestId("transport").evaluate((transport) => {
    const controls = [...transport.querySelectorAll<HTMLElement>("button, input, select, summary")].filter((control) => control.checkVisibility());
    const isReached = (control: HTMLElement, x: number, y: number) => {
      const hit = document.elementFromPoint(x, y);
      return hit !== null && control.contains(hit);
    };
    return controls
      .filter((control) => {
        const { left, right, top, bottom } = control.getBoundingClientRect();
        const y = (top + bottom) / 2;
        return ![left + 4, (left + right) / 2, right - 4].every((x) => isReached(control, x, y));
      })
      .map((control) => control.textContent || control.id);
  });

/// All sizes nightly; the ordinary run has the one with the least space.
const wide = [
  { width: 1280, height: 720 },
  { width: 1100, height: 700 },
  { width: 920, height: 600 },
].slice(isWhole ? 0 : -1);
const places = [
  ["a recording", () => Server.replaying("rollover", "--hold-at", "9.5"), (server: Server) => server.page("rollover", "rollover", "web")],
  ["the playground", () => Server.simulating(), (server: Server) => server.page("playground", "default", "web")],
] as const;

for (const [place, start, address] of places) {
  const tag = place === "a recording" ? [] : "@nightly";
  test(`with a panel open every control of time can be reached: ${place}`, { tag }, async ({ page, serve }) => {
    const server = await serve(start);
    for (const viewport of wide) {
      await page.setViewportSize(viewport);
      await page.goto(address(server));
      await isLive(page, /Recording|Live/);
      const detail = page.locator("#detail > *").first();
      const opened = async (open: () => Promise<void>) => {
        await open();
        await expect(detail).toBeVisible();
        await expect.poll(() => covered(page)).toEqual([]);
        // Also at the end of the page, where the controls are higher, and with the list of keys open.
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        await expect.poll(() => covered(page)).toEqual([]);
        await page.getByRole("button", { name: "Shortcuts" }).click();
        await expect(page.locator("#keys dl")).toBeInViewport({ ratio: 1 });
        expect(await covered(page)).toEqual([]);
        await page.getByRole("button", { name: "Shortcuts" }).click();
        await page.evaluate(() => scrollTo(0, 0));
        // The end of the panel can be read: the controls do not cover it.
        await page.locator("#detail").evaluate((panel) => { panel.scrollTop = panel.scrollHeight; });
        const last = page.locator("#detail > * > :last-child");
        await last.evaluate((last) => last.scrollIntoView({ block: "nearest" }));
        const [end, controls] = [(await last.boundingBox())!, (await page.getByTestId("transport").boundingBox())!];
        expect(end.y + end.height).toBeLessThanOrEqual(controls.y + 1);
        await page.keyboard.press("Escape");
        await expect(detail).toHaveCount(0);
      };
      await opened(() => new RolloutPage(page).living(1).first().click());
      await opened(() => new RolloutPage(page).beside(1).getByRole("link").click());
      await opened(() => page.getByRole("link", { name: "Share" }).click());
    }
  });

  test(`on a phone a panel has the window, and can be closed: ${place}`, { tag }, async ({ page, serve }) => {
    const server = await serve(start);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(address(server));
    await isLive(page, /Recording|Live/);
    for (const open of [() => new RolloutPage(page).living(1).first().click(), () => page.getByRole("link", { name: "Share" }).click()]) {
      await open();
      const panel = page.locator("#detail");
      const close = panel.locator(".close");
      await expect(close).toBeVisible();
      // Nothing covers it, to its last pixel.
      const isOnTop = () =>
        panel.evaluate((panel) => {
          const { left, right, top, bottom } = panel.getBoundingClientRect();
          return [top + 2, (top + bottom) / 2, bottom - 2].every((y) => [left + 2, right - 2].every((x) => panel.contains(document.elementFromPoint(x, y))));
        });
      await expect.poll(isOnTop).toBe(true);
      // Tab stays inside of it.
      for (let stop = 0; stop < 15; stop++) {
        await page.keyboard.press("Tab");
        expect(await panel.evaluate((panel) => document.activeElement === document.body || panel.contains(document.activeElement))).toBe(true);
      }
      // Independent of the scroll position.
      await panel.evaluate((panel) => { panel.scrollTop = panel.scrollHeight; });
      await expect(close).toBeInViewport({ ratio: 1 });
      await close.click();
      await expect(panel).toBeEmpty();
      expect(await covered(page)).toEqual([]);
    }
    await expect(page.getByRole("link", { name: "Share" }), "what opened it").toBeFocused();
    // In a window that it does not cover, the page beside it can be used.
    await page.getByRole("link", { name: "Share" }).click();
    await expect(page.locator("main [inert]").first()).toBeAttached();
    await page.setViewportSize({ width: 920, height: 600 });
    await expect(page.locator("main [inert]")).toHaveCount(0);
  });
}

test("on a phone a panel does not cover the bar that says that its content is old, or that the page stopped", async ({ page, serve, complaints }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "9.5"));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(server.page("rollover", "rollover", "web"));
  await isLive(page, /Recording/);
  await page.getByRole("link", { name: "Share" }).click();
  await expect(page.getByTestId("share-detail")).toBeVisible();
  // Inert elements do not receive clicks.
  const isOnTop = (bar: Locator) =>
    bar.evaluate((bar) => {
      const { left, right, top, bottom } = bar.getBoundingClientRect();
      return bottom <= innerHeight && bar.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    });
  await server.kill();
  const { banner } = new RolloutPage(page);
  await expect(banner).toContainText("Rollcast unreachable");
  await expect.poll(() => isOnTop(banner)).toBe(true);
  await page.evaluate(() => dispatchEvent(new ErrorEvent("error", { error: new WebAssembly.RuntimeError("unreachable") })));
  const stopped = page.getByTestId("stopped");
  await expect(stopped).toContainText("This page stopped.");
  await expect.poll(() => isOnTop(stopped)).toBe(true);
  await expect.poll(() => isOnTop(stopped.getByRole("link", { name: "Reload it" }))).toBe(true);
  await page.goto("about:blank");
  complaints.length = 0; // the browser notes each try that failed
});

for (const width of [1280, 640])
  test(`a panel that opens for the first time takes the focus, ${width} pixels wide`, { tag: width === 1280 ? [] : "@nightly" }, async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("rollover", "--hold-at", "9.5"));
    await page.setViewportSize({ width, height: 800 });
    await page.goto(server.page("rollover", "rollover", "web"));
    await isLive(page, /Recording/);
    // Its part of the program loads some frames after the pod.
    await page.route(/[/]parts[/]details-/, async (route) => {
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await route.continue();
    });
    await new RolloutPage(page).living(1).first().focus();
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("pod-detail")).toBeVisible();
    await expect(page.locator("#detail")).toBeFocused();
  });

test("what is open stays while no answer comes, and what a proxy says of that is not shown", async ({ page, serve, complaints }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "9.5"));
  await page.goto(server.page("rollover", "rollover", "web"));
  await isLive(page, /Recording/);
  const pods = new RolloutPage(page).living(1);
  await pods.first().click();
  const detail = page.getByTestId("pod-detail");
  await expect(detail).toBeVisible();
  let refused = 0;
  await page.route(/[/]pods[/][^/]+[?]part$/, (route) => {
    return refused++ % 2
      ? route.fulfill({ status: 502, contentType: "text/html", body: "<html><title>502 Bad Gateway</title></html>" })
      : route.fulfill({ status: 503, contentType: "text/plain", body: "no healthy upstream" });
  });
  // It is requested again after the first refusals.
  await expect.poll(() => refused).toBeGreaterThan(2);
  await expect(detail).toBeVisible();
  await pods.last().click();
  await expect(page.getByTestId("detail-trouble")).toContainText("Rollcast does not respond.");
  await page.unrouteAll();
  await expect(detail).toBeVisible();
  complaints.length = 0; // what was refused is an error of the console
});

test("a refusal of Rollcast itself is told in its own words", async ({ page, serve, complaints }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "9.5"));
  await page.goto(server.page("rollover", "rollover", "web"));
  await isLive(page, /Recording/);
  await page.route(/[/]pods[/][^/]+[?]part$/, async (route) => {
    // Its policy header distinguishes it from the response of a proxy.
    const policy = (await route.fetch()).headers()["content-security-policy"]!;
    const body = "Too many responses are still being sent. Try again in a moment.\n";
    await route.fulfill({ status: 503, contentType: "text/plain; charset=utf-8", headers: { "content-security-policy": policy }, body });
  });
  await new RolloutPage(page).living(1).first().click();
  await expect(page.getByTestId("detail-trouble")).toContainText("Too many responses are still being sent.");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  complaints.length = 0; // what was refused is an error of the console
});
