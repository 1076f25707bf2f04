/// The terminal on the real control plane: `rollcast wait` with its exit codes, `rollcast trace` as lines.

import { spawn } from "node:child_process";
import { kubeconfig, rollcastBinary } from "../../fixtures/environment.ts";
import { expect, test } from "../../fixtures/test.ts";
import { Server } from "../../fixtures/server.ts";

interface Ended {
  code: number | null;
  out: string;
  error: string;
}

/// Runs rollcast to its end; `until` ends it when that text is printed.
function rollcast(args: string[], until?: RegExp): Promise<Ended> {
  const process_ = spawn(rollcastBinary(), args, { stdio: ["ignore", "pipe", "pipe"] });
  let [out, error] = ["", ""];
  process_.stdout.on("data", (text: Buffer) => {
    out += text.toString();
    if (until?.test(out)) process_.kill("SIGTERM");
  });
  process_.stderr.on("data", (text: Buffer) => (error += text.toString()));
  return new Promise((done) => process_.on("close", (code) => done({ code, out, error })));
}

const here = (namespace: string) => ["--kubeconfig", kubeconfig(), "--namespace", namespace];
const lastLine = (text: string) => text.trimEnd().split("\n").at(-1)!;

test("wait: an image that is not there fails fast, with evidence; then the rollback is complete", async ({ tell, serve }) => {
  const story = tell("image-missing");
  await story.steps(3); // revision 2 cannot pull its image
  const failed = await rollcast(["wait", "deployment/web", "--fail-fast", "--timeout", "60s", ...here(story.namespace)]);
  expect(failed.code).toBe(1);
  expect(lastLine(failed.out)).toContain("Image web:missing cannot be pulled: not found");
  expect(lastLine(failed.out)).toMatch(/Evidence: Pod web-\S+ (ErrImagePull|ImagePullBackOff) since /);

  const timedOut = await rollcast(["wait", "deployment/web", "--timeout", "0s", ...here(story.namespace)]);
  expect(timedOut.code).toBe(124);
  expect(lastLine(timedOut.out)).toContain("timed out after");

  const missing = await rollcast(["wait", "deploy/wbe", ...here(story.namespace)]);
  expect(missing.code).toBe(2);
  expect(missing.error).toContain("Existing Deployments: web.");

  const server = await serve(Server.watching);
  const waiting = rollcast(["wait", "web", "--output", "json", "--server", server.address, "--namespace", story.namespace]);
  await story.toTheEnd();
  const complete = await waiting;
  expect(complete.code).toBe(0);
  expect(lastLine(complete.error)).toContain("Revision 3 is complete: 3 of 3 available.");
  const document = JSON.parse(complete.out) as { format: string; deployments: { rollouts: unknown[] }[] };
  expect(document.format).toBe("rollcast.timeline/1");
  expect(document.deployments[0]!.rollouts.length).toBeGreaterThan(0);
});

test("trace: lines where standard output is no terminal", { tag: "@nightly" }, async ({ tell }) => {
  const story = tell("rollout");
  await story.next();
  const traced = rollcast(["trace", "deployment/nginx", ...here(story.namespace)], /Revision 2 is complete after/);
  await story.toTheEnd();
  const { code, out } = await traced;
  expect(code).toBe(0);
  expect(out).toMatch(/\d\d:\d\d:\d\d {2}revision {2}Revision 2 starts: image nginx/);
  expect(out).toMatch(/\[Rolling out\] Revision 2 is replacing revision 1/);
  expect(out).not.toMatch(/\x1b/);
});

test("wait: a cluster that does not answer cannot be watched", async () => {
  const ended = await rollcast(["wait", "web", "--server", "http://127.0.0.1:1"]);
  expect(ended.code).toBe(2);
  expect(ended.error).toContain("cannot follow http://127.0.0.1:1");
});
