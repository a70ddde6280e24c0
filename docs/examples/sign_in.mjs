// Gets a token for an app: its owner signs in to feedkeep in a browser. Node alone is enough (version 18).
//
// FEEDKEEP_TOKEN=$(node sign_in.mjs https://feeds.example "My app")
// ... sign_in.mjs https://feeds.example "My app" read    (a token that changes nothing)

import { setTimeout as sleep } from "node:timers/promises";

const POLL_SECONDS = 1;
const PATIENCE_SECONDS = 1200; // the service forgets the login then
const [service, app, scope = "write"] = process.argv.slice(2);

const post = (url, values = {}) =>
  fetch(url, { method: "POST", body: new URLSearchParams(values), signal: AbortSignal.timeout(30_000) });

const begun = await post(`${service}/index.php/login/v2?${new URLSearchParams({ app, scope })}`);
if (!begun.ok) throw new Error(await begun.text());
const { login, poll } = await begun.json();
console.error("Sign in here:", login);

for (let waited = 0; waited < PATIENCE_SECONDS; waited += POLL_SECONDS) {
  // Without a network there is no reply. The one with the token may be lost; then this ends in time.
  const reply = await post(poll.endpoint, { token: poll.token }).catch(() => undefined);
  if (reply?.ok) {
    console.log((await reply.json()).appPassword);
    process.exit();
  }
  if (reply && ![404, 503].includes(reply.status)) throw new Error(await reply.text()); // not yet, or not now
  await sleep(POLL_SECONDS * 1000);
}
console.error("The owner did not sign in. Start again.");
process.exit(1);
