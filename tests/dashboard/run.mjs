// The dashboard in Debian's Chromium, steered by playwright-core, judged by what the endpoints got.
//
//     node run.mjs BINARY DASHBOARD_FOLDER ROOM

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { judge } from "./accessible.mjs";
import { ask, endpoint, gateway, load, PATIENCE, until } from "./world.mjs";

const [binary, folder, room] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)("playwright-core");
const axe = readFileSync(join(folder, "node_modules/axe-core/axe.min.js"), "utf8");
/** In bytes, packed: what the page is allowed to weigh. */
const SCRIPT_MAX = 60 << 10;

mkdirSync(room, { recursive: true });
const endpoints = await Promise.all(["a", "b", "c"].map(endpoint));
const [a, b] = endpoints;
const spare = await endpoint("spare");
const list = (all) => all.map((one) => `{ id = "${one.name}", address = "${one.address}" }`).join(", ");
const many = Array.from({ length: 1000 }, (_, n) => ({ name: `pod-${String(n).padStart(4, "0")}`, address: `127.0.0.1:${10_000 + n}` }));
const CONFIG = `
[admin]
address = "127.0.0.1:0"
TOKEN
[log]
level = "error"
decision = { sample = 1.0 }
[runtime]
workers = 1
[[listener]]
address = "127.0.0.1:0"
cluster = "web"
[cluster.web]
endpoints = [${list(endpoints)}]
shadow = { strategies = ["round_robin"] }
[cluster.many]
endpoints = [${list(many)}]
`;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--no-proxy-server", "--disable-dev-shm-usage"],
});
const config = join(room, "open.toml");
writeFileSync(config, CONFIG.replace("TOKEN", ""));
const open = await gateway(binary, config);
const stopLoad = load(open.traffic);
const page = await visit(open.admin);
const api = async (path) => (await fetch(`http://${open.admin}/api/v1${path}`)).json();

const TESTS = {
  async "the script is small"() {
    const assets = join(folder, "dist/page/assets");
    const scripts = readdirSync(assets).filter((name) => name.endsWith(".js.gz"));
    const size = scripts.reduce((sum, name) => sum + statSync(join(assets, name)).size, 0);
    assert.ok(scripts.length > 0 && size < SCRIPT_MAX, `${size} bytes`);
    console.log(`   script: ${size} bytes, packed`);
  },

  async "it shows every endpoint with its share"() {
    await page.getByRole("heading", { level: 1, name: "web" }).waitFor();
    for (const { name } of endpoints) await row(name).getByText("ready", { exact: false }).first().waitFor();
    await until("requests are counted", async () => Number(await page.locator(".tile .value").first().innerText()) > 0);
  },

  async "draining an endpoint moves its traffic, and undo brings it back"() {
    await until("a gets requests", () => a.got.length > 0);
    await page.getByRole("button", { name: "Drain a", exact: true }).click();
    const form = page.getByRole("dialog");
    assert.match(await form.innerText(), /takes no new requests/);
    await form.getByRole("button", { name: "Drain", exact: true }).click();
    await row("a").getByText("draining").first().waitFor();
    // What was decided before may still be on its way.
    await until("a has nothing in flight", async () => (await endpointOf("a")).in_flight === 0);
    const [before, others] = [a.got.length, b.got.length];
    await until("b gets more", () => b.got.length > others + 100);
    assert.equal(a.got.length, before, "a drains, and got requests");
    await page.getByRole("button", { name: "Undo" }).click();
    await until("a gets requests again", () => a.got.length > before);
    await row("a").getByText("ready").first().waitFor();
  },

  async "an endpoint is weighed, added and removed, and all of it taken back"() {
    await row("b").getByRole("link", { name: "b" }).click();
    await page.getByRole("button", { name: "Weight…" }).click();
    await page.getByLabel("weight", { exact: true }).fill("1.5");
    await page.getByRole("button", { name: "Set weight" }).click();
    await page.getByText("is not a whole number").waitFor();
    await page.getByLabel("weight", { exact: true }).fill("7");
    await page.getByRole("button", { name: "Set weight" }).click();
    await page.getByRole("dialog", { name: "Weight of b" }).waitFor({ state: "detached" });
    assert.equal((await endpointOf("b")).weight, 7);
    await page.keyboard.press("Escape");
    await nothingOverPage();
    await page.getByRole("button", { name: "Add…" }).click();
    await page.getByLabel("address", { exact: true }).fill(spare.address);
    await page.getByLabel("id", { exact: true }).fill("spare");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await until("spare gets requests", () => spare.got.length > 0);
    await row("c").getByRole("link", { name: "c" }).click();
    await page.getByRole("button", { name: "Remove…" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await until("c is gone", async () => (await endpointOf("c")) === undefined);
    await nothingOverPage();
    for (let n = 0; n < 3; n++) {
      assert.equal(await taken(n), false);
      await page.keyboard.press("u");
      await until("it is taken back", () => taken(n));
    }
  },

  async "the strategy is switched, with its parameters"() {
    await page.getByRole("button", { name: "Switch…" }).click();
    await page.getByLabel("strategy", { exact: true }).selectOption("least_request");
    await page.getByLabel("choices", { exact: true }).fill("3");
    await page.getByRole("button", { name: "Switch", exact: true }).click();
    await nothingOverPage();
    assert.equal((await api("/clusters/web")).strategy.choices, 3);
    await page.keyboard.press("u");
    await until("choices are 2", async () => (await api("/clusters/web")).strategy.choices === 2);
  },

  async "where keys live is drawn, as the API tells it"() {
    await choose("ring_hash");
    const keys = page.getByRole("region", { name: "Where keys live" });
    await keys.getByRole("img", { name: /The ring: 3 endpoints in \d+ arcs/ }).waitFor();
    // One of them warms up, so that both change meanwhile.
    await until("the page says what the API says", async () => {
      for (const one of (await api("/clusters/web/keys")).endpoints) {
        const line = keys.getByRole("listitem").filter({ hasText: one.id }).first();
        if (!(await line.innerText()).includes(`${(one.now * 100).toFixed(1)} %`)) return false;
      }
      return true;
    });
    // As many colours as endpoints, and the circle is closed.
    const colours = await keys.locator("canvas").evaluate((canvas) => {
      const { width, height } = canvas;
      const all = canvas.getContext("2d").getImageData(0, 0, width, height).data;
      const seen = new Set();
      for (let turn = 0; turn < 720; turn++) {
        const angle = (turn / 720) * 2 * Math.PI;
        const [x, y] = [Math.cos, Math.sin].map((of) => Math.round(width / 2 + of(angle) * width * 0.43));
        seen.add(all.slice((y * width + x) * 4, (y * width + x) * 4 + 4).join());
      }
      return [...seen];
    });
    assert.ok(colours.length >= 3 && colours.every((colour) => !colour.endsWith(",0")), colours.join(" "));
    await choose("least_request");
    await keys.waitFor({ state: "detached" });
  },

  async "draining an endpoint gives its keys to the others, until it is back"() {
    const keys = page.getByRole("region", { name: "Where keys live" });
    const line = (id) => keys.getByRole("listitem").filter({ hasText: id }).first();
    for (const strategy of ["ring_hash", "maglev"]) {
      await choose(strategy);
      await until("each has its keys", async () => !(await keys.innerText()).includes(" 0.0 %"));
      const before = await api("/clusters/web/keys");
      assert.equal(before.strategy, strategy);
      await page.getByRole("button", { name: "Drain c", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
      await until("c has no keys", async () => /\s0\.0 %/.test(await line("c").innerText()));
      const now = await api("/clusters/web/keys");
      const sum = now.endpoints.reduce((all, one) => all + one.now, 0);
      assert.ok(Math.abs(sum - 1) < 1e-6, `${strategy}: ${sum} of the keys are somewhere`);
      for (const [at, one] of now.endpoints.entries()) {
        const had = before.endpoints[at].now;
        if (one.id === "c") assert.equal(one.now, 0, strategy);
        else assert.ok(one.now > had, `${strategy}: ${one.id} had ${had} and has ${one.now}`);
        await line(one.id).getByText(`${(one.now * 100).toFixed(1)} %`, { exact: true }).first().waitFor();
      }
      await page.keyboard.press("u");
      await until("c has them again", async () => !/\s0\.0 %/.test(await line("c").innerText()));
      // It warms up, so they come back by and by; where they live is as it was.
      const homes = (map) => map.endpoints.map((one) => one.home);
      assert.deepEqual(homes(await api("/clusters/web/keys")), homes(before), strategy);
    }
    await choose("least_request");
    await keys.waitFor({ state: "detached" });
  },

  async "a request's receipt names the endpoint that got it"() {
    const chosen = await ask(open.traffic, "why-this-one");
    const got = endpoints.find((one) => one.got.includes("why-this-one"));
    assert.equal(got?.name, chosen);
    await page.getByLabel("The receipt of a request").fill("why-this-one");
    await page.keyboard.press("Enter");
    const picture = page.locator("dialog .receipt");
    await picture.locator("tr.winner th").getByText(chosen).waitFor();
    assert.match(await picture.innerText(), new RegExp(`^${chosen} was chosen`));
    await judge(page, axe, "receipt");
    await page.keyboard.press("Escape");
    await nothingOverPage();
  },

  async "what happened is told, and a dry run says who is out"() {
    await page.getByRole("region", { name: "Events" }).getByText("draining").first().waitFor();
    await fetch(`http://${open.admin}/api/v1/clusters/web/endpoints/c`, {
      method: "PATCH", headers: { "content-type": "application/json" }, body: '{"admin":"disabled"}',
    });
    await row("c").getByText("disabled").first().waitFor();
    await row("c").getByRole("link", { name: "c" }).click();
    const panel = page.getByRole("dialog");
    await panel.getByRole("button", { name: "Where would it go now?" }).click();
    await panel.getByText("c cannot be chosen: it is disabled.").waitFor();
    await judge(page, axe, "endpoint");
    await page.keyboard.press("Escape");
  },

  async "the keyboard is enough"() {
    await nothingOverPage();
    await page.locator("h1").click();
    await page.keyboard.press("e");
    await page.keyboard.press("ArrowDown");
    await until("b has the focus", async () => (await page.evaluate(() => document.activeElement?.textContent)) === "b");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "b" }).waitFor();
    await page.keyboard.press("Escape");
    await nothingOverPage();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await nothingOverPage();
    await page.keyboard.press("/");
    await page.keyboard.type("disabled");
    await until("one row is left", async () => (await page.locator(".rows .row").count()) === 1);
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.press("Delete");
  },

  async "it is accessible in light, dark and on a phone"() {
    await judge(page, axe, "light");
    await page.getByRole("button", { name: "Dark", exact: true }).click();
    await judge(page, axe, "dark");
    await page.getByRole("button", { name: "Add…" }).click();
    await judge(page, axe, "form in dark");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    await judge(page, axe, "phone");
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wider <= 0, `the page is ${wider} pixels wider than a phone`);
    await page.setViewportSize({ width: 1440, height: 960 });
    await page.getByRole("button", { name: "Light", exact: true }).click();
  },

  async "of a thousand endpoints those in view are drawn"() {
    await page.getByRole("navigation").getByRole("link", { name: "many" }).click();
    await page.getByRole("heading", { level: 1, name: "many" }).waitFor();
    const drawn = () => page.locator(".rows .row").count();
    await until("rows are drawn", async () => (await drawn()) > 10);
    assert.ok((await drawn()) < 60, `${await drawn()} rows`);
    const slowest = await page.evaluate(scrollThrough);
    await row("pod-0999").waitFor();
    console.log(`   the slowest of 60 frames of scrolling through 1,000 endpoints: ${slowest.toFixed(1)} ms`);
    assert.ok((await drawn()) < 60, `${await drawn()} rows`);
  },

  async "it asks for the token where one is set"() {
    writeFileSync(join(room, "admin.token"), "s3cret-token-of-tests\n", { mode: 0o600 });
    const guarded = join(room, "guarded.toml");
    writeFileSync(guarded, CONFIG.replace("TOKEN", 'token_file = "admin.token"'));
    const closed = await gateway(binary, guarded);
    try {
      const other = await visit(closed.admin, /401/);
      await other.getByLabel("token", { exact: true }).fill("wrong");
      await other.getByRole("button", { name: "Open" }).click();
      await other.getByText("was not the right one").waitFor();
      await judge(other, axe, "token");
      await other.getByLabel("token", { exact: true }).fill("s3cret-token-of-tests");
      await other.getByRole("button", { name: "Open" }).click();
      await other.getByRole("heading", { level: 1, name: "web" }).waitFor();
      await other.close();
    } finally {
      closed.end();
    }
  },

  async "it says that the gateway is away"() {
    stopLoad();
    open.end();
    await page.getByText("no connection since").waitFor();
  },
};

/** Whether the nth change from the end was taken back: the removal, the addition, the weight. */
async function taken(nth) {
  if (nth === 0) return (await endpointOf("c")) !== undefined;
  if (nth === 1) return (await endpointOf("spare")) === undefined;
  return (await endpointOf("b")).weight === 1;
}

/** Gives the cluster another strategy, behind the page's back. */
async function choose(name) {
  const answer = await fetch(`http://${open.admin}/api/v1/clusters/web/strategy`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name }),
  });
  assert.equal(answer.status, 200);
}

async function endpointOf(id) {
  return (await api("/clusters/web/endpoints")).find((one) => one.id === id);
}

function nothingOverPage() {
  return until("nothing lies over the page", async () => (await page.locator("dialog").count()) === 0);
}

function row(id) {
  return page.locator(".rows .row").filter({ has: page.getByRole("link", { name: id, exact: true }) });
}

/** Scrolls from top to bottom; the longest time between two frames, in milliseconds. */
async function scrollThrough() {
  const table = document.querySelector(".table");
  const whole = table.scrollHeight - table.clientHeight;
  let [slowest, before] = [0, performance.now()];
  for (let n = 1; n <= 60; n++) {
    table.scrollTop = (whole * n) / 60;
    const now = await new Promise(requestAnimationFrame);
    if (n > 1) slowest = Math.max(slowest, now - before);
    before = now;
  }
  return slowest;
}

/** Opens a page that may not fail, complain or ask elsewhere. */
async function visit(admin, expected = /ERR_CONNECTION|ERR_INCOMPLETE|status of (422|404)/) {
  const opened = await browser.newPage({ viewport: { width: 1440, height: 960 } });
  opened.setDefaultTimeout(PATIENCE);
  opened.on("pageerror", (error) => fail(`the page failed: ${error.stack}`));
  opened.on("console", (line) => line.type() === "error" && !expected.test(line.text()) && fail(`the page says: ${line.text()}`));
  opened.on("request", (asked) => new URL(asked.url()).host !== admin && fail(`it asks elsewhere: ${asked.url()}`));
  await opened.goto(`http://${admin}/`);
  return opened;
}

const failures = [];
function fail(words) {
  failures.push(words);
}

try {
  for (const [name, test] of Object.entries(TESTS)) {
    try {
      await test();
    } catch (error) {
      await page.screenshot({ path: join(room, "failed.png") }).catch(() => undefined);
      failures.push(error.stack);
    }
    if (failures.length > 0) {
      // Why is the last thing that it says.
      console.error(`${failures.join("\n")}\ndashboard: failed: ${name}: ${failures.at(-1).split("\n")[0]}`);
      break;
    }
    console.log(`dashboard: ${name}`);
  }
} finally {
  await browser.close();
  open.end();
  for (const one of [...endpoints, spare]) one.server.close();
}
process.exit(failures.length > 0 ? 1 : 0);
