/// Firefox without scripts: the server's page is complete.

import { expect, says, test } from "../../fixtures/engine.ts";
import { address, blocks, held, look, measureAll } from "../../fixtures/picture.ts";

test.use({ preferences: { "javascript.enabled": false } });

test("without scripts words, picture, details and moments are there", { tag: "@nightly" }, async ({ tab, serve }, info) => {
  const server = await serve(() => held(info, { n40: blocks(40), n130: blocks(130) }));
  for (const [pods, theme] of [[40, "dark"], [130, "light"]] as const) {
    await tab.goto(address(server, `n${pods}`, theme));
    await says(tab, "verdict", /container \S+ crashes/);
    measureAll(await look(tab), pods, `${pods} pods`);
  }
  expect(await tab.evaluate(() => document.documentElement.dataset["live"]), "no program runs").toBeUndefined();
  await tab.focus("[data-testid=gutter] a");
  await tab.press("Enter");
  await expect.poll(() => tab.url()).toContain("/revisions/1");
  await says(tab, "revision-detail", "Revision 1");
  await tab.goto(`${server.page("n40", "shop", "web")}?at=2026-11-21T10:00:30Z`);
  await says(tab, "live", "As it was at ");
});
