/// Ten moments of recordings, the list and the wall, as they look in both themes. Accept new looks with `--update-snapshots`, and look at them.

import { expect, openLive, openRecording, test } from "../../fixtures/test.ts";
import { recording } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

/// Name of the look, recording, Deployment, seconds.
const moments = [
  ["complete", "rollout", "nginx", 4],
  ["replacing", "rollout", "nginx", 7],
  ["killed", "kill-pod", "nginx", 7],
  ["out-of-rotation", "relabel-pod", "nginx", 7],
  ["halted", "failing-rollout-halts-then-undo", "test", 8.5],
  ["overtaken", "rollover", "web", 8],
  ["scaled-midway", "proportional-scaling", "test", 12],
  ["paused", "pause-midway", "web", 8],
  ["deadline", "deadline-exceeded", "web", 20],
  ["image-missing", "image-missing", "web", 12],
] as const;

/// Moments that contain most colours of a theme; nightly runs compare all moments in both themes.
const SAMPLE = { light: ["replacing", "halted", "out-of-rotation"], dark: ["halted"] };

for (const theme of ["light", "dark"] as const) {
  for (const [look, name, deployment, seconds] of moments) {
    const tag = SAMPLE[theme].includes(look) ? [] : "@nightly";
    test(`${look} looks as it should, ${theme}`, { tag }, async ({ page, serve }) => {
      const server = await serve(() => Server.replaying(name, "--hold-at", String(seconds)));
      await page.setViewportSize({ width: 1240, height: 700 });
      await openRecording(page, `${server.page(name, name, deployment)}?theme=${theme}`);
      await expect(page).toHaveScreenshot(`${look}-${theme}.png`);
    });
  }

  test(`the list and the wall look as they should, ${theme}`, { tag: theme === "light" ? [] : "@nightly" }, async ({ page, serve }) => {
    const names = ["quota", "proportional-scaling", "rollover", "pause-midway", "kill-pod"];
    const server = await serve(() => Server.start(["replay", ...names.map((name) => recording(name)), "--hold-at", "14"]));
    await page.setViewportSize({ width: 1440, height: 800 });
    await openLive(page, `${server.address}?theme=${theme}`);
    await expect(page.getByTestId("deployment")).toHaveCount(names.length);
    await expect(page).toHaveScreenshot(`list-${theme}.png`);
    await page.setViewportSize({ width: 1920, height: 1080 });
    await page.goto(`${server.address}/wall?theme=${theme}&rotate=3600`);
    await expect(page.locator(".tile")).toHaveCount(4);
    // Every seat is drawn, fits its space, and is scrolled to its newest band.
    await expect(page.locator(".tile").filter({ has: page.getByTestId("band") })).toHaveCount(4);
    let before = "";
    const isAtRest = async () => {
      const rooms = await page.locator(".tile .scroller").evaluateAll((all) => all.map((of) => [of.clientHeight, of.scrollTop, of.querySelector<HTMLElement>(".picture")?.offsetHeight]));
      const now = JSON.stringify(rooms);
      const wasSo = now === before;
      before = now;
      return wasSo && rooms.every(([room, , picture]) => picture === room);
    };
    await expect.poll(isAtRest, { intervals: [500] }).toBe(true);
    await expect(page).toHaveScreenshot(`wall-${theme}.png`, { mask: [page.getByTestId("clock")] });
  });
}
