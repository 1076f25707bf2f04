/// Keyboard access, announcements for screen readers, requests to browsers, and links to a Deployment by its UID.

import type { Page } from "@playwright/test";
import { expect, isLive, openLive, openRecording, RolloutPage, takeNotifications, test } from "../../fixtures/test.ts";
import { recording } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

const held = () => Server.replaying("rollover", "--hold-at", "12");
const address = (server: Server) => server.page("rollover", "rollover", "web");
/// Returns the UID of the Deployment whose page is open.
const uidOf = async (page: Page) => {
  const document = await page.request.get(page.url().replace("/clusters/", "/api/v1/clusters/") + "/timeline");
  return ((await document.json()) as { deployments: [{ uid: string }] }).deployments[0].uid;
};

test("space opens a pod as Enter does, and whoever closes it is back at the pod, or at the picture where that has gone", async ({ page, serve }) => {
  const server = await serve(held);
  await openRecording(page, address(server));
  const pods = page.getByTestId("pod");
  await pods.first().focus();
  await page.keyboard.press(" ");
  await expect(page.locator("#detail h2")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(pods.first()).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("#detail h2")).toBeVisible();
  await page.evaluate(() => document.querySelector("[data-testid=pod]")?.remove());
  await page.keyboard.press("Escape");
  await expect(page.locator("#scroller")).toBeFocused();
});

test("the title of a page that a link leads to is announced, and that of a document is not", async ({ page, serve }) => {
  const server = await serve(held);
  await openLive(page, server.address);
  const reached = page.getByTestId("reached");
  await expect(reached).toHaveRole("status");
  await expect(reached).toHaveText("");
  await page.getByTestId("deployment").first().click();
  await expect(reached).toHaveText(/: rollover \/ web — Rollcast$/);
  expect(await reached.textContent()).toBe(await page.title());
  await page.goBack();
  await expect(reached).toHaveText(/^[^:]+ — Rollcast$/);
});

test("a list that a link of another list leads to is announced", async ({ page, serve }) => {
  const server = await serve(() => Server.start(["replay", ...["rollover", "rollout"].map(recording), "--hold-at", "12"]));
  const reached = page.getByTestId("reached");
  const cluster = (name: string) => page.getByTestId("cluster").and(page.locator(`[href="/clusters/${name}"]`));
  await openLive(page, `${server.address}/clusters/rollover`);
  await expect(reached).toHaveText("");
  await cluster("rollout").click();
  await expect(reached).toHaveText(/: rollout — Rollcast$/);
  await cluster("rollover").click();
  await expect(reached).toHaveText(/: rollover — Rollcast$/);
  await expect(cluster("rollover"), "the focus stays where it was").toBeFocused();
});

test("Tab goes on in the page that a link led to, and after Back from the row that led away", async ({ page, serve }) => {
  const server = await serve(held);
  await openLive(page, server.address);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.locator(".page")).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.locator(".brand")).toBeFocused();
  await page.goBack();
  await expect(page.getByTestId("deployment").first()).toBeFocused();
  await page.locator("#wall").press("Enter");
  await expect(page.getByTestId("wall")).toBeFocused();
});

test("no screen reader is told what changes by the second", async ({ page, serve, complaints }) => {
  const server = await serve(held);
  await openLive(page, server.address);
  const row = page.getByTestId("deployment").first();
  await expect(row).toContainText(/ ago$/);
  await expect(row).toHaveAccessibleName(/web/);
  await expect(row).not.toHaveAccessibleName(/ ago$/);
  await openRecording(page, address(server));
  await expect(page.getByTestId("moment")).toHaveAttribute("aria-live", "off");
  const chip = page.getByTestId("live");
  await expect(chip).toHaveAttribute("aria-live", "polite");
  await page.keyboard.press("ArrowLeft");
  await expect(chip).toHaveText(/^As it was at /);
  await expect(chip).toHaveAttribute("aria-live", "off");
  await page.keyboard.press("l");
  await expect(chip).toHaveAttribute("aria-live", "polite");
  await page.goto(`${address(server)}?revision=2`);
  const linked = page.getByTestId("linked");
  await isLive(page, /^As it was at /);
  await expect(linked).toContainText("You are looking at revision 2, as it was at ");
  await expect(linked.getByRole("status")).toHaveAttribute("aria-live", "off");
  await page.keyboard.press("l");
  await expect(linked).toHaveText(/^This link is to revision 2[.]/);
  await expect(linked.getByRole("status")).toHaveAttribute("aria-live", "polite");
  await openRecording(page, address(server));
  await server.kill();
  const banner = page.getByTestId("banner");
  await expect(banner).toHaveText(/Showing last known data[.] (Next try in \d+ s|Trying again)[.]$/, { timeout: 30_000 });
  await expect(banner.getByRole("status")).toHaveText(/Showing last known data[.]$/);
  // No text claims that this is the present.
  await expect(page).toHaveTitle(/^Stale: /);
  await expect(page.getByTestId("back-to-live")).toHaveText(/^Last seen \d\d:\d\d:\d\d$/);
  await expect(page.locator("#deadline")).toBeHidden();
  // The time of the last data does not depend on the shown moment.
  const moment = page.getByTestId("moment");
  const [since] = /\d\d:\d\d:\d\d/.exec((await banner.textContent())!)!;
  for (let seconds = 0; seconds < 3; seconds++) await page.keyboard.press("Shift+ArrowLeft");
  await expect(moment).not.toContainText(since!);
  await expect(banner).toContainText(since!);
  await page.goto("about:blank");
  complaints.length = 0; // rejected tries are errors in the console
});

test("who cannot point reads the whole reason on a phone", { tag: "@nightly" }, async ({ page, serve }) => {
  await page.setViewportSize({ width: 320, height: 500 });
  const server = await serve(held);
  await page.goto(server.address);
  await page.getByTestId("deployment").first().click();
  await isLive(page, /Recording/);
  const why = new RolloutPage(page).why;
  const isCut = () => why.evaluate((text) => text.scrollHeight > text.clientHeight + 1);
  await expect.poll(isCut).toBe(true);
  while (!(await why.evaluate((text) => text === document.activeElement))) await page.keyboard.press("Tab");
  await expect.poll(isCut).toBe(false);
});

for (const [words, answer] of [["copied", "resolve"], ["not allowed here", "reject"]] as const)
  test(`a button that copies says "${words}" once the browser says so`, { tag: "@nightly" }, async ({ page, serve }) => {
    await page.addInitScript((answer) => {
      const asked: { end?: () => void } = {};
      const writeText = () => new Promise<void>((resolve, reject) => { asked.end = answer === "resolve" ? resolve : () => reject(new Error("no")); });
      Object.defineProperty(navigator, "clipboard", { value: { writeText } });
      Object.assign(window, { asked });
    }, answer);
    const server = await serve(held);
    await openRecording(page, address(server));
    const button = page.getByRole("button", { name: "Copy link" });
    await button.click();
    await page.waitForFunction(() => "end" in (window as unknown as { asked: object }).asked);
    expect(await button.getAttribute("data-copied")).toBeNull();
    await page.evaluate(() => (window as unknown as { asked: { end: () => void } }).asked.end());
    await expect(button).toHaveAttribute("data-copied", words);
    await expect(button).toHaveText(`Copy link · ${words}`);
    await expect(button).toHaveText("Copy link"); // later the link may be another one
  });

test("the screen stays on for the wall and not for what comes after it", async ({ page, serve, complaints }) => {
  await page.addInitScript(() => {
    const held = { now: 0, ever: 0 };
    const request = async () => {
      held.now += 1;
      held.ever += 1;
      return { release: async () => { held.now -= 1; } };
    };
    Object.defineProperty(navigator, "wakeLock", { value: { request } });
    Object.assign(window, { held });
  });
  const server = await serve(held);
  const locks = () => page.evaluate(() => (window as unknown as { held: { now: number; ever: number } }).held);
  await openLive(page, server.address);
  await page.getByRole("link", { name: "Wall" }).click();
  await expect(page.getByTestId("wall")).toBeVisible();
  await expect.poll(locks).toEqual({ now: 1, ever: 1 });
  // Browsers release the lock of a hidden page; a new lock replaces the previous one.
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  await expect.poll(locks).toEqual({ now: 1, ever: 2 });
  await page.goBack();
  await expect(page.getByTestId("overview")).toBeVisible();
  await expect.poll(locks).toEqual({ now: 0, ever: 2 });
  // The page may be left before the streams of its tiles are open, which the console reports.
  expect(complaints.splice(0).filter((complaint) => !complaint.includes("closed before the connection is established"))).toEqual([]);
});

test("links below a Deployment mean the one that is looked at", async ({ page, serve }) => {
  const server = await serve(held);
  await openRecording(page, address(server));
  const links = ["#detail", "header", "#gutter", "[data-testid=pod-table]"].map((part) => `${part} a`).join(", ");
  const below = () => page.locator(links).evaluateAll((links) =>
    links.map((link) => (link as HTMLAnchorElement).href).filter((href) => /[/]deployments[/][^/]+[/]/.test(href)));
  await page.keyboard.press("t");
  const plain = await below();
  expect(plain.length).toBeGreaterThan(6);
  for (const href of plain) expect(new URL(href).search).toBe("");
  const link = page.url();
  const uid = await uidOf(page);
  await openRecording(page, `${link}?uid=${uid}`);
  await page.keyboard.press("t");
  const meant = await below();
  expect(meant).toHaveLength(plain.length);
  for (const href of meant) {
    expect(new URL(href).search).toBe(`?uid=${uid}`);
    expect((await page.request.get(href)).status(), href).toBe(200);
  }
});

test("of which Deployment notifications are wanted is known however its page was reached", { tag: "@nightly" }, async ({ page, serve }) => {
  await takeNotifications(page);
  const server = await serve(() => Server.start(["replay", ...["rollover", "rollout"].map(recording), "--hold-at", "12"]));
  const notify = page.getByRole("button", { name: "Notify me" });
  const open = async (name: string) => {
    await openLive(page, server.address);
    await page.getByTestId("deployment").filter({ hasText: name }).click();
    await expect(page).toHaveURL(/[/]deployments[/]/);
    await expect(notify).toBeVisible();
  };
  await open("nginx");
  await notify.click();
  await expect(notify).toHaveAttribute("aria-pressed", "true");
  await open("web");
  await expect(notify).toHaveAttribute("aria-pressed", "false");
  await open("nginx");
  await expect(notify).toHaveAttribute("aria-pressed", "true");
  await page.reload();
  await expect(notify).toHaveAttribute("aria-pressed", "true");
  await openRecording(page, `${page.url()}?uid=${await uidOf(page)}`);
  await expect(notify).toHaveAttribute("aria-pressed", "true");
});
