/// The list on recordings: order, search, filters, keys, places.

import { expect, test } from "../../fixtures/test.ts";
import { recording } from "../../fixtures/environment.ts";
import { Server } from "../../fixtures/server.ts";

const names = ["rollout", "deadline-exceeded", "kill-pod"];
const start = () => Server.start(["replay", ...names.map((name) => recording(name)), "--hold-at", "20"]);

test("words and verdicts narrow the list, and the address keeps them", async ({ page, serve }) => {
  const server = await serve(start);
  await page.goto(server.address);
  const rows = page.getByTestId("deployment");
  await expect(rows).toHaveCount(3);
  await page.waitForSelector("html[data-live=true]");
  await page.getByRole("searchbox").fill("nginx live");
  await expect(rows).toHaveCount(2);
  await expect(page.getByTestId("count")).toHaveText("2 of 3");
  await page.getByRole("searchbox").fill("");
  await page.getByLabel("Verdict").selectOption("bad");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("Revision 2 is stuck");
  await expect(page).toHaveURL(/[?]q=&tone=bad$/);
  await rows.click();
  await expect(page.getByTestId("verdict")).toContainText("Revision 2 is stuck");
  await page.goBack();
  await expect(page.getByTestId("deployment")).toHaveCount(1);
  await expect(page.getByLabel("Verdict")).toHaveValue("bad");
});

test("keys go to the search, from row to row, and into one", async ({ page, serve }) => {
  const server = await serve(start);
  await page.goto(server.address);
  await page.waitForSelector("html[data-live=true]");
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox")).toBeFocused();
  await page.keyboard.type("jk");
  await expect(page.getByTestId("deployment")).toHaveCount(0);
  await expect(page.getByText("Nothing here that matches.")).toHaveCount(3);
  await page.getByRole("searchbox").fill("");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("deployment").first()).toBeFocused();
  await page.keyboard.press("j");
  await expect(page.getByTestId("deployment").nth(1)).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/deployments[/]/);
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });
  test("the search is a form, and clusters and namespaces are pages", async ({ page, serve }) => {
    const server = await serve(start);
    await page.goto(server.address);
    await page.getByRole("searchbox").fill("kill-pod");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(page.getByTestId("deployment")).toHaveCount(1);
    await page.goto(`${server.address}/clusters/rollout`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Deployments of rollout");
    await expect(page.getByTestId("cluster")).toHaveCount(1);
    await page.goto(`${server.address}/clusters/rollout/namespaces/rollout?q=nginx`);
    await expect(page.getByTestId("deployment")).toHaveCount(1);
    await page.goto(`${server.address}/clusters/rollout/namespaces/other`);
    await expect(page.getByTestId("deployment")).toHaveCount(0);
    expect((await page.goto(`${server.address}/clusters/nowhere`))?.status()).toBe(404);
  });
});
