/// The pages as one application: navigation between pages, the viewer's time zone, and notices when the program cannot continue.

import type { Page } from "@playwright/test";
import { expect, isLive, openLive, openPlayed, openRecording, RolloutPage, takeNotifications, test } from "../../fixtures/test.ts";
import { recording } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

const rollover = ["rollover", "rollover", "web"] as const;
const held = () => Server.start(["replay", ...["rollover", "rollout", "kill-pod"].map(recording), "--hold-at", "12"]);

test("from the list to a Deployment and back nothing is loaded, and socket, search and place are kept", async ({ page, serve }) => {
  const server = await serve(held);
  const sockets: string[] = [];
  page.on("websocket", (socket) => sockets.push(socket.url()));
  const rollout = new RolloutPage(page);
  await page.setViewportSize({ width: 900, height: 260 }); // so that the list scrolls
  await openLive(page, server.address);
  await rollout.mark();
  await page.getByRole("searchbox").fill("e");
  await expect(page).toHaveURL(/[?]q=e$/);
  await expect(page.getByTestId("deployment")).toHaveCount(3);
  const last = page.getByTestId("deployment").last();
  await last.scrollIntoViewIfNeeded();
  const scrolled = () => page.evaluate(() => scrollY);
  await expect.poll(scrolled).toBeGreaterThan(40);
  const before = await scrolled();
  await last.click();
  await expect(page).toHaveURL(/[/]deployments[/]/);
  await expect(rollout.verdict).not.toBeEmpty();
  await expect(rollout.living(1).or(rollout.living(3)).first()).toBeAttached();
  await page.goBack();
  await expect(page.getByTestId("deployment")).toHaveCount(3);
  await expect(page.getByRole("searchbox")).toHaveValue("e");
  await expect.poll(scrolled).toBe(before);
  expect(await rollout.isUnreloaded()).toBe(true);
  expect(sockets).toHaveLength(1);
});

const toList = (page: Page) => page.getByRole("link", { name: "Deployments", exact: true }).click();
const rolloverRow = (page: Page) => page.getByTestId("deployment").filter({ hasText: "rollover" });

test("after Back and Forward the list has its own address, and Back leads from it", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(held);
  const { verdict } = new RolloutPage(page);
  await openLive(page, server.page("kill-pod", "kill-pod", "nginx"));
  await toList(page);
  await rolloverRow(page).click();
  await expect(verdict).toContainText("Revision 3");
  await page.goBack();
  await expect(rolloverRow(page)).toBeVisible();
  await page.goForward();
  await expect(verdict).toContainText("Revision 3");
  await toList(page);
  await expect(rolloverRow(page)).toBeVisible();
  await expect(page).toHaveURL(`${server.address}/`);
  await page.goBack();
  await expect(verdict).toContainText("Revision 3");
  await expect(page).toHaveURL(server.page(...rollover));
});

test("after Back and Forward a Deployment has its own address, and details of its pods", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(held);
  const rollout = new RolloutPage(page);
  await openLive(page, `${server.address}/clusters/rollover`);
  await rolloverRow(page).click();
  await expect(rollout.verdict).toContainText("Revision 3");
  await toList(page);
  await expect(page.getByTestId("deployment")).toHaveCount(3);
  await page.goBack();
  await expect(rollout.verdict).toContainText("Revision 3");
  await page.goForward();
  await rolloverRow(page).click();
  await expect(rollout.verdict).toContainText("Revision 3");
  await expect(page).toHaveURL(server.page(...rollover));
  await rollout.living(1).or(rollout.living(3)).first().click();
  await expect(page.getByTestId("pod-detail")).toBeVisible();
});

test.describe("somewhere else on the earth", () => {
  test.use({ timezoneId: "Asia/Kolkata" });

  test("times are the viewer's own, and UTC on request, which is remembered", async ({ page, serve }) => {
    const { rollout } = await openPlayed(page, serve, rollover, "--hold-at", "12");
    const moment = page.getByTestId("moment");
    // 04:53 UTC, five and a half hours ahead.
    await expect(moment).toHaveText(/^10:23:\d\d UTC[+]05:30$/);
    await expect(rollout.story.getByRole("button").first()).toHaveText(/^10:23:/);
    await expect(rollout.why).toHaveText(/10:3\d:\d\d UTC[+]05:30/);
    await page.getByTestId("zone").click();
    await expect(moment).toHaveText(/^04:53:\d\d UTC$/);
    await expect(rollout.why).toHaveText(/05:0\d:\d\d UTC/);
    await page.reload();
    await isLive(page, /Recording/);
    await expect(page.getByTestId("zone")).toHaveText("UTC");
    await page.keyboard.press("z");
    await expect(moment).toHaveText(/UTC[+]05:30$/);
  });

  test("notifications tell times in the viewer's zone", { tag: "@nightly" }, async ({ page, serve }) => {
    const told = await takeNotifications(page);
    const server = await serve(() => Server.replaying("deadline-exceeded", "--when-watched"));
    await page.goto(server.page("deadline-exceeded", "deadline-exceeded", "web"));
    await page.getByRole("button", { name: "Notify me" }).click();
    await expect.poll(async () => (await told()).join(), { timeout: 60_000 }).toMatch(/10:\d\d:\d\d UTC[+]05:30/);
    expect((await told()).join()).not.toMatch(/UTC(?![+])/);
  });

  test("the longest moment has room in the header of the smallest phone", { tag: "@nightly" }, async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("deadline-exceeded", "--hold-at", "12"));
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto(`${server.page("deadline-exceeded", "deadline-exceeded", "web")}?at=2026-11-21T04:53:40Z`);
    await isLive(page, "As it was at 2026-11-21 10:23:40 UTC+05:30");
    const chip = (await page.getByTestId("live").locator("..").boundingBox())!;
    expect(chip.x + chip.width).toBeLessThanOrEqual(320);
  });

  test("a wall's zone stands in its address", async ({ page, serve }) => {
    const server = await serve(held);
    await openLive(page, `${server.address}/wall?zone=America/New_York`);
    await expect(page.getByTestId("clock")).toHaveText(/ (EST|EDT|UTC-0[45]:00)$/);
    const refused = await page.request.get(`${server.address}/wall?zone=nowhere`);
    expect([refused.status(), await refused.text()]).toEqual([400, expect.stringContaining("name of a time zone")]);
  });
});

test("where WebAssembly is forbidden the page says so and stays as it was rendered", async ({ page, serve, complaints }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  await page.addInitScript(() => { Reflect.deleteProperty(globalThis, "WebAssembly"); });
  await page.goto(server.page(...rollover));
  await expect(page.getByTestId("stopped")).toContainText("WebAssembly is off");
  await expect(page.getByTestId("verdict")).toContainText("Revision 3 is replacing revision 1");
  complaints.length = 0; // the missing program is an error of the console
});

for (const [what, file] of [["start does", /start[.]js/], ["bindings do", /rollcast[.]js/], ["code does", /rollcast_bg[.]wasm/]] as const) {
  test(`a program whose ${what} not come is asked for again, and the page says so until it is there`, { tag: what === "code does" ? [] : "@nightly" }, async ({ page, serve, complaints }) => {
    await page.clock.install();
    const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
    await page.route(file, (route) => route.abort());
    await page.goto(server.page(...rollover));
    const stopped = page.getByTestId("stopped");
    await expect(stopped).toContainText("The script of this page could not start");
    await stopped.evaluate((stopped) => {
      const observer = new MutationObserver(() => { stopped.dataset["saidAgain"] = "true"; });
      observer.observe(stopped, { childList: true, subtree: true, characterData: true });
    });
    const again = page.waitForEvent("requestfailed", (request) => file.test(request.url()));
    await page.clock.runFor(5_000);
    await again;
    await expect(stopped).toBeVisible();
    await expect(stopped, "a screen reader says it once").not.toHaveAttribute("data-said-again");
    await expect(page.getByTestId("verdict")).toContainText("Revision 3 is replacing revision 1");
    await page.unroute(file);
    // Retries at once when the network is back.
    const comeBack = () => page.evaluate(() => {
      dispatchEvent(new Event("online"));
      return document.documentElement.dataset["live"];
    });
    await expect.poll(comeBack).toBe("true");
    await expect(stopped).toBeHidden();
    complaints.length = 0; // each file that did not come is an error of the console
  });
}

test("a page whose program its server does not have any more, as it was updated, loads itself again", async ({ page, serve, complaints }) => {
  await page.clock.install();
  let [loads, isAsked] = [0, false];
  page.on("load", () => loads++);
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  await page.route(/rollcast([.]js|_bg[.]wasm)/, (route) => {
    if (isAsked) return route.continue(); // for the program of the new page
    isAsked = route.request().method() === "HEAD";
    return route.fulfill({ status: 410 });
  });
  await page.goto(server.page(...rollover));
  await expect(page.getByTestId("stopped")).toContainText("The script of this page could not start");
  expect(loads).toBe(1);
  await page.clock.runFor(30_000).catch(() => undefined); // while it reloads there is no page
  await expect.poll(() => loads).toBe(2);
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("stopped")).toBeHidden();
  complaints.length = 0; // each file that is not there is an error of the console
});

test("when the program panics the page says so instead of standing still", async ({ page, serve, complaints }) => {
  await openPlayed(page, serve, rollover, "--hold-at", "12");
  // A panic ends in a trap of the program.
  await page.evaluate(() => { setTimeout(() => { throw new WebAssembly.RuntimeError("unreachable"); }); });
  await expect(page.getByTestId("stopped")).toBeVisible();
  await expect(page.getByTestId("stopped")).toContainText("This page stopped.");
  complaints.length = 0; // the panic is an error of the console
});

test("what the server sends and nobody can read is said, after the page was loaded again once", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  await page.routeWebSocket(/stream$/, (socket) => {
    const beyond = socket.connectToServer();
    beyond.onMessage(() => socket.send(Buffer.from([255, 255, 255])));
  });
  let loads = 0;
  page.on("load", () => loads++);
  await page.goto(server.page(...rollover));
  await expect.poll(() => loads).toBe(2);
  await expect(page.getByTestId("page-trouble")).toContainText("Rollcast was updated");
  await expect(page.getByTestId("verdict")).toContainText("Revision 3 is replacing revision 1");
});

/// Limits the number of address changes in a time. Refused changes do not count.
const limitAddressChanges = (page: Page, most: number, millis: number) =>
  page.addInitScript(([most, millis]) => {
    const changes: number[] = [];
    const limited = (change: History["replaceState"]): History["replaceState"] =>
      function (this: History, ...state) {
        const lately = changes.filter((at) => at > performance.now() - millis);
        if (lately.length >= most) {
          document.documentElement.dataset["refused"] = "true";
          throw new DOMException(`more than ${most} times per ${millis} ms`, "SecurityError");
        }
        changes.push(performance.now());
        change.apply(this, state);
      };
    History.prototype.pushState = limited(History.prototype.pushState);
    History.prototype.replaceState = limited(History.prototype.replaceState);
  }, [most, millis] as const);

test("an address that the browser refuses is tried again", async ({ page, serve }) => {
  await limitAddressChanges(page, 2, 3_000);
  const server = await serve(held);
  await openLive(page, server.address);
  // Each letter starts a search.
  await page.getByRole("searchbox").pressSequentially("rollover", { delay: 200 });
  await expect(page.locator("html")).toHaveAttribute("data-refused", "true");
  // The last refused change is applied once the browser accepts changes again.
  await expect(page).toHaveURL(/[?]q=rollover$/);
  await expect(page.getByTestId("stopped")).toBeHidden();
});

test("a browser that refuses many changes of the address, as Safari does, is not asked for them", { tag: "@nightly" }, async ({ page, serve }) => {
  await limitAddressChanges(page, 100, 30_000);
  const server = await serve(held);
  const rollout = new RolloutPage(page);
  await openLive(page, server.address);
  await page.getByRole("searchbox").pressSequentially("rollover ".repeat(14));
  await expect(page).toHaveURL(/[?]q=(rollover%20){13}rollover/);
  await page.getByRole("searchbox").fill("");
  await page.getByTestId("deployment").filter({ hasText: "web" }).first().click();
  await expect(rollout.verdict).not.toBeEmpty();
  await expect(rollout.live).toHaveText(/Recording/);
  for (let step = 0; step < 120; step++) await page.keyboard.press("Shift+ArrowLeft");
  await expect(page).toHaveURL(/at=/);
  await page.keyboard.press("/");
  await expect(page.getByTestId("deployment").first()).toBeVisible();
  await expect(page.getByTestId("stopped")).toBeHidden();
});

test("storage that is forbidden takes nothing away", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  await page.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(globalThis, name, { get: () => { throw new DOMException("forbidden", "SecurityError"); } });
    }
  });
  await openRecording(page, server.page(...rollover));
  await page.getByTestId("zone").click();
  await expect(page.getByTestId("moment")).toHaveText(/UTC$/);
});
