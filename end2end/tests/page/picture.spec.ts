/// The picture, measured: at any number of pods every state covers as much of its band as there are pods in it, in its colour and in the
/// order of its rows, whether bars are elements, painted, or a ribbon.

import { writeFileSync } from "node:fs";
import type { Locator, Page, TestInfo } from "@playwright/test";
import { LAST, recorded, type MadeSet, type State } from "../../fixtures/made.mjs";
import { colour, decoded, distance, mean, share, type Box, type Colour, type Picture } from "../../fixtures/pixels.mjs";
import { expect, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

/// Thousands of pods take a small machine their time.
test.beforeEach(() => test.setTimeout(600_000));

const SIZES = [0, 1, 10, 40, 119, 120, 121, 130, 300, 490, 500, 501, 1_000];
const LARGE = [5_000, 20_000];
const THEMES = ["light", "dark"] as const;
/// The states of pods, in the order of their rows. The last but one and the one before leave at five twelfths of the picture.
const ROWS: State[] = ["available", "finished", "ready", "unready", "starting", "scheduling", "terminating", "gone", "outside", "failing"];
/// A state's colour, how much of it a bar is where there is room for shapes and where there is not, how high the bar is, and its two edges in pixels.
const INKS: Partial<Record<State, { name: string; roomy: number; low: number; height?: number; edge?: number }>> = {
  available: { name: "--available", roomy: 1, low: 1 },
  finished: { name: "--available", roomy: 0.4, low: 0.4 },
  ready: { name: "--ready", roomy: 0.39, low: 0.6, edge: 1 },
  unready: { name: "--unready", roomy: 0.12, low: 0.55, edge: 1.5 },
  starting: { name: "--starting", roomy: 0.456, low: 0.456, height: 0.64, edge: 0.8 },
  scheduling: { name: "--scheduling", roomy: 0, low: 0.35 },
  terminating: { name: "--terminating", roomy: 0.557, low: 0.557, height: 0.6 },
  outside: { name: "--quarantine", roomy: 0.12, low: 0.35, edge: 1.4 },
  failing: { name: "--failing", roomy: 1, low: 1 },
};
/// Bars of fewer pixels have no shapes; rows of fewer have no room between bars.
const LOW_BAR = 6;
const TIGHT_ROW = 2;

/// Which state the pod of a row is in: blocks of neighbours.
const stateOf = (row: number, pods: number): State => (pods === 1 ? "failing" : ROWS[Math.floor((row * ROWS.length) / pods)]!);
const blocks = (pods: number): MadeSet[] => [{ revision: 1, pods: Array.from({ length: pods }, (_, row) => stateOf(row, pods)) }];

/// A recording of each, as a cluster of its own, long after the last change.
async function held(info: TestInfo, made: Record<string, MadeSet[]>): Promise<Server> {
  const files = Object.entries(made).map(([name, sets]) => {
    const file = info.outputPath(`${name}.jsonl`);
    writeFileSync(file, recorded(sets).join("\n"));
    return file;
  });
  const server = await Server.start(["replay", ...files, "--hold-at", "90"]);
  // All of them are read, to their ends.
  await expect.poll(async () => {
    const { clusters } = (await (await fetch(`${server.address}/api/v1/deployments`)).json()) as List;
    return clusters.filter(({ deployments }) => !deployments.some(({ name }) => name === LAST)).map(({ name }) => name);
  }, { timeout: 120_000 }).toEqual([]);
  return server;
}
interface List {
  clusters: { name: string; deployments: { name: string }[] }[];
}
const address = (server: Server, name: string, theme: string) => `${server.page(name, "shop", "web")}?theme=${theme}`;

/// What one looks at: a page, or a tile of the wall.
interface View {
  picture: Picture;
  ratio: number;
  canvas: Box;
  bands: { isOut: boolean; box: Box }[];
  colours: (name: string) => Colour;
}

async function boxOf(part: Locator): Promise<Box> {
  const box = await part.boundingBox();
  if (!box) throw new Error("not there");
  return box;
}

/// Takes a screenshot once the picture is still, which it is when two in a row are equal.
async function look(page: Page): Promise<View> {
  const canvas = page.locator(".canvas[id$=canvas]:visible").first();
  const grounds = page.locator("[data-testid=band]:visible .ground");
  await expect(grounds.first()).toBeAttached({ timeout: 60_000 });
  const placed = () => grounds.evaluateAll((grounds) => grounds.map((ground) => {
    const { x, y, width, height } = ground.getBoundingClientRect();
    return { isOut: ground.closest(".out") !== null, box: { x, y, width, height } };
  }));
  let last: Buffer = Buffer.alloc(0);
  let bands: Awaited<ReturnType<typeof placed>> = [];
  // Neither the picture nor the places of its bands move any more: both are of the same moment.
  await expect.poll(async () => {
    const [picture, places] = [last, JSON.stringify(bands)];
    [last, bands] = [await page.screenshot(), await placed()];
    return picture.equals(last) && places === JSON.stringify(bands);
  }, { intervals: [300], timeout: 60_000 }).toBe(true);
  const style = await page.evaluate(() => {
    const style = getComputedStyle(document.documentElement);
    const names = ["--surface", "--available", "--ready", "--unready", "--starting", "--scheduling", "--terminating", "--quarantine", "--failing"];
    return { ratio: devicePixelRatio, colours: Object.fromEntries(names.map((name) => [name, style.getPropertyValue(name)])) };
  });
  return { picture: decoded(last), ratio: style.ratio, canvas: await boxOf(canvas), bands, colours: (name) => colour(style.colours[name]!) };
}

/// Part of the width of a band, from a share of it to another, without its border.
const part = ({ canvas, ratio }: View, { y, height }: Box, from: number, to: number): Box => ({
  x: (canvas.x + canvas.width * from) * ratio,
  width: canvas.width * (to - from) * ratio,
  y: (y + 2) * ratio,
  height: (height - 4) * ratio,
});

/// The mean colour of each line of pixels.
function lines(view: View, box: Box): { y: number; colour: Colour }[] {
  const from = Math.ceil(box.y);
  return Array.from({ length: Math.max(Math.floor(box.y + box.height) - from, 0) }, (_, index) => ({
    y: from + index,
    colour: mean(view.picture, { ...box, y: from + index, height: 1 }),
  }));
}

/// Where the rows are: from the first line that is not ground to the last.
function inked(view: View, box: Box): { y: number; colour: Colour }[] {
  const ground = view.colours("--surface");
  const all = lines(view, box);
  const is = (line: { colour: Colour }) => distance(line.colour, ground) > 3;
  return all.slice(all.findIndex(is), all.findLastIndex(is) + 1);
}

/// The colour of a state where it fills everything, so much of it.
function tint(view: View, state: State, level: number): Colour {
  const [ground, full] = [view.colours("--surface"), view.colours(INKS[state]!.name)];
  return full.map((value, channel) => ground[channel]! + level * (value - ground[channel]!)) as Colour;
}

/// Every state covers what its pods are, in one part of the band's width.
function measure(view: View, pods: number, band: Box, [from, to]: [number, number], stateAt: (row: number) => State, what: string): void {
  const box = part(view, band, from, to);
  const ink = inked(view, box);
  const row = ink.length / view.ratio / pods;
  if (row > TIGHT_ROW) return measureBlocks(view, pods, ink, box, row, stateAt, what);
  // Every line is of one state: each has as many as it has pods.
  const counts = new Map<State, number>();
  const states = [...new Set(Array.from({ length: pods }, (_, index) => stateAt(index)))];
  for (const line of ink) {
    const off = states.map((state) => distance(line.colour, state === "gone" ? view.colours("--surface") : tint(view, state, INKS[state]!.low)));
    const best = off.indexOf(Math.min(...off));
    expect(off[best], `${what}: line ${line.y} is of ${states[best]}, not of a colour between: ${line.colour}`).toBeLessThanOrEqual(16);
    counts.set(states[best]!, (counts.get(states[best]!) ?? 0) + 1);
  }
  for (const state of states) {
    const expected = Array.from({ length: pods }, (_, index) => stateAt(index)).filter((one) => one === state).length / pods;
    const found = (counts.get(state) ?? 0) / ink.length;
    // A pixel more or less where rows are shared.
    expect(Math.abs(found - expected), `${what}: ${state} covers ${found}, its pods are ${expected}`).toBeLessThanOrEqual(0.035);
  }
}

/// Where rows have room between them: the mean of each block of rows.
function measureBlocks(view: View, pods: number, ink: { y: number; colour: Colour }[], box: Box, about: number, stateAt: (row: number) => State, what: string): void {
  // Half of the room between rows is above the first one and below the last one.
  const first = ink[0]!.y;
  const rows = (index: number) => ({ ...box, y: first + ((ink.length + gap) * index) / pods - gap / 2 });
  const ground = view.colours("--surface");
  const bar = bars(view, ink, pods, stateAt);
  const gap = Math.max(about * view.ratio - bar, 0);
  const row = (ink.length + gap) / pods;
  expect(bar / row, `${what}: bars fill their rows`).toBeGreaterThan(0.5);
  for (let index = 0; index < pods; ) {
    const state = stateAt(index);
    let end = index;
    while (end < pods && stateAt(end) === state) end++;
    const block = { ...rows(index), height: row * (end - index) };
    const found = mean(view.picture, block);
    index = end;
    if (state === "gone") {
      expect(distance(found, ground), `${what}: nothing of pods that are gone`).toBeLessThanOrEqual(3);
      continue;
    }
    const { name, roomy, low, height = 1, edge = 0 } = INKS[state]!;
    const isLow = bar / view.ratio < LOW_BAR;
    const line = state === "scheduling" ? 1.5 * 0.4 * view.ratio : 0;
    const expected = isLow ? (low * bar) / row : (roomy * height * bar + 2 * edge * view.ratio * (1 - roomy / 2) + line) / row;
    const { share: covered, off } = share(found, ground, view.colours(name));
    expect(Math.abs(covered - expected), `${what}: ${state} covers ${covered} of its rows, not ${expected}`).toBeLessThanOrEqual(0.02 + expected * 0.15);
    expect(off, `${what}: ${state} has no colour but its own`).toBeLessThanOrEqual(10);
  }
}

/// Height of a bar in device pixels: what the bars of the first block cover.
function bars(view: View, ink: { y: number; colour: Colour }[], pods: number, stateAt: (row: number) => State): number {
  const state = stateAt(0);
  const rows = Array.from({ length: pods }, (_, row) => stateAt(row)).findIndex((other) => other !== state);
  const block = rows < 0 ? pods : rows;
  const full = ink.slice(0, Math.floor((ink.length * block) / pods));
  return full.reduce((sum, line) => sum + Math.max(share(line.colour, view.colours("--surface"), view.colours(INKS[state]!.name)).share, 0), 0) / block;
}

/// All of a picture of blocks: before and after some of the pods left.
function measureAll(view: View, pods: number, what: string): void {
  const current = view.bands.find((band) => !band.isOut)!;
  const out = view.bands.find((band) => band.isOut);
  if (pods === 0) {
    expect(inked(view, part(view, current.box, 0.02, 0.98)), `${what}: nothing`).toEqual([]);
    return;
  }
  const leaves = (state: State) => state === "gone" || state === "outside";
  const before = (row: number): State => (leaves(stateOf(row, pods)) ? "available" : stateOf(row, pods));
  const after = (row: number): State => (leaves(stateOf(row, pods)) ? "gone" : stateOf(row, pods));
  measure(view, pods, current.box, [0.05, 0.35], before, `${what}, before`);
  measure(view, pods, current.box, [0.6, 0.97], after, `${what}, after`);
  expect(out !== undefined, `${what}: out of rotation`).toBe(pods > 1);
  if (!out) return;
  expect(inked(view, part(view, out.box, 0.05, 0.35)), `${what}: nobody was out of rotation`).toEqual([]);
  const ink = inked(view, part(view, out.box, 0.6, 0.97));
  const { share: covered, off } = share(mean(view.picture, { ...part(view, out.box, 0.6, 0.97), y: ink[0]!.y, height: ink.length }), view.colours("--surface"), view.colours("--quarantine"));
  expect(covered, `${what}: out of rotation`).toBeGreaterThan(0.15);
  expect(covered, `${what}: out of rotation`).toBeLessThan(0.5);
  expect(off, `${what}: out of rotation`).toBeLessThanOrEqual(10);
}

/// The page as the server renders it: what starts its program takes what was loaded, and starts nothing.
const unhydrated = (page: Page) =>
  page.route("**/start.js*", (route) => route.fulfill({ contentType: "text/javascript", body: `await (await fetch(document.querySelector("link[rel=preload]").href)).arrayBuffer();` }));

test.use({ viewport: { width: 1440, height: 1300 } });

for (const sizes of [SIZES, LARGE]) {
  for (const theme of THEMES) {
    const named = `${sizes[0]} to ${sizes.at(-1)} pods, ${theme}`;
    const made = Object.fromEntries(sizes.map((pods) => [`n${pods}`, blocks(pods)]));

    test(`every state is seen, live: ${named}`, async ({ page, serve }, info) => {
      const server = await serve(() => held(info, made));
      for (const pods of sizes) {
        await page.goto(address(server, `n${pods}`, theme));
        await page.waitForSelector("html[data-live=true]", { timeout: 60_000 });
        measureAll(await look(page), pods, `${pods} pods`);
        await page.keyboard.press("?");
        await expect(page.getByText("previous, next rollout"), "it answers a key").toBeVisible({ timeout: 2_000 });
      }
    });

    test(`every state is seen, as the server draws it: ${named}`, async ({ page, serve }, info) => {
      const server = await serve(() => held(info, made));
      await unhydrated(page);
      for (const pods of sizes) {
        await page.goto(address(server, `n${pods}`, theme));
        measureAll(await look(page), pods, `${pods} pods`);
      }
    });

    test(`every state is seen, on the wall: ${named}`, async ({ page, serve }, info) => {
      const server = await serve(() => held(info, made));
      await page.setViewportSize({ width: 1920, height: 1080 });
      for (const pods of sizes.filter((pods) => pods > 0)) {
        await page.goto(`${server.address}/wall?cluster=n${pods}&theme=${theme}`);
        await expect(page.locator(".tile.bad"), "a tile of what is stuck").toHaveCount(1, { timeout: 60_000 });
        const found = await look(page);
        measureAll(found, pods, `${pods} pods`);
      }
    });
  }
}

test("no scripts, twice the pixels, another zoom, another theme, paper: the picture stays right", async ({ page, serve, browser }, info) => {
  const server = await serve(() => held(info, { n130: blocks(130), n300: blocks(300), n1000: blocks(1_000) }));
  const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1440, height: 800 } });
  const sharp = await browser.newContext({ deviceScaleFactor: 2, viewport: { width: 1440, height: 1300 } });
  for (const pods of [130, 300, 1_000]) {
    const still = await plain.newPage();
    await still.goto(server.page(`n${pods}`, "shop", "web"));
    measureAll(await look(still), pods, `${pods} pods without scripts`);
    const large = await sharp.newPage();
    await large.goto(address(server, `n${pods}`, "dark"));
    await large.waitForSelector("html[data-live=true]");
    measureAll(await look(large), pods, `${pods} pods with twice the pixels`);

    await page.emulateMedia({ colorScheme: "light", media: "screen" });
    await page.goto(server.page(`n${pods}`, "shop", "web"));
    await page.waitForSelector("html[data-live=true]");
    measureAll(await look(page), pods, `${pods} pods`);
    await page.emulateMedia({ colorScheme: "dark", media: "screen" });
    measureAll(await look(page), pods, `${pods} pods, now dark`);
    await page.keyboard.press("+");
    await expect.poll(() => page.locator("#picture-box").evaluate((box) => Number(box.getAttribute("viewBox")!.split(" ")[2]))).toBe(30);
    const near = await look(page);
    // The last half minute: those that left are not in it, or end at its left edge.
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

/// The mean colours of a band in coarse cells.
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
  test(`one pod more changes the way of drawing and not the picture, ${theme}`, async ({ page, serve }, info) => {
    // In an order that is no order of states, and an old revision that goes.
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
      await page.goto(address(server, `m${pods}`, theme));
      await page.waitForSelector("html[data-live=true]");
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

test("more revisions than any picture is high are painted where their bands are", async ({ serve, browser }, info) => {
  const sets = Array.from({ length: 140 }, (_, index): MadeSet => ({ revision: index + 1, pods: ["available", "failing", "available"] }));
  const server = await serve(() => held(info, { many: sets }));
  const context = await browser.newContext({ deviceScaleFactor: 2, viewport: { width: 1280, height: 720 } });
  const page = await context.newPage();
  await page.goto(address(server, "many", "light"));
  await page.waitForSelector("html[data-live=true]");
  const scroller = page.getByRole("region", { name: "Revisions and their pods" });
  await expect(page.locator("[data-testid=gutter][data-revision='140']")).toBeInViewport();
  for (const top of [0, 1_500, 100_000]) {
    await scroller.evaluate((scroller, top) => { scroller.scrollTop = top; }, top);
    const view = await look(page);
    const room = await boxOf(scroller);
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
