// A browser against the gateway: Chromium without a window, steered by playwright-core.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [url, packages, program] = process.argv.slice(2);
const { chromium } = createRequire(`${packages}/`)("playwright-core");

// Runs in the page.
async function inPage() {
  const body = crypto.getRandomValues(new Uint8Array(60_000));
  const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
  const json = async (path, options) => (await fetch(path, options)).json();
  const post = await json("/post", { method: "POST", body });
  const many = await Promise.all(Array.from({ length: 60 }, (_, n) => json(`/many/${n}`)));
  const sticky = [];
  for (let n = 0; n < 8; n++) sticky.push((await json("/sticky")).endpoint);
  const socket = await new Promise((resolve, reject) => {
    const socket = new WebSocket(`${location.origin.replace("http", "ws")}/socket`);
    socket.onopen = () => socket.send("over the gateway");
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = () => reject(new Error("the WebSocket failed"));
  });
  const events = await new Promise((resolve, reject) => {
    const source = new EventSource("/events");
    const times = [];
    source.onmessage = () => {
      times.push(performance.now());
      if (times.length === 5) {
        source.close();
        resolve(times[4] - times[0]);
      }
    };
    source.onerror = () => reject(new Error("the events failed"));
  });
  await json("/cookie");
  return {
    sent: hex(await crypto.subtle.digest("SHA-256", body)), post, socket, events, sticky,
    many: many.map((answer) => answer.path),
    moved: (await json("/moved")).path,
    head: (await fetch("/large", { method: "HEAD" })).headers.get("content-length"),
    large: (await (await fetch("/large")).arrayBuffer()).byteLength,
    cookies: document.cookie, came: (await json("/cookie")).came,
  };
}

const browser = await chromium.launch({
  executablePath: program, args: ["--no-sandbox", "--no-proxy-server", "--disable-dev-shm-usage"],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(45_000);
  assert.equal((await page.goto(`${url}/page`)).status(), 200);
  const seen = await page.evaluate(inPage);
  assert.equal(seen.post.sha256, seen.sent);
  assert.ok(seen.post.fields["user-agent"].includes("HeadlessChrome"));
  assert.deepEqual(seen.many, Array.from({ length: 60 }, (_, n) => `/many/${n}`));
  assert.equal(new Set(seen.sticky).size, 1, "affinity by cookie");
  assert.equal(seen.socket, "over the gateway");
  assert.ok(seen.events > 300, `events came within ${seen.events} ms`);
  assert.equal(seen.moved, "/echo?moved");
  assert.deepEqual([Number(seen.head), seen.large], [32 << 20, 32 << 20]);
  for (const cookie of ["first=1", "second=2"]) {
    assert.ok(seen.cookies.includes(cookie) && seen.came.includes(cookie), seen.came);
  }
  console.log(`browser: ok (Chromium ${browser.version()})`);
} finally {
  await browser.close();
}
