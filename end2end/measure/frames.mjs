// Frames per second of a page while pods change: frames.mjs ROLLCAST PODS CHANGES_PER_SECOND. Replays a made recording in which ready
// pods become unready and ready again, and reads the browser's own frame times for ten seconds.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { chromium } from "@playwright/test";
import { replaying } from "./replay.mjs";

const [, , rollcast, podsText, rateText] = process.argv;
const [pods, rate, seconds] = [Number(podsText), Number(rateText), 40];

const uid = (number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
const from = Date.parse("2026-11-21T10:00:00Z");
const owned = (number, name, kind, owner) => ({
  uid: uid(number), name, namespace: "shop", generation: 1, creationTimestamp: "2026-11-21T10:00:00Z",
  annotations: { "deployment.kubernetes.io/revision": "1" },
  ownerReferences: [{ uid: uid(owner), kind, name: "web", controller: true }],
});
const template = { spec: { containers: [{ name: "web", image: "web:v1" }] } };
const lines = [];
const say = (after, kind, type, object) => lines.push(JSON.stringify({ observedAtMillis: Math.round(from + after), kind, type, object }));
say(0, "Deployment", "ADDED", { metadata: owned(1, "web", "", 0), spec: { replicas: pods, template }, status: { observedGeneration: 1, replicas: pods, updatedReplicas: pods } });
say(1, "ReplicaSet", "ADDED", { metadata: owned(2, "web-1", "Deployment", 1), spec: { replicas: pods, template }, status: { replicas: pods } });
const pod = (after, number, ready) =>
  say(after, "Pod", after < 100 ? "ADDED" : "MODIFIED", {
    metadata: owned(100 + number, `web-1-${String(number).padStart(5, "0")}`, "ReplicaSet", 2),
    spec: { nodeName: "node-1", containers: [{ name: "web", image: "web:v1" }] },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: "2026-11-21T10:00:00Z" }],
      containerStatuses: [{ name: "web", restartCount: 0, state: { running: {} } }],
    },
  });
for (let number = 0; number < pods; number++) pod(2, number, true);
for (let change = 0; change < seconds * rate; change++) pod(500 + (change * 1000) / rate, change % pods, Math.floor(change / pods) % 2 === 1);
const file = `${tmpdir()}/frames-${pods}.jsonl`;
writeFileSync(file, lines.join("\n"));

const server = await replaying(rollcast, file, "--loop");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || undefined, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto(`${server.address}/clusters/frames-${pods}/namespaces/shop/deployments/web`);
await page.waitForSelector("html[data-live=true]");
// More than 500 pods are a ribbon.
await page.waitForFunction((wanted) => document.querySelector("[data-testid=ribbon]") || document.querySelectorAll("[data-testid=pod]").length >= wanted, pods);
const frames = page.evaluate(
  () =>
    new Promise((done) => {
      const times = [];
      const start = performance.now();
      let before = start;
      const frame = (now) => {
        times.push(now - before);
        before = now;
        if (now - start < 10_000) requestAnimationFrame(frame);
        else done(times.slice(1));
      };
      requestAnimationFrame(frame);
    }),
);
// Meanwhile keys are pressed: from the press to the frame that follows it.
await page.evaluate(() => {
  window.delays = [];
  addEventListener("keydown", (event) => requestAnimationFrame(() => setTimeout(() => window.delays.push(performance.now() - event.timeStamp))));
});
for (let press = 0; press < 60; press++) {
  await page.keyboard.press("Shift");
  await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
}
const times = await frames;
const delays = (await page.evaluate(() => window.delays)).sort((a, b) => a - b);
times.sort((a, b) => a - b);
const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
console.log(`${pods} pods, ${rate} changes/s: ${(1000 / mean).toFixed(1)} frames/s, p95 ${times[Math.floor(times.length * 0.95)].toFixed(1)} ms, longest ${times.at(-1).toFixed(1)} ms; a key shows after p95 ${delays[Math.floor(delays.length * 0.95)].toFixed(1)} ms`);
await browser.close();
server.stop();
