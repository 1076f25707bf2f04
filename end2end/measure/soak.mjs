// What a page keeps while rollouts go on: soak.mjs ROLLCAST MINUTES. Replays a recording in a loop at four times its speed, and
// reads heap and nodes once a minute, after the browser tidied up.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { chromium } from "@playwright/test";

const [, , rollcast, minutesText] = process.argv;
const minutes = Number(minutesText);
const recording = new URL("../../server/demo/rollout.jsonl", import.meta.url).pathname;
const server = spawn(rollcast, ["replay", recording, "--loop", "--speed", "4", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ROLLCAST_LOG: "error" } });
let address = "";
for await (const line of createInterface({ input: server.stdout })) {
  address = /http:\/\/\S+?(?=\/$)/.exec(line)?.[0] ?? "";
  if (address) break;
}
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || undefined, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto(`${address}/clusters/rollout/namespaces/rollout/deployments/nginx`);
await page.waitForSelector("html[data-live=true]");
const cdp = await page.context().newCDPSession(page);
await cdp.send("HeapProfiler.enable");
const read = async () => {
  await cdp.send("HeapProfiler.collectGarbage");
  const { jsHeapSizeLimit: _, ...sizes } = await cdp.send("Runtime.getHeapUsage");
  const { nodes } = await cdp.send("Memory.getDOMCounters");
  const wasm = await page.evaluate(() => performance.memory?.totalJSHeapSize ?? 0);
  return { heap: sizes.usedSize / 1e6, embedder: (sizes.embedderHeapUsedSize ?? 0) / 1e6, backing: (sizes.backingStorageSize ?? 0) / 1e6, nodes, wasm };
};
let early;
for (let minute = 0; minute <= minutes; minute++) {
  const now = await read();
  console.log(`${String(minute).padStart(3)} min: heap ${now.heap.toFixed(2)} MB, program's memory ${now.backing.toFixed(2)} MB, ${now.nodes} nodes`);
  if (minute === Math.min(5, Math.floor(minutes / 2))) early = now;
  if (minute === minutes) console.log(`since minute ${Math.min(5, Math.floor(minutes / 2))}: heap ${(now.heap - early.heap).toFixed(2)} MB, program's memory ${(now.backing - early.backing).toFixed(2)} MB, nodes ${now.nodes - early.nodes}`);
  else await new Promise((done) => setTimeout(done, 60_000));
}
await browser.close();
server.kill();
