/// The parts of the program: a page loads its own with the program, that of another page on navigation, and reports one that fails to load.

import type { Page } from "@playwright/test";
import { expect, isLive, openLive, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const held = () => Server.replaying("rollover", "--hold-at", "12");
const rollover = ["rollover", "rollover", "web"] as const;

/// Records the parts that a page requests, by name, in order.
const asking = (page: Page) => {
  const asked: string[] = [];
  page.on("request", (request) => {
    const part = /[/]pkg[/]parts[/](\w+)-[0-9a-f]{16}[.]wasm$/.exec(request.url())?.[1];
    if (part && !asked.includes(part)) asked.push(part);
  });
  return asked;
};

test("each page loads its own part, and others when one goes there or opens them", async ({ page, serve }) => {
  const server = await serve(held);
  const asked = asking(page);
  const rollout = new RolloutPage(page);
  await openLive(page, server.address);
  expect(asked).toEqual(["lists"]);
  await rollout.mark();
  await page.getByTestId("deployment").first().click();
  await expect(rollout.verdict).not.toBeEmpty();
  await expect(rollout.living(1).or(rollout.living(3)).first()).toBeAttached();
  expect(asked.toSorted()).toEqual(["lists", "pictures", "shared"]);
  await rollout.beside(1).getByRole("link").click();
  await expect(page.getByTestId("revision-detail")).toBeVisible();
  expect(asked.at(-1)).toBe("details");
  expect(asked).toHaveLength(4);
  await page.keyboard.press("Escape");
  // A part is loaded only once.
  asked.length = 0;
  await page.goBack();
  await expect(page.getByTestId("deployment")).toHaveCount(1);
  await page.goForward();
  await expect(rollout.verdict).not.toBeEmpty();
  expect(asked).toEqual([]);
  expect(await rollout.isUnreloaded()).toBe(true);
});

test("a search that was not begun takes nobody back who opens a Deployment", async ({ page, serve }) => {
  const server = await serve(held);
  let letIn = () => {};
  const isLetIn = new Promise<void>((resolve) => { letIn = resolve; });
  await page.route(/[/]parts[/]pictures-/, async (route) => {
    await isLetIn;
    await route.continue();
  });
  await openLive(page, server.address);
  await page.evaluate(async () => {
    const search = document.querySelector<HTMLInputElement>("#q")!;
    search.value = "rollover";
    search.dispatchEvent(new Event("input", { bubbles: true }));
    document.querySelector<HTMLElement>("[data-testid=deployment]")!.click();
    // Waits until the search would have started.
    await new Promise((resolve) => { setTimeout(resolve, 300); });
  });
  letIn();
  await expect(new RolloutPage(page).verdict).not.toBeEmpty();
  await expect(page).toHaveURL(server.page(...rollover));
});

for (const [path, ...parts] of [["/", "lists"], ["/wall", "pictures", "shared"]] as const) {
  test(`the document names the part of its page, which comes beside the program: ${path}`, { tag: path === "/wall" ? [] : "@nightly" }, async ({ page, serve }) => {
    const server = await serve(held);
    const asked = asking(page);
    const program = page.waitForRequest(/rollcast_bg[.]wasm/);
    let beforeProgramRan: string[] = [];
    // The program is delayed, so that only the document requests anything meanwhile.
    await page.route(/rollcast_bg[.]wasm/, async (route) => {
      await expect.poll(() => asked.length).toBe(parts.length);
      beforeProgramRan = [...asked];
      await route.continue();
    });
    await page.goto(`${server.address}${path}`);
    await program;
    await page.waitForSelector("html[data-live=true]");
    expect(beforeProgramRan.toSorted()).toEqual(parts);
    expect(asked.toSorted()).toEqual(parts);
    const [file] = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.includes("/parts/")));
    expect((await page.request.get(file ?? "")).headers()["cache-control"]).toBe("public, max-age=31536000, immutable");
  });
}

test("a part that does not come for some seconds is asked for again, and the page goes on", async ({ page, serve, complaints }) => {
  const server = await serve(held);
  let asked = 0;
  await page.route(/[/]parts[/]pictures-/, (route) => {
    asked++;
    if (asked === 1) return route.abort();
    return asked === 2 ? route.fulfill({ status: 503 }) : route.continue();
  });
  await openLive(page, server.address);
  await page.getByTestId("deployment").first().click();
  await expect(new RolloutPage(page).verdict).not.toBeEmpty();
  expect(asked).toBe(3);
  await expect(page.getByTestId("stopped")).toBeHidden();
  complaints.length = 0; // what did not come is an error of the console
});

test("a page whose part does not come at the start says that it is not live, until it comes", async ({ page, serve, complaints }) => {
  const server = await serve(held);
  let comes = false;
  await page.route(/[/]parts[/]lists-/, (route) => (comes ? route.continue() : route.abort()));
  await page.goto(server.address);
  await expect(page.getByTestId("stopped")).toContainText("A part of this page did not come yet: it shows the state at the time it was loaded.");
  comes = true;
  await page.waitForSelector("html[data-live=true]");
  await expect(page.getByTestId("stopped")).toBeHidden();
  complaints.length = 0; // what did not come is an error of the console
});

test("when a part is not there the page says so: on the way, in a panel, and at the start", async ({ page, serve, complaints }) => {
  const server = await serve(held);
  const rollout = new RolloutPage(page);
  const stopped = page.getByTestId("stopped");
  const saysSo = async () => {
    await expect(stopped).toContainText("This page stopped.");
    // The console reports the failed request as an error, and the end of the program too.
    await expect.poll(() => complaints.at(-1) ?? "").toContain("unreachable");
    complaints.length = 0;
  };
  const isHeldBack = async (part: string) =>
    page.route(new RegExp(`/parts/${part}-`), (route) => route.fulfill({ status: 404 }));
  await isHeldBack("pictures");
  await openLive(page, server.address);
  await page.getByTestId("deployment").first().click();
  await saysSo();
  await expect(page.getByTestId("deployment")).toHaveCount(1); // as it was
  await expect(page.locator("main")).not.toHaveAttribute("inert");
  // If the part fails to load with the document, the rendered page stays.
  await page.goto(server.page(...rollover));
  await saysSo();
  await expect(page.getByTestId("verdict")).toContainText("Revision 3 is replacing revision 1");
  await page.unrouteAll();
  await isHeldBack("details");
  await page.getByRole("link", { name: "Reload it" }).click();
  await isLive(page, /Recording/);
  await rollout.beside(1).getByRole("link").click();
  await saysSo();
});
