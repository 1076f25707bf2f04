/// Measures the picture: for any number of pods the area of every state in its band matches its pods, with its colour and in the order of its rows, whether bars are
/// elements, painted, or a ribbon.

import type { Page } from "@playwright/test";
import type { MadeSet, State } from "../../fixtures/made.mjs";
import type { Server } from "../../fixtures/server.ts";
import { address, blocks, held, inked, look, measure, measureAll, part, stateOf, type View } from "../../fixtures/picture.ts";
import { distance, mean, share, type Box, type Colour } from "../../fixtures/pixels.mjs";
import { isWhole } from "../../fixtures/environment.ts";
import { expect, openLive, test } from "../../fixtures/test.ts";

/// Thousands of pods take long on a small machine.
test.beforeEach(() => test.setTimeout(600_000));

/// Nightly around each number at which the method of drawing changes, and in between. The ordinary run has one number with bars, one with
/// painted pods and one with a ribbon.
const SIZES = isWhole ? [0, 1, 10, 40, 119, 120, 121, 130, 300, 490, 500, 501, 1_000] : [40, 130, 501];
const LARGE = [5_000, 20_000];
const THEMES = ["light", "dark"] as const;
/// In the dark theme only the colours differ.
const tagOf = (theme: (typeof THEMES)[number]) => (theme === "dark" ? "@nightly" : []);

/// Keeps a page as the server renders it: replaces the start of its program.
const unhydrated = (page: Page) =>
  page.route("**/start.js*", (route) => route.fulfill({ contentType: "text/javascript", body: `for (const link of document.querySelectorAll("link[rel=preload]")) await (await fetch(link.href)).arrayBuffer();` }));

test.use({ viewport: { width: 1440, height: 1300 } });

interface Shown {
  page: Page;
  server: Server;
  sizes: number[];
  theme: string;
}

async function live({ page, server, sizes, theme }: Shown): Promise<void> {
  for (const pods of sizes) {
    await page.goto(address(server, `n${pods}`, theme));
    await page.waitForSelector("html[data-live=true]", { timeout: 60_000 });
    measureAll(await look(page), pods, `${pods} pods`);
    await page.keyboard.press("?");
    await expect(page.getByText("previous, next rollout"), "it answers a key").toBeVisible({ timeout: 2_000 });
  }
}

async function asTheServerDrawsIt({ page, server, sizes, theme }: Shown): Promise<void> {
  await unhydrated(page);
  for (const pods of sizes) {
    await page.goto(address(server, `n${pods}`, theme));
    measureAll(await look(page), pods, `${pods} pods`);
  }
  await page.unrouteAll();
}

async function onTheWall({ page, server, sizes, theme }: Shown): Promise<void> {
  await page.setViewportSize({ width: 1920, height: 1080 });
  for (const pods of sizes.filter((pods) => pods > 0)) {
    await page.goto(`${server.address}/wall?cluster=n${pods}&theme=${theme}`);
    await expect(page.locator(".tile.bad"), "a tile of what is stuck").toHaveCount(1, { timeout: 60_000 });
    measureAll(await look(page), pods, `${pods} pods`);
  }
}

const WAYS = { live, "as the server draws it": asTheServerDrawsIt, "on the wall": onTheWall };
const recordings = (sizes: number[]) => Object.fromEntries(sizes.map((pods) => [`n${pods}`, blocks(pods)]));

for (const theme of THEMES) {
  for (const [named, way] of Object.entries(WAYS)) {
    test(`every state is seen, ${named}: ${SIZES.join(", ")} pods, ${theme}`, { tag: tagOf(theme) }, async ({ page, serve }, info) => {
      await way({ page, server: await serve(() => held(info, recordings(SIZES))), sizes: SIZES, theme });
    });
  }
}

for (const theme of THEMES) {
  // Loading thousands of pods is slow, so all ways of viewing them share one page.
  test(`every state is seen, in every way: ${LARGE.join(" and ")} pods, ${theme}`, { tag: "@nightly" }, async ({ page, serve }, info) => {
    test.setTimeout(900_000);
    const server = await serve(() => held(info, recordings(LARGE)));
    for (const [named, way] of Object.entries(WAYS)) {
      await test.step(named, () => way({ page, server, sizes: LARGE, theme }));
    }
  });
}

test("a ribbon tells its counts under the pointer, and opens into bars when the viewer zooms in", async ({ page, serve }, info) => {
  const server = await serve(() => held(info, { n600: blocks(600) }));
  await page.goto(address(server, "n600", "light"));
  await page.waitForSelector("html[data-live=true]", { timeout: 60_000 });
  const counts = page.getByTestId("tip");
  const point = async () => {
    const [ground, canvas] = await Promise.all([page.locator("[data-testid=band] .ground").first().boundingBox(), page.locator("#canvas").boundingBox()]);
    if (!ground || !canvas) return;
    await page.mouse.move(canvas.x + 4, canvas.y + 1); // above the bands
    await page.mouse.move(canvas.x + canvas.width * 0.9, ground.y + Math.min(ground.height, 300) / 2);
  };
  await expect(async () => {
    await point();
    await expect(counts).toHaveText(/^\d\d:\d\d:\d\d ?\d+ /, { timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
  // Zooms in six times by a factor of two: rows are then high enough to be drawn one by one, without counts.
  for (let press = 0; press < 6; press++) await page.keyboard.press("+");
  await expect(async () => {
    await point();
    await expect(counts).toBeHidden({ timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
  await page.keyboard.press("0");
  await expect(async () => {
    await point();
    await expect(counts).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
});

test("no scripts, twice the pixels, another zoom, another theme, paper: the picture stays right", { tag: "@nightly" }, async ({ page, serve, browser }, info) => {
  const server = await serve(() => held(info, { n130: blocks(130), n300: blocks(300), n1000: blocks(1_000) }));
  const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1440, height: 880 } });
  const sharp = await browser.newContext({ deviceScaleFactor: 2, viewport: { width: 1440, height: 1300 } });
  // 130 and 300 are painted pod by pod, 1,000 are a ribbon.
  for (const pods of [130, 300, 1_000]) {
    const still = await plain.newPage();
    await still.goto(server.page(`n${pods}`, "shop", "web"));
    measureAll(await look(still), pods, `${pods} pods without scripts`);
    const large = await sharp.newPage();
    await openLive(large, address(server, `n${pods}`, "dark"));
    measureAll(await look(large), pods, `${pods} pods with twice the pixels`);

    await page.emulateMedia({ colorScheme: "light", media: "screen" });
    await openLive(page, server.page(`n${pods}`, "shop", "web"));
    measureAll(await look(page), pods, `${pods} pods`);
    await page.emulateMedia({ colorScheme: "dark", media: "screen" });
    measureAll(await look(page), pods, `${pods} pods, now dark`);
    await page.keyboard.press("+");
    await expect.poll(() => page.locator("#picture-box").evaluate((box) => Number(box.getAttribute("viewBox")!.split(" ")[2]))).toBe(30);
    const near = await look(page);
    // In the last half minute, pods that left are not drawn, or end at its left edge.
    const after = (row: number): State => (["gone", "outside"].includes(stateOf(row, pods)) ? "gone" : stateOf(row, pods));
    const rows = Array.from({ length: pods }, (_, row) => after(row));
    if (pods < 1_000) measure(near, pods, near.bands[0]!.box, [0.3, 0.97], (row) => rows[row]!, `${pods} pods, nearer`);
    await page.keyboard.press("0");
    await page.emulateMedia({ colorScheme: "dark", media: "print" });
    const paper = await look(page);
    await expect(page.locator("#paint")).toBeHidden();
    measureAll(paper, pods, `${pods} pods on paper`);
  }
  await plain.close();
  await sharp.close();
});

test("the edges of a bar that lasts are dashed", async ({ page, serve }, info) => {
  const server = await serve(() => held(info, { n10: blocks(10) }));
  await page.goto(address(server, "n10", "light"));
  await page.waitForSelector("html[data-live=true]", { timeout: 60_000 });
  const view = await look(page);
  const box = part(view, view.bands.find((band) => band.isOut)!.box, 0.7, 0.9);
  const { y } = inked(view, box)[0]!;
  // An edge is between lines of pixels: one of the first two has most of it.
  const ranges = [y, y + 1].map((y) => {
    const pixels = Array.from({ length: Math.floor(box.width) }, (_, x) => mean(view.picture, { x: Math.ceil(box.x) + x, y, width: 1, height: 1 }));
    const inks = pixels.map((pixel) => distance(pixel, view.colours("--surface")));
    return Math.max(...inks) - Math.min(...inks);
  });
  expect(Math.max(...ranges), "dashes and the room between them").toBeGreaterThan(40);
});

/// Returns the mean colours of a band in coarse cells.
function cells(view: View, band: Box): Colour[] {
  const [columns, rows] = [6, Math.floor(band.height / 40)];
  const box = part(view, band, 0.02, 0.98);
  return Array.from({ length: columns * rows }, (_, index) =>
    mean(view.picture, {
      x: box.x + (box.width / columns) * (index % columns),
      width: box.width / columns,
      y: box.y + (box.height / rows) * Math.floor(index / columns),
      height: box.height / rows,
    }),
  );
}

for (const theme of THEMES) {
  test(`one pod more changes the way of drawing and not the picture, ${theme}`, { tag: "@nightly" }, async ({ page, serve }, info) => {
    // Pods in an order without sorted states, and an old revision that is removed.
    const mixed = (pods: number): MadeSet[] => {
      const old = Math.floor(pods * 0.4);
      const of = (count: number, states: State[]) => Array.from({ length: count }, (_, row) => states[Math.floor((row * states.length) / count)]!);
      return [
        { revision: 1, wanted: old, pods: of(old, ["available", "available", "terminating", "available", "gone"]) },
        { revision: 2, wanted: pods, pods: of(pods - old, ["failing", "available", "ready", "unready", "starting", "available", "scheduling", "available"]) },
      ];
    };
    const counts = [120, 121, 500, 501];
    const server = await serve(() => held(info, Object.fromEntries(counts.map((pods) => [`m${pods}`, mixed(pods)]))));
    const views = new Map<number, View>();
    for (const pods of counts) {
      await openLive(page, address(server, `m${pods}`, theme));
      views.set(pods, await look(page));
    }
    for (const [one, more] of [[120, 121], [500, 501]] as const) {
      const [before, after] = [views.get(one)!, views.get(more)!];
      expect(after.bands.length).toBe(before.bands.length);
      before.bands.forEach((band, index) => {
        const other = after.bands[index]!;
        expect(Math.abs(other.box.height - band.box.height), `${one} and ${more}: bands are as high`).toBeLessThanOrEqual(8);
        const whole = (view: View, box: Box) => mean(view.picture, part(view, box, 0.02, 0.98));
        expect(distance(whole(before, band.box), whole(after, other.box)), `${one} and ${more}: as much of each colour`).toBeLessThanOrEqual(6);
        const [left, right] = [cells(before, band.box), cells(after, other.box)];
        const far = left.filter((cell, at) => distance(cell, right[at]!) > 20).length;
        expect(far / left.length, `${one} and ${more}: the same colours in the same places`).toBeLessThanOrEqual(0.1);
      });
    }
  });
}

test("more revisions than any picture is high are painted where their bands are", { tag: "@nightly" }, async ({ serve, browser }, info) => {
  const sets = Array.from({ length: 140 }, (_, index): MadeSet => ({ revision: index + 1, pods: ["available", "failing", "available"] }));
  const server = await serve(() => held(info, { many: sets }));
  const context = await browser.newContext({ deviceScaleFactor: 2, viewport: { width: 1280, height: 720 } });
  const page = await context.newPage();
  await openLive(page, address(server, "many", "light"));
  const scroller = page.getByRole("region", { name: "Revisions and their pods" });
  await expect(page.locator("[data-testid=gutter][data-revision='140']")).toBeInViewport();
  for (const top of [0, 1_500, 100_000]) {
    await scroller.evaluate((scroller, top) => { scroller.scrollTop = top; }, top);
    const view = await look(page);
    const room = (await scroller.boundingBox())!;
    const seen = view.bands.filter(({ box }) => box.y >= room.y && box.y + box.height <= room.y + room.height);
    expect(seen.length).toBeGreaterThan(3);
    for (const { box } of seen) {
      const { share: covered } = share(mean(view.picture, part(view, box, 0.1, 0.9)), view.colours("--surface"), view.colours("--failing"));
      expect(covered, `${top}: a band of its pods`).toBeGreaterThan(0.05);
      const ink = inked(view, part(view, box, 0.1, 0.9));
      expect(ink.length / view.ratio, `${top}: inside the band`).toBeLessThan(box.height - 4);
    }
    const { width, height } = await page.locator("#paint").evaluate((canvas: HTMLCanvasElement) => ({ width: canvas.width, height: canvas.height }));
    expect(Math.max(width, height)).toBeLessThanOrEqual(8_192);
    expect(width * height).toBeLessThanOrEqual(16_100_000);
  }
  await context.close();
});
