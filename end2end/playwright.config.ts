import { fileURLToPath } from "node:url";
import { defineConfig } from "@playwright/test";
import { isWhole } from "./fixtures/environment.ts";

/// Only on Linux can a test choose the fonts of a browser: elsewhere pictures cannot be compared.
const drawsAlike = process.platform === "linux";
if (!drawsAlike) {
  const why = `LEFT OUT: how pages look (looks.spec.ts); pictures can be compared on Linux only, this is ${process.platform}`;
  if (process.env.CI === "true") throw new Error(`${why}; with CI=true nothing may be left out`);
  if (process.env.TEST_WORKER_INDEX === undefined) console.log(why);
}

/// Five projects: `page` needs recordings only, `firefox` also a Firefox (FIREFOX), `webkit` a WebKit (ROLLCAST_WEBKIT), `cluster` needs the real control plane
/// (ROLLCAST_TEST_KUBECONFIG), `faithful` compares the simulated cluster with the results of `cluster`.
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  timeout: 120_000,
  expect: { timeout: 20_000, toHaveScreenshot: { maxDiffPixels: 400, animations: "disabled" } },
  snapshotPathTemplate: "{testDir}/{testFileDir}/looks/{arg}{ext}",
  fullyParallel: true,
  grepInvert: isWhole ? undefined : /@nightly/,
  forbidOnly: !!process.env.CI,
  retries: 0, // a test that fails once has found something
  workers: Number(process.env.ROLLCAST_TEST_WORKERS ?? 3),
  reporter: [["list"]],
  use: {
    viewport: { width: 1400, height: 900 },
    timezoneId: "UTC", // pages tell times in the zone of their viewer
    screenshot: isWhole ? "on" : "only-on-failure",
    // Actions and requests; screenshots of every step would take more than a quarter of the time. `--trace on` adds them, for a test that failed.
    trace: { mode: "retain-on-failure", screenshots: false, snapshots: false, sources: false },
    launchOptions: {
      executablePath: process.env.CHROMIUM || undefined,
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--font-render-hinting=none"],
      env: { ...process.env, FONTCONFIG_FILE: fileURLToPath(new URL("fonts.conf", import.meta.url)) },
    },
  },
  projects: [
    { name: "page", testMatch: "page/*.spec.ts", testIgnore: drawsAlike ? [] : "page/looks.spec.ts" },
    { name: "firefox", testMatch: ["engines/*.spec.ts", "firefox/*.spec.ts"] },
    { name: "webkit", testMatch: "engines/*.spec.ts" },
    { name: "cluster", testMatch: "cluster/*.spec.ts" },
    { name: "faithful", testMatch: "faithful/*.spec.ts", dependencies: ["cluster"] },
  ],
});
