/// Sign-in with a Kubernetes token or at a provider: what the viewer sees, what happens to an open page when the token becomes invalid; share links for people without an
/// account.

import { AxeBuilder } from "@axe-core/playwright";
import { isWhole, kubeconfig, providerBinary } from "../../fixtures/environment.ts";
import { allow, asked, place, somebody } from "../../fixtures/people.ts";
import { freePort } from "../../fixtures/processes.ts";
import { Provider } from "../../fixtures/provider.ts";
import { Server } from "../../fixtures/server.ts";
import { cluster, expect, isLive, openWatched, RolloutPage, test } from "../../fixtures/test.ts";

test("a viewer signs in on the way to a link, sees their namespace, and is asked again when their token is gone", async ({ page, serve, complaints }) => {
  test.setTimeout(240_000);
  const [own, other] = [`own-${Date.now()}`, `other-${Date.now()}`];
  await Promise.all([place(own), place(other)]);
  const token = await somebody("ann", own);
  const server = await serve(() => Server.start(["serve", "--kubeconfig", kubeconfig(), "--auth", "token"]));

  await page.goto(server.page(cluster, own, "web"));
  await expect(page).toHaveURL(/\/sign-in\?to=/);
  await expect(page.locator("body")).not.toContainText(own);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByLabel("Kubernetes token").fill("not.a.token");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toHaveText("No cluster accepts this token: it has expired, or belongs to another cluster.");
  await expect(page.getByLabel("Kubernetes token")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Kubernetes token")).toHaveAccessibleDescription(/^No cluster accepts this token/);

  await page.getByLabel("Kubernetes token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL(server.page(cluster, own, "web"));
  await isLive(page);
  await expect(new RolloutPage(page).verdict).toHaveText("Revision 1 is complete: 2 of 2 available.");
  await expect(page.getByTestId("audience")).toContainText(`Signed in as system:serviceaccount:${own}:ann`);

  await page.goto(`${server.address}/`);
  await expect(page.getByTestId("overview")).toContainText(own);
  await expect(page.getByTestId("overview")).not.toContainText(other);
  await page.goto(server.page(cluster, other, "web"));
  await expect(page.getByTestId("missing")).toContainText(`No Deployment web in namespace ${other}`);

  // A token is reviewed again after 25 seconds, so this runs nightly only.
  if (isWhole) {
    await openWatched(page, server.page(cluster, own, "web"));
    await asked("DELETE", `/api/v1/namespaces/${own}/serviceaccounts/ann`);
    await expect(page, "an open page asks to sign in again").toHaveURL(/\/sign-in\?to=/, { timeout: 90_000 });
  }
  complaints.length = 0; // the browser notes that its address was refused
  await asked("DELETE", `/api/v1/namespaces/${own}`);
  await asked("DELETE", `/api/v1/namespaces/${other}`);
});

test("who signs out is a stranger again", async ({ page, serve }) => {
  const own = `own-${Date.now()}`;
  await place(own);
  const token = await somebody("bob", own);
  const server = await serve(() => Server.start(["serve", "--kubeconfig", kubeconfig(), "--auth", "token"]));
  await page.goto(`${server.address}/wall`);
  await page.getByLabel("Kubernetes token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL(`${server.address}/wall`);
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ name: "__Host-rollcast", httpOnly: true, secure: true, sameSite: "Lax", path: "/" });
  expect(cookie!.value).not.toContain(token.split(".")[1]!.slice(0, 20));
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/sign-in/);
  expect(await page.context().cookies()).toEqual([]);
  await page.goto(server.page(cluster, own, "web"));
  await expect(page).toHaveURL(/\/sign-in\?to=/);
  await asked("DELETE", `/api/v1/namespaces/${own}`);
});

test("a link opens one Deployment for who has no account, until it is revoked", async ({ page, serve, browser }) => {
  test.setTimeout(240_000);
  const [own, other] = [`own-${Date.now()}`, `other-${Date.now()}`];
  await Promise.all([place(own), place(other)]);
  const token = await somebody("cid", own);
  const server = await serve(() => Server.start(["serve", "--kubeconfig", kubeconfig(), "--auth", "token"]));
  await page.goto(server.page(cluster, own, "web"));
  await expect(page.getByTestId("sign-in")).toContainText("To create one: kubectl create token NAME -n NAMESPACE.");
  await page.getByLabel("Kubernetes token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await isLive(page);
  await page.getByRole("link", { name: "Links", exact: true }).click();
  await expect(page.getByTestId("offer")).toContainText(`Deployment ${own} / web in ${cluster}`);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByRole("button", { name: "Make a link" }).click();
  const link = (await page.getByTestId("link").textContent())!;
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);

  const guest = await browser.newContext();
  const theirs = await guest.newPage();
  const requests: string[] = [];
  theirs.on("request", (request) => requests.push(`${request.url()} ${request.headers()["referer"] ?? ""}`));
  await theirs.goto(link);
  await expect(theirs).toHaveURL(server.page(cluster, own, "web"));
  await isLive(theirs);
  await expect(new RolloutPage(theirs).verdict).toHaveText("Revision 1 is complete: 2 of 2 available.");
  await expect(theirs.getByTestId("audience")).toContainText(`You are viewing with a link from system:serviceaccount:${own}:cid`);
  const secret = link.split("#")[1]!;
  expect(requests.filter((line) => line.includes(secret) || line.includes(decodeURIComponent(secret))), "the secret is in no address").toEqual([]);
  await theirs.goto(`${server.address}/`);
  await expect(theirs.getByTestId("overview")).toContainText(own);
  await expect(theirs.getByTestId("overview")).not.toContainText(other);
  await openWatched(theirs, server.page(cluster, own, "web"));

  await page.getByRole("button", { name: /^Revoke/ }).click();
  await expect(page.getByText("You have no active links.")).toBeVisible();
  const over = theirs.getByText("This link does not work: it has expired or was revoked");
  await expect(over, "an open page ends as well").toBeVisible({ timeout: 60_000 });
  await theirs.reload();
  await expect(theirs, "they may have an account").toHaveURL(/\/sign-in\?to=/);
  await theirs.goto(link);
  await expect(theirs.getByRole("alert")).toContainText("This link does not work");
  await guest.close();
  await asked("DELETE", `/api/v1/namespaces/${own}`);
  await asked("DELETE", `/api/v1/namespaces/${other}`);
});

test("a viewer signs in at a provider on the way to a link, sees what the cluster lets them see, and signs out", { tag: "@nightly" }, async ({ serve, browser }) => {
  test.skip(providerBinary() === undefined, "there is no provider here");
  const [own, other] = [`own-${Date.now()}`, `other-${Date.now()}`];
  await Promise.all([place(own), place(other)]);
  await allow("ann@example.com", own);
  const port = await freePort();
  const provider = await Provider.of(port);
  const server = await serve(() => Server.start(["serve", "--kubeconfig", kubeconfig(), ...provider.options()], port));
  const context = await browser.newContext();
  const page = await context.newPage();

  await page.goto(server.page(cluster, own, "web"));
  await expect(page).toHaveURL(/\/sign-in\?to=/);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByRole("link", { name: "Sign in" }).click();
  await expect(page).toHaveURL(new RegExp(`^${provider.issuer}`));
  await page.locator("#login").fill("ann@example.com");
  await page.locator("#password").fill("password");
  await page.locator("#submit-login").click();
  await expect(page).toHaveURL(server.page(cluster, own, "web"));
  await isLive(page);
  await expect(new RolloutPage(page).verdict).toHaveText("Revision 1 is complete: 2 of 2 available.");
  await expect(page.getByTestId("audience")).toContainText("Signed in as ann@example.com");
  await page.goto(server.page(cluster, other, "web"));
  await expect(page.getByTestId("missing")).toContainText(`No Deployment web in namespace ${other}`);

  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/sign-in/);
  await page.goto(server.page(cluster, own, "web"));
  await expect(page).toHaveURL(/\/sign-in\?to=/);
  await context.close();
  await provider.end();
  await asked("DELETE", `/api/v1/namespaces/${own}`);
  await asked("DELETE", `/api/v1/namespaces/${other}`);
});
