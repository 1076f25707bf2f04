/// Every page at five sizes, whatever stands around it: nothing is cut, covered or one over the other, and nothing is wider than the window.
/// What stands above and below a page, the strip of the playground and the line of who sees it, takes its own height from the page and nothing else: the header is as
/// high as without them, the page as wide, and it fills what is left.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { Reviewer } from "../../fixtures/reviewer.ts";
import { complaints } from "../../fixtures/sane.ts";
import { Server, type Document } from "../../fixtures/server.ts";
import { expect, test } from "../../fixtures/test.ts";

const SIZES = [[1280, 720], [1920, 1080], [2560, 1440], [390, 844], [820, 1180]] as const;
/// Who is signed in, where a proxy says so; nobody asks elsewhere.
const SOMEBODY = { "X-Forwarded-User": "ada@example.com" };
const OTHERS = ["--insecure-no-auth", "--allow-host", "rollouts.example.com"];

/// How pages are served, and what of that stands around them.
const MODES = {
  neither: { strip: false, audience: false },
  "the strip": { strip: true, audience: false },
  "the strip and the line of everybody": { strip: true, audience: true },
  "the line of everybody": { strip: false, audience: true },
  "the line of who is signed in": { strip: false, audience: true },
};
type Mode = keyof typeof MODES;

const folder = () => mkdtempSync(join(tmpdir(), "rollcast-"));
const servers = new Map<Mode, Server>();
let reviewer: Reviewer | undefined;

test.use({ extraHTTPHeaders: SOMEBODY });
test.beforeAll(async () => {
  const [kubeconfig, reviewed] = [join(folder(), "kubeconfig"), join(folder(), "kubeconfig")];
  const demo = (file: string, ...options: string[]) => Server.start(["demo", "--write-kubeconfig", file, "--data-dir", folder(), ...options]);
  const serve = (file: string, ...options: string[]) => Server.start(["serve", "--kubeconfig", file, "--data-dir", folder(), ...options]);
  servers.set("the strip", await demo(kubeconfig));
  reviewer = await Reviewer.before(kubeconfig, reviewed);
  servers.set("the strip and the line of everybody", await demo(join(folder(), "kubeconfig"), ...OTHERS));
  servers.set("neither", await serve(kubeconfig));
  servers.set("the line of everybody", await serve(kubeconfig, ...OTHERS));
  servers.set("the line of who is signed in", await serve(reviewed, "--auth", "proxy", "--auth-proxy-from", "127.0.0.1"));
});
test.afterAll(async () => {
  for (const server of servers.values()) await server.kill();
  reviewer?.end();
});

/// The document of the playground's own Deployment.
async function documentOf(page: Page, server: Server): Promise<Document["deployments"][number]> {
  const told = await page.request.get(`${server.address}/api/v1/clusters/playground/namespaces/default/deployments/web/timeline`);
  return ((await told.json()) as Document).deployments.at(-1)!;
}

/// The page of its last rollout beside those before it, once there is one whose begin was seen.
async function comparison(page: Page, server: Server): Promise<string> {
  // The clusters of all servers but one are that of the first.
  const playground = server.address === servers.get("the strip and the line of everybody")!.address ? server : servers.get("the strip")!;
  await page.request.post(`${playground.address}/playground`, { form: { action: "restart" }, headers: { origin: playground.address } });
  const address = `${server.page("playground", "default", "web")}/compare?uid=${(await documentOf(page, server)).uid}`;
  await expect.poll(async () => (await page.request.get(address)).status(), { timeout: 60_000 }).toBe(200);
  return address;
}

const below = (path: string) => async (page: Page, server: Server) => `${server.page("playground", "default", "web")}${path}`;
const PAGES: Record<string, (page: Page, server: Server) => Promise<string>> = {
  "the list": async (_, { address }) => address,
  "a cluster's list": async (_, { address }) => `${address}/clusters/playground`,
  "a Deployment": below(""),
  "a pod": async (page, server) => `${server.page("playground", "default", "web")}/pods/${(await documentOf(page, server)).pods.at(-1)!.uid}`,
  "a revision": below("/revisions/1"),
  "all rollouts": below("/rollouts"),
  "links to share": below("/share"),
  "a comparison": comparison,
  "the wall": async (_, { address }) => `${address}/wall`,
  history: async (_, { address }) => `${address}/history`,
  "links without an account": async (_, { address }) => `${address}/shares`,
  "a page that does not exist": async (_, { address }) => `${address}/clusters`,
};

/// Where everything of a page stands, in pixels of the document.
const measured = (page: Page) =>
  page.evaluate(() => {
    const box = (selector: string) => document.querySelector(selector)?.getBoundingClientRect();
    const [strip, top, audience] = [box("body > .playground"), box(".top"), box("body > .audience")];
    const body = document.querySelector("body > main, body > .page")!;
    const within = document.querySelector("main:not(.shown)");
    const { width, bottom } = body.getBoundingClientRect();
    return {
      strip: strip?.height ?? 0,
      audience: audience?.height ?? 0,
      header: top?.height ?? 0,
      // That of the wall lies over it, and is seen by who points at it.
      headerTop: (document.querySelector(".wall") ? undefined : top?.top) ?? strip?.height ?? 0,
      width,
      bottom: bottom + scrollY,
      // Where what a page says ends, with the room below it.
      end: within ? Math.max(...[...within.children].map((child) => child.getBoundingClientRect().bottom + scrollY)) + 64 : 0,
      hasLinks: document.querySelector("main[data-testid=links]") !== null,
      height: document.documentElement.scrollHeight,
      wide: document.documentElement.scrollWidth - innerWidth,
      window: innerHeight,
    };
  });

for (const [name, address] of Object.entries(PAGES)) {
  test(`${name} has the same header and width whatever stands around it, and fills the window`, async ({ page }) => {
    const usual = new Map<number, { header: number; width: number }>();
    for (const [mode, { strip, audience }] of Object.entries(MODES)) {
      const server = servers.get(mode as Mode)!;
      await page.goto(await address(page, server));
      for (const [width, height] of SIZES) {
        const what = `${name}, ${mode}, ${width} × ${height}`;
        await page.setViewportSize({ width, height });
        // A picture is as wide as its place one frame after that changed.
        await expect.poll(async () => (await measured(page)).wide, { message: `${what}: nothing is wider than the window` }).toBeLessThanOrEqual(0);
        await expect.poll(() => complaints(page), { message: what }).toEqual([]);
        const now = await measured(page);
        expect(now.strip > 0, `${what}: strip`).toBe(strip);
        expect(now.audience > 0, `${what}: audience`).toBe(audience);
        if (mode === "neither") usual.set(width, { header: now.header, width: now.width });
        const { header, width: wide } = usual.get(width)!;
        expect(now.header, `${what}: header`).toBe(header);
        // Links are made where somebody is signed in: elsewhere that page does not exist.
        expect(now.width, `${what}: width`).toBe(now.hasLinks ? Math.min(width, 960) : wide);
        expect(now.headerTop, `${what}: the header follows the strip`).toBe(now.strip);
        expect(Math.abs(now.height - now.audience - now.bottom), `${what}: the page ends where the window or the line below it does`).toBeLessThanOrEqual(1);
        expect(now.height, `${what}: the window is filled`).toBeGreaterThanOrEqual(height);
        if (now.end + now.audience <= height) expect(now.height, `${what}: nothing to scroll`).toBeLessThanOrEqual(height);
      }
    }
    await page.goto("about:blank");
  });
}
