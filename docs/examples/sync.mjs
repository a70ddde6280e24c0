// Keeps a list of feeds in a file in step with a feedkeep service. Node alone is enough (version 18).
//
// FEEDKEEP_URL=https://feeds.example FEEDKEEP_TOKEN=fk_... node sync.mjs list.json
// ... sync.mjs list.json add https://podnews.net/rss    (kept, and sent with the next sync)
// ... sync.mjs list.json subscribe|unsubscribe|delete WHICH
// ... sync.mjs list.json move WHICH https://podnews.net/new
//
// WHICH is a guid or a URL, also of a feed that was added and not sent yet.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const TRIES = 6;
const LONGEST_WAIT_SECONDS = 60;
const UNKNOWN = 404;
const DELETED = 410;
const NOT_LET_IN = 401;
const ONLY_READS = 403;
const PASSES = [429, 431, 500, 502, 503, 504]; // 431: by a proxy, perhaps for now
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

/** Send the oldest change. A reply that was lost is no harm: it is then sent again.
 *
 *  An app that sends `If-Match` removes a change that gets 412 from the queue, with the later ones of
 *  that feed, applies what GET shows, and asks its owner which of them still apply. */
async function send(base, device) {
  const { unsent: [change, ...later], feeds } = device;
  const { guid } = change;
  if (change.do === "add") {
    const added = await add(base, device, change.feed_url, guid);
    for (const other of later) { // it was queued by its URL, which had no guid yet
      if (added && other.guid === change.feed_url) other.guid = added;
    }
    return;
  }
  const entry = `${base}/subscriptions/${encodeURIComponent(guid)}`;
  try {
    if (change.do === "delete") await ask("DELETE", entry);
    else await ask("PATCH", entry, change.body);
  } catch (error) {
    if (error.status !== UNKNOWN) throw error;
    const was = feeds[guid];
    if (change.do !== "delete" && was && !(await isDeleted(entry))) {
      // A restore of the service's database has lost the feed: add it as this device has it.
      await add(base, device, was.feed_url, guid);
      await ask("PATCH", entry, { is_subscribed: was.is_subscribed, ...change.body });
    } else delete feeds[guid];
  }
}

/** Add a feed, and return its guid, unless it was refused. */
async function add(base, device, feed_url, guid) {
  const [added] = await ask("POST", `${base}/subscriptions`, { subscriptions: [{ feed_url, guid }] });
  for (const failure of added.failure) {
    console.error(`${failure.feed_url}: ${failure.message}`);
  }
  for (const success of added.success) { // in the list at once: a restore before the next GET loses it
    const there = success.new_feed_url;
    if (there) console.error(`${feed_url} is on the list as ${there}`);
    apply(device.feeds, { ...success, feed_url: there ?? feed_url });
    return success.guid;
  }
}

/** Ask whether a feed was deleted, or is not known at all: PATCH gets 404 in both cases. */
async function isDeleted(entry) {
  try {
    await ask("GET", entry);
  } catch (error) {
    if (![UNKNOWN, DELETED].includes(error.status)) throw error;
    return error.status === DELETED;
  }
  return false;
}

/** Take over an entry of the list; an app moves its episodes to `new_guid` here. */
function apply(feeds, entry) {
  if (entry.deleted || entry.new_guid) delete feeds[entry.guid];
  else {
    const { feed_url, is_subscribed } = entry;
    feeds[entry.guid] = { feed_url, is_subscribed, changed: stamp(entry) };
  }
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
      await send(base, device);
    } catch (error) {
      if (!(error instanceof Refused) || [NOT_LET_IN, ONLY_READS].includes(error.status)) throw error;
      console.error(`Not done: ${error.message}`); // and never will be: go on
    }
    device.unsent.shift();
    save(file, device);
  }
  let [entries, epoch] = await changes(base, device.since);
  if (epoch && epoch !== device.epoch) { // the first list, or an older state was restored
    if (device.since) [entries, epoch] = await changes(base, null);
    device.unsent = whatWasLost(device.feeds, entries);
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
  if (device.unsent.length) await sync(base, file);
}

/** Return the entries that changed after a stamp, or all, and the epoch of the pages.
 *
 *  The last page may be empty: then `since` stays that of the page before. */
async function changes(base, since) {
  let url = `${base}/subscriptions?per_page=1000`;
  if (since) url += `&since=${encodeURIComponent(since)}`;
  const entries = [];
  let epoch = null;
  while (url) {
    const [page, told] = await ask("GET", url);
    // Restored meanwhile: the pages before are of the past.
    if (epoch && told && told !== epoch) return changes(base, null);
    entries.push(...page.subscriptions);
    epoch = told ?? epoch;
    url = page.next;
  }
  return [entries, epoch];
}

/** Return what to add: the feeds of this device that the whole list has in no form. Nor does it have
 *  them if it shows them as deleted, from before they were added again. */
function whatWasLost(feeds, entries) {
  const known = new Map();
  const listed = (name) => known.get(name) ?? "";
  for (const entry of entries) {
    const since = entry.deleted ?? "later than any";
    for (const name of [entry.guid, entry.feed_url]) {
      if (since > listed(name)) known.set(name, since);
    }
  }
  return Object.entries(feeds)
    .filter(([, feed]) => feed.is_subscribed)
    .filter(([guid, feed]) => listed(guid) < feed.changed && listed(feed.feed_url) < feed.changed)
    .map(([guid, feed]) => ({ do: "add", feed_url: feed.feed_url, guid }));
}

/** Keep a change for later. */
function queue(device, what, which, new_feed_url) {
  if (what === "add") {
    device.unsent.push({ do: what, feed_url: which });
    return;
  }
  const known = Object.keys(device.feeds).find((guid) => device.feeds[guid].feed_url === which);
  const body = new_feed_url ? { new_feed_url } : { is_subscribed: what === "subscribe" };
  device.unsent.push({ do: what, guid: known ?? which, body });
}

const [file, what, which, url] = process.argv.slice(2);
if (what) {
  const device = load(file);
  queue(device, what, which, url);
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
