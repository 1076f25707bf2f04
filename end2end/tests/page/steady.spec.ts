/// Keyboard users keep their position while rows are sorted, added and removed, and the new order is announced.

import type { Locator, Page, TestInfo } from "@playwright/test";
import { isWhole } from "../../fixtures/environment.ts";
import { uid } from "../../fixtures/made.mjs";
import { expect, openLive, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const began = Date.parse("2026-11-21T10:00:00Z");
/// Time of the changes, in seconds: by then the test has set the focus.
const CHANGES = 8;

/// Returns a recording of Deployments with so many available pods. Then, all at once, those of alpha become unready, gamma is deleted, and epsilon is created.
function changing(): string[] {
  const lines: string[] = [];
  const say = (seconds: number, kind: string, type: string, object: object) => void lines.push(JSON.stringify({ observedAtMillis: began + seconds * 1000, kind, type, object }));
  const long = "2026-11-20T10:00:00Z";
  const owned = (number: number, name: string, owner?: [string, number]) => ({
    uid: uid(number), name, namespace: "shop", generation: 1, creationTimestamp: long, annotations: { "deployment.kubernetes.io/revision": "1" },
    ...(owner && { ownerReferences: [{ kind: owner[0], uid: uid(owner[1]), name: "owner", controller: true }] }),
  });
  const spec = { containers: [{ name: "web", image: "web:v1" }], nodeName: "node-1" };
  const deployment = (number: number, name: string, replicas: number) => ({ metadata: owned(number, name), spec: { replicas, template: { spec } }, status: { observedGeneration: 1, replicas, updatedReplicas: replicas, availableReplicas: replicas } });
  const pod = (number: number, of: number, status: string) => ({
    metadata: owned(number, `pod-${number}`, ["ReplicaSet", of]), spec,
    status: { phase: "Running", conditions: [{ type: "Ready", status, lastTransitionTime: long }], containerStatuses: [{ name: "web", restartCount: 0, state: { running: {} } }] },
  });
  const all = [["alpha", 3], ["beta", 2], ["gamma", 1], ["delta", 0]] as const;
  all.forEach(([name, replicas], index) => say(0, "Deployment", "LISTED", deployment(1 + index, name, replicas)));
  say(0, "Deployment", "LIST_DONE", {});
  all.forEach(([name, replicas], index) => say(0, "ReplicaSet", "LISTED", { metadata: owned(11 + index, `${name}-1`, ["Deployment", 1 + index]), spec: { replicas, template: { spec } }, status: { replicas } }));
  say(0, "ReplicaSet", "LIST_DONE", {});
  all.forEach(([, replicas], index) => { for (let number = 0; number < replicas; number++) say(0, "Pod", "LISTED", pod(100 * (index + 1) + number, 11 + index, "True")); });
  say(0, "Pod", "LIST_DONE", {});
  for (const number of [100, 101, 102]) say(CHANGES, "Pod", "MODIFIED", pod(number, 11, "False"));
  say(CHANGES, "Deployment", "DELETED", deployment(3, "gamma", 1));
  say(CHANGES, "Deployment", "ADDED", deployment(5, "epsilon", 0));
  return lines;
}

/// Starts a Rollcast that plays that recording.
const replaying = (info: TestInfo, ...args: string[]) => Server.replayingLines(info.outputPath("changing.jsonl"), changing(), ...args);

const names = (page: Page) => page.getByTestId("deployment").locator(".name b").allTextContents();
/// Returns the text of the focused row; empty if none has the focus.
const focused = (rows: Locator) => rows.evaluateAll((rows) => rows.find((row) => row === document.activeElement)?.textContent ?? "");
const hasFocus = (page: Page) => page.evaluate(() => document.activeElement !== null && document.activeElement !== document.body);

for (const [name, whose, becomes] of [["alpha", "overtakes others", "alpha"], ["beta", "is overtaken", "beta"], ["gamma", "goes", "epsilon"]] as const)
  test(`a row of the list that ${whose} keeps the focus, or leaves it to the one in its place`, { tag: name === "gamma" ? [] : "@nightly" }, async ({ page, serve }, info) => {
    const server = await serve(() => replaying(info, "--when-watched"));
    await openLive(page, `${server.address}/?sort=available`);
    await expect(page.getByTestId("deployment")).toHaveCount(4); // who looks first sees an empty list for a moment
    await page.keyboard.press("j");
    await expect(page.getByTestId("deployment").first()).toBeFocused();
    for (let steps = 0; steps < 4 && !(await focused(page.getByTestId("deployment"))).startsWith(name); steps++) await page.keyboard.press("j");
    expect(await names(page)).toEqual(["delta", "gamma", "beta", "alpha"]);
    expect(await focused(page.getByTestId("deployment"))).toMatch(new RegExp(`^${name}`));
    await expect.poll(() => names(page)).toEqual(["delta", "epsilon", "alpha", "beta"]);
    expect(await focused(page.getByTestId("deployment"))).toMatch(new RegExp(`^${becomes}`));
    // Keys continue from there.
    await page.keyboard.press("k");
    expect(await focused(page.getByTestId("deployment"))).toMatch({ alpha: /^epsilon/, beta: /^alpha/, epsilon: /^delta/ }[becomes]);
  });

test("when all rows go, the focus stays where they were", { tag: "@nightly" }, async ({ page, serve }, info) => {
  const server = await serve(() => replaying(info, "--when-watched"));
  await openLive(page, `${server.address}/?q=gamma`);
  await expect(page.getByTestId("deployment")).toHaveCount(1);
  await page.keyboard.press("j");
  expect(await focused(page.getByTestId("deployment"))).toMatch(/^gamma/);
  await expect(page.getByTestId("deployment")).toHaveCount(0);
  await expect(page.locator("#rows")).toBeFocused();
});

test("another order of the list is announced", async ({ page, serve }, info) => {
  const server = await serve(() => replaying(info, "--hold-at", "1"));
  await openLive(page, server.address);
  const announced = page.getByTestId("announced");
  await expect(announced).toHaveRole("status");
  const head = page.getByRole("columnheader", { name: "Since", exact: true }).getByRole("link");
  await head.focus();
  await page.keyboard.press("Enter");
  await expect(announced).toHaveText("Sorted by last change, latest first");
  await page.keyboard.press("Enter");
  await expect(announced).toHaveText("Sorted by last change, oldest first");
  await expect(head).toBeFocused();
});

test.describe("on a Deployment's page", () => {
  const opened = async (page: Page, server: Server) => {
    await openLive(page, server.page("rollover", "rollover", "web"));
  };

  test("the table of pods is sorted by keys; the order is told and announced, and holds while pods come and go", async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("rollover", "--hold-at", "9.5"));
    await opened(page, server);
    await page.getByLabel("Pods as a table").check();
    const table = page.getByTestId("pod-table");
    const head = (name: string | RegExp) => table.getByRole("columnheader", { name });
    await expect(table.locator("th[aria-sort]")).toHaveCount(0);
    const column = (number: number) => table.locator(`tbody td:nth-child(${number})`).allTextContents();
    const sorted = (texts: string[]) => [...texts].sort();
    await head("Pod").getByRole("button").focus();
    await page.keyboard.press("Enter");
    await expect(head("Pod")).toHaveAttribute("aria-sort", "ascending");
    await expect(page.locator("[role=status]", { hasText: "Sorted by name, A to Z" })).toHaveCount(1);
    await expect.poll(async () => (await column(1)).join() === sorted(await column(1)).join()).toBe(true);
    await head(/^Since/).getByRole("button").focus();
    await page.keyboard.press("Enter");
    await expect(page.locator("[role=status]", { hasText: "Sorted by time in the state, longest first" })).toHaveCount(1);
    await page.keyboard.press("Enter");
    await expect(head(/^Since/)).toHaveAttribute("aria-sort", "descending");
    await expect(head("Pod")).not.toHaveAttribute("aria-sort");
    await expect(page.locator("[role=status]", { hasText: "Sorted by time in the state, shortest first" })).toHaveCount(1);
    for (let steps = 0; steps < 12; steps++) {
      await expect.poll(async () => (await column(4)).join() === sorted(await column(4)).reverse().join()).toBe(true);
      await page.keyboard.press("ArrowLeft");
    }
    await expect(head(/^Since/).getByRole("button")).toBeFocused();
  });

  // Each list, and the elements of its rows that take the focus.
  for (const [what, find] of [
    ["the table of pods", (page: Page) => page.getByTestId("pod-table").locator("tbody a")],
    ["the pods of the picture", (page: Page) => page.getByTestId("pod")],
    ["the story", (page: Page) => page.getByTestId("story").getByRole("button")],
    ["the points of the axis", (page: Page) => page.locator(".axis button.mark")],
    ["the revisions", (page: Page) => page.getByTestId("gutter").getByRole("link")],
  ] as const)
    test(`going through time leaves the focus where it is: ${what}`, { tag: what === "the pods of the picture" ? [] : "@nightly" }, async ({ page, serve }) => {
      const server = await serve(() => Server.replaying("rollover", "--hold-at", "6.8"));
      await opened(page, server);
      // The table replaces the story.
      if (what !== "the story") await page.getByLabel("Pods as a table").check();
      if (what === "the table of pods") await page.getByTestId("pod-table").getByRole("button", { name: "State" }).click();
      const rows = find(page);
      // The object of each row: the row of a deleted object is reused for another one.
      const names = () => rows.evaluateAll((rows) => rows.map((row) => row.getAttribute("data-pod") ?? row.getAttribute("href") ?? row.getAttribute("aria-label") ?? row.textContent ?? ""));
      const held = () => rows.evaluateAll((rows) => rows.map((row) => [row, row.getAttribute("data-pod") ?? row.getAttribute("href") ?? row.getAttribute("aria-label") ?? row.textContent ?? ""] as const).find(([row]) => row === document.activeElement)?.[1] ?? "");
      await expect(rows).not.toHaveCount(0);
      const changes = new Set<string>();
      for (const place of isWhole ? ["first", "last"] as const : ["last"] as const) {
        await rows[place]().focus();
        for (const key of [...Array<string>(14).fill("ArrowLeft"), ...Array<string>(14).fill("ArrowRight")]) {
          const before = { held: await held(), rows: await names() };
          const moment = await page.evaluate(() => document.querySelector<HTMLInputElement>("[data-testid=transport] input[type=range]")?.value);
          await page.keyboard.press(key);
          // The next frame shows it.
          await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(shown)))));
          const after = { held: await held(), rows: await names() };
          expect(await hasFocus(page), `${key} at ${moment}: something has the focus`).toBe(true);
          if (after.rows.includes(before.held)) expect(after.held, `${key} at ${moment}`).toBe(before.held);
          else if (after.rows.length > 0) expect(after.rows, `${key} at ${moment}`).toContain(after.held);
          if (after.rows.join() !== before.rows.join()) changes.add(after.rows.join());
        }
      }
      expect(changes.size, "rows changed").toBeGreaterThan(0);
    });
});
