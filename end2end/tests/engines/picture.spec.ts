/// The picture in Firefox and WebKit, measured as in Chromium: bars as elements, painted bars and ribbons; on a page and on the wall, where bars are wide.

import { count, expect, isLive, test } from "../../fixtures/engine.ts";
import { distance, mean } from "../../fixtures/pixels.mjs";
import { address, blocks, held, look, measureAll } from "../../fixtures/picture.ts";

const SIZES = [1, 40, 130, 300];

for (const theme of ["light", "dark"] as const) {
  test(`every state is seen, on the page and on the wall: ${theme}`, { tag: "@nightly" }, async ({ tab, serve }, info) => {
    const server = await serve(() => held(info, Object.fromEntries(SIZES.map((pods) => [`n${pods}`, blocks(pods)]))));
    for (const pods of SIZES) {
      await tab.goto(address(server, `n${pods}`, theme));
      await isLive(tab);
      measureAll(await look(tab), pods, `${pods} pods`);
    }
    await tab.resize(1920, 1080);
    for (const pods of SIZES) {
      await tab.goto(`${server.address}/wall?cluster=n${pods}&theme=${theme}`);
      await isLive(tab);
      await count(tab, ".tile.bad", 1);
      measureAll(await look(tab), pods, `${pods} pods on the wall`);
    }
  });
}

test("four tiles of the wall have their pictures", { tag: "@nightly" }, async ({ tab, serve }, info) => {
  const names = ["n10", "n11", "n12", "n13"];
  const server = await serve(() => held(info, Object.fromEntries(names.map((name) => [name, blocks(Number(name.slice(1)))]))));
  await tab.goto(`${server.address}/wall?theme=dark`);
  await isLive(tab);
  await count(tab, ".tile", names.length);
  const { picture, ratio, colours } = await look(tab);
  const canvases = await tab.evaluate(() => [...document.querySelectorAll(".tile .canvas")].map((canvas) => {
    const { x, y, width, height } = canvas.getBoundingClientRect();
    return { x, y, width, height };
  }));
  expect(canvases, "budget and pods of each").toHaveLength(2 * names.length);
  for (const { x, y, width, height } of canvases) {
    const left = { x: (x + width * 0.05) * ratio, y: y * ratio, width: width * 0.3 * ratio, height: height * ratio };
    expect(distance(mean(picture, left), colours("--surface")), "there is something in it").toBeGreaterThan(20);
  }
});
