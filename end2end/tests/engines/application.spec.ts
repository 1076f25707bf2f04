/// The pages in Firefox and WebKit as one application: hydration, navigation between pages and through time, details, reconnection.

import { recording } from "../../fixtures/environment.ts";
import { count, expect, isLive, says, test, text } from "../../fixtures/engine.ts";
import { Server } from "../../fixtures/server.ts";

const rollover = ["rollover", "rollover", "web"] as const;
const held = () => Server.replaying("rollover", "--hold-at", "12");
/// Heads of pods of a revision that still exist.
const living = (revision: number) => `[data-testid=pod][data-revision="${revision}"]:not([data-state=gone]):not(.elsewhere)`;

test("a page comes alive and moves by itself", async ({ tab, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--when-watched", "--speed", "2"));
  await tab.goto(server.page("rollout", "rollout", "nginx"));
  await isLive(tab);
  await says(tab, "live", /^Recording/);
  await says(tab, "verdict", /^Revision 2 is replacing/);
  await says(tab, "verdict", /^Revision 3 is complete/);
});

test("the theme is the system's, or the address's", { tag: "@nightly" }, async ({ tab, serve }) => {
  const server = await serve(held);
  for (const [query, isDark] of [["", true], ["?theme=light", false], ["?theme=dark", true]] as const) {
    await tab.goto(server.page(...rollover) + query);
    await isLive(tab);
    const ground = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g)!.map(Number));
    expect(ground.slice(0, 3).map((channel) => channel < 128), query).toEqual([isDark, isDark, isDark]);
  }
});

test("from the list to a Deployment and back nothing is loaded", { tag: "@nightly" }, async ({ tab, serve }) => {
  const server = await serve(() => Server.start(["replay", ...["rollover", "rollout", "kill-pod"].map(recording), "--hold-at", "12"]));
  await tab.goto(server.address);
  await isLive(tab);
  await tab.evaluate(() => { document.documentElement.dataset["mark"] = "kept"; });
  await tab.type("[role=searchbox], input[type=search]", "rollover");
  await count(tab, "[data-testid=deployment]", 1);
  await tab.click("[data-testid=deployment]");
  await says(tab, "verdict", "Revision 3 is replacing revision 1");
  expect(new URL(await tab.url()).pathname).toBe(new URL(server.page(...rollover)).pathname);
  await tab.evaluate(() => history.back());
  await count(tab, "[data-testid=deployment]", 1);
  await expect.poll(() => tab.evaluate(() => document.querySelector<HTMLInputElement>("input[type=search]")?.value)).toBe("rollover");
  expect(await tab.evaluate(() => document.documentElement.dataset["mark"])).toBe("kept");
});

test("keys step through changes, and back to live", { tag: "@nightly" }, async ({ tab, serve }) => {
  const server = await serve(held);
  await tab.goto(server.page(...rollover));
  await isLive(tab);
  const now = await text(tab, "verdict");
  const at = async () => new URL(await tab.url()).searchParams.get("at");
  await tab.press("[");
  await expect.poll(at).not.toBeNull();
  const last = await at();
  await tab.press("[");
  await says(tab, "verdict", "Revision 2 was replacing revision 1");
  await says(tab, "live", /^As it was at /);
  await count(tab, living(3), 0);
  await expect.poll(at).not.toBe(last);
  const before = await at();
  await tab.press("ArrowRight");
  await expect.poll(at).not.toBe(before);
  await tab.press("l");
  await says(tab, "live", /^Recording/);
  await expect.poll(() => text(tab, "verdict")).toBe(now);
  await expect.poll(at).toBeNull();
  // The server renders a link to a moment as it was then.
  await tab.goto(`${server.page(...rollover)}?at=${before}`);
  await says(tab, "verdict", "Revision 2 was replacing revision 1");
  await isLive(tab);
});

test("details of a pod open and close, by click and by keys", async ({ tab, serve }) => {
  const server = await serve(held);
  await tab.goto(server.page(...rollover));
  await isLive(tab);
  const [open, closed] = [() => count(tab, "[data-testid=pod-detail]", 1), () => count(tab, "[data-testid=pod-detail]", 0)];
  await tab.click(living(1));
  await open();
  await tab.click("#detail .close");
  await closed();
  await tab.focus("[data-testid=gutter][data-revision='1'] a");
  await tab.press("ArrowDown");
  await expect.poll(() => tab.evaluate(() => document.activeElement?.getAttribute("data-testid"))).toBe("pod");
  await tab.press("Enter");
  await open();
  await tab.press("Escape");
  await closed();
  await expect.poll(() => tab.evaluate(() => document.activeElement?.getAttribute("data-testid")), { message: "where it was" }).toBe("pod");
});

test("who drags along a pod's bar sees another moment and opens nothing", { tag: "@nightly" }, async ({ tab, serve }) => {
  const server = await serve(held);
  await tab.goto(server.page(...rollover));
  await isLive(tab);
  const [isBar, right, y] = await tab.evaluate((pods) => {
    const head = document.querySelector(pods)!.getBoundingClientRect();
    const [right, y] = [document.querySelector("#canvas")!.getBoundingClientRect().right, head.top + head.height / 2].map(Math.round) as [number, number];
    return [document.elementFromPoint(right - 60, y)?.matches(".pod *") ?? false, right, y] as const;
  }, living(1));
  expect(isBar).toBe(true);
  await tab.drag([right - 60, y], [right - 20, y]);
  await expect.poll(async () => new URL(await tab.url()).searchParams.get("at")).not.toBeNull();
  await count(tab, "#detail > *", 0);
});

test("a server that was gone is found again, and the page says so meanwhile", async ({ tab, serve, complaints }) => {
  const server = await serve(held);
  await tab.goto(server.page(...rollover));
  await isLive(tab);
  await tab.evaluate(() => { document.documentElement.dataset["mark"] = "kept"; });
  const verdict = await text(tab, "verdict");
  const pods = await tab.evaluate((pods) => document.querySelectorAll(pods).length, living(1));
  expect(pods).toBeGreaterThan(0);
  await server.kill();
  await says(tab, "banner", "Rollcast unreachable since");
  await says(tab, "live", /^Reconnecting$/);
  expect(await text(tab, "verdict"), "what was seen last stays").toBe(verdict);
  await serve(() => server.again());
  await says(tab, "live", /^Recording/);
  await expect.poll(() => text(tab, "verdict")).toBe(verdict);
  await says(tab, "banner", /^$/);
  await count(tab, living(1), pods);
  expect(await tab.evaluate(() => document.documentElement.dataset["mark"])).toBe("kept");
  complaints.length = 0; // each try that failed may be noted
});
