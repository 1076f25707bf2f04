/// Small screens: verdict, budget, the current revision and its predecessor are in view at once. The rest scrolls inside the
/// picture, which keeps the current revision in view.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import type { Locator, Page, TestInfo } from "@playwright/test";
import { recorded, type MadeSet, type State } from "../../fixtures/made.mjs";
import { expect, openLive, RolloutPage, test } from "../../fixtures/test.ts";
import { longName, longNames } from "../../fixtures/long.ts";
import { isWhole, recording, temporaryFolder } from "../../fixtures/environment.ts";
import { held as heldAll } from "../../fixtures/picture.ts";
import { Server } from "../../fixtures/server.ts";

const SIZES = [[1280, 720], [1440, 900], [390, 844]] as const;
/// Height of a band's picture that must be visible, unless the band is lower, in pixels.
const ENOUGH = 120;

const of = (pods: number, ...states: State[]): State[] => Array.from({ length: pods }, (_, index) => states[index % states.length]!);
/// A rollout in progress.
const midway = (pods: number): MadeSet[] => [
  { revision: 1, wanted: Math.ceil(pods / 2), pods: of(pods, "available", "available", "terminating", "available", "gone") },
  { revision: 2, wanted: pods, pods: of(Math.ceil(pods / 2), "available", "available", "starting", "unready") },
];
const made: Record<string, MadeSet[]> = {
  midway40: midway(40),
  midway300: midway(300),
  midway1000: midway(1_000),
  six: [
    { revision: 1, wanted: 5, pods: of(6, "available", "available", "available", "terminating") },
    { revision: 2, wanted: 1, pods: ["available"] },
    { revision: 3, wanted: 1, pods: ["unready"] },
    { revision: 4, wanted: 1, pods: ["failing", "gone"] },
    { revision: 5, wanted: 1, pods: ["starting"] },
    { revision: 6, wanted: 8, pods: ["available", "starting", "scheduling"] },
  ],
  many: [
    ...Array.from({ length: 14 }, (_, index): MadeSet => ({ revision: index + 1, wanted: 2, pods: ["available", "available"] })),
    { revision: 15, wanted: 8, pods: ["available", "starting", "scheduling", "outside"] },
  ],
};

const held = (info: TestInfo, ...names: string[]) => heldAll(info, Object.fromEntries(names.map((name) => [name, made[name]!])), 0);

/// Returns whether a part is inside the screen, and whether another element covers it.
const seen = (part: Locator) =>
  part.evaluate((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const spots = [[left + 4, top + 4], [(left + right) / 2, (top + bottom) / 2], [right - 4, bottom - 4]] as const;
    const isCovered = spots.some(([x, y]) => {
      const on = document.elementFromPoint(x, y);
      return !on || !(element.contains(on) || on.contains(element));
    });
    return { isCovered, isInside: left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight };
  });

/// Returns the visible height and the height of a revision's band.
const bandOf = (page: Page, revision: number) =>
  page.locator(`[data-testid=gutter][data-revision="${revision}"]`).evaluate((gutter) => {
    const { top, bottom } = gutter.getBoundingClientRect();
    let [from, to] = [Math.max(top, 0), Math.min(bottom, innerHeight)];
    for (let around = gutter.parentElement; around; around = around.parentElement) {
      if (getComputedStyle(around).overflowY === "visible") continue;
      const box = around.getBoundingClientRect();
      [from, to] = [Math.max(from, box.top), Math.min(to, box.bottom)];
    }
    return { visible: to - from, height: bottom - top };
  });

/// Checks that all important parts are in view at once, without scrolling.
async function allInView(page: Page, current: number, replaced: number): Promise<void> {
  const rollout = new RolloutPage(page);
  const parts = { verdict: rollout.verdict, budget: page.getByTestId("budget"), controls: page.getByTestId("transport"), current: rollout.beside(current), replaced: rollout.beside(replaced) };
  for (const [name, part] of Object.entries(parts)) await expect.poll(() => seen(part), name).toEqual({ isCovered: false, isInside: true });
  for (const revision of [current, replaced]) {
    // For a band between two pixels the visible height differs by rounding.
    await expect.poll(async () => {
      const { visible, height } = await bandOf(page, revision);
      return visible + 1 >= Math.min(height, ENOUGH);
    }, `the band of revision ${revision}`).toBe(true);
  }
  expect(await page.evaluate(() => scrollY), "nobody scrolled").toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen").toBe(true);
}

for (const [width, height] of SIZES) {
  test.describe(`at ${width} × ${height}`, () => {
    test.use({ viewport: { width, height } });

    test("three revisions while one overtakes another", { tag: width === 1440 ? "@nightly" : [] }, async ({ page, serve }) => {
      const server = await serve(() => Server.start(["replay", recording("rollover"), "--hold-at", "8"]));
      await openLive(page, server.page("rollover", "rollover", "web"));
      await allInView(page, 3, 1);
    });

    test("six revisions, and rollouts of 40, 300 and 1,000 pods", { tag: "@nightly" }, async ({ page, serve }, info) => {
      const server = await serve(() => held(info, "six", "midway40", "midway300", "midway1000"));
      for (const [name, current] of [["six", 6], ["midway40", 2], ["midway300", 2], ["midway1000", 2]] as const) {
        await openLive(page, server.page(name, "shop", "web"));
        await allInView(page, current, 1);
      }
    });

    test("the playground", { tag: "@nightly" }, async ({ page, serve }) => {
      const kubeconfig = join(temporaryFolder(), "kubeconfig");
      const server = await serve(() => Server.start(["demo", "--write-kubeconfig", kubeconfig]));
      await openLive(page, `${server.address}/playground`);
      await expect(new RolloutPage(page).beside(2)).toBeVisible({ timeout: 30_000 });
      await allInView(page, 2, 1);
    });
  });
}

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test("the pods of each revision are counted in words beside its band", async ({ page, serve }, info) => {
    const server = await serve(async () => {
      const file = info.outputPath("midway40.jsonl");
      writeFileSync(file, recorded(made["midway40"]!, 0).join("\n"));
      return Server.start(["replay", recording("rollout"), file, "--hold-at", "14"]);
    });
    for (const [address, revision, said] of [[server.page("rollout", "rollout", "nginx"), 2, "3 desired, 3 available"], [server.page("midway40", "shop", "web"), 2, "40 desired, 10 available"]] as const) {
      await openLive(page, address);
      const counts = new RolloutPage(page).beside(revision).getByTestId("counts");
      await expect(counts).toHaveText(said);
      await expect(counts).toBeVisible();
      // No text is cut off, neither at the side nor by the next band.
      await expect.poll(() => counts.evaluate((counts) => counts.scrollWidth <= counts.clientWidth && counts.getBoundingClientRect().bottom <= counts.parentElement!.getBoundingClientRect().bottom + 1)).toBe(true);
    }
  });

  test("each input of the list's filter takes a whole row", async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("rollout", "--hold-at", "14"));
    await openLive(page, server.address);
    const [form, ...inputs] = await Promise.all(["form.filter", "#q", "#labels"].map((part) => page.locator(part).evaluate((part) => part.getBoundingClientRect().width)));
    expect(inputs).toEqual([form, form]);
  });
});

test.describe("on a phone without a mouse", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("fields have letters that no telephone zooms into, and the wall has a header", async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("rollout", "--hold-at", "14"));
    await openLive(page, server.address);
    expect(await page.evaluate(() => matchMedia("(hover: none) and (pointer: coarse)").matches)).toBe(true);
    for (const field of ["#q", "#labels"]) await expect(page.locator(field)).toHaveCSS("font-size", "16px");
    await openLive(page, `${server.address}/wall`);
    const header = page.getByTestId("header");
    await expect(header).toHaveCSS("opacity", "1");
    expect((await header.boundingBox())!.y).toBe(0);
    await header.getByRole("link", { name: "Deployments" }).tap();
    await expect(page).toHaveURL(`${server.address}/`);
  });

  test("there are no keys to tell of", async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("rollout", "--hold-at", "14"));
    await page.setViewportSize({ width: 820, height: 1180 });
    for (const address of [server.address, server.page("rollout", "rollout", "nginx")]) {
      await openLive(page, address);
      await expect(page.locator("[popovertarget=keys]").first()).toBeHidden();
    }
    await expect(page.locator(".transport > select")).toBeHidden();
  });
});

test("with a zoom on a desktop the speed and the keys are in the second line of the controls", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--hold-at", "14"));
  // 1280 × 1000 at 150 %, and 1440 × 1200 at 200 %.
  for (const [width, height] of [[853, 667], [720, 600]] as const) {
    await page.setViewportSize({ width, height });
    await openLive(page, server.page("rollout", "rollout", "nginx"));
    await expect(page.getByRole("button", { name: "Shortcuts" })).toBeVisible();
    await expect(page.getByLabel("Speed")).toBeVisible();
    expect((await page.getByTestId("transport").boundingBox())!.height).toBeLessThan(90);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen").toBe(true);
    await openLive(page, server.address);
    await expect(page.getByRole("button", { name: "Shortcuts" })).toBeVisible();
  }
});

test("on a phone a link is copied with one tap, and nothing moves by that", async ({ page, serve }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async () => {} } }));
  const server = await serve(() => Server.replaying("rollout", "--hold-at", "14"));
  const [transport, button] = [page.getByTestId("transport"), page.getByRole("button", { name: "Copy link" })];
  for (const width of isWhole ? [320, 390, 820] : [390]) {
    await page.setViewportSize({ width, height: 844 });
    await openLive(page, server.page("rollout", "rollout", "nginx"));
    const before = await transport.boundingBox();
    // The slider and one more line, with a date as well.
    if (width === 390) expect(before!.height).toBeLessThan(90);
    await button.click();
    const said = button.locator("span");
    await expect(said).toHaveText("copied");
    expect(await seen(said)).toEqual({ isCovered: false, isInside: true });
    expect(await transport.boundingBox()).toEqual(before);
    // In the past there may be one more line. A focused element is scrolled to a place above all of them.
    await page.keyboard.press("ArrowLeft");
    await expect(page.getByTestId("live")).toHaveText(/^As it was at /);
    const padding = await page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).scrollPaddingBottom));
    expect((await transport.boundingBox())!.height, String(width)).toBeLessThanOrEqual(padding);
  }
});

test("on a phone the time that is left fits beside the other figures, however long it is", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "8"));
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 640 });
    await openLive(page, server.page("rollover", "rollover", "web"));
    await page.locator(".figures").evaluate((figures) => {
      const measured = document.createElement("div");
      measured.className = "measured";
      for (const [name, words] of [["dt", "left, from earlier rollouts"], ["dd", "2 min 10 s to 9 min 40 s"]] as const) measured.appendChild(document.createElement(name)).textContent = words;
      figures.append(measured);
    });
    expect(await page.locator(".measured dd").evaluate((text) => text.scrollWidth <= text.clientWidth)).toBe(true);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen").toBe(true);
  }
});

test("a reason that is cut on a phone has a button that shows all of it", async ({ page, serve }, info) => {
  const long = longNames((name) => info.outputPath(name), ["web:v1", "web:missing"]);
  const server = await serve(() => Server.start(["replay", long, recording("rollout"), "--hold-at", "20"]));
  await page.setViewportSize({ width: 1440, height: 900 });
  await openLive(page, server.page("rollout", "rollout", "nginx"));
  const [more, why] = [page.getByTestId("more"), page.getByTestId("why")];
  await expect(why).not.toBeEmpty();
  await expect(more, "all of it is there").toBeHidden();
  await expect(why, "no Tab stop").toHaveAttribute("tabindex", "-1");
  await page.setViewportSize({ width: 390, height: 844 });
  await openLive(page, server.page(longName("cluster"), longName("namespace"), longName("deployment")));
  const top = async () => (await page.locator("#scroller").boundingBox())!.y;
  const isCut = () => page.locator(".told").evaluate((told) => told.scrollHeight > told.clientHeight + 4);
  await expect.poll(isCut).toBe(true);
  await expect(more).toHaveText("Full text");
  await expect(why).toHaveAttribute("tabindex", "0");
  await expect(more).toHaveAttribute("aria-expanded", "false");
  await expect(more).toBeInViewport({ ratio: 1 });
  const before = await top();
  await more.click();
  await expect.poll(isCut).toBe(false);
  await more.filter({ hasText: "Less" }).click();
  await expect.poll(isCut).toBe(true);
  expect(await top()).toBe(before);
});

test("in a low window the command for a failing rollout can be copied without scrolling", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("deadline-exceeded", "--hold-at", "12"));
  // A laptop with a zoom of 200 %, and a very small window.
  for (const [width, height] of [[640, 360], [320, 500]] as const) {
    await page.setViewportSize({ width, height });
    await openLive(page, server.page("deadline-exceeded", "deadline-exceeded", "web"));
    const remedy = page.getByTestId("remedy");
    await expect(remedy).toContainText("rollout undo");
    await expect.poll(() => seen(remedy.getByRole("button", { name: "Copy" }))).toEqual({ isCovered: false, isInside: true });
  }
  // A popup above the page uses most of the height.
  await page.setViewportSize({ width: 640, height: 260 });
  await page.keyboard.press("?");
  const keys = page.getByTestId("keys");
  await expect(keys).toBeInViewport({ ratio: 1 });
  expect((await keys.boundingBox())!.height).toBeGreaterThan(200);
});

test("counts of a thousand pods stand whole beside their picture in the list", { tag: "@nightly" }, async ({ page, serve }, info) => {
  const server = await serve(() => held(info, "midway1000"));
  await page.setViewportSize({ width: 1280, height: 720 });
  await openLive(page, server.address);
  const counted = page.locator(".row .counted").filter({ hasText: "/1,000" });
  await expect(counted).toBeVisible();
  expect(await counted.evaluate((counted) => counted.getBoundingClientRect().right <= counted.parentElement!.getBoundingClientRect().right)).toBe(true);
});

test.describe("more revisions than fit", () => {
  test.use({ viewport: { width: 1280, height: 720 } });
  const scroller = (page: Page) => page.getByRole("region", { name: "Revisions and their pods" });
  const top = (page: Page) => scroller(page).evaluate((scroller) => scroller.scrollTop);
  const isCurrentSeen = async (page: Page) => {
    const { visible, height } = await bandOf(page, 15);
    return visible + 1 >= height;
  };

  test("the current one is kept in view until the viewer scrolls", async ({ page, serve }, info) => {
    const server = await serve(() => held(info, "many"));
    await openLive(page, server.page("many", "shop", "web"));
    await expect.poll(() => isCurrentSeen(page)).toBe(true);
    await page.setViewportSize({ width: 1280, height: 480 });
    await expect.poll(() => isCurrentSeen(page)).toBe(true);
    expect(await top(page)).toBeGreaterThan(0);
    // With keys alone.
    await scroller(page).focus();
    await page.keyboard.press("Home");
    await expect.poll(() => top(page)).toBe(0);
    // During the animation of a zoom the page measures repeatedly.
    await page.keyboard.press("-");
    await expect.poll(() => page.locator("#picture-box").evaluate((box) => Number(box.getAttribute("viewBox")!.split(" ")[2]))).toBe(120);
    expect(await top(page)).toBe(0);
    expect(await isCurrentSeen(page)).toBe(false);
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => top(page)).toBeGreaterThan(0);
    await page.keyboard.press("End");
    await expect.poll(() => isCurrentSeen(page)).toBe(true);
    // Budget and axis stay in view.
    expect(await seen(page.getByTestId("budget"))).toEqual({ isCovered: false, isInside: true });
  });

  test("a key that scrolls counts also at the moment at which the height changes", { tag: "@nightly" }, async ({ page, serve }, info) => {
    const server = await serve(() => held(info, "many"));
    await page.setViewportSize({ width: 1280, height: 480 });
    await openLive(page, server.page("many", "shop", "web"));
    await expect.poll(() => top(page)).toBeGreaterThan(0);
    const height = () => scroller(page).evaluate((scroller) => scroller.clientHeight);
    const before = await height();
    // All in one step, before the page measures again: like Home while there is less room.
    await scroller(page).evaluate((scroller) => {
      scroller.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
      scroller.scrollTop = 0;
      (scroller as HTMLElement).style.maxHeight = `${scroller.clientHeight - 40}px`;
    });
    await expect.poll(height).toBeLessThan(before);
    // The picture is drawn for the new height; a fault would scroll it back now.
    await page.keyboard.press("-");
    await expect.poll(() => page.locator("#picture-box").evaluate((box) => Number(box.getAttribute("viewBox")!.split(" ")[2]))).toBe(120);
    expect(await top(page)).toBe(0);
  });

  test("axis, budget and bars are one above the other, whatever scrolls", { tag: "@nightly" }, async ({ page, serve }, info) => {
    const server = await serve(() => held(info, "many", "midway40"));
    for (const name of ["many", "midway40"]) {
      await openLive(page, server.page(name, "shop", "web"));
      const sides = async (part: Locator) => part.evaluate((part) => [part.getBoundingClientRect().left, part.getBoundingClientRect().right]);
      await expect.poll(() => sides(page.locator("#picture-box"))).toEqual(await sides(page.locator("#strip")));
    }
  });

  for (const theme of ["light", "dark"]) {
    test(`nothing in the way of people who need assistance, ${theme}`, { tag: "@nightly" }, async ({ page, serve }, info) => {
      const server = await serve(() => held(info, "many"));
      await openLive(page, `${server.page("many", "shop", "web")}?theme=${theme}`);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
    });
  }

  test("on paper, and without scripts, all of them are there", async ({ page, browser, serve }, info) => {
    const server = await serve(() => held(info, "many"));
    const whole = async (page: Page) => {
      for (const revision of [1, 8, 15]) await expect.poll(() => page.locator(`[data-testid=gutter][data-revision="${revision}"]`).evaluate((gutter) => {
        let [from, to] = [gutter.getBoundingClientRect().top, gutter.getBoundingClientRect().bottom];
        for (let around = gutter.parentElement; around; around = around.parentElement) {
          if (getComputedStyle(around).overflowY === "visible") continue;
          [from, to] = [Math.max(from, around.getBoundingClientRect().top), Math.min(to, around.getBoundingClientRect().bottom)];
        }
        return to - from > 20;
      })).toBe(true);
    };
    await openLive(page, server.page("many", "shop", "web"));
    await page.emulateMedia({ media: "print" });
    await whole(page);
    const still = await browser.newPage({ javaScriptEnabled: false, viewport: { width: 1280, height: 720 } });
    await still.goto(server.page("many", "shop", "web"));
    await whole(still);
    expect(await still.evaluate(() => document.documentElement.scrollHeight > innerHeight), "the page scrolls").toBe(true);
    await still.close();
  });
});

test("on a phone a row names its Deployment, and of its place the end is seen", async ({ page, serve }, info) => {
  const server = await serve(() => Server.replayingLines(info.outputPath("arn:aws:eks:eu-central-1:111122223333:cluster:prod-shop.jsonl"), recorded(made["midway40"]!, 0), "--hold-at", "90"));
  for (const width of [390, 820]) {
    await page.setViewportSize({ width, height: 844 });
    await openLive(page, server.address);
    const row = page.getByTestId("deployment").filter({ has: page.locator("b", { hasText: /^web$/ }) });
    const name = row.locator(".name b");
    if (width === 390) {
      const bottom = await name.evaluate((name) => name.getBoundingClientRect().bottom);
      const tops = await page.locator(".line", { has: row }).locator(".pods, .since, .name .muted, .says, .past").evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().top));
      for (const top of tops) expect(top, "the name has its line alone").toBeGreaterThanOrEqual(bottom - 4);
    }
    expect(await name.evaluate((text) => text.scrollWidth <= text.clientWidth + 1), `${width}: the whole name`).toBe(true);
    const [place, around] = [await row.locator(".name bdi").boundingBox(), await row.locator(".name .muted").boundingBox()];
    expect(place!.x + place!.width, `${width}: the end of the place`).toBeLessThanOrEqual(around!.x + around!.width + 1);
    // The verdict does not overlap the picture.
    expect((await row.locator(".says").boundingBox())!.y).toBeGreaterThanOrEqual(around!.y + around!.height - 2);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  }
});

test("figures of five digits are whole beside the budget and the bands", { tag: "@nightly" }, async ({ page, serve }, info) => {
  const huge: Record<string, MadeSet[]> = {
    huge: [
      { revision: 1, wanted: 10_000, pods: of(2, "available") },
      { revision: 2, wanted: 10_000, pods: of(2_000, "available", "available", "starting") },
    ],
  };
  const server = await serve(() => heldAll(info, huge));
  await page.setViewportSize({ width: 1440, height: 900 });
  await openLive(page, server.page("huge", "shop", "web"));
  const counts = page.getByTestId("gutter").getByTestId("counts").last();
  await expect(counts).toHaveText("10,000 desired, 1,334 available");
  for (const part of [counts, page.locator(".strip .gutter")]) {
    expect(await part.evaluate((part) => [part.scrollWidth <= part.clientWidth, part.scrollHeight <= part.clientHeight])).toEqual([true, true]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  const label = page.locator(".strip .label.ceiling");
  await expect(label).toHaveText("20,000");
  const right = await label.evaluate((element) => {
    const text = document.createRange();
    text.selectNodeContents(element);
    return text.getBoundingClientRect().right;
  });
  expect(right).toBeLessThanOrEqual(390);
});
