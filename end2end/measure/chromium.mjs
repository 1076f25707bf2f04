// The browser of the scripts beside this one: the one that tests run in.

import { existsSync } from "node:fs";
import { chromium } from "@playwright/test";

/// Where Debian's are, of which the set-up installs the first.
const DEBIANS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/// Starts it: CHROMIUM names one, else Debian's is taken, else Playwright's own.
export async function launched(...options) {
  const executablePath = process.env.CHROMIUM || DEBIANS.find((path) => existsSync(path));
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", ...options] });
}
