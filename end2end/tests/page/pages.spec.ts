/// Pages on recordings: the list, pages that do not exist, themes, access, hostile text.

import { readFileSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { expect, isLive, openPlayed, RolloutPage, test } from "../../fixtures/test.ts";
import { isWhole, recording } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

test("the list names every Deployment and leads to its page", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("failing-rollout-halts-then-undo", "--hold-at", "10"));
  await page.goto(server.address);
  await page.getByTestId("deployment").filter({ hasText: "test" }).click();
  await expect(page).toHaveURL(/deployments\/test$/);
  await expect(page.getByTestId("verdict")).toContainText("Revision");
});

test("a recording plays: pods are born, become ready and go while one looks", { tag: "@nightly" }, async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, ["rollout", "rollout", "nginx"], "--loop");
  // Its position is unknown by now; it starts again.
  await expect(rollout.pods(1, "available")).toHaveCount(3, { timeout: 60_000 });
  await expect(rollout.beside(2)).toBeVisible();
  await expect(rollout.pods(1, "terminating").first()).toBeVisible();
  await expect(rollout.verdict).toHaveText("Revision 3 is complete: 3 of 3 available.", { timeout: 60_000 });
});

test("three revisions have a band each while one overtakes another", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "8"));
  const rollout = new RolloutPage(page);
  await page.goto(server.page("rollover", "rollover", "web"));
  for (const revision of [1, 2, 3]) await expect(rollout.beside(revision)).toBeVisible();
  await expect(rollout.story).toContainText("Revision 3 superseded revision 2 before 2 finished.");
  await expect(page.getByTestId("band")).toHaveCount(3);
  await expect(page.getByTestId("pod-table").locator("tbody tr")).not.toHaveCount(0);
});

test("verdict, figures, bands and list say what the document says", async ({ page, serve }) => {
  const moments = [["rollover", "web", 8], ["relabel-pod", "nginx", 7], ["kill-pod", "nginx", 5], ["replicaset-deleted", "web", 4], ["proportional-scaling", "test", 12]] as const;
  for (const [name, deployment, seconds] of isWhole ? moments : moments.slice(0, 2)) {
    const { server } = await openPlayed(page, serve, [name, name, deployment], "--hold-at", String(seconds));
    const document = (await server.document(name, name, deployment)).deployments.at(-1)!;
    const counts = (pod: (typeof document.pods)[number]) => pod.states.at(-1)![0] === "available" && (pod.releasedMillis === null || pod.adoptedMillis !== null);
    const available = document.pods.filter(counts).length;
    const bands = await page.getByTestId("counts").allTextContents();
    const inBands = bands.map((text) => Number(/desired, (\d+) available/.exec(text)?.[1] ?? 0));
    expect(inBands.reduce((sum, pods) => sum + pods, 0), `${name}: bands`).toBe(available);
    expect(await page.getByTestId("available").textContent(), `${name}: figure`).toBe(String(available));
    const said = /(\d+) of \d+ available/.exec((await page.getByTestId("verdict").textContent())!)?.[1];
    if (said) expect(Number(said), `${name}: verdict`).toBe(available);
    const verdict = await page.getByTestId("verdict").textContent();
    const isNew = (await page.getByTestId("new-available").textContent())!.replace(" of ", "/");
    await page.goto(server.address);
    const row = page.getByTestId("deployment").filter({ hasText: deployment }).last();
    await expect(row).toContainText(verdict!);
    expect((await row.locator(".counted").textContent())!, `${name}: the fraction of the list`).toContain(isNew);
    // The replaced revision in the sentence is that in the column of revisions.
    const replaced = /replacing revision (\d+)/.exec(verdict!)?.[1];
    if (replaced) await expect(row.locator(".image b"), name).toHaveText(new RegExp(`^${replaced} → `));
  }
});

test("a stretch that nobody saw is shown as such", async ({ page, serve }, info) => {
  const lines = readFileSync(recording("failing-rollout-halts-then-undo"), "utf8").trimEnd().split("\n");
  const from = (JSON.parse(lines[0]!) as { observedAtMillis: number }).observedAtMillis;
  const at = lines.findIndex((line) => (JSON.parse(line) as { observedAtMillis: number }).observedAtMillis > from + 7_500);
  // A new list after 3 s without observation: the Deployment is unchanged.
  const isDeployment = (line: string) => (JSON.parse(line) as { kind: string }).kind === "Deployment" && line.includes('"spec"');
  const known = JSON.parse(lines.slice(0, at).findLast(isDeployment)!) as object;
  const again = [
    { ...known, observedAtMillis: from + 7_500, type: "LISTED" },
    { observedAtMillis: from + 7_500, kind: "Deployment", type: "LIST_DONE", blindSinceMillis: from + 4_500, object: {} },
  ];
  lines.splice(at, 0, ...again.map((line) => JSON.stringify(line)));
  const server = await serve(() => Server.replayingLines(info.outputPath("gap.jsonl"), lines, "--hold-at", "9"));
  await page.goto(server.page("gap", "failing-rollout-halts-then-undo", "test"));
  await expect(page.getByTestId("gap")).toHaveText("not observed");
  await expect(page.getByTestId("story")).toContainText("Not observed for 3.0 s");
});

test("a name that was used before is said", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("deleted-and-recreated", "--hold-at", "60"));
  await page.goto(server.page("deleted-and-recreated", "deleted-and-recreated", "web"));
  await expect(page.getByTestId("notice")).toContainText(/Another one of the same name was there before, deleted at \d\d:\d\d:\d\d UTC/);
  await expect(page.getByTestId("forbidden")).toBeHidden();
});

test("a rollout that is blocked says so in the strip, the title, previews and a badge", async ({ page, serve, request }) => {
  const server = await serve(() => Server.replaying("image-missing", "--hold-at", "12"));
  const address = server.page("image-missing", "image-missing", "web");
  await page.goto(address);
  const strip = page.getByTestId("budget");
  await expect(strip).toContainText("ceiling 4 = 3 + maxSurge 1 (25 % rounded up)");
  await expect(strip).toContainText("floor 3 = 3 − maxUnavailable 0 (25 % rounded down)");
  await expect(strip.locator(".label.blocked")).toHaveText("blocked");
  await expect(page).toHaveTitle("Failing: image-missing / web — Rollcast");
  await expect(page.locator('meta[property="og:description"]')).toHaveAttribute("content", /Image web:missing cannot be pulled: not found/);
  const badge = await request.get(`${address}/badge.svg`);
  expect(badge.headers()["content-type"]).toBe("image/svg+xml");
  expect(await badge.text()).toContain(">Failing</text>");
  expect((await request.get(`${server.page("image-missing", "image-missing", "nope")}/badge.svg`)).status()).toBe(404);
});

test("the pods are a table for those who want one, and on paper", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "8"));
  await page.goto(server.page("rollover", "rollover", "web"));
  const height = async () => (await page.getByTestId("twin").boundingBox())!.height;
  expect(await height()).toBeLessThan(2);
  await page.getByLabel("Pods as a table").check();
  expect(await height()).toBeGreaterThan(100);
  await page.getByLabel("Pods as a table").uncheck();
  await page.emulateMedia({ media: "print" });
  expect(await height()).toBeGreaterThan(100);
});

test("what was chosen before the program was there stays chosen", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "8"));
  let release = () => {};
  const chosen = new Promise<void>((done) => (release = done));
  await page.route("**/*.wasm", async (route) => {
    await chosen;
    await route.continue();
  });
  await page.goto(server.page("rollover", "rollover", "web"), { waitUntil: "commit" });
  await page.getByLabel("Pods as a table").check();
  release();
  await isLive(page, /Recording/);
  await page.waitForLoadState("networkidle"); // all parts of the program, which take the way of this test, are there
  await expect(page.getByLabel("Pods as a table")).toBeChecked();
  // Keys work on it as elsewhere, and space toggles the checkbox.
  await expect(page.getByLabel("Pods as a table")).toBeFocused();
  await page.keyboard.press("t");
  await expect(page.getByLabel("Pods as a table")).not.toBeChecked();
  await page.keyboard.press(" ");
  await expect(page.getByLabel("Pods as a table")).toBeChecked();
  await expect(page.getByTestId("live")).toHaveText(/Recording/);
});

test("an address that does not exist helps", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--hold-at", "5"));
  for (const [path, words] of [
    ["/no/such/page", "There is no such page"],
    ["/clusters/nowhere/namespaces/shop/deployments/web", "It watches: rollout."],
    ["/clusters/rollout/namespaces/shop/deployments/web", "No Deployment web in namespace shop"],
  ] as const) {
    const response = await page.goto(server.address + path);
    expect(response?.status()).toBe(404);
    await expect(page.locator("body")).toContainText(words);
    await expect(page.getByRole("link", { name: /all deployments/i })).toHaveAttribute("href", "/");
  }
});

for (const theme of ["light", "dark"] as const) {
  test(`nothing in the way of people who need assistance, ${theme}`, { tag: theme === "light" ? [] : "@nightly" }, async ({ page, serve }) => {
    const server = await serve(() => Server.replaying("relabel-pod", "--hold-at", "7"));
    const rollout = server.page("relabel-pod", "relabel-pod", "nginx");
    const addresses = [rollout, `${rollout}/rollouts`, `${rollout}/share`, server.address, `${server.address}/clusters/relabel-pod`, `${server.address}/wall`, `${server.address}/no`];
    for (const address of addresses) {
      await page.goto(`${address}?theme=${theme}`);
      if (address.endsWith("/wall")) await page.locator(".tile").first().waitFor();
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map((violation) => `${address} ${violation.impact} ${violation.id}: ${violation.nodes.map((node) => node.html).join(" ")}`)).toEqual([]);
    }
  });
}

test("markup that would run something is refused, whatever put it there", async ({ page, serve, complaints }) => {
  await openPlayed(page, serve, ["rollout", "rollout", "nginx"], "--hold-at", "4");
  const put = (markup: string) =>
    page.evaluate((markup) => {
      try {
        document.createElement("div").innerHTML = markup;
        return "taken";
      } catch (error) {
        return (error as Error).name;
      }
    }, markup);
  expect(await put("<p class='quiet'>harmless</p>")).toBe("taken");
  expect(complaints).toEqual([]);
  const strange = ["<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<img src='x'onerror=alert(1)>", "<script>alert(1)</script>", "<iframe srcdoc=x></iframe>", "<a href='javascript:alert(1)'>x</a>"];
  for (const markup of strange) expect(await put(markup), markup).toBe("TypeError");
  const code = await page.evaluate(() => {
    try {
      document.createElement("script").text = "alert(1)";
      return "taken";
    } catch (error) {
      return (error as Error).name;
    }
  });
  expect(code, "there is no policy for scripts").toBe("TypeError");
  complaints.length = 0; // each refusal is told in the console
});
