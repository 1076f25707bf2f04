/// Consecutive rollouts on the page: their durations, and their story.

import { expect, isLive, RolloutPage, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

const simulating = (speed: string) => () => Server.simulating(["--speed", speed]);

test("an end is told in advance once three rollouts say how long they take", { tag: "@nightly" }, async ({ page, serve, complaints }) => {
  test.setTimeout(240_000);
  const server = await serve(simulating("0.5"));
  const rollout = new RolloutPage(page);
  await page.goto(server.page("playground", "default", "web"));
  await isLive(page, /^Live/);
  const measured = page.getByTestId("measured");
  const strip = page.getByTestId("playground");
  await page.getByTestId("playground-more").locator("> summary").click();
  for (const revision of [2, 3, 4]) {
    await strip.getByRole("button", { name: "Restart", exact: true }).click();
    await expect(rollout.verdict).toContainText(`Revision ${revision} is complete: 4 of 4`, { timeout: 60_000 });
    await expect(measured).toContainText("to complete");
    // There are too few rollouts for an estimate.
    await expect(measured).not.toContainText("left");
  }
  await page.evaluate(() => {
    const told: string[] = ((window as unknown as { told: string[] }).told = []);
    const look = () => {
      const figure = document.querySelector("[data-testid=measured]");
      if (figure) told.push(`${figure.textContent}: ${figure.getAttribute("title")}`);
    };
    new MutationObserver(look).observe(document.querySelector(".figures")!, { childList: true, subtree: true, characterData: true });
  });
  await strip.getByRole("button", { name: "Restart", exact: true }).click();
  await expect(rollout.verdict).toContainText("Revision 5 is complete: 4 of 4", { timeout: 60_000 });
  await expect(measured).toHaveText(/^to complete, (slower than (\d of|all)|no slower than any of) 3 earlier\d\S* s$/);
  await expect(measured).toHaveAttribute("title", /^Took .+ s, (slower than (\d of|all)|no slower than any of) 3 earlier ones: median /);
  const told = await page.evaluate(() => (window as unknown as { told: string[] }).told);
  const ahead = /^left, from earlier rollouts(.*\d s): \1 left: 3 earlier ones took .+ s\.$/;
  expect(told.some((told) => ahead.test(told)), told.join("\n")).toBe(true);
  // On a phone as well: four figures side by side, and none is cut.
  await page.setViewportSize({ width: 390, height: 844 });
  await expect(measured).toBeVisible();
  for (const figure of await page.locator(".figures > div:visible").all()) await expect(figure).toBeInViewport({ ratio: 1 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen").toBe(true);
  // A past moment has no estimate.
  await page.keyboard.press("ArrowLeft");
  await expect(measured).toHaveCount(0);
  // Nor has the present without a connection.
  await page.keyboard.press("l");
  await strip.getByRole("button", { name: "Restart", exact: true }).click();
  await expect(measured).toContainText("left");
  await server.kill();
  await expect(rollout.live).toHaveText("Reconnecting");
  await expect(measured).toHaveCount(0);
  await page.goto("about:blank");
  complaints.length = 0; // tries that were refused are errors of the console
});

test("lines of the story appear once, however many come together", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(simulating("2"));
  const rollout = new RolloutPage(page);
  await page.goto(server.page("playground", "default", "web"));
  await isLive(page, /^Live/);
  await page.evaluate(() => {
    const story = document.getElementById("story")!;
    const seen: string[] = ((window as unknown as { seen: string[] }).seen = []);
    story.addEventListener("animationend", (event) => seen.push((event.target as Element).textContent!));
  });
  await page.getByTestId("playground-more").locator("> summary").click();
  for (const revision of [2, 3]) {
    await page.getByTestId("playground").getByRole("button", { name: "Restart", exact: true }).click();
    await expect(rollout.verdict).toContainText(`Revision ${revision} is complete: 4 of 4`, { timeout: 60_000 });
  }
  await expect(rollout.story).toContainText("Revision 3 is complete");
  const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
  expect(seen.length).toBeGreaterThan(3);
  expect(seen.filter((line, index) => seen.indexOf(line) !== index)).toEqual([]);
  // The newest line is in view, and last.
  await expect(rollout.story.locator("li").last()).toContainText("Revision 3 is complete");
  await expect(rollout.story.locator("li").last()).toBeInViewport();
});
