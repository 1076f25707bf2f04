/// Compares the results of a story on the simulated cluster and on the real control plane: revisions, steps, ends, verdicts, conditions. docs/faithfulness.md explains
/// what is not compared.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { essence } from "../../fixtures/essence.ts";
import { cameTo, deploymentOf, tagOfComparison } from "../../fixtures/expectation.ts";
import { Server } from "../../fixtures/server.ts";
import { expect, test } from "../../fixtures/test.ts";

const folder = new URL("../../cluster/stories/", import.meta.url);
for (const file of readdirSync(folder).sort()) {
  const name = file.replace(/\.toml$/, "");
  test(`story ${name}`, { tag: tagOfComparison(name) }, async ({ serve, tell, record }) => {
    test.setTimeout(300_000);
    const real = JSON.parse(readFileSync(cameTo(name), "utf8")) as unknown;
    const place = mkdtempSync(join(tmpdir(), "rollcast-"));
    const kubeconfig = join(place, "kubeconfig");
    const server = await serve(() => Server.simulating([], kubeconfig));
    const story = tell(name, kubeconfig);
    const recorder = await record(kubeconfig, story.namespace);
    await story.toTheEnd();
    await expect(async () => {
      const document = await server.document("playground", story.namespace, deploymentOf(name));
      const last = document.deployments.at(-1)!;
      expect(essence(last, recorder.lines)).toEqual(real);
    }).toPass({ timeout: 20_000 });
    recorder.keep(`simulated-${name}`);
    rmSync(place, { recursive: true });
  });
}
