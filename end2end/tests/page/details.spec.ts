/// Details of pods and revisions, and hostile text in them.

import { readFileSync } from "node:fs";
import { expect, openPlayed, openRecording, openWatched, RolloutPage, test } from "../../fixtures/test.ts";
import { recording } from "../../fixtures/environment.ts";
import { recorded } from "../../fixtures/made.mjs";
import { Server } from "../../fixtures/server.ts";

const failing = ["failing-rollout-halts-then-undo", "failing-rollout-halts-then-undo", "test"] as const;

test("a pod opens with its history, conditions and commands", async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, failing, "--hold-at", "8.5");
  await rollout.pods(2, "unready").first().click();
  const detail = page.getByTestId("pod-detail");
  await expect(detail).toContainText("Running, not ready for");
  await expect(detail).toContainText("ContainersNotReady");
  await expect(detail.locator(".facts")).toContainText("node-");
  await expect(detail.locator(".past")).toContainText("starting");
  await expect(detail).toContainText(/kubectl --namespace failing-rollout-halts-then-undo describe pod test-\S+/);
  // Times in the history link to their moments.
  await detail.locator(".past button").first().click();
  await expect(rollout.live).toHaveText(/^As it was at /);
  // Details of that moment.
  await expect(detail).toContainText("Scheduling for");
  await page.keyboard.press("Escape");
  await expect(detail).toHaveCount(0);
});

test("the line of a state that lasts stays the same one while its duration grows", { tag: "@nightly" }, async ({ page, serve }) => {
  const server = await serve(() => Server.simulating());
  const rollout = await openWatched(page, server.page("playground", "default", "web"));
  await rollout.pods(1, "available").first().click();
  const last = page.getByTestId("pod-detail").locator(".past tr").last();
  await expect(last).toContainText(/for \d/);
  const before = await last.evaluate((line) => {
    line.id = "same";
    return line.textContent!;
  });
  await expect(last).not.toHaveText(before);
  await expect(last).toHaveId("same");
});

test("on a phone no flag of a command is broken", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "40"));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${server.page("rollover", "rollover", "web")}/revisions/1`);
  const command = page.locator(".commands code").first();
  await expect(command).toHaveText("kubectl --namespace rollover rollout history deployment/web --revision=1");
  const heights = await command.locator(".word").evaluateAll((all) => all.map((word) => word.getBoundingClientRect().height));
  expect(heights).toHaveLength(7);
  expect(new Set(heights).size, "each is one line").toBe(1);
  expect(await command.evaluate((code) => code.getBoundingClientRect().height > 2 * code.querySelector(".word")!.getBoundingClientRect().height), "the command is not").toBe(true);
  const selected = await command.evaluate((code) => {
    getSelection()!.selectAllChildren(code);
    return getSelection()!.toString();
  });
  expect(selected, "one line with single spaces").toBe("kubectl --namespace rollover rollout history deployment/web --revision=1");
});

test("a pod that its ReplicaSet let go of says why it was this one", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollout", "--hold-at", "40"));
  const deployment = server.page("rollout", "rollout", "nginx");
  await openRecording(page, deployment);
  await expect(new RolloutPage(page).living(3)).toHaveCount(3); // the recording is read
  await page.goto(`${deployment}/pods/d5df9231-6731-4bb1-b841-e0b61036f296`);
  await expect(page.locator(".facts")).toContainText("2 pods of this Deployment were on its node, more than on others");
});

test("by keys alone: from a band to its pods, into one, and back", async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, failing, "--hold-at", "8.5");
  await rollout.beside(2).getByRole("link").focus();
  await page.keyboard.press("ArrowDown");
  await expect(rollout.pods(2).first()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(rollout.pods(2).nth(1)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("pod-detail")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("pod-detail")).toHaveCount(0);
  await expect(rollout.pods(2).nth(1)).toBeFocused();
});

test("a revision that superseded another is compared with that one and with what was complete before", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying("rollover", "--hold-at", "8"));
  await page.goto(`${server.page("rollover", "rollover", "web")}/revisions/3`);
  const detail = page.getByTestId("revision-detail");
  await expect(detail.getByRole("heading", { name: /^Changes from revision/ })).toHaveText(["Changes from revision 2", "Changes from revision 1"]);
  await expect(detail).toContainText("image web:slow-v2 → web:v3");
  await expect(detail).toContainText("image web:v1 → web:v3");
});

test("a pod out of rotation has the commands that show which label it lost", async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, ["relabel-pod", "relabel-pod", "nginx"], "--hold-at", "7");
  await rollout.pods("out").first().click();
  const detail = page.getByTestId("pod-detail");
  await expect(detail).toContainText("labels no longer match");
  await expect(detail).toContainText(/kubectl --namespace relabel-pod get pod nginx-\S+ --show-labels/);
  await expect(detail).toContainText(/kubectl --namespace relabel-pod get replicaset nginx-\w+ -o jsonpath='{[.]spec[.]selector[.]matchLabels}'/);
  await page.keyboard.press("Escape");
  await expect(rollout.page.getByTestId("pod-detail")).toHaveCount(0);
});

test("a revision opens with its difference from the one before", async ({ page, serve }) => {
  const { rollout } = await openPlayed(page, serve, failing, "--hold-at", "8.5");
  await rollout.beside(2).getByRole("link").click();
  const detail = page.getByTestId("revision-detail");
  await expect(detail).toContainText("nginx: image test:v1 → test:unready");
  await detail.getByRole("link", { name: "1" }).click();
  await expect(detail).toContainText("rollout undo deployment/test --to-revision=1");
  await expect(detail.getByRole("button", { name: "Copy" })).toHaveCount(3);
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });
  test("pods and revisions are pages of their own", async ({ page, serve }) => {
    const server = await serve(() => Server.replaying(failing[0], "--hold-at", "8.5"));
    await page.goto(server.page(...failing));
    await expect(page.getByTestId("verdict")).toContainText("Revision 2");
    await expect(page.getByTestId("transport")).toBeHidden();
    await page.getByTestId("gutter").last().getByRole("link").click();
    await expect(page.getByTestId("revision-detail")).toContainText("Revision 2");
    await page.goBack();
    await page.getByLabel("Pods as a table").check();
    await page.getByTestId("pod-table").getByRole("link").first().click();
    await expect(page.getByTestId("pod-detail")).toBeVisible();
  });
});

test("what is not there is said, with a way back", async ({ page, serve }) => {
  const server = await serve(() => Server.replaying(failing[0], "--hold-at", "8.5"));
  for (const path of ["pods/nonsense", "pods/00000000-0000-4000-8000-000000000000", "revisions/99", "revisions/x"]) {
    const response = await page.goto(`${server.page(...failing)}/${path}`);
    expect(response?.status(), path).toBe(404);
    await expect(page.getByRole("link", { name: "The page of test" })).toBeVisible();
  }
});

test("hostile text stays text and breaks nothing", async ({ page, serve }, info) => {
  const evil = "<img src=x onerror=alert(1)>\u202egnp.exe\u200b";
  const lines = readFileSync(recording("image-missing"), "utf8").trimEnd().split("\n").map((line) => {
    const entry = JSON.parse(line);
    const metadata = entry.object?.metadata ?? {};
    if (entry.kind === "ReplicaSet") metadata.annotations = { ...metadata.annotations, "kubernetes.io/change-cause": "javascript:alert(1)" };
    if (entry.kind === "Pod" && metadata.name) {
      metadata.name = `${"x".repeat(240)}${metadata.name.slice(-13)}`;
      for (const status of entry.object.status?.containerStatuses ?? [])
        if (status.state?.waiting) status.state.waiting.message = evil.repeat(3) + "A".repeat(1_000_000);
      for (const condition of entry.object.status?.conditions ?? []) condition.message = evil;
    }
    return JSON.stringify(entry);
  });
  const server = await serve(() => Server.replayingLines(info.outputPath("hostile.jsonl"), lines, "--hold-at", "12"));
  let dialogs = 0;
  page.on("dialog", (dialog) => void (dialogs++, dialog.dismiss()));
  const rollout = await openRecording(page, server.page("hostile", "image-missing", "web"));
  const isCalm = async () => {
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
  };
  await isCalm();
  await page.locator("[data-testid=pod][data-revision='2']").first().click();
  await expect(page.getByTestId("pod-detail")).toContainText("<img src=x onerror=alert(1)>");
  await isCalm();
  await rollout.beside(2).getByRole("link").click();
  await expect(page.getByTestId("revision-detail")).toContainText("javascript:alert(1)");
  await isCalm();
  expect(dialogs).toBe(0);
});

test("of a pod that was there before somebody looked nothing is said that was not seen", async ({ page, serve }, info) => {
  const lines = recorded([{ revision: 1, pods: ["available", "available"] }], 0).slice(0, -1); // the last one is later
  const isPod = (line: string) => (JSON.parse(line) as { kind: string; type: string }).kind === "Pod" && line.includes('"LISTED"');
  interface Line {
    observedAtMillis: number;
    type: string;
    object: { metadata: { uid: string }; status: { conditions: object[]; containerStatuses: { restartCount: number }[] } };
  }
  const listed = JSON.parse(lines.find(isPod)!) as Line;
  listed.object.status.containerStatuses[0]!.restartCount = 3;
  listed.object.status.conditions.push({ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" });
  lines[lines.findIndex(isPod)] = JSON.stringify(listed);
  /// Returns the same pod so many seconds later.
  const later = (seconds: number, restartCount: number) => {
    const { object } = structuredClone(listed);
    object.status.containerStatuses[0]!.restartCount = restartCount;
    object.status.conditions[0] = { type: "Ready", status: "False", reason: "ContainersNotReady", lastTransitionTime: "2026-11-21T10:00:10Z" };
    return JSON.stringify({ ...listed, observedAtMillis: listed.observedAtMillis + seconds * 1_000, type: "MODIFIED", object });
  };
  const all = [...lines, later(10, 3), later(20, 4)];
  const server = await serve(() => Server.replayingLines(info.outputPath("before.jsonl"), all, "--hold-at", "30"));
  await page.goto(`${server.page("before", "shop", "web")}/pods/${listed.object.metadata.uid}`);
  const detail = page.getByTestId("pod-detail");
  await expect(detail.locator(".past")).toContainText("restarted, 4 restarts in total");
  // Restarts from before the observation are not listed.
  await expect(detail.locator(".past")).not.toContainText("3 restarts");
  await expect(detail.locator(".past tr").first()).toContainText("for at least 10 s");
  await expect(detail).not.toContainText("Startup:");
  await expect(detail.locator(".state")).toHaveText(/Running, not ready for 20 s\.$/);
  const under = (heading: string) => detail.locator(`h3:text-is("${heading}") + table`);
  await expect(under("Conditions that are not true")).toContainText("ContainersNotReady");
  await expect(under("Conditions that are not true")).not.toContainText("DisruptionTarget");
  await expect(under("Further conditions that are true")).toContainText("EvictionByEvictionAPI");
  // The other pod was not changed.
  const uid = lines.filter(isPod).map((line) => (JSON.parse(line) as Line).object.metadata.uid).at(-1)!;
  await page.goto(`${server.page("before", "shop", "web")}/pods/${uid}`);
  await expect(detail.locator(".state")).toHaveText(/Available for at least 30 s\.$/);
});
