// Keeps a list of feeds in a file in step with a feedkeep service. Node alone is enough (version 18).
//
// FEEDKEEP_URL=https://feeds.example FEEDKEEP_TOKEN=fk_... node sync.mjs list.json
// ... sync.mjs list.json add https://podnews.net/rss    (kept, and sent with the next sync)
// ... sync.mjs list.json unsubscribe GUID
// ... sync.mjs list.json delete GUID

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const TRIES = 6;
const LONGEST_WAIT_SECONDS = 60;
const GONE = [404, 410];
const NOT_LET_IN = 401;
const ONLY_READS = 403;
const PASSES = [429, 500, 502, 503, 504];
const KEPT = "What you changed is kept, and sent next time.";

/** The service refuses a request, and would refuse it again; `status` says how. */
class Refused extends Error {
  constructor(status, message) {
    super(`${status}: ${message}`);
    this.status = status;
  }
}

/** Say why nothing more can be done. What is not sent is in the file, and is sent next time. */
class GivenUp extends Error {}

/** Send a request until there is a reply, and return it with the list's epoch if it has one.
 *  All requests can be sent again. */
async function ask(method, url, body) {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    let wait = Math.min(2 ** attempt, LONGEST_WAIT_SECONDS);
    try {
      const reply = await fetch(url, {
        method,
        headers: {
          Authorization: `Bearer ${process.env.FEEDKEEP_TOKEN}`,
          "User-Agent": "feedkeep-example/1.0", // its owner sees it
        },
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      });
      if (reply.ok) return [await reply.json(), reply.headers.get("Feedkeep-Epoch")];
      if (!PASSES.includes(reply.status)) throw new Refused(reply.status, await reply.text());
      wait = pause(reply.headers.get("Retry-After") ?? "", wait);
    } catch (error) {
      if (error instanceof Refused) throw error;
      // There is no network, or the reply broke off.
    }
    if (wait > LONGEST_WAIT_SECONDS) {
      throw new GivenUp(`The service asks for a pause of ${Math.round(wait)} seconds. ${KEPT}`);
    }
    if (attempt < TRIES - 1) await sleep(wait * 1000);
  }
  throw new GivenUp(`The service cannot be reached. ${KEPT}`);
}

/** Return for how many seconds `Retry-After` asks: it is a number of them, or a date. */
function pause(told, otherwise) {
  if (/^[0-9]+$/.test(told)) return Number(told);
  const date = Date.parse(told);
  return Number.isNaN(date) ? otherwise : Math.max((date - Date.now()) / 1000, 0);
}

/** Return what this device knows: the list by guid, what is not sent yet, `since` and the epoch. */
function load(file) {
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf-8"));
  return { since: null, epoch: null, feeds: {}, unsent: [] };
}

/** Write all of it in one step: a crash leaves the old file or the new one. */
function save(file, device) {
  const opened = openSync(`${file}.new`, "w");
  writeSync(opened, JSON.stringify(device, null, 1));
  fsyncSync(opened);
  closeSync(opened);
  renameSync(`${file}.new`, file);
}

/** Send what the owner did. A reply that was lost is no harm: this is then sent again. */
async function send(base, change, feeds) {
  if (change.do === "add") {
    const { feed_url, guid } = change;
    const [added] = await ask("POST", `${base}/subscriptions`, { subscriptions: [{ feed_url, guid }] });
    for (const failure of added.failure) {
      console.error(`${failure.feed_url}: ${failure.message}`);
    }
    return;
  }
  const entry = `${base}/subscriptions/${encodeURIComponent(change.guid)}`;
  try {
    if (change.do === "unsubscribe") await ask("PATCH", entry, { is_subscribed: false });
    else await ask("DELETE", entry);
  } catch (error) {
    if (!GONE.includes(error.status)) throw error; // gone already is as good as done
    delete feeds[change.guid];
  }
}

/** Take over an entry of the list; an app moves its episodes to `new_guid` here. */
function apply(feeds, entry) {
  if (entry.deleted || entry.new_guid) delete feeds[entry.guid];
  else feeds[entry.guid] = { feed_url: entry.feed_url, is_subscribed: entry.is_subscribed };
}

/** Return when an entry changed last; stamps of one form can be compared as text. */
function stamp(entry) {
  return [entry.subscription_changed, entry.guid_changed, entry.deleted].filter(Boolean).sort().at(-1);
}

/** Send what is unsent, then fetch what changed; `since` is stored when all is applied. */
async function sync(base, file) {
  const device = load(file);
  while (device.unsent.length) {
    try {
      await send(base, device.unsent[0], device.feeds);
    } catch (error) {
      if (!(error instanceof Refused) || [NOT_LET_IN, ONLY_READS].includes(error.status)) throw error;
      console.error(`Not done: ${error.message}`); // and never will be: go on
    }
    device.unsent.shift();
    save(file, device);
  }
  let [entries, epoch] = await changes(base, device.since);
  const isAnother = epoch && device.epoch && epoch !== device.epoch;
  if (isAnother) { // an older state of the service's database was restored
    [entries, epoch] = await changes(base, null);
    device.unsent = whatIsNowhere(device.feeds, entries);
    device.since = null;
    device.feeds = {};
  }
  for (const entry of entries) {
    apply(device.feeds, entry);
    const changed = stamp(entry);
    if (!device.since || changed > device.since) device.since = changed;
  }
  device.epoch = epoch ?? device.epoch; // what is between may drop the header
  save(file, device);
  if (isAnother) await sync(base, file);
}

/** Return the entries that changed after a stamp, or all, and the epoch of the last page. */
async function changes(base, since) {
  let url = `${base}/subscriptions?per_page=1000`;
  if (since) url += `&since=${encodeURIComponent(since)}`;
  const entries = [];
  let page, epoch;
  while (url) {
    [page, epoch] = await ask("GET", url);
    entries.push(...page.subscriptions);
    url = page.next;
  }
  return [entries, epoch];
}

/** Return what to add: the feeds of this device that are in the whole list in no form. */
function whatIsNowhere(feeds, entries) {
  const listed = new Set(entries.flatMap((entry) => [entry.guid, entry.feed_url]));
  return Object.entries(feeds)
    .filter(([guid, feed]) => feed.is_subscribed && !listed.has(guid) && !listed.has(feed.feed_url))
    .map(([guid, feed]) => ({ do: "add", feed_url: feed.feed_url, guid }));
}

const [file, what, which] = process.argv.slice(2);
if (what) {
  const device = load(file);
  device.unsent.push({ do: what, [what === "add" ? "feed_url" : "guid"]: which });
  save(file, device);
} else {
  try {
    await sync(process.env.FEEDKEEP_URL.replace(/\/+$/, ""), file);
  } catch (error) {
    if (error instanceof GivenUp) console.error(error.message);
    else if (error.status === NOT_LET_IN)
      console.error("The token is not valid any more. Make a new one; your list is kept.");
    else if (error instanceof Refused) console.error(`The service refuses this: ${error.message}`);
    else throw error;
    process.exitCode = 1;
  }
}
