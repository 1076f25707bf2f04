/// Permissions of the account of `deploy`: every page works with exactly these, and each is needed, because a page names it when it is missing. API servers that stream
/// lists do not need the verb list for that; to test its absence, a proxy refuses to stream.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { root, kubeconfig, temporaryFolder } from "../../fixtures/environment.ts";
import { create, manifests, without, type Manifest } from "../../fixtures/manifests.ts";
import { accountKubeconfig, asked, place, somebody } from "../../fixtures/people.ts";
import { ApiProxy, PAGING } from "../../fixtures/proxy.ts";
import { Server } from "../../fixtures/server.ts";
import { expect, openWatched, RolloutPage, test } from "../../fixtures/test.ts";

const RIGHTS = ["deployments.apps", "replicasets.apps", "pods", "events"].flatMap((resource) => ["list", "watch"].map((verb) => [verb, resource] as const));
const ROLES = ["ClusterRole", "Role"];

/// A cluster of `rollcast.toml`, as one account sees it.
interface Account {
  name: string;
  namespaces: string[];
}

/// Creates an account from the manifests of a file, with changes; leaves out objects of other kinds. Adds the paths of cluster-scoped objects to `made`.
async function account(objects: Manifest[], made: string[], change: (role: Manifest) => Manifest = (role) => role): Promise<void> {
  for (const object of objects) {
    if (object.kind !== "ServiceAccount" && !object.kind.includes("Role")) continue;
    const path = await create(ROLES.includes(object.kind) ? change(object) : object);
    if (object.kind.startsWith("Cluster")) made.push(path);
  }
}

/// Returns the manifests for an account of that name in a namespace, which watches all namespaces.
const wide = (namespace: string, name: string) => manifests("kubernetes.yaml", [["namespace: rollcast", `namespace: ${namespace}`], ["name: rollcast", `name: ${name}`]]);

/// Returns the chart's manifests for an account that watches two namespaces.
const narrow = (namespaces: [string, string], name: string) =>
  manifests("chart/ci/snapshots/namespaces.yaml", [["namespace: rollcast", `namespace: ${namespaces[0]}`], ['namespace: "shop"', `namespace: ${namespaces[0]}`], ['namespace: "payments"', `namespace: ${namespaces[1]}`], ["name: rollcast", `name: ${name}`]]);

/// The first rule of a role for watching, not that of access reviews.
const watches = (role: Manifest) => role.text.includes("resources: [pods, events]");

test("every page works with the rights of the manifests, and names each right that is taken away", async ({ page, serve }) => {
  const started = Date.now();
  const namespaces: [string, string] = [`rights-a-${started}`, `rights-b-${started}`];
  await Promise.all(namespaces.map(place));
  const made: string[] = [];
  const folder = temporaryFolder();
  const accounts: Account[] = [];
  const proxy = await ApiProxy.before(readFileSync(kubeconfig(), "utf8"), PAGING);
  const make = async (name: string, isWide: boolean, missing?: readonly [string, string], isPaged = missing?.[0] === "list") => {
    const own = `${name}-${started}`;
    const change = (role: Manifest) => {
      // The second of two Roles lacks the permission.
      const isChanged = missing && watches(role) && (isWide || role.text.includes(`namespace: ${namespaces[1]}`));
      return isChanged ? without(role, missing[0], missing[1].split(".")[0]!) : role;
    };
    await account(isWide ? wide(namespaces[0], own) : narrow(namespaces, own), made, change);
    const direct = await accountKubeconfig(namespaces[0], own);
    writeFileSync(`${folder}/${name}`, isPaged ? proxy.through(direct) : direct);
    accounts.push({ name, namespaces: isWide ? [] : namespaces });
  };
  const nameOf = (isWide: boolean, [verb, resource]: readonly [string, string]) => `${isWide ? "wide" : "narrow"}-${verb}-${resource.split(".")[0]}`;
  const wholes = [["wide", true, false], ["wide-paged", true, true], ["narrow", false, false], ["narrow-paged", false, true]] as const;
  await Promise.all(wholes.map(([name, isWide, isPaged]) => make(name, isWide, undefined, isPaged)));
  await Promise.all([true, false].flatMap((isWide) => RIGHTS.map((right) => make(nameOf(isWide, right), isWide, right))));
  const tables = accounts.map(({ name, namespaces }) => `[[cluster]]\nname = "${name}"\nkubeconfig = "${folder}/${name}"\nnamespaces = ${JSON.stringify(namespaces)}\n`);
  writeFileSync(`${folder}/rollcast.toml`, tables.join(""));
  const server = await serve(() => Server.start(["serve", "--config", `${folder}/rollcast.toml`, "--data-dir", `${folder}/data`]));

  // Each missing permission is named, and no other.
  const missing = async () => {
    const { clusters } = (await (await fetch(`${server.address}/api/v1/status`)).json()) as { clusters: { name: string; advice: string[] }[] };
    return Object.fromEntries(clusters.map(({ name, advice }) => [name, advice]));
  };
  const named = [true, false].flatMap((isWide) =>
    RIGHTS.map((right) => {
      const place = isWide ? "all namespaces" : `namespace ${namespaces[1]}`;
      return [nameOf(isWide, right), [expect.stringContaining(`Rollcast has no permission to ${right[0]} ${right[1]} in ${place}.`)]] as const;
    }),
  );
  await expect.poll(missing).toEqual(Object.fromEntries([...wholes.map(([name]) => [name, []] as const), ...named]));

  // All pages of accounts with all permissions.
  for (const name of ["wide", "narrow"]) {
    await openWatched(page, server.page(name, namespaces[1], "web"));
    await expect(new RolloutPage(page).verdict).toHaveText("Revision 1 is complete: 2 of 2 available.");
    await expect(page.getByTestId("forbidden")).toBeHidden();
    for (const path of [`/clusters/${name}/namespaces/${namespaces[1]}`, `/wall?cluster=${name}`, `/history?cluster=${name}`]) {
      const response = await page.goto(`${server.address}${path}`);
      expect(response!.status(), path).toBe(200);
      await expect(page.locator("main"), path).not.toContainText("no permission");
    }
    await page.goto(`${server.address}/?cluster=${name}&q=${namespaces[1]}`);
    await expect(page.getByTestId("deployment")).toHaveCount(1);
  }
  // Pages name the missing permission.
  await page.goto(`${server.address}/status`);
  for (const right of RIGHTS) {
    const section = page.getByTestId("cluster").filter({ hasText: nameOf(true, right) });
    await expect(section).toContainText(`Rollcast has no permission to ${right[0]} ${right[1]} in all namespaces.`);
  }
  await page.goto(server.page("wide-list-events", namespaces[0], "web"));
  await expect(page.getByTestId("forbidden")).toContainText("Rollcast has no permission to list events in all namespaces.");

  await page.goto("about:blank");
  await server.kill();
  proxy.end();
  for (const path of [...made, ...namespaces.map((name) => `/api/v1/namespaces/${name}`)]) await asked("DELETE", path);
});

test("people sign in with the rights of the manifests, and are told which right is missing", async ({ serve }) => {
  const started = Date.now();
  const namespace = `sign-in-${started}`;
  await place(namespace);
  const token = await somebody("ann", namespace);
  const made: string[] = [];
  const folder = temporaryFolder();
  const start = async (name: string, resource?: string) => {
    const own = `${name}-${started}`;
    await account(wide(namespace, own), made, (role) => (resource && !watches(role) ? without(role, "create", resource) : role));
    writeFileSync(`${folder}/${name}`, await accountKubeconfig(namespace, own));
    return serve(() => Server.start(["serve", "--kubeconfig", `${folder}/${name}`, "--auth", "token"]));
  };
  const servers = [await start("whole"), await start("no-tokens", "tokenreviews"), await start("no-access", "subjectaccessreviews")] as const;
  const list = async ({ address }: Server) => (await fetch(`${address}/`, { headers: { authorization: `Bearer ${token}` } })).text();
  const signIn = async ({ address }: Server) => (await fetch(`${address}/sign-in`, { method: "POST", headers: { origin: address }, body: new URLSearchParams({ token, to: "/" }) })).text();
  await expect.poll(() => list(servers[0])).toContain(namespace);
  expect(await signIn(servers[1])).toContain("its account may lack create on tokenreviews.authentication.k8s.io.");
  await expect.poll(() => list(servers[2])).toContain("its account may lack create on subjectaccessreviews.authorization.k8s.io or tokenreviews.authentication.k8s.io.");
  for (const path of [...made, `/api/v1/namespaces/${namespace}`]) await asked("DELETE", path);
});

test("the cluster takes every manifest of the chart, and pods of the chart start in a restricted namespace", async () => {
  const namespace = `restricted-${Date.now()}`;
  const labels = Object.fromEntries(["enforce", "warn"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "restricted"]));
  await asked("POST", "/api/v1/namespaces", { metadata: { name: namespace, labels } });
  const asRoot = { metadata: { name: "as-root" }, spec: { containers: [{ name: "web", image: "web:v1" }] } };
  await expect(asked("POST", `/api/v1/namespaces/${namespace}/pods`, asRoot)).rejects.toThrow("violates PodSecurity");
  const renamed: [string, string][] = ["rollcast", '"shop"', '"payments"'].map((from) => [`namespace: ${from}`, `namespace: ${namespace}`]);
  const snapshots = readdirSync(`${root}deploy/chart/ci/snapshots`).map((name) => `chart/ci/snapshots/${name}`);
  expect(snapshots.length).toBeGreaterThan(3);
  for (const file of [...snapshots, "kubernetes.yaml"]) {
    for (const manifest of manifests(file, renamed)) await create(manifest, "&dryRun=All");
  }
  const [deployment] = manifests("kubernetes.yaml", renamed).filter(({ kind }) => kind === "Deployment");
  const path = await create(deployment!);
  const status = async () => ((await asked("GET", path)) as { status: { availableReplicas?: number; conditions?: { type: string; message: string }[] } }).status;
  await expect.poll(async () => (await status()).availableReplicas, { message: `pods start; kubeconfig ${kubeconfig()}` }).toBe(1);
  await asked("DELETE", `/api/v1/namespaces/${namespace}`);
});
