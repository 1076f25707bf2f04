/// Hidden tabs, deleted clusters, missing responses.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, WebSocketRoute } from "@playwright/test";
import { expect, isLive, openLive, openPlayed, openWatched, RolloutPage, takeNotifications, test } from "../../fixtures/test.ts";
import { recording, temporaryFolder } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

/// Simulates a tab in the background: no animation frames, and rare timers.
const hide = (page: Page) =>
  page.addInitScript(() => {
    Object.defineProperty(document, "hidden", { get: () => true });
    window.requestAnimationFrame = () => 0;
    const usual = window.setInterval.bind(window);
    window.setInterval = ((run: () => void) => usual(run, 60_000)) as typeof window.setInterval;
  });

test("a tab in the background tells in its title and its icon how a rollout ends, and notifies", async ({ page, serve }) => {
  await hide(page);
  const told = await takeNotifications(page);
  const server = await serve(() => Server.replaying("rollout", "--when-watched", "--speed", "2"));
  await page.goto(server.page("rollout", "rollout", "nginx"));
  await page.getByRole("button", { name: "Notify me" }).click();
  await expect(page).toHaveTitle(/^Rolling out: /, { timeout: 30_000 });
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /icon-busy[.]svg/);
  await expect(page).toHaveTitle(/^Complete: /, { timeout: 30_000 });
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /icon[.]svg/);
  expect((await told()).at(-1)).toMatch(/^Complete: /);
});

for (const path of ["/", "/wall"])
  test(`a list in the background tells in its title what goes on: ${path}`, { tag: path === "/" ? [] : "@nightly" }, async ({ page, serve }) => {
    await hide(page);
    const server = await serve(() => Server.replaying("rollout", "--when-watched", "--speed", "2"));
    await page.goto(server.address + path);
    await expect(page).toHaveTitle(/^1 in progress/, { timeout: 30_000 });
    await expect(page).toHaveTitle(/^Nothing in progress/, { timeout: 30_000 });
  });

test("details are not asked for again while nobody looks", { tag: "@nightly" }, async ({ page, serve }) => {
  await hide(page);
  let [asked, frames] = [0, 0];
  page.on("request", (request) => { if (/[/]share[?]part$/.test(request.url())) asked++; });
  page.on("websocket", (socket) => socket.on("framereceived", () => frames++));
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "9.5"));
  await openLive(page, server.page("rollover", "rollover", "web"));
  await page.getByRole("link", { name: "Share" }).click();
  await expect(page.getByTestId("share-detail")).toBeVisible();
  const before = frames;
  await expect.poll(() => frames).toBeGreaterThan(before + 2); // heartbeats, four seconds apart
  expect(asked).toBe(1);
});

test("since when nothing is heard has its date on the next day", async ({ page, serve, complaints }) => {
  await page.clock.install();
  const server = await serve(() => Server.simulating());
  const rollout = await openWatched(page, server.page("playground", "default", "web"));
  await server.kill();
  await expect(rollout.banner).toHaveText(/^Rollcast unreachable since [\d:]+ UTC[.]/, { timeout: 20_000 });
  await page.clock.fastForward("13:00:00");
  await expect(rollout.banner).toHaveText(/^Rollcast unreachable since \d{4}-\d\d-\d\d [\d:]+ UTC[.]/);
  await page.goto("about:blank");
  complaints.length = 0; // the browser notes each try that failed
});

test("after a sleep the page connects anew at once", async ({ page, serve }) => {
  await page.clock.install();
  const sockets: string[] = [];
  page.on("websocket", (socket) => sockets.push(socket.url()));
  const server = await serve(() => Server.replaying("quota", "--hold-at", "14"));
  await openLive(page, server.address);
  expect(sockets).toHaveLength(1);
  // Sleep advances the time of day but not the clock of the page.
  await page.clock.setSystemTime(Date.now() + 3_600_000);
  await expect.poll(() => sockets.length).toBe(2);
  await page.waitForSelector("html[data-live=true]");
});

/// Returns the same recording under two names: a server that is restarted watches another cluster with the same Deployments.
function renamed(name: string): { before: string[]; after: string[] } {
  const folder = temporaryFolder();
  const replay = (as: string) => {
    copyFileSync(recording(name), join(folder, `${as}.jsonl`));
    return ["replay", join(folder, `${as}.jsonl`), "--hold-at", "14"];
  };
  return { before: replay("first"), after: replay("second") };
}

const port = (server: Server) => Number(new URL(server.address).port);

test("a page of a cluster that is not watched any more says so, and keeps its picture", async ({ page, serve, complaints }) => {
  const { before, after } = renamed("quota");
  const server = await serve(() => Server.start(before));
  const rollout = new RolloutPage(page);
  await page.goto(`${server.address}/`);
  await page.getByTestId("deployment").first().click();
  await isLive(page, /Recording/);
  const verdict = await rollout.verdict.textContent();
  await server.kill();
  await serve(() => Server.start(after, port(server)));
  await expect(rollout.banner).toHaveText(/^This server does not watch a cluster named first[.] Showing last known data, of \d\d:/);
  await expect(rollout.live).toHaveText("Not watched");
  await expect(rollout.verdict).toHaveText(verdict!);
  complaints.length = 0; // the browser notes each try that failed
});

test("on a phone what is open is closed when its Deployment is not there after a restart", async ({ page, serve, complaints }) => {
  const file = join(temporaryFolder(), "first.jsonl");
  const replay = (name: string, at?: number) => {
    copyFileSync(recording(name), file);
    return serve(() => Server.start(["replay", file, "--hold-at", "14"], at));
  };
  await page.setViewportSize({ width: 390, height: 844 });
  const server = await replay("rollover");
  await page.goto(server.page("first", "rollover", "web"));
  await isLive(page, /Recording/);
  await page.getByRole("link", { name: "Share" }).click();
  await expect(page.getByTestId("share-detail")).toBeVisible();
  await server.kill();
  await replay("quota", port(server));
  const missing = page.getByTestId("missing");
  await expect(missing).toContainText("No Deployment web in namespace rollover");
  await expect(page.locator("#detail")).toBeEmpty();
  await missing.getByRole("link", { name: "all Deployments" }).click();
  await expect(page.getByTestId("deployment")).toHaveCount(1);
  complaints.length = 0; // the browser notes each try that failed
});

test("lists name the clusters that there are after a restart, and say which one is not watched", async ({ page, serve, complaints }) => {
  const { before, after } = renamed("quota");
  const server = await serve(() => Server.start(before));
  await openLive(page, `${server.address}/clusters/first`);
  await expect(page.getByTestId("cluster")).toContainText("first");
  await server.kill();
  await expect(page.getByTestId("cluster")).toContainText("Reconnecting");
  await expect(page).toHaveTitle(/^Stale: /);
  await serve(() => Server.start(after, port(server)));
  await expect(page.getByTestId("mistake")).toHaveText("This server does not watch a cluster named first.");
  await expect(page.getByTestId("cluster")).toContainText("second");
  await expect(page.getByTestId("cluster")).toHaveAttribute("href", "/clusters/second");
  await expect(page).not.toHaveTitle(/^Stale: /);
  complaints.length = 0;
});

test("seats on the wall are taken anew when the clusters are others after a restart", async ({ page, serve, complaints }) => {
  const { before, after } = renamed("quota");
  const server = await serve(() => Server.start(before));
  await openLive(page, `${server.address}/wall`);
  await expect(page.locator(".tile")).toContainText("first / ");
  await server.kill();
  await serve(() => Server.start(after, port(server)));
  await expect(page.locator(".tile")).toContainText("second / ");
  await expect(page.locator(".tile .bars .bar").first()).toBeAttached();
  await expect(page.locator(".tile.stale")).toHaveCount(0);
  complaints.length = 0;
});

const FAULTS: Record<string, (viewer: WebSocketRoute) => void> = {
  "its answer does not come": () => {},
  "the link breaks": (viewer) => void viewer.close(),
};
for (const [what, fault] of Object.entries(FAULTS)) {
  test(`a moment is asked for again when ${what}`, { tag: what === "the link breaks" ? [] : "@nightly" }, async ({ page, serve }) => {
    let questions = 0;
    await page.routeWebSocket(/api[/]v1[/]stream/, (viewer) => {
      const server = viewer.connectToServer();
      viewer.onMessage((message) => {
        const isQuestion = typeof message !== "string" && message[0] === 2; // Moment
        if (isQuestion && questions++ === 0) fault(viewer);
        else server.send(message);
      });
    });
    const { rollout } = await openPlayed(page, serve, ["rollover", "rollover", "web"], "--hold-at", "12");
    await rollout.story.locator("li").filter({ hasText: "Revision 2 starts" }).getByRole("button").click();
    await expect(rollout.verdict).toContainText("Revision 2 was replacing revision 1: 0 of 10");
    expect(questions).toBeGreaterThan(1);
  });
}

test("a late answer shows nothing of its Deployment on the page of another one", async ({ page, serve }) => {
  const late: Buffer[] = [];
  await page.routeWebSocket(/api[/]v1[/]stream/, (viewer) => {
    const server = viewer.connectToServer();
    server.onMessage((message) => {
      if (typeof message === "string") return;
      if (message[0] === 5) return void late.push(message); // Moment
      if (message[0] === 1) late.splice(0).forEach((answer) => viewer.send(answer)); // Snapshot
      viewer.send(message);
    });
  });
  const server = await serve(() => Server.start(["replay", ...["rollover", "quota"].map(recording), "--hold-at", "12"]));
  const rollout = new RolloutPage(page);
  await openLive(page, server.page("rollover", "rollover", "web"));
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => late.length).toBeGreaterThan(0);
  await page.keyboard.press("/");
  await page.getByTestId("deployment").filter({ hasText: "quota" }).click();
  await isLive(page, /Recording/);
  await expect.poll(() => late.length, "it arrives before the snapshot").toBe(0);
  await page.keyboard.press("ArrowLeft");
  await expect(rollout.live).toHaveText(/^As it was at /);
  await expect.poll(() => late.length, "it is asked for").toBeGreaterThan(0);
  await expect(rollout.verdict).not.toBeEmpty();
  await expect(rollout.verdict).not.toContainText("Revision 3");
});
