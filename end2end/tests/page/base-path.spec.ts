/// A server with a base path on a host that it shares: every link, file, form and stream is below that path.

import type { Page } from "@playwright/test";
import { temporaryFolder } from "../../fixtures/environment.ts";
import { expect, isLive, openLive, openWatched, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const BASE = "/tools/rollcast";

const start = () => Server.simulating(["--base-path", `${BASE}/`, "--data-dir", temporaryFolder()]);

/// Returns addresses in the document that lead to this server outside of the base path.
const strayed = (page: Page) =>
  page.evaluate((base) => {
    const attributes = ["href", "src", "action", "data-href"];
    const all = attributes.flatMap((name) => [...document.querySelectorAll(`[${name}]`)].map((element) => element.getAttribute(name)!));
    return all.filter((address) => address.startsWith("/") && !address.startsWith(`${base}/`));
  }, BASE);

test("everything is below the path, also after going from page to page", async ({ page, serve }) => {
  const server = await serve(start);
  const origin = new URL(server.address).origin;
  expect(server.address).toBe(`${origin}${BASE}`);
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    const { origin: at, pathname } = new URL(request.url());
    if (at === origin && !pathname.startsWith(`${BASE}/`)) elsewhere.push(pathname);
  });
  const streams: string[] = [];
  page.on("websocket", (socket) => streams.push(new URL(socket.url()).pathname));
  const rollout = new RolloutPage(page);
  await openLive(page, `${server.address}/`);
  expect(await strayed(page)).toEqual([]);
  await rollout.mark();
  await page.getByTestId("deployment").filter({ hasText: "web" }).first().click();
  await isLive(page);
  expect(new URL(page.url()).pathname).toMatch(new RegExp(`^${BASE}/clusters/[^/]+/namespaces/[^/]+/deployments/web$`));
  expect(await strayed(page)).toEqual([]);
  await rollout.beside(1).getByRole("link").first().click();
  await expect(page.getByTestId("revision-detail")).toBeVisible();
  expect(await strayed(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await expect(page.getByTestId("deployment").first()).toBeVisible();
  expect(new URL(page.url()).pathname).toBe(`${BASE}/`);
  await page.locator("#wall").click();
  await expect(page).toHaveURL(new RegExp(`${BASE}/wall`));
  expect(await rollout.isUnreloaded()).toBe(true);
  expect(await strayed(page)).toEqual([]);
  const web = "/clusters/playground/namespaces/default/deployments/web";
  for (const path of [`${web}/revisions/1`, `${web}/rollouts`, "/history", "/status", "/history?when=nonsense", "/nothing/here"]) {
    await page.goto(`${server.address}${path}`);
    await expect(page.locator("h1").first()).toBeVisible();
    expect(await strayed(page), path).toEqual([]);
  }
  expect(new Set(streams)).toEqual(new Set([`${BASE}/api/v1/stream`]));
  expect(elsewhere).toEqual([]);
});

test("buttons of the playground and links to share work below the path", async ({ page, serve }) => {
  const server = await serve(start);
  await openWatched(page, `${server.address}/playground`);
  expect(new URL(page.url()).pathname).toContain(`${BASE}/clusters/`);
  await page.goto(`${page.url().split("?")[0]!}/share`);
  const link = page.getByTestId("links").locator("input, code").first();
  await expect(link).toBeVisible();
  const text = await link.evaluate((element) => (element as HTMLInputElement).value ?? element.textContent);
  expect(text).toContain(`${server.address}/clusters/`);
});

test("the code of a link that others can open is below the path", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--hold-at", "9", "--base-path", `${BASE}/`, "--insecure-no-auth", "--public-url", "http://rollouts.example.com"));
  await page.goto(`${server.page("rollout", "rollout", "nginx")}/share`);
  const code = await page.locator("img[src*='qr.svg']").first().getAttribute("src");
  expect(code).toMatch(new RegExp(`^${BASE}/qr[.]svg[?]path=%2Ftools%2Frollcast%2Fclusters%2F`));
  const drawn = async (path: string) => (await fetch(`${server.address}/qr.svg?path=${path}`)).text();
  expect(await drawn("/status")).toContain("<svg");
  expect(await drawn("/status")).toBe(await drawn(`${BASE}/status`));
});

test("a proxy may take the path away, and health checks need none", async ({ serve }) => {
  const server = await serve(start);
  const origin = new URL(server.address).origin;
  const page = await fetch(`${origin}/status`, { headers: { accept: "text/html" } });
  expect(page.status).toBe(200);
  expect(await page.text()).toContain(`href="${BASE}/status"`);
  for (const path of ["/healthz", "/readyz", "/metrics", `${BASE}/healthz`, `${BASE}/api/v1/status`, BASE, `${BASE}/`, `${BASE}?q=web`]) {
    expect((await fetch(`${origin}${path}`)).status, path).toBe(200);
  }
  const missing = await fetch(`${origin}${BASE}/nothing/here`, { headers: { accept: "text/html" } });
  expect(await missing.text()).toContain(`The list of all Deployments is at ${BASE}/, the page of a Deployment at ${BASE}/clusters/{cluster}/`);
  const moved = await fetch(`${origin}${BASE}/playground`, { redirect: "manual" });
  expect(moved.headers.get("location")).toMatch(new RegExp(`^${BASE}/clusters/`));
});
