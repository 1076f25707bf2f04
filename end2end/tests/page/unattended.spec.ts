/// The unattended wall: it reconnects, and reloads itself if that helps. Time is the browser's clock, which the test advances.

import type { WebSocketRoute } from "@playwright/test";
import { expect, openLive, test } from "../../fixtures/test.ts";
import { recording } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

const held = (at: string, ...names: string[]) => Server.start(["replay", ...names.map((name) => recording(name)), "--hold-at", at]);

test.use({ viewport: { width: 1920, height: 1080 } });

test("a cut, a restart and sleep pass without a human; meanwhile it says that it is stale", async ({ page, serve, complaints }) => {
  const server = await serve(() => held("14", "quota", "rollover"));
  await openLive(page, `${server.address}/wall`);
  await expect(page.locator(".tile")).toHaveCount(2);
  await server.kill();
  await expect(page.getByTestId("stale")).toHaveText(/^Rollcast unreachable since [\d:]+ UTC[.] Showing last known data[.] Next try in \d+ s[.]$/, { timeout: 10_000 });
  await expect(page.locator(".tile.stale").first()).toBeVisible();
  await expect(page.locator(".tile")).toHaveCount(2);
  // The title says that the data is outdated.
  await expect(page).toHaveTitle(/^Stale: /);
  await expect(page.getByTestId("connections")).toHaveText("Reconnecting");
  await expect(page.getByTestId("stable-count")).toHaveText("0 stable, as last known");
  await page.setViewportSize({ width: 320, height: 640 });
  await expect.poll(() => page.getByTestId("stale").evaluate((banner) => banner.scrollHeight <= banner.clientHeight), "no line of it is cut").toBe(true);
  const again = await server.again();
  await serve(() => Promise.resolve(again));
  await expect(page.getByTestId("stale")).toBeHidden({ timeout: 20_000 });
  await expect(page.locator(".tile.stale")).toHaveCount(0, { timeout: 20_000 });
  await expect(page.locator(".tile")).toHaveCount(2);
  complaints.length = 0; // the browser notes each try that failed
});

test("a wall whose program stopped reloads itself, as soon as its server responds", async ({ page, serve, complaints }) => {
  await page.clock.install();
  let loads = 0;
  page.on("load", () => loads++);
  const server = await serve(() => held("14", "quota"));
  await openLive(page, `${server.address}/wall`);
  await page.clock.runFor(30_000);
  expect(loads, "nothing stopped").toBe(1);
  await server.kill();
  // A panic ends in a trap of the program; `start.js` receives this event.
  await page.evaluate(() => dispatchEvent(new ErrorEvent("error", { error: new WebAssembly.RuntimeError("unreachable") })));
  await expect(page.getByTestId("stopped")).toBeVisible();
  const asked = page.waitForEvent("requestfailed", (request) => request.method() === "HEAD");
  await page.clock.runFor(30_000);
  await asked;
  // Meanwhile its session has expired: a request of a page leads to the sign-in.
  await page.route(/wall$/, (route) => (route.request().method() === "HEAD" ? route.fulfill({ status: 401 }) : route.fallback()));
  await serve(() => server.again());
  await expect
    .poll(async () => {
      await page.clock.runFor(30_000).catch(() => undefined); // while it reloads there is no page
      return loads;
    })
    .toBe(2);
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("stopped")).toBeHidden();
  complaints.length = 0; // the browser notes each try that failed
});

test("a wall whose stream is refused asks why, and reloads itself only where somebody has to sign in, once until it is connected", { tag: "@nightly" }, async ({ page, serve, complaints }) => {
  test.setTimeout(240_000);
  await page.clock.install();
  let [loads, asked, status, isRefused, isHelped] = [0, 0, 200, false, true];
  page.on("load", () => loads++);
  const streams: WebSocketRoute[] = [];
  await page.routeWebSocket(/api[/]v1[/]stream/, (stream) => {
    if (isRefused) return void stream.close();
    stream.connectToServer();
    streams.push(stream);
  });
  await page.route(/wall$/, (route) => {
    if (route.request().method() !== "HEAD") return route.fallback();
    asked++;
    isRefused = status === 200 || !isHelped; // by the sign-in
    return route.fulfill({ status, headers: { location: "https://sign-in.invalid/" } });
  });
  const server = await serve(() => held("14", "quota"));
  await openLive(page, `${server.address}/wall`);
  await page.clock.runFor(30_000);
  expect([loads, asked], "it asks at the second look that finds it lost").toEqual([1, 0]);
  for (const [reason, before] of [[401, 1], [403, 2], [303, 3]] as const) {
    [status, isRefused] = [200, true];
    await Promise.all(streams.splice(0).map((stream) => stream.close()));
    const known = asked;
    await expect
      .poll(async () => {
        await page.clock.runFor(30_000);
        return asked - known;
      })
      .toBeGreaterThan(1);
    expect(loads, "its proxy lets it in").toBe(before);
    status = reason;
    await expect
      .poll(async () => {
        await page.clock.runFor(30_000).catch(() => undefined); // while it reloads there is no page
        return loads;
      })
      .toBe(before + 1);
    await page.waitForSelector("html[data-live=true]");
  }
  [isRefused, isHelped] = [true, false];
  await Promise.all(streams.splice(0).map((stream) => stream.close()));
  const looks = async () => {
    await page.clock.runFor(30_000).catch(() => undefined); // while it reloads there is no page
    return loads;
  };
  await expect.poll(looks, { timeout: 60_000 }).toBe(5);
  for (const _ of [1, 2, 3]) await looks();
  expect(loads, "its proxy lets pages through, and no stream").toBe(5);
  complaints.length = 0; // the browser notes each try that failed
});

test("a wall that its proxy names to pages and not to streams reloads itself once, until it is connected again", async ({ page, serve }) => {
  let [loads, isNamed] = [0, false];
  page.on("load", () => loads++);
  const streams: WebSocketRoute[] = [];
  await page.routeWebSocket(/api[/]v1[/]stream/, (stream) => {
    if (!isNamed) return void stream.close({ code: 4401, reason: "sign in" });
    stream.connectToServer();
    streams.push(stream);
  });
  const server = await serve(() => held("14", "quota"));
  await page.goto(`${server.address}/wall`);
  await expect.poll(() => loads).toBe(2);
  await expect(page.getByTestId("stale")).toContainText("Rollcast unreachable");
  expect(loads).toBe(2);
  isNamed = true;
  await expect.poll(() => page.evaluate(() => sessionStorage.getItem("rollcast-reloaded-for")), { timeout: 20_000 }).toBeNull();
  await expect(page.getByTestId("stale")).toBeHidden();
  isNamed = false;
  await Promise.all(streams.splice(0).map((stream) => stream.close({ code: 4401, reason: "sign in" })));
  await expect.poll(() => loads).toBe(3);
});

test("a wall that has to reload itself while its server does not respond does so once it does", { tag: "@nightly" }, async ({ page, serve, complaints }) => {
  await page.clock.install();
  let [loads, asked, isBusy, isOver] = [0, 0, true, false];
  page.on("load", () => loads++);
  const streams: WebSocketRoute[] = [];
  const refuse = (stream: WebSocketRoute) => stream.close({ code: 4401, reason: "sign in" });
  await page.routeWebSocket(/api[/]v1[/]stream/, (stream) => {
    if (isOver && isBusy) return void refuse(stream);
    stream.connectToServer();
    streams.push(stream);
  });
  await page.route(/wall$/, (route) => {
    if (route.request().method() !== "HEAD") return route.fallback();
    if (!isBusy) return route.fulfill({ status: 501 }); // by a proxy that does not know it
    if (asked++ === 0) return undefined; // this one is never answered
    return route.fulfill({ status: [502, 429][asked % 2]! });
  });
  const server = await serve(() => held("14", "quota"));
  await openLive(page, `${server.address}/wall`);
  isOver = true;
  await Promise.all(streams.splice(0).map(refuse));
  await page.waitForSelector("html[data-live=false]");
  await expect(page.getByTestId("stale")).toContainText("Rollcast unreachable");
  await expect
    .poll(async () => {
      await page.clock.runFor(5_000);
      return asked;
    })
    .toBeGreaterThan(3);
  expect(loads).toBe(1);
  isBusy = false;
  await expect
    .poll(async () => {
      await page.clock.runFor(5_000).catch(() => undefined); // while it reloads there is no page
      return loads;
    })
    .toBe(2);
  complaints.length = 0; // the browser notes each status of an error
});

test("a new version reloads the wall, once, and once more ten minutes later", async ({ page, serve }) => {
  await page.clock.install();
  // Each of its connections receives the other build: there is no notice to reload a page that is about to reload itself.
  await page.addInitScript(() => {
    if (location.protocol === "about:") return;
    Math.random = () => 0.9; // late enough for all of them
    const load = Number(sessionStorage.getItem("load")) + 1;
    sessionStorage.setItem("load", String(load));
    const note = () => document.querySelector("[data-testid=page-trouble].banner") && sessionStorage.setItem(`asked-${load}`, "yes");
    new MutationObserver(note).observe(document, { subtree: true, childList: true, attributes: true });
  });
  const askedIn = (load: number) => page.evaluate((load) => sessionStorage.getItem(`asked-${load}`), load);
  // The server reports another protocol and build than the page: the number and the text of its first frame.
  let hellos = 0;
  await page.routeWebSocket(/api[/]v1[/]stream/, (viewer) => {
    const server = viewer.connectToServer();
    server.onMessage((message) => {
      if (typeof message !== "string" && message[0] === 0) {
        message[1] = 127; // Hello, with its protocol
        message.fill(102, message.length - 16);
        hellos++;
      }
      viewer.send(message);
    });
  });
  let loads = 0;
  page.on("load", () => loads++);
  const server = await serve(() => held("14", "quota"));
  await openLive(page, `${server.address}/wall`);
  await expect.poll(() => hellos, { intervals: [50] }).toBe(5);
  await expect
    .poll(async () => {
      await page.clock.runFor(1_000).catch(() => undefined); // while it reloads there is no page
      return loads;
    })
    .toBe(2);
  await page.waitForSelector("html[data-live=true]");
  await page.clock.runFor(30_000);
  await expect(page.locator(".tile")).toHaveCount(1);
  expect(loads).toBe(2);
  expect([await askedIn(1), await askedIn(2)]).toEqual([null, "yes"]);
  // If the build still differs, the page reloads itself again, because nobody operates it.
  await page.clock.fastForward("10:00").catch(() => undefined);
  await expect
    .poll(async () => {
      await page.clock.runFor(1_000).catch(() => undefined);
      return loads;
    })
    .toBe(3);
});

test("a wall stays while only its tiles hear of another build and protocol", { tag: "@nightly" }, async ({ page, serve }) => {
  await page.clock.install();
  // Servers behind one address during an update: the connection of the wall itself is opened after those of its four tiles.
  let [sockets, hellos] = [0, 0];
  await page.routeWebSocket(/api[/]v1[/]stream/, (viewer) => {
    const isOfTile = sockets++ < 4;
    const server = viewer.connectToServer();
    server.onMessage((message) => {
      if (typeof message !== "string" && message[0] === 0 && ++hellos && isOfTile) {
        message[1] = 127; // Hello, with its protocol
        message.fill(102, message.length - 16);
      }
      viewer.send(message);
    });
  });
  let loads = 0;
  page.on("load", () => loads++);
  const server = await serve(() => held("14", "quota"));
  await openLive(page, `${server.address}/wall`);
  await expect.poll(() => hellos).toBe(5);
  await page.clock.runFor(5_000);
  await expect(page.locator(".tile .bars .bar").first()).toBeAttached();
  expect(loads).toBe(1);
  await expect(page.getByTestId("page-trouble")).toBeHidden();
});
