/// Stories, played to their ends on the real control plane: the timeline document has the expected content, and agrees with the results of Kubernetes' own code for the
/// same objects.

import { readdirSync } from "node:fs";
import type { Page } from "@playwright/test";
import { cluster, expect, openWatched, test } from "../../fixtures/test.ts";
import type { Oracle } from "../../fixtures/oracle.ts";
import { Server, type Document } from "../../fixtures/server.ts";
import { kubeconfig } from "../../fixtures/environment.ts";
import { essence } from "../../fixtures/essence.ts";
import { deploymentOf, expectations, keep, tagOfStory, type Expectation } from "../../fixtures/expectation.ts";

type Deployment = Document["deployments"][number];

const count = <T>(of: T[], which: (one: T) => boolean) => of.filter(which).length;

/// Returns the content of a document in the form of a story's `[expect]`.
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

/// Compares the verdicts of every step with kubectl's, budgets with the controller's, and the pods with a fresh list.
async function agrees(document: Document, oracle: Oracle): Promise<void> {
  const listed = await oracle.pods();
  for (const deployment of document.deployments) {
    const ours = deployment.verdicts.map(({ verdict }) => verdict).filter((verdict) => verdict !== "gone");
    expect(ours, "verdicts at every step").toEqual(oracle.verdicts(deployment.uid));
    for (const { revision, startedMillis, maxSurge, maxUnavailable } of deployment.rollouts) {
      const theirs = oracle.budget(deployment.uid, revision);
      // With Recreate the controller has no budget; in the document all pods may be unavailable.
      const isRecreate = theirs?.maxSurge === 0 && theirs.maxUnavailable === 0;
      if (startedMillis !== null && !isRecreate) expect({ maxSurge, maxUnavailable }).toEqual(theirs);
    }
  }
  const living = document.deployments.flatMap(({ pods }) => pods).filter(({ states }) => states.at(-1)![0] !== "gone");
  const owned = living.filter(({ releasedMillis, adoptedMillis }) => releasedMillis === null || (adoptedMillis ?? 0) > releasedMillis);
  expect(owned.map(({ uid }) => uid).sort(), "pods of a fresh list").toEqual(listed.sort());
}

/// The observed content of the picture, in order: states of each pod, by name, and the bands.
interface Shown {
  pods: Record<string, string[]>;
  bands: string[];
}

/// Records the content of the picture from now on, at every change.
const look = (page: Page) =>
  page.evaluate(() => {
    const shown: Shown = { pods: {}, bands: [] };
    (globalThis as Record<string, unknown>)["shown"] = shown;
    const take = () => {
      document.querySelectorAll("#heads > :not(.elsewhere)").forEach((head) => {
        const states = (shown.pods[head.getAttribute("data-pod")!] ??= []);
        const state = head.getAttribute("data-state")!;
        if (states.at(-1) !== state) states.push(state);
      });
      document.querySelectorAll("#gutter > *").forEach((band) => {
        const revision = band.getAttribute("data-revision")!;
        if (!shown.bands.includes(revision)) shown.bands.push(revision);
      });
    };
    take();
    for (const id of ["heads", "gutter"]) new MutationObserver(take).observe(document.getElementById(id)!, { childList: true, subtree: true, attributes: true });
  });

const shown = (page: Page) => page.evaluate(() => (globalThis as Record<string, unknown>)["shown"] as Shown);

/// Checks that the picture showed the document: every state that lasted, in order, and a band for every revision.
function pictured(deployment: Deployment, { pods, bands }: Shown): void {
  for (const pod of deployment.pods) {
    const states = pod.states.map(([state]) => state);
    const lasting = pod.states.filter(([state, since], index) => state === "gone" || (pod.states[index + 1]?.[1] ?? Infinity) - since > LASTING_MILLIS).map(([state]) => state);
    const seen = pods[pod.name] ?? [];
    // A released pod is shown in its own band, and removed from the other one.
    expect(isPart(seen, states), `${pod.name} showed ${seen}, was ${states}`).toBe(true);
    expect(isPart(lasting, seen), `${pod.name} showed ${seen}, lasting were ${lasting}`).toBe(true);
  }
  for (const rollout of deployment.rollouts) expect(bands).toContain(String(rollout.revision));
  if (deployment.pods.some((pod) => pod.releasedMillis !== null)) expect(bands).toContain("out");
}

/// Returns whether one sequence occurs within another, in order.
function isPart<T>(part: T[], whole: T[]): boolean {
  let at = 0;
  for (const one of whole) if (one === part[at]) at++;
  return at === part.length;
}

/// Shorter states may fall between two frames of a browser on a small machine.
const LASTING_MILLIS = 2_000;

const folder = new URL("../../cluster/stories/", import.meta.url);
for (const file of readdirSync(folder).sort()) {
  const name = file.replace(/\.toml$/, "");
  test(`story ${name}`, { tag: tagOfStory(name) }, async ({ page, serve, tell, record, consult }) => {
    test.setTimeout(300_000);
    const server = await serve(Server.watching);
    const story = tell(name);
    const oracle = await consult(story.namespace);
    const expected = expectations(new URL(file, folder));
    const deployment = deploymentOf(name);
    const recorder = await record(kubeconfig(), story.namespace);
    await openWatched(page, server.page(cluster, story.namespace, deployment));
    await look(page);
    await story.toTheEnd();
    await expect(async () => {
      const document = await server.document(cluster, story.namespace, deployment);
      const last = document.deployments.at(-1)!;
      expect(last.verdicts.at(-1)!.verdict).toBe("complete");
      expect(said(last, expected)).toEqual(expected);
      pictured(last, await shown(page));
      await expect(page.getByTestId("verdict")).toContainText(/is complete|available/, { timeout: 1_000 });
      if (oracle) await agrees(document, oracle);
    }).toPass({ timeout: 20_000 });
    // For the comparison with the simulated cluster: the final state, when nothing changes any more.
    await recorder.catchUp();
    recorder.keep(`real-${name}`);
    let before = "";
    await expect(async () => {
      const document = await server.document(cluster, story.namespace, deployment);
      const now = essence(document.deployments.at(-1)!, recorder.lines);
      const isSame = JSON.stringify(now) === before;
      before = JSON.stringify(now);
      expect(isSame).toBe(true);
      keep(name, now);
    }).toPass({ timeout: 20_000, intervals: [500] });
  });
}
