// The list while much happens: list.mjs ROLLCAST DEPLOYMENTS EVENTS_PER_SECOND. Replays a made recording in which pods of all
// Deployments become unready and ready again. Reads what the page receives, how it scrolls, and how many lines it holds.

import { createWriteStream } from "node:fs";
import { tmpdir } from "node:os";
import { once } from "node:events";
import { launched } from "./chromium.mjs";
import { replaying } from "./replay.mjs";

const [, , rollcast, deploymentsText, rateText] = process.argv;
const [deployments, rate, seconds, pods] = [Number(deploymentsText), Number(rateText), 60, 2];

const uid = (number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
const from = Date.parse("2026-11-21T10:00:00Z");
const created = "2026-11-21T09:00:00Z";
const meta = (number, name, namespace, kind, owner) => ({
  uid: uid(number), name, namespace, generation: 1, creationTimestamp: created, labels: { app: name },
  annotations: { "deployment.kubernetes.io/revision": "1" },
  ownerReferences: owner ? [{ uid: uid(owner), kind, name: "owner", controller: true }] : [],
});
const template = { spec: { containers: [{ name: "web", image: "registry.example.com/shop/web:2026-11-21.4" }] } };
const file = `${tmpdir()}/list-${deployments}.jsonl`;
const out = createWriteStream(file);
const say = (after, kind, type, object) => out.write(`${JSON.stringify({ observedAtMillis: Math.round(from + after), kind, type, object })}\n`);
const place = (number) => [`service-${number}`, `team-${number % 40}`];
const progressing = { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable", lastUpdateTime: created };
const deployment = (after, number, ready) => {
  const [name, namespace] = place(number);
  say(after, "Deployment", after < 100 ? "ADDED" : "MODIFIED", {
    metadata: meta(1e6 + number, name, namespace),
    spec: { replicas: pods, template },
    status: { observedGeneration: 1, replicas: pods, updatedReplicas: pods, readyReplicas: ready, availableReplicas: ready, conditions: [progressing] },
  });
};
const pod = (after, number, which, ready) => {
  const [name, namespace] = place(number);
  say(after, "Pod", after < 100 ? "ADDED" : "MODIFIED", {
    metadata: meta(3e6 + number * pods + which, `${name}-1-${which}`, namespace, "ReplicaSet", 2e6 + number),
    spec: { nodeName: "node-1", containers: [{ name: "web", image: "web:v1" }] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: created }], containerStatuses: [{ name: "web", restartCount: 0, state: { running: {} } }] },
  });
};
for (let number = 0; number < deployments; number++) {
  const [name, namespace] = place(number);
  deployment(0, number, pods);
  say(1, "ReplicaSet", "ADDED", { metadata: meta(2e6 + number, `${name}-1`, namespace, "Deployment", 1e6 + number), spec: { replicas: pods, template }, status: { replicas: pods, readyReplicas: pods, availableReplicas: pods } });
  for (let which = 0; which < pods; which++) pod(2, number, which, true);
}
// Two events are one change: a pod, and the Deployment that counts it.
for (let change = 0; change < (seconds * rate) / 2; change++) {
  const after = 3_000 + (change * 2000) / rate;
  const isReady = Math.floor(change / deployments) % 2 === 1;
  pod(after, change % deployments, 0, isReady);
  deployment(after, change % deployments, isReady ? pods : pods - 1);
}
out.end();
await once(out, "finish");

const server = await replaying(rollcast, file);
const browser = await launched();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const cdp = await page.context().newCDPSession(page);
await cdp.send("Network.enable");
let received = 0;
cdp.on("Network.webSocketFrameReceived", ({ response }) => {
  received += response.opcode === 2 ? Buffer.from(response.payloadData, "base64").length : response.payloadData.length;
});
await page.goto(server.address);
await page.waitForSelector("html[data-live=true]");
await page.getByTestId("count").filter({ hasText: `of ${deployments}` }).waitFor({ timeout: 30_000 });
await page.waitForTimeout(3_000);

const [before, since] = [received, Date.now()];
await page.waitForTimeout(10_000);
const perSecond = (received - before) / ((Date.now() - since) / 1000);

const scrolled = await page.evaluate(
  () =>
    new Promise((done) => {
      const times = [];
      let last = performance.now();
      const began = last;
      let lines = 0;
      const step = (now) => {
        times.push(now - last);
        last = now;
        scrollBy(0, 60);
        lines = Math.max(lines, document.querySelectorAll("#rows .line").length);
        if (now - began < 10_000) requestAnimationFrame(step);
        else done({ times, lines, y: scrollY });
      };
      requestAnimationFrame(step);
    }),
);
await page.waitForTimeout(500);
const empty = await page.evaluate(() => [...document.querySelectorAll("#rows .line")].filter((line) => !line.firstElementChild).length);
const times = scrolled.times.slice(1).sort((a, b) => a - b);
const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
console.log(
  `${deployments} Deployments, ${rate} events/s: receives ${(perSecond / 1000).toFixed(1)} KB/s; scrolls ${(1000 / mean).toFixed(1)} frames/s, p95 ${times[Math.floor(times.length * 0.95)].toFixed(1)} ms over ${Math.round(scrolled.y)} px; holds ${scrolled.lines} lines at most, ${empty} of them empty half a second later`,
);
await browser.close();
server.stop();
