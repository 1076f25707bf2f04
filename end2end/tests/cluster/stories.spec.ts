/// Every story, played to its end on the real control plane: the timeline document says what happened, and agrees with
/// what Kubernetes' own code says of the same objects.

import { readdirSync } from "node:fs";
import { cluster, expect, test } from "../../fixtures/test.ts";
import type { Oracle } from "../../fixtures/oracle.ts";
import { Server, type Document } from "../../fixtures/server.ts";
import { expectations, type Expectation } from "../../fixtures/expectation.ts";

type Deployment = Document["deployments"][number];

const count = <T>(of: T[], which: (one: T) => boolean) => of.filter(which).length;

/// What a document says, in the words of a story's `[expect]`.
function said(deployment: Deployment, about: Expectation): Expectation {
  const { rollouts, replicaSets, scales, pods, marks } = deployment;
  const all: Required<Expectation> = {
    revisions: rollouts.map((rollout) => rollout.revision),
    triggers: rollouts.map((rollout) => rollout.trigger),
    outcomes: rollouts.map((rollout) => rollout.outcome),
    ends: Object.fromEntries(Object.keys(about.ends ?? {}).map((reason) => [reason, count(pods, (pod) => pod.endReason === reason)])),
    removed: replicaSets.flatMap((set) => set.removedBecause ?? []),
    marks: marks.map((mark) => mark.kind),
    scaling: scales.filter((scale) => scale.cause === "scaling").map((scale) => [scale.from, scale.to] as [number, number]).sort((a, b) => a[0] - b[0]).slice(0, about.scaling?.length),
    states: (about.states ?? []).filter((state) => pods.some((pod) => pod.states.some(([name]) => name === state))),
    pods: pods.length,
    scales: scales.length,
    released: count(pods, (pod) => pod.releasedMillis !== null),
    adopted: count(pods, (pod) => pod.adoptedMillis !== null),
    deadlines: count(rollouts, (rollout) => rollout.deadlineExceededMillis !== null),
    has_end: pods.find((pod) => pod.endReason === about.has_end)?.endReason ?? "",
  };
  return Object.fromEntries(Object.keys(about).map((key) => [key, all[key as keyof Expectation]])) as Expectation;
}

/// Verdicts at every step as kubectl computes them, budgets as the controller resolves them, and the pods of a fresh list.
async function agrees(document: Document, oracle: Oracle): Promise<void> {
  const listed = await oracle.pods();
  for (const deployment of document.deployments) {
    const ours = deployment.verdicts.map(({ verdict }) => verdict).filter((verdict) => verdict !== "gone");
    expect(ours, "verdicts at every step").toEqual(oracle.verdicts(deployment.uid));
    for (const { revision, startedMillis, maxSurge, maxUnavailable } of deployment.rollouts) {
      const theirs = oracle.budget(deployment.uid, revision);
      // Recreate has no budget for the controller; for the document nothing may be kept.
      const isRecreate = theirs?.maxSurge === 0 && theirs.maxUnavailable === 0;
      if (startedMillis !== null && !isRecreate) expect({ maxSurge, maxUnavailable }).toEqual(theirs);
    }
  }
  const living = document.deployments.flatMap(({ pods }) => pods).filter(({ states }) => states.at(-1)![0] !== "gone");
  const owned = living.filter(({ releasedMillis, adoptedMillis }) => releasedMillis === null || (adoptedMillis ?? 0) > releasedMillis);
  expect(owned.map(({ uid }) => uid).sort(), "pods of a fresh list").toEqual(listed.sort());
}

const folder = new URL("../../cluster/stories/", import.meta.url);
for (const file of readdirSync(folder).sort()) {
  const name = file.replace(/\.toml$/, "");
  test(`story ${name}`, async ({ serve, tell, consult }) => {
    test.setTimeout(300_000);
    const server = await serve(Server.watching);
    const story = tell(name);
    const oracle = await consult(story.namespace);
    const expected = expectations(new URL(file, folder));
    const deployment = ["rollout", "kill-pod", "relabel-pod"].includes(name) ? "nginx" : name === "rolling-one-by-one" ? "basic" : "web";
    await story.toTheEnd();
    await expect(async () => {
      const document = await server.document(cluster, story.namespace, deployment);
      const last = document.deployments.at(-1)!;
      expect(last.verdicts.at(-1)!.verdict).toBe("complete");
      expect(said(last, expected)).toEqual(expected);
      if (oracle) await agrees(document, oracle);
    }).toPass({ timeout: 20_000 });
  });
}
