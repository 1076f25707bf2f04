/// The form of the History page: the address contains the search, and only its results are shown.

import type { Page } from "@playwright/test";
import { isWhole, recording, temporaryFolder } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";
import { expect, test } from "../../fixtures/test.ts";

/// A rollout in the response of the API.
interface Kept {
  cluster: string;
  namespace: string;
  name: string;
  revision: number;
  images: string;
  outcome: string;
  deadlineMillis: number | null;
  cause: string;
  startedMillis: number;
  endedMillis: number | null;
}

const RECORDINGS = { rollout: 3, rollover: 3, "image-missing": 3, "deadline-exceeded": 3, recreate: 2 };

const ask = async (server: Server, query = ""): Promise<Kept[]> => ((await (await fetch(`${server.address}/api/v1/rollouts${query}`)).json()) as { rollouts: Kept[] }).rollouts;

/// A server that has stored everything it played, and its rollouts. No test changes them.
let server: Server;
let all: Kept[];

test.beforeAll(async () => {
  server = await Server.start(["replay", ...Object.keys(RECORDINGS).map(recording), "--speed", "1000", "--data-dir", temporaryFolder()]);
  const count = Object.values(RECORDINGS).reduce((sum, rollouts) => sum + rollouts);
  let before = "";
  // The index records the end of the last rollout within two seconds.
  await expect
    .poll(async () => {
      all = await ask(server);
      const now = JSON.stringify(all);
      const isSame = now === before;
      before = now;
      return isSame && all.length === count;
    }, { intervals: [2_500], message: "everything was played and is kept" })
    .toBe(true);
});
test.afterAll(() => server.kill());

/// Returns the rollout of each row of the page.
const rows = (page: Page) => page.getByTestId("past").evaluateAll((rows) => rows.map((row) => [".workload", ".revision"].map((cell) => row.querySelector(cell)?.textContent).join(", ")));
const rowOf = ({ cluster, namespace, name, revision }: Kept) => `${cluster} / ${namespace} / ${name}, ${revision}`;
const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name) ?? "";
const field = (page: Page, name: string) => page.locator(`form.filter input[name=${name}]`);

test("each field of the form is in the address and narrows the rows, and the back button brings them back", async ({ page }) => {
  await page.goto(`${server.address}/history`);
  await expect.poll(() => rows(page)).toEqual(all.map(rowOf));
  const minute = (millis: number) => new Date(millis).toISOString().slice(0, 16).replace("T", " ");
  const begin = all.find(({ cluster, revision }) => cluster === "rollover" && revision === 1)!.startedMillis;
  const until = Math.floor(begin / 60_000) * 60_000 + 60_000;
  const last = all[0]!.startedMillis;
  const since = Math.floor(last / 60_000) * 60_000;
  const fields: [string, string, (rollout: Kept) => boolean][] = [
    ["q", "crash", ({ images, cause }) => `${images} ${cause}`.toLowerCase().includes("crash")],
    ["q", "cluster:rollover", ({ cluster }) => cluster === "rollover"],
    ["q", "namespace:image-missing", ({ namespace }) => namespace === "image-missing"],
    ["q", "name:nginx", ({ name }) => name === "nginx"],
    ["q", "image:Slow", ({ images }) => images.includes("slow")],
    ["q", "name:web outcome:complete", ({ name, outcome }) => name === "web" && outcome === "complete"],
    ["until", minute(until), ({ startedMillis }) => startedMillis < until],
    ["since", minute(since), ({ startedMillis, endedMillis }) => (endedMillis ?? Infinity) >= since || startedMillis >= since],
  ];
  for (const [name, value, keeps] of isWhole ? fields : fields.slice(-3)) {
    const expected = all.filter(keeps).map(rowOf);
    expect(expected.length, name).toBeGreaterThan(0);
    expect(expected.length, name).toBeLessThan(all.length);
    await page.goto(`${server.address}/history`);
    await field(page, name).fill(value);
    await page.getByRole("button", { name: "Search" }).click();
    await expect.poll(() => parameter(page, name), { message: name }).toBe(value);
    await expect.poll(() => rows(page), { message: name }).toEqual(expected);
    await expect(field(page, name)).toHaveValue(value);
    await expect(page.getByTestId("found")).toContainText(`${expected.length} rollout`);
    // The overview has the same rollouts: a bar for each, and the same count.
    const workloads = page.getByTestId("workload");
    await expect(workloads.locator("rect")).toHaveCount(expected.length);
    const counts = (await workloads.allTextContents()).map((text) => Number(/(\d+) rollouts?(,|$)/.exec(text)?.[1]));
    expect(counts.reduce((sum, count) => sum + count), value).toBe(expected.length);
    await page.goBack();
    await expect.poll(() => parameter(page, name), { message: `${name}, back` }).toBe("");
    await expect.poll(() => rows(page), { message: `${name}, back` }).toEqual(all.map(rowOf));
    await expect(field(page, name)).toHaveValue("");
  }
});

test("on a phone the picture of a workload is beside its name, and nothing is wider than the page", async ({ page }) => {
  for (const width of isWhole ? [320, 390, 600] : [390]) {
    await page.setViewportSize({ width, height: 844 });
    await page.goto(`${server.address}/history`);
    const workloads = await page.getByTestId("workload").all();
    expect(workloads.length).toBeGreaterThan(0);
    for (const workload of workloads) {
      const parts = [workload.locator("svg"), workload.locator(".name"), workload.locator(".muted").last()];
      const [picture, name, words] = await Promise.all(parts.map(async (part) => (await part.boundingBox())!));
      expect(picture!.x + picture!.width, `${width}`).toBeLessThanOrEqual(name!.x);
      expect(words!.x, `${width}`).toBe(name!.x);
      expect(picture!.y, `${width}`).toBeLessThan(words!.y);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth), `${width}`).toBeLessThanOrEqual(width);
  }
});

test("each choice of the form is a link with an address of its own, and choices and fields add up", async ({ page }) => {
  await page.goto(`${server.address}/history`);
  await expect.poll(() => rows(page)).toEqual(all.map(rowOf));
  const took = ({ startedMillis, endedMillis }: Kept) => (endedMillis ?? startedMillis) - startedMillis;
  const choices: [string, string, string, string, ((rollout: Kept) => boolean) | undefined][] = [
    ["Complete", "outcome", "complete", "Any outcome", ({ outcome }) => outcome === "complete"],
    ["Superseded", "outcome", "superseded", "Any outcome", ({ outcome }) => outcome === "superseded"],
    ["Deadline passed", "outcome", "failed", "Any outcome", ({ deadlineMillis }) => deadlineMillis !== null],
    ["Had trouble", "trouble", "yes", "Had trouble", ({ cause }) => cause !== ""],
    ["Over 30 s", "longer", "30s", "Any duration", (rollout) => took(rollout) >= 30_000],
    // Their results depend on the day: the API, which other tests check, must return the same.
    ["Last hour", "when", "hour", "Any time", undefined],
    ["Last 24 hours", "when", "day", "Any time", undefined],
    ["Today", "when", "today", "Any time", undefined],
    ["Last night", "when", "last-night", "Any time", undefined],
    ["Yesterday", "when", "yesterday", "Any time", undefined],
    ["Last 7 days", "when", "week", "Any time", undefined],
    ["Last 30 days", "when", "month", "Any time", undefined],
  ];
  const choice = (name: string) => page.locator("form.filter a.choice").filter({ hasText: new RegExp(`^${name}$`) });
  const choose = async (name: string) => {
    if (!(await choice(name).isVisible())) await page.getByText("Filters", { exact: true }).click();
    await choice(name).click();
  };
  // The ordinary run tests one choice of each key.
  const looked = choices.filter(([, key], index) => isWhole || choices.findIndex(([, other]) => other === key) === index);
  for (const [name, key, value, none, keeps] of looked) {
    const expected = (keeps ? all.filter(keeps) : await ask(server, `?${key}=${value}`)).map(rowOf);
    await choose(name);
    await expect.poll(() => parameter(page, key), { message: name }).toBe(value);
    await expect.poll(() => rows(page), { message: name }).toEqual(expected);
    await expect(choice(name)).toHaveAttribute("aria-current", "true");
    await choose(none);
    await expect.poll(() => parameter(page, key), { message: none }).toBe("");
    await expect.poll(() => rows(page), { message: none }).toEqual(all.map(rowOf));
    await page.goBack();
    await expect.poll(() => rows(page), { message: `${name}, back` }).toEqual(expected);
    await page.goBack();
    await expect.poll(() => rows(page), { message: `${name}, back twice` }).toEqual(all.map(rowOf));
  }
  // A field keeps the selected filters, and a filter keeps the text of the field.
  await choose("Complete");
  await expect.poll(() => parameter(page, "outcome")).toBe("complete");
  await expect(field(page, "q")).toHaveValue("outcome:complete");
  await field(page, "q").press("End");
  await field(page, "q").pressSequentially(" name:web");
  await field(page, "q").press("Enter");
  await expect.poll(() => parameter(page, "q")).toBe("outcome:complete name:web");
  const complete = all.filter(({ name, outcome }) => name === "web" && outcome === "complete");
  await expect.poll(() => rows(page)).toEqual(complete.map(rowOf));
  await choose("Had trouble");
  await expect.poll(() => parameter(page, "trouble")).toBe("yes");
  expect([parameter(page, "name"), parameter(page, "outcome")]).toEqual(["web", "complete"]);
  await expect.poll(() => rows(page)).toEqual(complete.filter(({ cause }) => cause !== "").map(rowOf));
  await expect(field(page, "q")).toHaveValue("name:web outcome:complete trouble:yes");
  // Each filter can be removed separately.
  await page.getByRole("link", { name: "Remove the filter name:web" }).click();
  await expect.poll(() => parameter(page, "name")).toBe("");
  expect([parameter(page, "trouble"), parameter(page, "outcome")]).toEqual(["yes", "complete"]);
});

test("the page of a rollout that is kept tells its day", async ({ page }) => {
  await page.goto(`${server.address}/history`);
  await page.getByTestId("past").first().locator("a.name").click();
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("moment")).toHaveText(/^2026-11-2\d \d\d:\d\d:\d\d UTC$/);
  await expect(page.getByTestId("day")).toHaveText(/^2026-11-2\d$/);
});

for (const [width, height] of [[1440, 900], [390, 844]] as const) {
  test.describe(`${width} pixels wide, without scripts`, () => {
    test.use({ viewport: { width, height }, javaScriptEnabled: false });
    test("the table fits, each row says how it ended, and its menu opens by key", { tag: width === 390 ? [] : "@nightly" }, async ({ page }) => {
      await page.goto(`${server.address}/history`);
      const past = page.getByTestId("past");
      await expect(past).toHaveCount(all.length);
      for (const row of await past.all()) {
        const box = (await row.boundingBox())!;
        expect(box.x).toBeGreaterThanOrEqual(0);
        expect(box.x + box.width, "no row is wider than the screen").toBeLessThanOrEqual(width);
        await expect(row.locator(".sign")).toHaveText(/^(Complete|Superseded|Deadline passed|In trouble|Deleted|In progress)$/);
        await expect(row.locator(".sign")).toBeVisible();
        // Columns beside each other, or two lines, and one more for a cause.
        const line = (await row.locator("time").boundingBox())!.height;
        const isLong = (await row.locator(".images").boundingBox())!.height > 1.6 * line; // two lines, so that no tag is cut
        const lines = width > 900 ? 2 : ((await row.locator(".cause").isVisible()) ? 4 : 2) + Number(isLong);
        expect(box.height, await row.innerText()).toBeLessThan((lines + 1) * line + 24);
        for (const part of ["a.name", "time", ".images"]) {
          const inner = (await row.locator(part).boundingBox())!;
          expect(inner.x + inner.width, part).toBeLessThanOrEqual(width);
        }
      }
      const failed = past.filter({ has: page.locator(".sign", { hasText: "Deadline passed" }) }).first();
      await expect(failed.locator(".status")).toContainText("then superseded");
      const menu = failed.getByTitle(/^Actions for /);
      await menu.focus();
      await page.keyboard.press("Enter");
      for (const name of ["Play", "Compare", "Show its end", "Save as a file", "Save the recording"]) {
        const link = failed.getByRole("link", { name, exact: true });
        await expect(link).toBeVisible();
        const box = (await link.boundingBox())!;
        expect(box.x + box.width, name).toBeLessThanOrEqual(width);
      }
      await expect(failed).toContainText(/peak \d+ pods? \(ceiling: \d+ desired\), lowest \d+ available \(floor: \d+\)/);
      await page.keyboard.press("Tab");
      await expect(failed.getByRole("link", { name: "Play", exact: true })).toBeFocused();
    });
  });
}

test("in a window of 320 px the rows of a comparison are cards with the names of the columns", async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(`${server.page("rollout", "rollout", "nginx")}/rollouts`);
  await page.getByTestId("compare").click();
  const before = page.getByTestId("before").first();
  await expect(before).toContainText(/Complete/);
  const cells = await before.locator("td").evaluateAll((cells) => cells.map((cell) => [cell.getAttribute("data-label"), getComputedStyle(cell).display, getComputedStyle(cell, "::before").display]));
  expect(cells).toEqual(["Revision", "Began (UTC)", "Image", "Outcome", "First pod", "Restarts"].map((column) => [column, "block", "inline"]));
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
});

test("a menu closes with Escape, and a click beside it", async ({ page }) => {
  await page.goto(`${server.address}/history`);
  const row = page.getByTestId("past").first();
  const [menu, compare] = [row.getByTitle(/^Actions for /), row.getByRole("link", { name: "Compare", exact: true })];
  await menu.click();
  await compare.focus();
  await page.keyboard.press("Escape");
  await expect(compare).toBeHidden();
  await expect(menu).toBeFocused();
  await menu.click();
  await expect(compare).toBeVisible();
  // Only one of two menus is open.
  await page.getByTestId("past").nth(1).getByTitle(/^Actions for /).press("Enter"); // it is behind the one that is open
  await expect(compare).toBeHidden();
  await page.getByRole("heading", { name: "History" }).click();
  await expect(page.locator("details.menu[open]")).toHaveCount(0);
});

test.describe("in another zone", () => {
  test.use({ timezoneId: "Asia/Kolkata" });
  test("the zone that an address names precedes the viewer's", { tag: "@nightly" }, async ({ page }) => {
    const zones = { "Asia/Tokyo": "UTC+09:00", own: "UTC+05:30", "no/zone": "UTC+05:30", utc: "UTC" };
    for (const [zone, told] of Object.entries(zones)) {
      await page.goto(`${server.address}/history?zone=${zone}`);
      await expect(page.getByText("History is kept")).toContainText(`Times are in ${told}.`);
    }
  });

  test("Z chooses between UTC and the viewer's zone on every page, whose names are alike", async ({ page }) => {
    const { cluster, namespace, name, revision } = all[0]!;
    const deployment = server.page(cluster, namespace, name);
    await page.goto(`${server.address}/history?since=2026-11-21T10:30&tz=%2B05:30`);
    const zone = page.getByText("History is kept");
    await expect(zone).toContainText("Times are in UTC+05:30.");
    await page.keyboard.press("z");
    await expect(zone).toContainText("Times are in UTC.");
    // The address names the same moment.
    expect(parameter(page, "since")).toBe("2026-11-21T05:00");
    await page.keyboard.press("z");
    await expect(zone).toContainText("Times are in UTC+05:30.");
    expect(parameter(page, "since")).toBe("2026-11-21T10:30");
    // To the second, with an offset as users write it.
    await page.goto(`${server.address}/history?since=2026-11-21T10:30:45&tz=+05:30`);
    await expect(zone).toContainText("Times are in UTC+05:30.");
    await page.keyboard.press("z");
    await expect(zone).toContainText("Times are in UTC.");
    expect(parameter(page, "since")).toBe("2026-11-21T05:00:45");
    await page.keyboard.press("z");
    await expect(zone).toContainText("Times are in UTC+05:30.");
    for (const path of ["/rollouts", `/revisions/${revision}`]) {
      await page.goto(`${deployment}${path}`);
      const main = page.locator("main");
      await expect(main).toContainText("UTC+05:30");
      await page.keyboard.press("z");
      await expect(main).not.toContainText("UTC+05:30");
      await page.keyboard.press("z");
    }
  });
});
