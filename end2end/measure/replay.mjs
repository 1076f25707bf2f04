// A rollcast that replays a recording, for the scripts beside this one.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/// Starts it and waits for the line that tells its address.
export async function replaying(rollcast, recording, ...options) {
  const server = spawn(rollcast, ["replay", recording, ...options, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ROLLCAST_LOG: "error" } });
  // Whatever ends the script ends the server: nothing is left behind when a browser does not start.
  process.once("exit", () => server.kill());
  for await (const line of createInterface({ input: server.stdout })) {
    const address = /http:\/\/\S+?(?=\/$)/.exec(line)?.[0];
    if (address) return { address, stop: () => server.kill() };
  }
  throw new Error("rollcast ended before it served");
}
