/// The header: the same links at the same position on every page, the breadcrumbs, and no more height than needed.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { recording, temporaryFolder } from "../../fixtures/environment.ts";
import { recorded } from "../../fixtures/made.mjs";
import { ALLOWING, ApiProxy } from "../../fixtures/proxy.ts";
import { Server, type Document } from "../../fixtures/server.ts";
import { expect, openLive, openRecording, test } from "../../fixtures/test.ts";

const SIZES = [[1440, 900, 80], [390, 844, 140]] as const;
let playground: Server, signedIn: Server, forTokens: Server;
let proxy: ApiProxy | undefined;

test.beforeAll(async () => {
  const [kubeconfig, reviewed] = [join(temporaryFolder(), "kubeconfig"), join(temporaryFolder(), "kubeconfig")];
  playground = await Server.start(["demo", "--write-kubeconfig", kubeconfig, "--data-dir", temporaryFolder()]);
  const text = readFileSync(kubeconfig, "utf8");
  proxy = await ApiProxy.before(text, ALLOWING);
  writeFileSync(reviewed, proxy.through(text));
  signedIn = await Server.start(["serve", "--kubeconfig", reviewed, "--data-dir", temporaryFolder(), "--auth", "proxy", "--auth-proxy-from", "127.0.0.1"]);
  forTokens = await Server.start(["serve", "--kubeconfig", kubeconfig, "--auth", "token"]);
});
test.afterAll(async () => {
  for (const server of [playground, signedIn, forTokens]) await server.kill();
  proxy?.end();
});
test.use({ extraHTTPHeaders: { "X-Forwarded-User": "ada@example.com" } });

async function documentOf(page: Page, server: Server): Promise<Document["deployments"][number]> {
  const told = await page.request.get(`${server.address}/api/v1/clusters/playground/namespaces/default/deployments/web/timeline`);
  return ((await told.json()) as Document).deployments.at(-1)!;
}

/// Returns content and layout of the header.
const measured = (page: Page) =>
  page.evaluate(() => {
    const top = document.querySelector("[data-testid=header]")!;
    const all = (selector: string) => [...top.querySelectorAll<HTMLElement>(selector)];
    const here = top.querySelector<HTMLElement>(".crumb .here");
    return {
      links: all(".site a").map((link) => link.textContent),
      current: all(".site a[aria-current]").map((link) => link.textContent),
      places: all(".site a, .brand").map((link) => Math.round(link.getBoundingClientRect().left)),
      trail: all(".crumb a").map((part) => part.textContent),
      isWhole: here === null || here.scrollWidth <= here.clientWidth + 1,
      hereWidth: here?.getBoundingClientRect().width ?? 0,
      height: top.getBoundingClientRect().height,
      wide: document.documentElement.scrollWidth - innerWidth,
      headers: document.querySelectorAll("header").length,
      title: document.title,
    };
  });

const web = ["playground", "default", "web"];
const PAGES: Record<string, { path: (page: Page, server: Server) => Promise<string> | string; current: string[]; trail: string[] }> = {
  "the list": { path: () => "/", current: ["Deployments"], trail: [] },
  "a namespace's list": { path: () => "/clusters/playground/namespaces/default", current: ["Deployments"], trail: ["playground", "default"] },
  "a Deployment": { path: () => "", current: ["Deployments"], trail: web },
  "a Deployment that is not there": { path: () => "/clusters/playground/namespaces/default/deployments/none", current: ["Deployments"], trail: ["playground", "default", "none"] },
  "a pod": { path: async (page, server) => `/pods/${(await documentOf(page, server)).pods.at(-1)!.uid}`, current: ["Deployments"], trail: web },
  "a revision": { path: () => "/revisions/1", current: ["Deployments"], trail: web },
  "all rollouts": { path: () => "/rollouts", current: ["Deployments"], trail: web },
  "links to a Deployment": { path: () => "/share", current: ["Deployments"], trail: web },
  history: { path: () => "/history", current: ["History"], trail: [] },
  "the wall": { path: () => "/wall", current: ["Wall"], trail: [] },
  "the status": { path: () => "/status", current: [], trail: [] },
  "an address that leads nowhere": { path: () => "/no/such/page", current: [], trail: [] },
  "a question that makes no sense": { path: () => "/wall?columns=9", current: [], trail: [] },
};
const BELOW = new Set(["a Deployment", "a pod", "a revision", "all rollouts", "links to a Deployment"]);

/// Checks a page in both sizes.
async function isRight(page: Page, what: string, expected: { links: string[]; current: string[]; trail: string[] }): Promise<number[]> {
  let places: number[] = [];
  for (const [width, height, most] of SIZES) {
    await page.setViewportSize({ width, height });
    const said = `${what}, ${width} × ${height}`;
    await expect.poll(async () => (await measured(page)).wide, { message: `${said}: nothing is wider than the window` }).toBeLessThanOrEqual(0);
    const now = await measured(page);
    expect({ links: now.links, current: now.current, trail: now.trail }, said).toEqual(expected);
    expect(now.height, `${said}: height`).toBeLessThanOrEqual(most);
    expect(now.headers, `${said}: one header`).toBe(1);
    expect(now.isWhole, `${said}: the last part of where it is`).toBe(true);
    expect(now.title, said).not.toMatch(/[<>]/);
    expect(now.title, said).toContain("Rollcast");
    if (width === 1440) places = now.places;
  }
  return places;
}

test("every page has the same header", async ({ page }) => {
  const places = new Map<string, number[]>();
  for (const [server, links] of [[playground, ["Deployments", "History", "Wall"]], [signedIn, ["Deployments", "History", "Wall", "Links"]]] as const) {
    await expect.poll(async () => (await page.request.get(server.page(...(web as [string, string, string])))).status()).toBe(200);
    for (const [what, { path, current, trail }] of Object.entries(PAGES)) {
      const address = `${BELOW.has(what) ? server.page(...(web as [string, string, string])) : server.address}${await path(page, server)}`;
      await page.goto(address);
      await page.waitForLoadState();
      places.set(`${links.length} ${what}`, await isRight(page, what, { links: [...links], current, trail }));
    }
  }
  await page.goto(`${signedIn.address}/shares`);
  places.set("4 links", await isRight(page, "links", { links: ["Deployments", "History", "Wall", "Links"], current: ["Links"], trail: [] }));
  // Nothing moves between pages except for the bold link.
  for (const [what, now] of places) for (const [index, left] of now.entries()) expect(Math.abs(left - places.get(`${what[0]} the list`)![index]!), what).toBeLessThanOrEqual(4 * index);
});

test("who signs in is told what this is, with the same header", async ({ page }) => {
  await page.setExtraHTTPHeaders({});
  await page.goto(`${forTokens.address}/sign-in`);
  await isRight(page, "sign-in", { links: ["Deployments", "Wall"], current: [], trail: [] });
  await expect(page.getByTestId("sign-in")).toContainText("Rollcast shows Kubernetes rollouts");
  await page.setViewportSize({ width: 1440, height: 900 });
  const { left, right } = await page.getByTestId("sign-in").evaluate((card) => card.getBoundingClientRect());
  expect(Math.abs(left + right - 1440), "it is in the middle").toBeLessThanOrEqual(2);
});

test("many clusters are a menu, and those in trouble stand beside it", async ({ page, serve }) => {
  const names = ["rollover", "rollout", "kill-pod", "recreate", "quota"];
  const server = await serve(() => Server.start(["replay", ...names.map(recording), "--hold-at", "12"]));
  await page.setViewportSize({ width: 1440, height: 900 });
  await openLive(page, server.address);
  const menu = page.getByTestId("clusters");
  await expect(menu).toHaveText(/^5 recordings/);
  await expect(page.getByTestId("cluster").first()).toBeHidden();
  await menu.click();
  for (const name of names) await expect(page.getByTestId("cluster").filter({ hasText: name }).first()).toBeInViewport();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("cluster").first()).toBeHidden();
  await menu.click();
  await page.getByTestId("cluster").filter({ hasText: "quota" }).click();
  await expect(page).toHaveURL(/[/]clusters[/]quota$/);
  expect((await measured(page)).trail).toEqual(["quota"]);
});

test("a link for others is made from the page that one comes from, and copied", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(signedIn.page(...(web as [string, string, string])));
  await page.locator(".site").getByRole("link", { name: "Links" }).click();
  const [box, label] = await Promise.all([page.getByRole("checkbox").boundingBox(), page.getByText("Let chats show a preview").boundingBox()]);
  expect(Math.abs(label!.x - box!.x - box!.width), "the label stands beside its box").toBeLessThanOrEqual(20);
  await page.getByRole("button", { name: "Make a link" }).click();
  await expect(page.getByTestId("local")).toContainText("only works on this computer");
  await page.getByRole("button", { name: "Copy" }).click();
  await expect(page.getByRole("button", { name: "Copied" })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await page.getByTestId("link").textContent());
});

test("the name is there however long all names are", { tag: "@nightly" }, async ({ page, serve }, info) => {
  const long = (word: string) => `${word}-${"a-long-name-".repeat(6)}`.slice(0, 62) + "z";
  const file = info.outputPath(`${long("cluster")}.jsonl`);
  const replaced = recorded([{ revision: 1, wanted: 1, pods: ["available"] }], 0).join("\n").replaceAll('"shop"', `"${long("namespace")}"`).replaceAll('"web"', `"${long("name")}"`);
  writeFileSync(file, replaced);
  const server = await serve(() => Server.start(["replay", file, "--hold-at", "60"]));
  for (const [width, height, most] of SIZES) {
    await page.setViewportSize({ width, height });
    await openRecording(page, server.page(long("cluster"), long("namespace"), long("name")));
    const now = await measured(page);
    expect(now.trail).toEqual([long("cluster"), long("namespace"), long("name")]);
    expect(now.hereWidth, `${width}: the name has more than half of what there is`).toBeGreaterThan(width === 1440 ? 380 : 90);
    expect(now.isWhole || width === 390, `${width}: the name is whole`).toBe(true);
    expect(now.height).toBeLessThanOrEqual(most);
    expect(now.wide).toBeLessThanOrEqual(0);
    await expect(page.locator(".crumb .here")).toHaveAttribute("title", long("name"));
  }
});
