// What an app does with openapi-fetch and the types that openapi-typescript makes.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const FEEDS = ["https://feeds.example/one", "https://feeds.example/two", "feeds.example/no-protocol"];
const api = createClient<paths>({
  baseUrl: process.env.FEEDKEEP_URL,
  headers: { Authorization: `Bearer ${process.env.FEEDKEEP_TOKEN}` },
});

const list = async (since?: string) => {
  const { data } = await api.GET("/subscriptions", { params: { query: { since } } });
  assert(data);
  return data;
};

const { data: added } = await api.POST("/subscriptions", {
  body: { subscriptions: FEEDS.map((feed_url) => ({ feed_url })) },
});
assert(added);
assert.deepEqual(added.success.map((item) => item.feed_url), FEEDS.slice(0, 2));
assert(added.failure[0]?.message.startsWith("No protocol present"));
const [one, two] = added.success.map((item) => item.guid);
assert(one && two);

const listed = await list();
assert.equal(listed.total, 2);
const since = listed.subscriptions.map((entry) => entry.subscription_changed ?? "").sort().at(-1);
assert.equal((await list(since)).total, 0);

const { data: changed } = await api.PATCH("/subscriptions/{guid}", {
  params: { path: { guid: one } },
  body: { is_subscribed: false },
});
assert(changed?.subscription_changed);
assert.deepEqual((await list(since)).subscriptions.map((entry) => [entry.guid, entry.is_subscribed]), [[one, false]]);

const { data: deleted } = await api.DELETE("/subscriptions/{guid}", { params: { path: { guid: two } } });
assert(deleted);
const { data: deletion } = await api.GET("/deletions/{deletion_id}", {
  params: { path: { deletion_id: deleted.deletion_id } },
});
assert.equal(deletion?.status, "SUCCESS");
const after = (await list(changed.subscription_changed)).subscriptions;
assert.deepEqual(after.map((entry) => entry.deleted !== undefined), [true]);
const { error, response } = await api.GET("/subscriptions/{guid}", { params: { path: { guid: two } } });
assert.deepEqual([response.status, error?.code], [410, "410"]);
