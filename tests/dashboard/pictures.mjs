// The pictures of the guide, taken anew of the demo in Debian's Chromium.
//
//     node tests/dashboard/pictures.mjs target/release/evenkeel dashboard docs/guide

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { until } from "./world.mjs";

const [binary, folder, out] = process.argv.slice(2).map((path) => resolve(path));
const { chromium } = createRequire(`${folder}/`)("playwright-core");

/** Long enough for charts with something on them, in milliseconds. */
const WARM_MS = 30_000;

const demo = spawn(binary, ["demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
let admin;
for await (const line of createInterface({ input: demo.stdout })) {
  admin = /^admin on (\S+)/.exec(line)?.[1];
  if (admin) break;
}
const api = async (method, path, body) => {
  const headers = body ? { "content-type": "application/json" } : {};
  const answer = await fetch(`http://${admin}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  return answer.status === 200 ? answer.json() : answer.status;
};
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--no-proxy-server", "--disable-dev-shm-usage"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 960 } });
  await page.goto(`http://${admin}/`);
  await page.getByRole("heading", { level: 1, name: "demo" }).waitFor();
  const take = (name, of = page) => of.screenshot({ path: join(out, `dashboard-${name}.png`) });
  await wait(WARM_MS);
  await api("PATCH", "/clusters/demo/endpoints/medium", { admin: "draining" });
  await wait(4_000);
  await api("PUT", "/demo/fast-3/sick");
  const isEjected = async () => (await api("GET", "/clusters/demo/endpoints")).some((one) => one.state === "ejected");
  await until("fast-3 is ejected", isEjected);
  await wait(10_000);
  await take("light");
  await page.getByRole("button", { name: "Dark", exact: true }).click();
  await take("dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await take("phone");
  await page.setViewportSize({ width: 1440, height: 960 });
  await page.getByRole("button", { name: "Light", exact: true }).click();
  await api("PUT", "/clusters/demo/strategy", { name: "ring_hash" });
  const keys = page.getByRole("region", { name: "Where keys live" });
  await keys.getByText(/of the keys are away from home/).waitFor();
  await wait(1_000);
  await take("keys", keys);
} finally {
  await browser.close();
  demo.kill("SIGKILL");
}
