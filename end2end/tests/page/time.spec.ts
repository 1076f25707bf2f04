/// The controls of time on recordings: stop, step, slide, play, link to a moment, back to the present.

import { recorded, uid } from "../../fixtures/made.mjs";
import { expect, isLive, openLive, openPlayed, takeNotifications, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const rollover = ["rollover", "rollover", "web"] as const;

test("the story leads to its moments, and words and picture are those of then", async ({ page, serve }) => {
  const { server, rollout } = await openPlayed(page, serve, rollover, "--hold-at", "12");
  await expect(rollout.verdict).toContainText("Revision 3 is replacing revision 1");
  const line = rollout.story.locator("li").filter({ hasText: "Revision 2 starts" });
  await line.getByRole("button").click();
  await expect(rollout.live).toHaveText(/^As it was at /);
  await expect(rollout.verdict).toContainText("Revision 2 was replacing revision 1: 0 of 10");
  // Screen readers get the same information.
  await expect(page.getByTestId("score")).toHaveAttribute("aria-label", /^Revision 2 was replacing revision 1: 0 of 10/);
  await expect(page.locator(".page > .aside[role=status]")).toHaveText(/^Revision 2 was replacing revision 1: 0 of 10/);
  await expect(rollout.living(3)).toHaveCount(0);
  await expect(rollout.living(1)).toHaveCount(10);
  await expect(rollout.story).not.toContainText("Revision 3 starts");
  // The address is a link to this moment; the server renders the same.
  await expect(page).toHaveURL(/[?]at=2026-11-21T04:53:09/);
  const words = await rollout.verdict.textContent();
  await page.reload();
  await expect(rollout.verdict).toHaveText(words!);
  await expect(page).toHaveTitle(/^Rolling out: rollover/);
  await isLive(page, /^As it was at /);
  await page.getByTestId("back-to-live").click();
  await expect(rollout.verdict).toContainText("Revision 3 is replacing revision 1");
  await expect(page).not.toHaveURL(/at=/);
});

test("keys step through changes and rollouts, and back to the present", async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, rollover, "--hold-at", "12");
  const moment = page.getByTestId("moment");
  const at = async () => new URL(page.url()).searchParams.get("at") ?? "";
  await page.keyboard.press("ArrowLeft");
  await expect.poll(at).not.toBe("");
  const first = await at();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(at).not.toBe(first);
  expect((await at()) < first).toBe(true);
  await page.keyboard.press("ArrowRight");
  await expect.poll(at).toBe(first);
  await page.keyboard.press("[");
  await page.keyboard.press("Alt+["); // as on German keyboards of Macs
  await expect(rollout.verdict).toContainText("Revision 2 was replacing revision 1");
  await page.keyboard.press("Shift+ArrowLeft");
  await expect(moment).toHaveText(/^2026-11-21 04:53:08/);
  await expect(rollout.verdict).toHaveText("Revision 1: 3 of 10 available.");
  await page.keyboard.press("l");
  await expect(rollout.live).toHaveText(/Recording/);
  await page.keyboard.press("?");
  await expect(page.getByText("previous, next rollout")).toBeVisible();
});

test("a moment of a Deployment is left when another one takes its name", { tag: "@nightly" }, async ({ page, serve }, info) => {
  const lines = recorded([{ revision: 1, pods: ["available", "available"] }], 0).slice(0, -1);
  const { observedAtMillis, object } = JSON.parse(lines[0]!) as { observedAtMillis: number; object: { metadata: object } };
  const say = (type: string, metadata: object) => lines.push(JSON.stringify({ observedAtMillis: observedAtMillis + 15_000, kind: "Deployment", type, object: { ...object, metadata } }));
  say("DELETED", object.metadata);
  say("ADDED", { ...object.metadata, uid: uid(9) });
  const server = await serve(() => Server.replayingLines(info.outputPath("named.jsonl"), lines, "--when-watched"));
  await openLive(page, server.page("named", "shop", "web"));
  await page.getByRole("button", { name: "Pause" }).click();
  await isLive(page, /^As it was at /);
  await expect(page).toHaveURL(/at=/);
  await isLive(page, /^Recording/);
  await expect(page).not.toHaveURL(/at=/);
});

test("a moment plays at its speed until it is the present", async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, rollover, "--hold-at", "12");
  await rollout.story.locator("li").filter({ hasText: "Revision 3 starts" }).getByRole("button").click();
  await expect(page.getByRole("button", { name: "Play" })).toBeVisible();
  await page.getByLabel("Speed").selectOption("25");
  const [moment, slider] = [page.getByTestId("moment"), page.getByRole("slider", { name: "Moment" })];
  await expect(moment).toHaveText(/^2026-11-21 /);
  const from = (await moment.textContent())!;
  await expect(slider).toHaveAttribute("aria-valuetext", from);
  await page.locator("body").press("Space");
  await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
  // Screen readers do not announce each second of the playback.
  await expect(moment).not.toHaveText(from);
  await expect(slider).toHaveAttribute("aria-valuetext", from);
  // They are told where the viewer moves it meanwhile.
  for (let second = 0; second < 3; second++) await page.locator("body").press("Shift+ArrowLeft");
  await expect(slider).not.toHaveAttribute("aria-valuetext", from);
  await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
  // Six seconds, at twenty times the speed.
  await page.getByLabel("Speed").selectOption("2000");
  await expect(rollout.live).toHaveText(/Recording/);
  await expect(rollout.verdict).toContainText("6 of 10");
  // Details are requested for the address, so it must be that of the present, too.
  await expect(page).not.toHaveURL(/at=/);
});

test("while one looks at the past the present goes on and says so", async ({ page, serve, request }) => {
  const { server, rollout } = await openPlayed(page, serve, ["rollout", "rollout", "nginx"], "--when-watched");
  await expect(rollout.story).toContainText("Revision 1");
  const slider = page.getByRole("slider", { name: "Moment" });
  await expect(slider).toHaveAttribute("aria-valuetext", "now");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(slider).toHaveAttribute("aria-valuetext", / \d\d:\d\d:\d\d UTC$/);
  await expect(page.getByTestId("back-to-live")).toHaveText(/To the latest, \d+ new/, { timeout: 60_000 });
  // The text is still that of the moment, as the server renders it.
  const then = await (await request.get(page.url())).text();
  expect(then.replace(/<[^>]*>/g, "")).toContain(await rollout.verdict.textContent());
  await page.getByTestId("back-to-live").click();
  await expect(rollout.live).toHaveText(/Recording/);
});

test("the slider reaches from before the rollout to the present", async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, rollover, "--hold-at", "12");
  const slider = page.getByRole("slider", { name: "Moment" });
  await expect(slider).toHaveAttribute("aria-valuetext", "04:53:18 UTC");
  await slider.fill("0");
  await expect(rollout.verdict).not.toContainText("Revision 3");
  await slider.fill("10000");
  await expect(rollout.live).toHaveText(/Recording/);
});

test("a moment that is no time, or not yet, is answered with help", async ({ page, serve, request }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  const address = server.page(...rollover);
  await expect.poll(async () => (await request.get(`${address}?revision=2`, { maxRedirects: 0 })).status()).toBe(307);
  expect((await page.goto(`${address}?at=yesterday`))?.status()).toBe(400);
  await expect(page.getByRole("link", { name: "web as it is now" })).toHaveAttribute("href", /deployments[/]web$/);
  expect((await page.goto(`${address}?at=2999-01-01T00:00:00Z`))?.status()).toBe(404);
  await page.getByRole("link", { name: "web as it is now" }).click();
  await expect(page.getByTestId("verdict")).toContainText("Revision 3");
  expect((await page.goto(`${address}?at=1999-01-01T00:00:00Z`))?.status()).toBe(404);
  await page.getByRole("link", { name: "The first moment of its history" }).click();
  await expect(page.getByTestId("live")).toHaveText("As it was at 2026-11-21 04:53:07 UTC");
});

test("a link to a revision leads to its last moment, or to the present", async ({ page, serve, request }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  const address = server.page(...rollover);
  // Waits until the server has read the recording.
  await expect.poll(async () => (await request.get(`${address}?revision=2`, { maxRedirects: 0 })).status()).toBe(307);
  await page.goto(`${address}?revision=2`);
  await expect(page).toHaveURL(/[?]uid=[0-9a-f-]+&revision=2&at=\d+$/);
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 was replacing revision 1");
  await expect(page.getByTestId("linked")).toContainText("You are looking at revision 2");
  await page.getByRole("link", { name: "Look at revision 3" }).click();
  await expect(page.getByTestId("live")).toHaveText("Recording (paused)");
  await page.goto(`${address}?revision=3`);
  await expect(page.getByTestId("verdict")).toContainText("Revision 3");
  const linked = page.getByTestId("linked");
  await expect(linked).toBeHidden();
  await expect(linked.getByRole("link")).toHaveCount(0);
  await expect(linked.getByRole("status"), "screen readers know it before it has words").toHaveText("");
});

test("more or less time is shown on demand", async ({ page, serve }) => {
  await openPlayed(page, serve, rollover, "--hold-at", "12");
  // Number of seconds that the picture shows.
  const seconds = () => page.locator("#picture-box").evaluate((box) => Math.round(Number(box.getAttribute("viewBox")!.split(" ")[2])));
  // The smallest window that fits a rollout; the window moves there gradually.
  const fit = 12;
  await expect.poll(seconds).toBe(fit);
  await page.keyboard.press("-");
  await expect.poll(seconds).toBeGreaterThan(fit * 1.8);
  await page.keyboard.press("0");
  await expect.poll(seconds).toBe(fit);
  await page.keyboard.press("+");
  await expect.poll(seconds).toBeLessThan(fit * 0.6);
});

test("a link to a revision says when another one is live", { tag: "@nightly" }, async ({ page, serve, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const server = await serve(() => Server.replaying("rollout", "--when-watched"));
  const address = server.page("rollout", "rollout", "nginx");
  await page.goto(address);
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 is replacing", { timeout: 30_000 });
  await page.keyboard.press("c");
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link).toMatch(/nginx[?]uid=[0-9a-f-]{36}&revision=2$/);
  await page.goto(link);
  await expect(page.getByTestId("linked")).toBeHidden();
  // The page goes on; the link stays what it was.
  await expect(page.getByTestId("linked").getByRole("status")).toHaveText("This link is to revision 2. Revision 3 is current now. Look at revision 2", { timeout: 30_000 });
  await page.getByRole("link", { name: "Look at revision 2" }).click();
  await expect(page.getByTestId("linked")).toContainText("You are looking at revision 2, as it was at");
});

test("links to share, with a code, are beside the picture", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--hold-at", "9"));
  await openLive(page, server.page("rollout", "rollout", "nginx"));
  await page.getByRole("link", { name: "Share" }).click();
  await expect(page.getByTestId("links").getByRole("listitem")).toHaveCount(1);
  await expect(page.getByTestId("local")).toContainText("only works on this computer");
  await page.getByTestId("links").getByText("Other links").click();
  await expect(page.getByTestId("links").getByRole("listitem")).toHaveCount(4);
  await expect(page.getByTestId("links")).toContainText(`${server.address}/clusters/rollout`);
  const code = page.getByRole("img", { name: "The first link as a QR code" });
  await expect(code).toHaveCount(0);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Rollouts" }).click();
  await expect(page.getByTestId("rollout").last()).toHaveText("Revision 1");
});

test("links that others can open have a code", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--hold-at", "9", "--insecure-no-auth", "--public-url", "http://rollouts.example.com"));
  await page.goto(`${server.page("rollout", "rollout", "nginx")}/share`);
  await expect(page.getByTestId("links")).toContainText("http://rollouts.example.com/clusters/rollout");
  await expect(page.getByTestId("local")).toHaveCount(0);
  const code = page.getByRole("img", { name: "The first link as a QR code" });
  await expect(code).toBeVisible();
  expect(await code.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(100);
});

test("who asks for it is notified, and the icon tells how it stands", { tag: "@nightly" }, async ({ page, serve, context }) => {
  await context.grantPermissions(["notifications"]);
  const told = await takeNotifications(page);
  const server = await serve(() => Server.replaying("rollout", "--when-watched", "--speed", "2"));
  await page.goto(server.page("rollout", "rollout", "nginx"));
  await page.getByRole("button", { name: "Notify me" }).click();
  await expect(page.getByRole("button", { name: "Notify me" })).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /icon-busy[.]svg/, { timeout: 30_000 });
  await expect(page.getByTestId("verdict")).toContainText("Revision 3 is complete", { timeout: 30_000 });
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /icon[.]svg/);
  expect((await told()).at(-1)).toContain("Revision 3 is complete");
  expect((await told()).filter((one) => one.includes("Revision 3"))).toHaveLength(1);
});

test("who looks at the past is notified of the present", { tag: "@nightly" }, async ({ page, serve, context }) => {
  await context.grantPermissions(["notifications"]);
  const told = await takeNotifications(page);
  const server = await serve(() => Server.replaying("rollout", "--when-watched", "--speed", "2"));
  await page.goto(server.page("rollout", "rollout", "nginx"));
  await page.getByRole("button", { name: "Notify me" }).click();
  await expect(page.getByTestId("story")).toContainText("Revision 1");
  await page.getByRole("button", { name: "Pause" }).click();
  await isLive(page, /^As it was at /);
  await expect.poll(async () => (await told()).join(), { timeout: 30_000 }).toMatch(/Complete: .*Revision 3 is complete/);
  await isLive(page, /^As it was at /);
});

test("where the browser refuses to show notifications, as telephones do, none is offered any more", async ({ page, serve }) => {
  await page.addInitScript(() => {
    class Refused {
      static permission = "granted";
      static requestPermission = () => Promise.resolve("granted");
      constructor() { throw new TypeError("Illegal constructor"); }
    }
    Object.assign(window, { Notification: Refused });
  });
  const server = await serve(() => Server.replaying("rollout", "--when-watched", "--speed", "2"));
  await page.goto(server.page("rollout", "rollout", "nginx"));
  const notify = page.getByRole("button", { name: "Notify me" });
  await notify.click();
  await expect(notify).toBeHidden({ timeout: 30_000 });
  await page.reload();
  await expect(notify, "it is not wanted any more").toHaveAttribute("aria-pressed", "false");
});

test("the title follows the verdict", { tag: "@nightly" }, async ({ page, serve }) => {
  await openPlayed(page, serve, rollover, "--hold-at", "12");
  await expect(page).toHaveTitle(/^Rolling out: /);
  await page.getByTestId("story").locator("li").filter({ hasText: "is complete" }).getByRole("button").click();
  await expect(page).toHaveTitle(/^(Finishing|Complete): /);
});
