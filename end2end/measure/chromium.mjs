// The browser of the scripts beside this one: the one that tests run in.

import { existsSync } from "node:fs";
import { chromium } from "@playwright/test";

/// Where Debian's is, which the set-up installs.
const DEBIANS = "/usr/bin/chromium";

/// Starts it: CHROMIUM names one, else Debian's is taken, else Playwright's own.
export async function launched(...options) {
  const executablePath = process.env.CHROMIUM || (existsSync(DEBIANS) ? DEBIANS : undefined);
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", ...options] });
}
