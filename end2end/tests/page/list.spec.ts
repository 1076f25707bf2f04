/// The list on recordings: order, search, filters, keys, places, clusters, live lines.

import { writeFileSync } from "node:fs";
import { expect, openLive, test } from "../../fixtures/test.ts";
import { recording, temporaryFolder } from "../../fixtures/environment.ts";
import { longNames } from "../../fixtures/long.ts";
import { Server } from "../../fixtures/server.ts";

const names = ["rollout", "deadline-exceeded", "kill-pod"];
const start = () => Server.start(["replay", ...names.map((name) => recording(name)), "--hold-at", "20"]);

test("words, labels and groups narrow the list, and the address keeps them", async ({ page, serve }) => {
  const server = await serve(start);
  await page.goto(server.address);
  const rows = page.getByTestId("deployment");
  await expect(rows).toHaveCount(3);
  await expect(page.getByTestId("head")).toHaveText([/^In trouble 1$/, /^Finished in the last hour 2$/]);
  await page.waitForSelector("html[data-live=true]");
  const count = page.getByTestId("count");
  await expect(count).toHaveAttribute("aria-live", "off");
  await page.getByRole("searchbox").fill("nginx complete");
  await expect(count).toHaveAttribute("aria-live", "polite");
  await expect(rows).toHaveCount(2);
  await expect(count).toHaveText("2 of 3");
  await page.getByRole("searchbox").blur();
  await expect(count, "what changes by itself is not announced").toHaveAttribute("aria-live", "off");
  await expect(page).toHaveURL(/[?]q=nginx%20complete$/);
  await expect(page.getByRole("link", { name: "In trouble 0" })).toHaveAttribute("href", "/?q=nginx%20complete&show=trouble");
  await page.getByRole("searchbox").fill("");
  await page.getByLabel("Labels").fill("app=nginx");
  const mistake = page.getByTestId("mistake");
  await expect(mistake).toBeHidden();
  await expect(mistake.getByRole("status"), "screen readers know it before it has words").toHaveText("");
  await page.getByLabel("Labels").fill("app=nginx=");
  await expect(mistake.getByRole("status")).toContainText("is no label selector");
  const labels = page.getByLabel("Labels");
  await expect(labels).toHaveAccessibleDescription(/is no label selector/);
  await expect(labels).toHaveAttribute("aria-invalid", "true");
  await labels.fill("");
  await expect(rows).toHaveCount(3);
  await expect(labels).not.toHaveAttribute("aria-invalid");
  await page.getByRole("link", { name: "In trouble 1" }).click();
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("Revision 2 is failing");
  await expect(page).toHaveURL(/[?]show=trouble$/);
  await rows.click();
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 is failing");
  await page.goBack();
  await expect(rows).toHaveCount(1);
  await page.goBack();
  await expect(rows).toHaveCount(3);
});

test("a word that is typed at once is one search", async ({ page, serve }) => {
  const server = await serve(start);
  await openLive(page, server.address);
  await page.evaluate(() => {
    const replace = history.replaceState.bind(history);
    history.replaceState = (...all) => {
      document.body.dataset["searches"] = String(Number(document.body.dataset["searches"] ?? 0) + 1);
      replace(...all);
    };
  });
  await page.getByRole("searchbox").pressSequentially("nginx complete", { delay: 10 });
  await expect(page).toHaveURL(/[?]q=nginx%20complete$/);
  await expect(page.getByTestId("deployment")).toHaveCount(2);
  // On a busy machine a pause between letters may be long enough for a search.
  expect(Number(await page.locator("body").getAttribute("data-searches"))).toBeLessThan(5);
});

test("keys go to the search, from row to row, and into one", async ({ page, serve }) => {
  const server = await serve(start);
  await openLive(page, server.address);
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox")).toBeFocused();
  await page.keyboard.type("jk");
  await expect(page.getByTestId("deployment")).toHaveCount(0);
  await expect(page.getByText("No matches.")).toBeVisible();
  await page.getByRole("searchbox").fill("");
  await expect(page.getByTestId("deployment")).toHaveCount(3);
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("deployment").first()).toBeFocused();
  await page.keyboard.press("j");
  await expect(page.getByTestId("deployment").nth(1)).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("j");
  await expect(page.getByTestId("deployment").nth(1)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/deployments[/]/);
  await expect(page.getByTestId("verdict")).toBeVisible();
  await page.goBack();
  await expect(page.getByTestId("deployment").nth(1)).toBeFocused();
  await page.keyboard.press("j");
  await expect(page.getByTestId("deployment").nth(2)).toBeFocused();
});

test("by namespace there is a heading for each, and finished rollouts are a link away", async ({ page, serve }) => {
  const server = await serve(start);
  await page.goto(server.address);
  await page.getByRole("link", { name: "By namespace" }).click();
  await expect(page.getByTestId("head")).toHaveCount(3);
  await expect(page.getByTestId("head").first()).toHaveText("rollout / rollout 1");
  await page.getByRole("link", { name: "rollouts" }).first().click();
  await page.getByTestId("rollout").nth(1).click();
  await expect(page.getByTestId("verdict")).toContainText("Revision 2");
  await expect(page.getByTestId("linked")).toContainText("You are looking at revision 2");
});

test("a column sorts the list, by click and by key; the address says so, and so it is on the way back", async ({ page, serve }) => {
  const server = await serve(start);
  await openLive(page, server.address);
  const rows = page.getByTestId("deployment");
  const column = (name: string) => page.getByRole("columnheader", { name, exact: true });
  await expect(column("Status")).toHaveAttribute("aria-sort", "ascending");
  await column("Deployment").getByRole("link").click();
  await expect(page).toHaveURL(/[/][?]sort=name$/);
  await expect(column("Deployment")).toHaveAttribute("aria-sort", "ascending");
  await expect(column("Status")).not.toHaveAttribute("aria-sort");
  await expect(page.getByTestId("head")).toHaveText(["Sorted by name 3"]);
  // Rows with the same name are in the order of their clusters.
  await expect(rows).toContainText(["rollout / rollout", "kill-pod / kill-pod", "deadline-exceeded / deadline-exceeded"]);
  await column("Deployment").getByRole("link").focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/[/][?]sort=name&order=desc$/);
  await expect(column("Deployment")).toHaveAttribute("aria-sort", "descending");
  const turned = ["deadline-exceeded / deadline-exceeded", "rollout / rollout", "kill-pod / kill-pod"];
  await expect(rows).toContainText(turned);
  await expect(page.getByRole("link", { name: "In trouble 1" })).toHaveAttribute("href", "/?show=trouble&sort=name&order=desc");
  await rows.first().click();
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 is failing");
  await page.goBack();
  await expect(column("Deployment")).toHaveAttribute("aria-sort", "descending");
  await expect(rows).toContainText(turned);
  await page.getByRole("link", { name: "Group by namespace" }).click();
  await expect(page.getByTestId("head")).toHaveCount(3);
  await page.getByRole("link", { name: "Group by status" }).click();
  await column("Status").getByRole("link").click();
  await expect(page).toHaveURL(/[/]$/);
  await expect(page.getByTestId("head").first()).toHaveText("In trouble 1");
});

test("what stands in a column stands below its head, and none has more or fewer", async ({ page, serve }) => {
  const server = await serve(start);
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto(server.address);
  const left = (elements: Element[]) => elements.map((element) => Math.round(element.getBoundingClientRect().left));
  const rows = page.getByTestId("deployment");
  await expect(rows).toHaveCount(3); // there are no heads without rows
  const heads = await page.getByTestId("columns").getByRole("columnheader").evaluateAll(left);
  for (const row of await rows.all()) expect(await row.locator("> *").evaluateAll(left)).toEqual(heads);
});

test("of an image the tag is shown, in the list and beside its band, and all of it to whoever points at it", async ({ page, serve }, info) => {
  const image = (tag: string) => `registry.example.com:5000/teams/of/the/shop/apps/checkout:${tag}`;
  const long = longNames((name) => info.outputPath(name), [image("2026.11.11-rc11"), image("2026.11.12-rc12")]);
  const server = await serve(() => Server.start(["replay", long, "--hold-at", "14"]));
  const isWhole = (text: Element) => text.scrollWidth <= text.clientWidth + 1;
  await page.setViewportSize({ width: 1280, height: 720 });
  await openLive(page, server.address);
  const row = page.getByTestId("deployment");
  const listed = row.locator(".image-name");
  await expect(listed).toHaveText("checkout:2026.11.12-rc12");
  await expect(listed).toHaveAttribute("title", image("2026.11.12-rc12"));
  expect(await listed.locator("span").last().evaluate(isWhole)).toBe(true);
  await row.click();
  const beside = page.getByTestId("gutter").locator(".image-name");
  await expect(beside).toHaveText(["checkout:2026.11.11-rc11", "checkout:2026.11.12-rc12"]);
  for (const tag of await beside.locator("span:last-child").all()) expect(await tag.evaluate(isWhole)).toBe(true);
});

test("lines change, come and go while one looks", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(() => Server.start(["replay", recording("rollout"), recording("deleted-and-recreated"), "--speed", "2", "--loop"]));
  await openLive(page, server.address);
  await expect(page.getByTestId("head").filter({ hasText: "In progress" })).toBeVisible({ timeout: 30_000 });
  await expect(page).toHaveTitle(/in progress — Rollcast$/);
  await expect(page.locator(".row").filter({ hasText: "rollout / rollout" })).toContainText("Revision 3 is complete", { timeout: 60_000 });
  await expect(page.getByTestId("head").filter({ hasText: "Finished in the last hour" })).toBeVisible();
});

/// Returns a recording of many Deployments at rest; in each of so many seconds another one of team-6 is scaled up.
function many(deployments: number, seconds = 0): string {
  const uid = (number: number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
  const created = "2026-11-21T09:00:00Z";
  const progressing = { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable", lastUpdateTime: created };
  const line = (number: number, second = 0) => ({
    observedAtMillis: Date.parse("2026-11-21T12:00:00Z") + second * 1_000, kind: "Deployment", type: second ? "MODIFIED" : "ADDED",
    object: {
      metadata: { uid: uid(number), name: `service-${String(number).padStart(4, "0")}`, namespace: `team-${number % 7}`, generation: second ? 2 : 1, creationTimestamp: created, labels: { parity: number % 2 ? "odd" : "even" }, annotations: { "deployment.kubernetes.io/revision": "1" } },
      spec: { replicas: second ? 1 : 0, template: { spec: { containers: [{ name: "web", image: `web:v${number}` }] } } },
      status: { observedGeneration: 1, conditions: [progressing] },
    },
  });
  const file = `${temporaryFolder()}/many-${deployments}-${seconds}.jsonl`;
  const all = Array.from({ length: deployments }, (_, number) => line(number));
  const scaled = Array.from({ length: seconds }, (_, second) => line(second * 7 + 6, second + 1));
  writeFileSync(file, [...all, ...scaled].map((one) => JSON.stringify(one)).join("\n"));
  return file;
}

test("of 2,000 Deployments only those in view are made, wherever one looks", async ({ page, serve }) => {
  const server = await serve(() => Server.start(["replay", many(2000), "--hold-at", "1"]));
  await openLive(page, server.address);
  await expect(page.getByTestId("count")).toHaveText("2,000 of 2,000");
  await expect(page.getByTestId("deployment").first()).toContainText("service-0000");
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  // By namespace and name: the last one of team-6.
  await expect(page.getByTestId("deployment").last()).toContainText("service-1994");
  expect(await page.locator("#rows > *").count()).toBeLessThan(80);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight / 2));
  await expect(page.getByText("service-1", { exact: false }).first()).toBeInViewport();
  await expect(page.locator("#rows .line:empty")).toHaveCount(0);
  // The first key moves to a row in view, not to one above it.
  const scrolled = await page.evaluate(() => scrollY);
  await page.keyboard.press("j");
  await expect(page.locator(":focus")).toContainText("service-");
  expect(Math.abs((await page.evaluate(() => scrollY)) - scrolled)).toBeLessThan(60);
  await page.locator(":focus").blur();
  await page.evaluate(() => scrollTo(0, 0));
  await page.getByLabel("Labels").fill("parity=odd");
  await expect(page.getByTestId("count")).toHaveText("1,000 of 2,000");
  await page.getByLabel("Labels").fill("");
  await page.getByRole("searchbox").fill("team-3 service-1997");
  await expect(page.getByTestId("count")).toHaveText("0 of 2,000");
  await page.getByRole("searchbox").fill("web:v1997");
  await expect(page.getByTestId("deployment")).toHaveCount(1);
  await page.getByRole("searchbox").fill("");
  await expect(page.getByTestId("count")).toHaveText("2,000 of 2,000");
  // Keys move beyond the rows that were rendered first.
  await page.keyboard.press("Escape");
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press("j");
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await expect(page.locator(":focus")).toContainText("team-0");
  expect(await page.evaluate(() => scrollY)).toBeGreaterThan(2000);
});

test("rows in view stay where they are while others move from below to above them", async ({ page, serve }) => {
  const server = await serve(() => Server.start(["replay", many(2000, 90)]));
  await openLive(page, server.address);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight / 2));
  await expect(page.getByTestId("deployment").first()).not.toContainText("service-0000");
  await expect(page.locator("#rows .line:empty")).toHaveCount(0);
  const seen = () => page.evaluate(() => {
    const tops = [...document.querySelectorAll("[data-testid=deployment]")].map((row) => [row.textContent!.slice(0, 12), Math.round(row.getBoundingClientRect().top)] as const);
    return { row: tops.find(([, top]) => top > 100)!, scrolled: scrollY };
  });
  const before = await seen();
  await expect.poll(async () => (await seen()).scrolled).toBeGreaterThan(before.scrolled + 100);
  expect((await seen()).row).toEqual(before.row);
});

for (const [size, width, top] of [["wide", 1280, 15_000], ["narrow", 390, 190_000]] as const) {
  test(`in a ${size} window a list that is loaded again is where it was`, { tag: size === "narrow" ? [] : "@nightly" }, async ({ page, serve }) => {
    await page.setViewportSize({ width, height: 720 });
    const server = await serve(() => Server.start(["replay", many(2000), "--hold-at", "1"]));
    await openLive(page, server.address);
    await expect(page.getByTestId("count")).toHaveText("2,000 of 2,000");
    await page.evaluate((top) => scrollTo(0, top), top);
    await expect(page.getByTestId("deployment").first()).not.toContainText("service-0000");
    await page.reload();
    await expect(page.getByTestId("deployment").first()).not.toContainText("service-0000");
    expect(await page.evaluate(() => scrollY)).toBe(top);
    await expect(page.locator("#rows .line:empty")).toHaveCount(0);
  });
}

test("a link leads to the top of a list, even where Back led to it before", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(() => Server.start(["replay", many(2000), "--hold-at", "1"]));
  await openLive(page, server.address);
  const rows = page.getByTestId("deployment");
  await page.getByRole("columnheader", { name: "Deployment", exact: true }).getByRole("link").click();
  await expect(page.getByTestId("head")).toHaveText(["Sorted by name 2,000"]);
  await page.goBack();
  await expect(page.getByTestId("head").first()).not.toContainText("Sorted by name");
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight / 2));
  await expect(rows.first()).not.toContainText("service-0000");
  await rows.nth(20).click();
  await expect(page.getByTestId("verdict")).toBeVisible();
  await page.getByRole("link", { name: "Deployments", exact: true }).click();
  await expect(rows.first()).toContainText("service-0000");
  expect(await page.evaluate(() => scrollY)).toBe(0);
});

test("where WebAssembly is off a list ends below its rendered rows", async ({ page, serve, complaints }) => {
  await page.addInitScript(() => { Reflect.deleteProperty(globalThis, "WebAssembly"); });
  const server = await serve(() => Server.start(["replay", many(120), "--hold-at", "1"]));
  await expect(async () => {
    await page.goto(server.address);
    await expect(page.getByTestId("deployment")).toHaveCount(50, { timeout: 500 });
  }).toPass();
  await expect(page.getByTestId("stopped")).toContainText("WebAssembly is off");
  await expect(page.locator("#rows > .room").last()).toHaveCSS("height", "0px");
  await expect(page.getByRole("link", { name: "More lines" })).toBeVisible();
  complaints.length = 0; // the missing program is an error of the console
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });
  test("the search is a form, clusters and namespaces are pages, and so are more lines", async ({ page, serve }) => {
    const server = await serve(start);
    // Before the first list arrives, the page shows an empty list without a search field.
    await expect(async () => {
      await page.goto(server.address);
      await expect(page.getByRole("searchbox")).toBeVisible({ timeout: 100 });
    }).toPass();
    await page.getByRole("searchbox").fill("kill-pod");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(page.getByTestId("deployment")).toHaveCount(1);
    await page.goto(`${server.address}/clusters/rollout`);
    await expect(page.getByRole("heading", { level: 1 })).toContainText("Deployments of rollout");
    await expect(page.getByRole("link", { name: "All", exact: true }), "that of the status").toHaveCount(1);
    await expect(page.getByRole("link", { name: "All Deployments" })).toHaveAttribute("href", "/");
    await expect(page.getByTestId("deployment")).toHaveCount(1);
    await page.goto(`${server.address}/?sort=name&order=desc`);
    await expect(page.getByTestId("deployment").first()).toContainText("deadline-exceeded");
    await page.getByRole("columnheader", { name: "Deployment" }).getByRole("link").click();
    await expect(page.getByTestId("deployment").first()).toContainText("rollout / rollout");
    await page.getByRole("searchbox").fill("nginx");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(page).toHaveURL(/sort=name/);
    await page.goto(`${server.address}/clusters/rollout/namespaces/rollout?q=nginx`);
    await expect(page.getByTestId("deployment")).toHaveCount(1);
    await page.goto(`${server.address}/clusters/rollout/namespaces/other`);
    await expect(page.getByTestId("deployment")).toHaveCount(0);
    expect((await page.goto(`${server.address}/clusters/nowhere`))?.status()).toBe(404);
    const large = await serve(() => Server.start(["replay", many(120), "--hold-at", "1"]));
    await expect(async () => {
      await page.goto(large.address);
      await expect(page.getByTestId("deployment")).toHaveCount(50, { timeout: 500 });
    }).toPass();
    await page.getByRole("link", { name: "More lines" }).click();
    await page.getByRole("link", { name: "More lines" }).click();
    await expect(page.getByTestId("deployment")).toHaveCount(20);
    await page.getByRole("link", { name: "Lines before" }).click();
    await expect(page.getByTestId("deployment")).toHaveCount(50);
  });
});

test("a cluster that cannot be reached, or whose credentials hang, is shown as such and keeps nobody waiting", async ({ page, serve, complaints }) => {
  const context = (name: string, user: object) => ({ contexts: { name, context: { cluster: name, user: name } }, clusters: { name, cluster: { server: "http://127.0.0.1:9" } }, users: { name, user } });
  const hang = { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "sleep", args: ["600"], interactiveMode: "Never" } };
  const broken = { "client-certificate": "/no/such/file", "client-key": "/no/such/file" };
  const all = [context("dead", {}), context("hangs", hang), context("broken", broken)];
  const config = `${temporaryFolder()}/kubeconfig.json`;
  writeFileSync(config, JSON.stringify({ apiVersion: "v1", kind: "Config", contexts: all.map((one) => one.contexts), clusters: all.map((one) => one.clusters), users: all.map((one) => one.users) }));
  const file = `${temporaryFolder()}/rollcast.toml`;
  writeFileSync(file, `[[cluster]]\ncontext = "dead"\nname = "prod-eu"\ncolour = "pink"\n[[cluster]]\ncontext = "hangs"\n[[cluster]]\ncontext = "broken"\n`);
  const server = await serve(() => Server.start(["serve", "--kubeconfig", config, "--config", file]));
  await page.goto(server.address);
  const clusters = page.getByTestId("cluster");
  await expect(clusters).toHaveCount(3);
  await expect(clusters.nth(0).locator(".accent-3")).toBeVisible();
  await expect(page.getByTestId("trouble")).toContainText("Cluster “prod-eu” unreachable since", { timeout: 20_000 });
  await expect(page.getByTestId("trouble")).toContainText("Cluster “hangs” unreachable since", { timeout: 20_000 });
  await expect(page.getByTestId("trouble")).toContainText("fetching its credentials takes too long");
  await expect(page.getByTestId("trouble")).toContainText("Cluster “broken” unreachable since");
  await expect(page.getByText("No cluster responds.")).toBeVisible();
  await page.goto(`${server.address}/wall`);
  await expect(page.getByTestId("stale")).toContainText("Cluster “prod-eu” unreachable since");
  expect(complaints).toEqual([]);
});
