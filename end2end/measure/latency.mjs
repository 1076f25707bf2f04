// Time from a pod's change being sent to the API server until the page's DOM shows it: latency.mjs KUBECONFIG PAGE NAMESPACE.
//
// Turns the Ready condition of pods on and off through the status subresource and watches `data-state` of their heads. The clock
// starts when the request is sent, so the API server's own time is included: the figure is an upper bound.

import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { launched } from "./chromium.mjs";

const [, , kubeconfigFile, page_, namespace] = process.argv;
const ROUNDS = 60;
const kubeconfig = JSON.parse(readFileSync(kubeconfigFile, "utf8"));
const server = new URL(kubeconfig.clusters[0].cluster.server);
const agent = new Agent({
  keepAlive: true,
  ca: readFileSync(kubeconfig.clusters[0].cluster["certificate-authority"]),
  cert: readFileSync(kubeconfig.users[0].user["client-certificate"]),
  key: readFileSync(kubeconfig.users[0].user["client-key"]),
});

function ask(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = body ? { "content-type": "application/strategic-merge-patch+json" } : {};
    const sent = request({ agent, method, host: server.hostname, port: server.port, path, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => (response.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))));
    });
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

const browser = await launched("--disable-background-networking");
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
await page.goto(page_);
await page.waitForFunction(() => document.documentElement.dataset.live === "true");
const pods = (await ask("GET", `/api/v1/namespaces/${namespace}/pods`)).items.map((pod) => pod.metadata.name);
const times = [];
for (let round = 0; round < ROUNDS; round++) {
  const pod = pods[round % pods.length];
  const ready = Math.floor(round / pods.length) % 2 === 1;
  const seen = page.evaluate(
    ([name, state]) =>
      new Promise((resolve) => {
        const head = document.querySelector(`[data-testid=pod][data-pod="${name}"]`);
        const observer = new MutationObserver(() => {
          if (head.getAttribute("data-state") !== state) return;
          observer.disconnect();
          resolve(Date.now());
        });
        observer.observe(head, { attributes: true });
      }),
    [pod, ready ? "available" : "unready"],
  );
  await page.evaluate(() => undefined); // the observer is in place
  const condition = { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: new Date().toISOString().replace(/\.\d+/, "") };
  const sent = Date.now();
  await ask("PATCH", `/api/v1/namespaces/${namespace}/pods/${pod}/status`, { status: { conditions: [condition] } });
  times.push((await seen) - sent);
}
times.sort((a, b) => a - b);
const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
console.log(`pod change sent to DOM changed, ${ROUNDS} changes: median ${at(0.5)} ms (limit 150), p90 ${at(0.9)} ms, longest ${at(1)} ms`);
await browser.close();
