// What a page keeps while rollouts go on: soak.mjs ROLLCAST MINUTES [wall]. Replays a made recording and reads heap, the program's
// memory and nodes, after the browser tidied up. Of a Deployment's page: one rollout after the other, at four times its speed. Of the wall:
// a whole day of rollouts of six Deployments, as fast as makes that many minutes.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { launched } from "./chromium.mjs";
import { replaying } from "./replay.mjs";

const [, , rollcast, minutesText, what] = process.argv;
const [minutes, pods, isWall] = [Number(minutesText), 4, what === "wall"];
const [deployments, everyMillis, recordedMinutes] = isWall ? [6, 300_000, 24 * 60] : [1, 8_000, minutes * 4];
const speed = recordedMinutes / minutes;

const uid = (number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
const from = Date.parse("2026-11-21T10:00:00Z");
const lines = [];
const say = (after, kind, type, object) => lines.push({ observedAtMillis: Math.round(from + after), kind, type, object });
// Numbers of one Deployment and all that belongs to it.
let base = 0;
let app = "web";
const meta = (number, name, kind, owner, revision, after) => ({
  uid: uid(base + number), name, namespace: "shop", generation: revision, creationTimestamp: new Date(from + after).toISOString(),
  annotations: { "deployment.kubernetes.io/revision": String(revision) }, labels: { "pod-template-hash": name },
  ownerReferences: owner ? [{ uid: uid(base + owner), kind, name: app, controller: true }] : [],
});
const template = (revision) => ({ spec: { containers: [{ name: "web", image: `web:v${revision}` }] } });
const deployment = (after, revision, type, updated) => {
  const reason = updated === pods ? "NewReplicaSetAvailable" : "ReplicaSetUpdated";
  const conditions = [{ type: "Progressing", status: "True", reason, lastUpdateTime: new Date(from + after).toISOString() }];
  const status = { observedGeneration: revision, replicas: pods, updatedReplicas: updated, availableReplicas: pods, conditions };
  say(after, "Deployment", type, { metadata: meta(1, app, "", 0, revision, 0), spec: { replicas: pods, template: template(revision) }, status });
};
const set = (after, revision, replicas, type) =>
  say(after, "ReplicaSet", type, { metadata: meta(10 + revision, `${app}-${revision}`, "Deployment", 1, revision, after), spec: { replicas, template: template(revision) }, status: { replicas } });
const pod = (after, revision, index, state) => {
  const metadata = meta(1_000_000 + revision * pods + index, `${app}-${revision}-${index}`, "ReplicaSet", 10 + revision, revision, after);
  if (state === "terminating") metadata.deletionTimestamp = new Date(from + after + 1_000).toISOString();
  const ready = state === "ready";
  const status = { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: new Date(from + after).toISOString() }], containerStatuses: [{ name: "web", restartCount: 0, state: { running: {} } }] };
  say(after, "Pod", state === "gone" ? "DELETED" : state === "new" ? "ADDED" : "MODIFIED", { metadata, spec: { nodeName: "node-1", containers: [{ name: "web", image: "web" }] }, status });
};
const rollouts = Math.ceil((recordedMinutes * 60_000) / everyMillis) + 2;
for (let number = 0; number < deployments; number++) {
  [base, app] = [number * 100_000_000, deployments === 1 ? "web" : `web-${number}`];
  for (let revision = 1; revision <= rollouts; revision++) {
    const at = revision * everyMillis + (number * everyMillis) / deployments;
    deployment(at, revision, revision === 1 ? "ADDED" : "MODIFIED", 0);
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
    deployment(at + 5_000, revision, "MODIFIED", pods);
    if (revision > 4) say(at + 5_100, "ReplicaSet", "DELETED", { metadata: meta(10 + revision - 4, `${app}-${revision - 4}`, "Deployment", 1, revision - 4, at), spec: { replicas: 0, template: template(revision - 4) }, status: {} });
  }
}
lines.sort((a, b) => a.observedAtMillis - b.observedAtMillis);
const recording = `${tmpdir()}/soak.jsonl`;
writeFileSync(recording, lines.map((line) => JSON.stringify(line)).join("\n"));

const server = await replaying(rollcast, recording, "--speed", String(speed));
const browser = await launched();
const page = await browser.newPage({ viewport: isWall ? { width: 1920, height: 1080 } : { width: 1440, height: 900 } });
// The program's memory is no part of the browser's figures. Its parts share the one that the program has.
await page.addInitScript(() => {
  const instantiate = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (...args) => {
    const made = await instantiate(...args);
    globalThis.programMemory ??= made.instance.exports.memory;
    return made;
  };
});
await page.goto(isWall ? `${server.address}/wall` : `${server.address}/clusters/soak/namespaces/shop/deployments/web`);
await page.waitForSelector("html[data-live=true]");
const cdp = await page.context().newCDPSession(page);
await cdp.send("HeapProfiler.enable");
const read = async () => {
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const { nodes } = await cdp.send("Memory.getDOMCounters");
  const program = await page.evaluate(() => globalThis.programMemory?.buffer.byteLength);
  if (!program) throw new Error("the program's memory was not found: there is nothing to measure");
  return { heap: usedSize / 1e6, program: program / 1e6, nodes };
};
const warm = Math.min(5, minutes / 2);
const samples = [];
for (let minute = 0; minute <= minutes; minute++) {
  const now = await read();
  console.log(`${String(minute).padStart(3)} min: heap ${now.heap.toFixed(2)} MB, program's memory ${now.program.toFixed(2)} MB, ${now.nodes} nodes`);
  if (minute >= warm) samples.push([minute, now]);
  if (minute < minutes) await new Promise((done) => setTimeout(done, 60_000));
}
// The straight line through what was read, in MB an hour; an hour of the recording is shorter.
const slope = (value) => {
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  const [x, y] = [mean(samples.map(([minute]) => minute)), mean(samples.map(([, now]) => value(now)))];
  const spread = samples.reduce((sum, [minute]) => sum + (minute - x) ** 2, 0);
  return samples.reduce((sum, [minute, now]) => sum + (minute - x) * (value(now) - y), 0) / spread;
};
const [heap, program] = [slope((now) => now.heap), slope((now) => now.program)];
const [first, last] = [samples[0][1], samples.at(-1)[1]];
console.log(`since minute ${Math.ceil(warm)}: heap ${(last.heap - first.heap).toFixed(2)} MB, program's memory ${(last.program - first.program).toFixed(2)} MB, nodes ${last.nodes - first.nodes}`);
console.log(`slope: heap ${(heap * 60).toFixed(2)} MB/h, program ${(program * 60).toFixed(2)} MB/h; by the recording's clock ${((heap * 60) / speed).toFixed(3)} and ${((program * 60) / speed).toFixed(3)} MB/h`);
await browser.close();
server.stop();
