/// No flicker: texts stay long enough to be read, and the picture does not move when they change.

import type { Page } from "@playwright/test";
import { isWhole, recording } from "../../fixtures/environment.ts";
import { recorded } from "../../fixtures/made.mjs";
import { Server } from "../../fixtures/server.ts";
import { expect, openLive, openRecording, RolloutPage, test } from "../../fixtures/test.ts";

interface Line {
  observedAtMillis: number;
  kind: string;
  type: string;
  object: { metadata: { uid: string; resourceVersion?: string }; status: { conditions: object[]; availableReplicas?: number } };
}

/// Returns a recording whose only pod alternates between unready and ready, at those times in milliseconds after the beginning.
function flapping(times: number[]): string[] {
  const lines = recorded([{ revision: 1, pods: ["available"] }], 0).slice(0, -1); // the last one is later
  const first = (kind: string) => lines.map((line) => JSON.parse(line) as Line).find((line) => line.kind === kind && line.type === "LISTED")!;
  const [pod, deployment] = [first("Pod"), first("Deployment")];
  times.forEach((time, turn) => {
    const at = pod.observedAtMillis + time;
    const ready = turn % 2;
    const told = (of: Line, status: object) => lines.push(JSON.stringify({ ...of, observedAtMillis: at, type: "MODIFIED", object: { ...of.object, status: { ...of.object.status, ...status } } }));
    told(pod, { conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: new Date(at).toISOString() }] });
    told(deployment, { replicas: 1, updatedReplicas: 1, readyReplicas: ready, availableReplicas: ready });
  });
  return lines;
}

/// Records each text of a part of the page, with its time.
const watch = (page: Page, selector: string) =>
  page.evaluate((selector) => {
    const told: [number, string][] = [];
    Object.assign(window, { told });
    const look = () => {
      const text = document.querySelector(selector)?.textContent ?? "";
      if (told.at(-1)?.[1] !== text) told.push([performance.now(), text]);
    };
    look();
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  }, selector);
const told = (page: Page) => page.evaluate(() => (window as unknown as { told: [number, string][] }).told);

test("a headline stays for a second, however often it changes", async ({ page, serve }, info) => {
  const lines = flapping(Array.from({ length: 50 }, (_, turn) => 2_000 + turn * 350));
  const server = await serve(() => Server.replayingLines(info.outputPath("flapping.jsonl"), lines));
  for (const [address, selector] of [[server.page("flapping", "shop", "web"), "#verdict"], [server.address, "[data-testid=deployment] .sentence"]] as const) {
    await openLive(page, address);
    await watch(page, selector);
    await expect.poll(async () => (await told(page)).length, { timeout: 15_000 }).toBeGreaterThan(3);
    const all = await told(page);
    // The first text was there before the recording began.
    const stayed = all.slice(1).map(([at], index) => (all[index + 2]?.[0] ?? Infinity) - at);
    expect(Math.min(...stayed), JSON.stringify(all)).toBeGreaterThan(950);
  }
});

test("what is contradicted at once is not shown", async ({ page, serve }, info) => {
  // Not ready for 20 ms, and later permanently.
  const server = await serve(() => Server.replayingLines(info.outputPath("flash.jsonl"), flapping([6_000, 6_020, 9_000])));
  await openRecording(page, server.page("flash", "shop", "web"));
  await expect(page.getByTestId("verdict")).toContainText("is complete");
  await watch(page, "#verdict");
  await page.getByTestId("available").evaluate((figure) => {
    const figures = [figure.textContent];
    Object.assign(window, { figures });
    const look = () => void (figures.at(-1) === figure.textContent || figures.push(figure.textContent));
    new MutationObserver(look).observe(figure, { childList: true, subtree: true, characterData: true });
  });
  await expect.poll(async () => (await told(page)).length).toBeGreaterThan(1);
  await expect(page.getByTestId("available")).toHaveText("0");
  expect(await page.evaluate(() => (window as unknown as { figures: string[] }).figures), "the figure beside it").toEqual(["1", "0"]);
  const texts = (await told(page)).map(([, text]) => text);
  expect(texts, "the flash was not shown").toHaveLength(2);
});

const SIZES = [[1280, 720], [1440, 900], [1920, 1080], [1024, 768], [390, 844]] as const;
const RECORDINGS = [["failing-rollout-halts-then-undo", "failing-rollout-halts-then-undo", "test"], ["image-missing", "image-missing", "web"], ["quota", "a-quota", "web"]] as const;
/// The tested recordings, and the number of moments of each.
const LOOKED_AT = RECORDINGS.slice(0, isWhole ? undefined : 1);
const MOMENTS = isWhole ? 14 : 7;
test("whatever is said, the picture stays where it is, at every size", async ({ page, serve }) => {
  test.setTimeout(180_000);
  const server = await serve(() => Server.start(["replay", ...LOOKED_AT.map(([name]) => recording(name)), "--hold-at", "60"]));
  for (const [cluster, namespace, name] of LOOKED_AT) {
    await openRecording(page, server.page(cluster, namespace, name));
    const said = new Set<string>();
    const tops = new Map<string, Set<number>>();
    const { begin, end } = await page.evaluate(async (address) => {
      const document = (await (await fetch(address)).json()) as { deployments: { verdicts: { atMillis: number }[] }[] };
      const all = document.deployments.at(-1)!.verdicts.map((verdict) => verdict.atMillis);
      return { begin: Math.min(...all), end: Math.max(...all) + 12_000 };
    }, `${server.address}/api/v1/clusters/${cluster}/namespaces/${namespace}/deployments/${name}/timeline`);
    for (let at = begin; at <= end; at += Math.max(1_000, (end - begin) / MOMENTS)) {
      await page.goto(`${server.page(cluster, namespace, name)}?at=${Math.round(at)}`);
      const rollout = new RolloutPage(page);
      await page.waitForSelector("html[data-live=true]");
      said.add(`${await rollout.verdict.textContent()} ${await rollout.why.textContent()}`);
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height });
        const top = Math.round((await page.locator("#scroller").boundingBox())!.y);
        const size = `${width} × ${height}`;
        tops.set(size, (tops.get(size) ?? new Set()).add(top));
      }
    }
    expect(said.size, `${cluster}: much was said`).toBeGreaterThan(3);
    for (const [size, of] of tops) {
      expect([...of], `${cluster} at ${size}: where the picture began, while it said ${[...said].join(" | ")}`).toHaveLength(1);
    }
  }
});

test("a free seat of the wall rests while the picture on another one moves", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--speed", "2", "--loop"));
  await openLive(page, `${server.address}/wall`);
  await expect(page.locator("#t0-tile")).toBeVisible();
  await expect(page.locator("#t3-tile")).toBeHidden();
  const moves = await page.evaluate(
    () =>
      new Promise<{ used: number; free: number }>((done) => {
        const moves = { used: 0, free: 0 };
        const used = document.getElementById("t0-picture-box")!;
        const observer = new MutationObserver((changes) => {
          for (const { target } of changes) moves[target === used ? "used" : "free"]++;
          if (moves.used >= 200) done(moves);
        });
        for (const seat of [used, document.getElementById("t3-picture-box")!]) observer.observe(seat, { attributes: true });
      }),
  );
  // It is drawn once for each frame of the server.
  expect(moves.free).toBeLessThan(20);
});
