/// Violations of the content security policy, as Firefox reports them.

import { expect, isLive, test } from "../../fixtures/engine.ts";
import { Server } from "../../fixtures/server.ts";

test("what the content security policy forbids is a complaint", async ({ tab, serve, complaints }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "12"));
  await tab.goto(server.page("rollover", "rollover", "web"));
  await isLive(tab);
  expect(complaints).toEqual([]);
  // As text of an element. A browser with Trusted Types reports those, another one the missing nonce.
  await tab.evaluate(() => {
    const script = document.createElement("script");
    script.append("document.title = 'taken over'");
    document.body.append(script);
  });
  await expect.poll(() => complaints).toEqual([expect.stringMatching(/Content-Security-Policy: .* blocked (assigning to an injection sink|an inline script)/)]);
  expect(await tab.title()).not.toBe("taken over");
  complaints.length = 0;
});
