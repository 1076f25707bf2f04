/// Fonts: the server provides them, so that pages look the same on every machine.

import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expect, openRecording, test } from "../../fixtures/test.ts";
import { isWhole, recording } from "../../fixtures/environment.ts";
import { fontsOf, type Drawn } from "../../fixtures/fonts.ts";
import { Server } from "../../fixtures/server.ts";

const names = ["quota", "rollover", "kill-pod", "image-missing"];
const many = () => Server.start(["replay", ...names.map((name) => recording(name)), "--hold-at", "14"]);
const place = ["rollover", "rollover", "web"] as const;

/// Waits until all text is drawn in fonts of the server, which may load shortly after it. Returns their names.
async function served(page: Page): Promise<string[]> {
  let drawn: Drawn[] = [];
  await expect.poll(async () => (drawn = await fontsOf(page)).filter(({ isServed }) => !isServed)).toEqual([]);
  expect(drawn.length).toBeGreaterThan(0);
  return drawn.map(({ font }) => font);
}

for (const theme of ["light", "dark"] as const) {
  const tag = theme === "light" ? [] : "@nightly";
  test(`all text is drawn in the fonts that the server brings, ${theme}`, { tag }, async ({ page, serve }) => {
    const server = await serve(many);
    const used = new Set<string>();
    await page.goto(`${server.address}/?theme=${theme}`);
    await expect(page.getByTestId("deployment")).toHaveCount(names.length);
    for (const font of await served(page)) used.add(font);

    await openRecording(page, `${server.page(...place)}?theme=${theme}`);
    for (const font of await served(page)) used.add(font);
    await page.getByRole("button", { name: "Shortcuts" }).click();
    for (const font of await served(page)) used.add(font);
    await page.keyboard.press("Escape");
    await page.getByTestId("pod").first().click();
    await expect(page.getByTestId("pod-detail")).toBeVisible();
    for (const font of await served(page)) used.add(font);
    await page.keyboard.press("t");
    for (const font of await served(page)) used.add(font);

    await page.goto(`${server.address}/wall?theme=${theme}`);
    await expect(page.locator(".tile").first()).toBeVisible();
    for (const font of await served(page)) used.add(font);

    for (const plain of isWhole ? ["rollouts", "share", "revisions/3", "nothing/here"] : ["rollouts"]) {
      await page.goto(`${server.page(...place)}/${plain}?theme=${theme}`);
      for (const font of await served(page)) used.add(font);
    }
    expect([...used].sort()).toEqual(["Inter Variable", "JetBrains Mono"]);
  });

  test(`so is the playground, ${theme}`, { tag: "@nightly" }, async ({ page, serve }) => {
    const server = await serve(() => Server.simulating());
    for (const address of [server.page("playground", "default", "web"), server.address]) {
      await page.goto(`${address}?theme=${theme}`);
      await expect(page.getByTestId("playground")).toBeVisible();
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      await served(page);
    }
  });
}

test("only signs that the fonts lack are drawn in others", async ({ page, serve }, info) => {
  const cause = "公開 Релиз web:v2 Ünïcödé — naïve ≥ 2 → Łódź";
  const lines = readFileSync(recording("rollout"), "utf8").trimEnd().split("\n").map((line) => {
    const entry = JSON.parse(line);
    const metadata = entry.object?.metadata;
    if (entry.kind === "ReplicaSet" && metadata) metadata.annotations = { ...metadata.annotations, "kubernetes.io/change-cause": cause };
    return JSON.stringify(entry);
  });
  const server = await serve(() => Server.replayingLines(info.outputPath("foreign.jsonl"), lines, "--hold-at", "12"));
  await page.goto(`${server.page("foreign", "rollout", "nginx")}/revisions/2`);
  await expect(page.getByText(cause).first()).toBeVisible();
  const drawn = await fontsOf(page);
  const foreign = drawn.filter(({ isServed }) => !isServed);
  expect(foreign.length).toBeGreaterThan(0);
  for (const { where } of foreign) expect(where).toContain("Релиз");
  // Characters that these fonts have are drawn in them, in the same line too.
  await page.evaluate(() => {
    for (const element of document.querySelectorAll("body *")) {
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) node.nodeValue = node.nodeValue!.replaceAll("Релиз", "").replaceAll("公開", "");
    }
  });
  expect((await fontsOf(page)).filter(({ isServed }) => !isServed)).toEqual([]);
});

test("fonts are sent once, as they are, and are allowed", async ({ page, request, serve }) => {
  const server = await serve(many);
  const fonts: string[] = [];
  page.on("request", (asked) => void (asked.resourceType() === "font" && fonts.push(new URL(asked.url()).pathname)));
  const answer = await page.goto(server.address);
  expect(answer!.headers()["content-security-policy"]).toContain("font-src 'self'");
  await expect(page.getByTestId("deployment")).toHaveCount(names.length);
  await page.evaluate(() => document.fonts.ready);
  expect(fonts.map((path) => path.replace(/-[0-9a-f]{10}\./, "-CONTENT.")).sort()).toEqual(["/pkg/hyphen-CONTENT.woff2", "/pkg/inter-CONTENT.woff2", "/pkg/mono-CONTENT.woff2"]);
  for (const path of fonts) {
    const { headers, status } = await request.get(server.address + path, { headers: { "accept-encoding": "br, gzip" } }).then(async (font) => ({ headers: font.headers(), status: font.status() }));
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("font/woff2");
    expect(headers["content-encoding"]).toBeUndefined();
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  }
  // The licences are served with them.
  expect(await (await request.get(`${server.address}/pkg/fonts.txt`)).text()).toContain("SIL OPEN FONT LICENSE");
});

test("figures are of one width, hyphens are not as wide", async ({ page, serve }) => {
  const server = await serve(many);
  await page.goto(server.address);
  const measured = () => page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement("div")).appendChild(document.createElement("span"));
    return ["1111", "0000", "8888", "----"].map((text) => {
      probe.textContent = text;
      return probe.getBoundingClientRect().width;
    });
  });
  // The font for hyphens is loaded when the first one is drawn.
  await expect.poll(async () => (await measured())[3]! / (await measured())[0]!).toBeLessThan(0.8);
  expect(new Set((await measured()).slice(0, 3)).size).toBe(1);
});
