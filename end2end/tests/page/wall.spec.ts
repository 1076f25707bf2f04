/// The wall: assigns its seats by itself, and says when nothing is in progress. Time is the browser's clock, which the test advances.

import { copyFileSync } from "node:fs";

import { expect, openLive, test } from "../../fixtures/test.ts";
import { isWhole, recording } from "../../fixtures/environment.ts";
import { longName, longNames } from "../../fixtures/long.ts";
import { defects } from "../../fixtures/sane.ts";
import { Server } from "../../fixtures/server.ts";

const active = ["deadline-exceeded", "proportional-scaling", "rollover", "pause-midway", "quota", "image-missing"];
const held = (at: string, ...names: string[]) => Server.start(["replay", ...names.map((name) => recording(name)), "--hold-at", at]);

test.use({ viewport: { width: 1920, height: 1080 } });

test("four take the stage, the worst first, and the strip names the others in turn", async ({ page, serve }) => {
  await page.clock.install();
  const server = await serve(() => held("14", "rollout", ...active));
  await openLive(page, `${server.address}/wall?theme=dark&rotate=10`);
  await page.clock.runFor(2_000);
  const tiles = page.locator(".tile");
  await expect(tiles).toHaveCount(4);
  for (const tile of await tiles.all()) {
    await expect(tile.getByRole("heading")).not.toBeEmpty();
    await expect(tile.locator(".bars .bar").first()).toBeAttached();
    expect(await tile.evaluate((all) => all.scrollWidth <= all.clientWidth)).toBe(true);
  }
  // The legend explains all marks, triangles and limits too.
  const legend = page.getByRole("list", { name: "Legend" });
  await expect(legend).toBeInViewport({ ratio: 1 });
  for (const words of ["terminating", "ceiling (replicas + maxSurge)", "a revision starts", "something went wrong"]) await expect(legend).toContainText(words);
  const strip = page.locator("#strip-0");
  const first = await strip.textContent();
  expect(first).toMatch(/: /);
  await page.clock.runFor(10_000);
  await expect(strip).not.toHaveText(first ?? "");
  expect(await page.evaluate(() => getComputedStyle(document.body).cursor)).toBe("none");
  expect(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight)).toBe(true);
});

/// Bars have at least this share of a tile: the rows above and below the picture have fixed heights, and bars have the rest.
const BARS = 0.4;

test("on every screen the cause is the headline, bars have their share and no text lies over another", async ({ page, serve }, info) => {
  const digest = (of: string) => `registry.example.com:5000/shop/apps/checkout@sha256:${of.repeat(64)}`;
  const long = longNames((name) => info.outputPath(name), [digest("2"), digest("9")]);
  const server = await serve(() => Server.start(["replay", long, ...["quota", "deadline-exceeded", "proportional-scaling"].map(recording), "--hold-at", "14"]));
  for (const [width, height] of isWhole ? [[1280, 720], [1920, 1080], [3840, 2160]] as const : [[1280, 720]] as const) {
    const size = `${width}x${height}`;
    await page.setViewportSize({ width, height });
    await page.goto(`${server.address}/wall`);
    await expect(page.locator(".tile").filter({ has: page.getByTestId("band") }), size).toHaveCount(4);
    const heights = () => page.locator(".tile").evaluateAll((tiles) => tiles.map((tile) => ["", " .scroller", " .picture"].map((part) => Math.round((part ? tile.querySelector(part)! : tile).getBoundingClientRect().height))));
    // The picture is drawn for the available space.
    await expect.poll(async () => (await heights()).every(([, room, picture]) => Math.abs(picture! - room!) <= 1), size).toBe(true);
    for (const [tile, room] of await heights()) expect(room! / tile!, size).toBeGreaterThanOrEqual(BARS);
    expect(await defects(page), size).toEqual([]);
    const large = await page.getByTestId("tile-cause").evaluateAll((all) => all.map((cause) => parseFloat(getComputedStyle(cause).fontSize)));
    for (const pixels of large) expect(pixels, size).toBeGreaterThanOrEqual((32 * height) / 1080);
    expect(await page.evaluate(() => [document.documentElement.scrollHeight - innerHeight, document.documentElement.scrollWidth - innerWidth].every((more) => more <= 0)), size).toBe(true);
  }
  const tile = page.locator(".tile", { hasText: "checkout" });
  await expect(tile).toContainText("checkout@2222222 → @9999999");
  await expect(tile.getByTestId("tile-revision")).toHaveText("revision 1 → 2");
  await expect(tile.locator("h2")).toHaveAttribute("title", /^cluster-.*z [/] namespace-.*z [/] deployment-.*z$/);
  // Cluster and namespace are cut there, but not the slashes after them.
  expect(await tile.locator("h2 .slash").evaluateAll((all) => all.map((slash) => slash.clientWidth > 0 && slash.scrollWidth <= slash.clientWidth + 1))).toEqual([true, true]);
  await expect(page.locator(".tile code")).toHaveCount(0);
  await expect(page.getByTestId("connections")).toHaveText("4 recordings (paused)");
});

test("on a phone the cluster is cut and not the namespace", async ({ page, serve }, info) => {
  const file = info.outputPath(`${longName("cluster")}.jsonl`);
  copyFileSync(recording("quota"), file);
  const server = await serve(() => Server.start(["replay", file, "--hold-at", "14"]));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${server.address}/wall`);
  await expect(page.locator(".tile h2 span").last()).toHaveText("a-quota");
  expect(await page.locator(".tile h2 span").evaluateAll((all) => all.map((part) => part.scrollWidth > part.clientWidth + 1))).toEqual([true, false]);
});

test("of three the worst comes first and largest, and no place is empty", async ({ page, serve }) => {
  const server = await serve(() => held("14", "pause-midway", "rollover", "quota"));
  await page.goto(`${server.address}/wall`);
  await expect(page.locator(".tile").filter({ has: page.getByTestId("band") })).toHaveCount(3);
  await expect(page.locator(".tile.bad")).toHaveCount(1);
  const boxes = await page.locator(".tile").evaluateAll((tiles) => tiles.map((tile) => ({ isBad: tile.matches(".bad"), ...tile.getBoundingClientRect().toJSON() as { x: number; y: number; width: number; height: number } })));
  const [worst, ...others] = boxes.toSorted((a, b) => b.width * b.height - a.width * a.height);
  expect(worst!.isBad).toBe(true);
  for (const other of others) expect(other.x > worst!.x || other.y > worst!.y).toBe(true);
  const room = (await page.locator(".tiles").boundingBox())!;
  expect(boxes.reduce((sum, box) => sum + box.width * box.height, 0) / (room.width * room.height)).toBeGreaterThan(0.9);
});

test("trouble without a seat is counted on every screen, and leads to the list of it", async ({ page, serve }, info) => {
  const files = [..."abcdefg"].map((name) => info.outputPath(`${name}.jsonl`));
  for (const file of files) copyFileSync(recording("quota"), file);
  const server = await serve(() => Server.start(["replay", ...files, "--hold-at", "14"]));
  await page.goto(`${server.address}/wall`);
  await expect(page.locator(".tile.bad")).toHaveCount(4);
  const more = page.getByTestId("more-trouble");
  for (const [width, height] of isWhole ? [[1280, 720], [3840, 2160], [390, 844], [1920, 1080]] as const : [[390, 844], [1920, 1080]] as const) {
    await page.setViewportSize({ width, height });
    await more.scrollIntoViewIfNeeded();
    await expect(more).toHaveText("3 more in trouble");
    await expect(more).toBeInViewport({ ratio: 1 });
  }
  await more.click();
  await expect(page.getByTestId("count")).toHaveText("7 of 7");
  expect(new URL(page.url()).search).toBe("?show=trouble");
});

const deployment = "/clusters/rollout/namespaces/rollout/deployments/nginx";
for (const [first, ...ways] of [["/", "Wall", "Deployments"], ["/wall", "Deployments", "Wall"], [deployment, "Deployments", "Wall"]] as const)
  test(`links to the list and the wall show what goes on there, from ${first}`, { tag: "@nightly" }, async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("rollout", "--speed", "2", "--loop"));
    await openLive(page, server.address + first);
    for (const way of ways) {
      // The header of the wall is visible once it has the focus.
      await page.getByRole("link", { name: way, exact: true }).press("Enter");
      await expect(way === "Wall" ? page.locator(".tile") : page.getByTestId("deployment")).toHaveCount(1);
      await expect(page).toHaveTitle(/^1 in progress/, { timeout: 30_000 });
      await expect(page).toHaveTitle(/^Nothing in progress/, { timeout: 30_000 });
    }
  });

test("a search without a match says so, and nothing says it twice", async ({ page, serve }) => {
  const server = await serve(() => held("14", "quota"));
  await page.goto(`${server.address}/wall?q=nothing-here`);
  await expect(page.getByTestId("stable")).toHaveText("No Deployments match “nothing-here”.");
});

test("without scripts the wall is a list of what is in trouble or in progress", async ({ browser, serve }) => {
  const server = await serve(() => held("14", "quota", "rollover"));
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(`${server.address}/wall`);
  const rows = page.getByTestId("plain-rows").getByRole("listitem");
  await expect(rows).toHaveCount(2);
  await expect(rows.first()).toBeInViewport({ ratio: 1 });
  await expect(rows.first()).toHaveText(/^quota [/] a-quota [/] web: Revision 2 cannot create pods/);
  await page.close();
});

test("after ten minutes everything moves a little, and comes back; after hours of sleep it is live again", { tag: "@nightly" }, async ({ page, serve, complaints }) => {
  test.setTimeout(300_000); // eleven hours of the page's timers
  await page.clock.install();
  const server = await serve(() => held("14", "quota"));
  await openLive(page, `${server.address}/wall`);
  const place = () => page.getByTestId("wall").evaluate((wall) => (wall as HTMLElement).style.transform);
  expect(await place()).toBe("");
  const seen = new Set<string>();
  for (let step = 0; step < 64; step++) {
    await page.clock.fastForward("10:00");
    seen.add(await place());
  }
  for (const shift of seen) for (const pixels of shift.match(/\d+/g) ?? []) expect(Number(pixels)).toBeLessThanOrEqual(8);
  expect(seen.size).toBeGreaterThan(20);
  expect(seen).toContain("translate(0px, 0px)");
  // Returns to the page after half a day without a connection.
  await page.clock.resume();
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("stale")).toBeHidden();
  await expect(page.locator(".tile")).toHaveCount(1);
  complaints.length = 0; // the browser notes each connection that was given up
});

test("what is over stays a while, then the wall says that nothing goes on", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(() => Server.start(["replay", recording("rollout"), "--when-watched", "--speed", "2"]));
  await openLive(page, `${server.address}/wall`);
  const tile = page.getByTestId("tile").first();
  await expect(tile).toHaveClass(/tile busy/, { timeout: 20_000 });
  await expect(tile).toHaveClass("tile ok", { timeout: 20_000 });
  await expect(page.getByTestId("stable")).toBeHidden();
  await expect(page.getByTestId("stable")).toHaveText(/^1 Deployment, nothing in progress. Last: nginx revision 3, finished \d+ (s|min) ago.$/, { timeout: 40_000 });
  await expect(tile).toHaveClass("tile past");
});

test("scope, columns and sound are in the address; what makes no sense is told", async ({ page, serve }) => {
  const server = await serve(() => held("14", "rollout", ...active));
  await openLive(page, `${server.address}/wall?cluster=rollover&columns=3&sound=on`);
  await expect(page.locator(".tile")).toHaveCount(1);
  await expect(page.locator(".tile")).toContainText("rollover / rollover");
  await expect(page.locator(".tiles")).toHaveClass(/columns-3/);
  await expect(page.getByTestId("wall")).toHaveAttribute("data-sound", "on");
  for (const [wrong, status] of [["columns=9", 400], ["rotate=soon", 400], ["sound=loud", 400], ["theme=blue", 400], ["cluster=nowhere", 404]] as const) {
    expect((await page.goto(`${server.address}/wall?${wrong}`))?.status(), wrong).toBe(status);
    await expect(page.getByRole("link").last()).toBeVisible();
  }
});

test("the wall of another address takes the place of the one that is shown, and back", async ({ page, serve, complaints }) => {
  const server = await serve(() => held("14", "rollout", ...active));
  await openLive(page, `${server.address}/wall?cluster=rollover&columns=3`);
  await expect(page.locator(".tile")).toHaveCount(1);
  await page.getByRole("link", { name: "Wall", exact: true }).press("Enter");
  await expect(page).toHaveURL(`${server.address}/wall`);
  await expect(page.locator(".tile").filter({ has: page.getByTestId("band") })).toHaveCount(4);
  await expect(page.locator(".tiles")).not.toHaveClass(/columns-3/);
  await page.goBack();
  await expect(page.locator(".tiles")).toHaveClass(/columns-3/);
  await expect(page.locator(".tile")).toHaveCount(1);
  await expect(page.locator(".tile")).toContainText("rollover / rollover");
  // The page may be left before the streams of its tiles are open, which the console reports.
  expect(complaints.splice(0).filter((complaint) => !complaint.includes("closed before the connection is established"))).toEqual([]);
});

test("tones that a browser does not allow are not kept for later, and a click allows those to come", { tag: "@nightly" }, async ({ page, serve }) => {
  await page.addInitScript(() => {
    const sound = { tones: 0, isAllowed: false };
    Object.assign(globalThis, { sound });
    // The clock of an audio context stands still while a call interrupts it, and before it is allowed to run.
    Object.defineProperty(BaseAudioContext.prototype, "currentTime", { get: () => 1 });
    Object.defineProperty(BaseAudioContext.prototype, "state", { get: () => (sound.isAllowed ? "running" : "interrupted") });
    const { createOscillator } = BaseAudioContext.prototype;
    BaseAudioContext.prototype.createOscillator = function (this: BaseAudioContext) {
      sound.tones++;
      return createOscillator.call(this);
    };
    AudioContext.prototype.resume = () => {
      sound.isAllowed = true;
      return Promise.resolve();
    };
  });
  const sound = () => page.evaluate(() => (globalThis as unknown as { sound: { tones: number; isAllowed: boolean } }).sound);
  const server = await serve(() => Server.start(["replay", recording("rollout"), "--when-watched", "--speed", "2"]));
  await openLive(page, `${server.address}/wall?sound=on`);
  await expect(page.getByTestId("tile").first()).toHaveClass(/tile busy/, { timeout: 20_000 });
  await expect(page.getByTestId("tile").first()).toHaveClass("tile ok", { timeout: 20_000 });
  expect(await sound()).toEqual({ tones: 0, isAllowed: false });
  await page.mouse.click(300, 500);
  await expect.poll(sound).toMatchObject({ isAllowed: true });
});

test("the header comes to a pointer that moves, and not to one that rests there since before", async ({ page, serve }) => {
  const server = await serve(() => held("14", "quota"));
  await page.mouse.move(300, 10);
  await openLive(page, `${server.address}/wall`);
  const header = page.getByTestId("header");
  expect(await header.evaluate((header) => getComputedStyle(header).opacity)).toBe("0");
  await page.mouse.move(340, 14, { steps: 4 });
  await expect(header).toHaveCSS("opacity", "1");
  await expect(header).toHaveCSS("cursor", "default");
  await page.mouse.move(340, 600);
  await expect(header).toHaveCSS("cursor", "none");
  await expect(header).toHaveCSS("opacity", "0");
});

test("where a cluster's time runs faster, the clock of the wall and the status page tell that time", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(() => Server.simulating(["--speed", "20"]));
  await openLive(page, `${server.address}/wall`);
  const clusterMillis = async () => ((await (await page.request.get(`${server.address}/api/v1/status`)).json()) as { clusters: { nowMillis: number }[] }).clusters[0]!.nowMillis;
  const minute = (millis: number) => new Date(millis).toISOString().slice(11, 16);
  await expect.poll(async () => (await clusterMillis()) - Date.now(), { timeout: 30_000 }).toBeGreaterThan(180_000);
  const told = async () => [await page.getByTestId("clock").textContent(), `${minute(await clusterMillis())} UTC`];
  await expect.poll(async () => new Set(await told()).size, "one minute").toBe(1);
  const toldByStatus = async () => {
    await page.goto(`${server.address}/status`);
    return (await page.getByTestId("status").textContent())!.includes(`At ${minute(await clusterMillis())}:`);
  };
  await expect.poll(toldByStatus).toBe(true);
});

test("the clock of a wall goes on while the computer sleeps, and is right where the browser's is wrong", async ({ page, serve }) => {
  await page.clock.install();
  let isHeard = true;
  await page.routeWebSocket(/api[/]v1[/]stream/, (viewer) => {
    const server = viewer.connectToServer();
    server.onMessage((message) => isHeard && viewer.send(message));
  });
  const server = await serve(() => held("14", "quota"));
  await openLive(page, `${server.address}/wall`);
  const told = () => page.getByTestId("clock").textContent();
  const stamp = (ahead: number) => `${new Date(Date.now() + ahead).toISOString().slice(11, 16)} UTC`;
  const hours = 3 * 3_600_000;
  isHeard = false;
  // Sleep advances the time of day but not the clock of the page.
  await page.clock.setSystemTime(Date.now() + hours);
  await expect.poll(async () => (await told()) === stamp(hours), "before the server is heard").toBe(true);
  isHeard = true;
  await expect.poll(async () => (await told()) === stamp(0), "by the server's clock").toBe(true);
});
