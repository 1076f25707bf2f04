// What a page keeps while rollouts go on: soak.mjs ROLLCAST MINUTES. Replays a made recording of one rollout after the other at
// four times its speed, and reads heap, the program's memory and nodes once a minute, after the browser tidied up.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { chromium } from "@playwright/test";
import { replaying } from "./replay.mjs";

const [, , rollcast, minutesText] = process.argv;
const [minutes, speed, pods, everyMillis] = [Number(minutesText), 4, 4, 8_000];

const uid = (number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
const from = Date.parse("2026-11-21T10:00:00Z");
const lines = [];
const say = (after, kind, type, object) => lines.push({ observedAtMillis: Math.round(from + after), kind, type, object });
const meta = (number, name, kind, owner, revision, after) => ({
  uid: uid(number), name, namespace: "shop", generation: revision, creationTimestamp: new Date(from + after).toISOString(),
  annotations: { "deployment.kubernetes.io/revision": String(revision) }, labels: { "pod-template-hash": name },
  ownerReferences: owner ? [{ uid: uid(owner), kind, name: "web", controller: true }] : [],
});
const template = (revision) => ({ spec: { containers: [{ name: "web", image: `web:v${revision}` }] } });
const deployment = (after, revision, type) => {
  const conditions = [{ type: "Progressing", status: "True", reason: "NewReplicaSetAvailable", lastUpdateTime: new Date(from + after).toISOString() }];
  const status = { observedGeneration: revision, replicas: pods, updatedReplicas: pods, availableReplicas: pods, conditions };
  say(after, "Deployment", type, { metadata: meta(1, "web", "", 0, revision, 0), spec: { replicas: pods, template: template(revision) }, status });
};
const set = (after, revision, replicas, type) =>
  say(after, "ReplicaSet", type, { metadata: meta(10 + revision, `web-${revision}`, "Deployment", 1, revision, after), spec: { replicas, template: template(revision) }, status: { replicas } });
const pod = (after, revision, index, state) => {
  const metadata = meta(1_000_000 + revision * pods + index, `web-${revision}-${index}`, "ReplicaSet", 10 + revision, revision, after);
  if (state === "terminating") metadata.deletionTimestamp = new Date(from + after + 1_000).toISOString();
  const ready = state === "ready";
  const status = { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: new Date(from + after).toISOString() }], containerStatuses: [{ name: "web", restartCount: 0, state: { running: {} } }] };
  say(after, "Pod", state === "gone" ? "DELETED" : state === "new" ? "ADDED" : "MODIFIED", { metadata, spec: { nodeName: "node-1", containers: [{ name: "web", image: "web" }] }, status });
};
const rollouts = Math.ceil((minutes * 60_000 * speed) / everyMillis) + 2;
for (let revision = 1; revision <= rollouts; revision++) {
  const at = revision * everyMillis;
  deployment(at, revision, revision === 1 ? "ADDED" : "MODIFIED");
  set(at + 1, revision, pods, "ADDED");
  for (let index = 0; index < pods; index++) {
    const begins = at + index * 1_000;
    pod(begins + 20, revision, index, "new");
    pod(begins + 900, revision, index, "ready");
    if (revision === 1) continue;
    pod(begins + 1_000, revision - 1, index, "terminating");
    pod(begins + 1_900, revision - 1, index, "gone");
  }
  if (revision > 1) set(at + 4_200, revision - 1, 0, "MODIFIED");
  if (revision > 4) say(at + 4_500, "ReplicaSet", "DELETED", { metadata: meta(10 + revision - 4, `web-${revision - 4}`, "Deployment", 1, revision - 4, at), spec: { replicas: 0, template: template(revision - 4) }, status: {} });
}
lines.sort((a, b) => a.observedAtMillis - b.observedAtMillis);
const recording = `${tmpdir()}/soak.jsonl`;
writeFileSync(recording, lines.map((line) => JSON.stringify(line)).join("\n"));

const server = await replaying(rollcast, recording, "--speed", String(speed));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || undefined, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
// The program's memory is no part of the browser's figures.
await page.addInitScript(() => {
  const instantiate = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (...args) => {
    const made = await instantiate(...args);
    globalThis.programMemory = made.instance.exports.memory;
    return made;
  };
});
await page.goto(`${server.address}/clusters/soak/namespaces/shop/deployments/web`);
await page.waitForSelector("html[data-live=true]");
const cdp = await page.context().newCDPSession(page);
await cdp.send("HeapProfiler.enable");
const read = async () => {
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const { nodes } = await cdp.send("Memory.getDOMCounters");
  const program = await page.evaluate(() => globalThis.programMemory?.buffer.byteLength ?? 0);
  return { heap: usedSize / 1e6, program: program / 1e6, nodes };
};
let early;
for (let minute = 0; minute <= minutes; minute++) {
  const now = await read();
  console.log(`${String(minute).padStart(3)} min: heap ${now.heap.toFixed(2)} MB, program's memory ${now.program.toFixed(2)} MB, ${now.nodes} nodes`);
  if (minute === Math.min(5, Math.floor(minutes / 2))) early = now;
  if (minute === minutes) console.log(`since minute ${Math.min(5, Math.floor(minutes / 2))}: heap ${(now.heap - early.heap).toFixed(2)} MB, program's memory ${(now.program - early.program).toFixed(2)} MB, nodes ${now.nodes - early.nodes}`);
  else await new Promise((done) => setTimeout(done, 60_000));
}
await browser.close();
server.stop();
