// Enhances the pages, all of which work without it.
"use strict";

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Browsers that block cookies throw when a page reads its storage.
const storage = (() => { try { return localStorage; } catch { return {}; } })();

// Show what needs this script, and name each row's button after its feed.
const dress = () => {
  all("[data-script]").forEach((element) => { element.hidden = false; });
  all("[data-noscript]").forEach((element) => { element.hidden = true; });
  all("#feeds li").forEach((row) => {
    one("button", row).setAttribute("aria-labelledby", `u ${one("a", row).id}`);
  });
};

// Send the browser's time zone, for new accounts.
all("[data-time-zone]").forEach((field) => {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
});

// Copy a text that is shown once.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = one(button.dataset.copy).textContent.trim();
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers have no clipboard on plain HTTP: select the text instead.
    getSelection().selectAllChildren(one(button.dataset.copy));
    if (!document.execCommand("copy")) return;
  }
  button.textContent = button.dataset.done;
});

// Show that a long form is being sent, and prevent sending it twice.
const setBusy = (button, isBusy) => {
  button.dataset.text ??= button.textContent;
  button.disabled = isBusy;
  button.textContent = isBusy ? button.dataset.busy : button.dataset.text;
  const progress = button.form.querySelector("progress");
  if (progress) progress.hidden = !isBusy;
};
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (button?.dataset.busy) setTimeout(setBusy, 0, button, true);
});

// "Back" restores the page as it was left: busy, with its text and selection.
addEventListener("pageshow", () => {
  all("[data-busy]").forEach((button) => setBusy(button, false));
  filter();
  count();
});

// Enter submits a single address.
document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.key === "Enter" && target.matches("#feeds input")) event.preventDefault();  // selections stay
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !target.matches("#urls")) return;
  if (target.value.includes("\n")) return;
  event.preventDefault();
  target.form.requestSubmit(one("button", target.form));
});

// Shortcuts: single keys, which can be switched off, and never while typing (WCAG 2.1.4).
const currentRow = () => document.activeElement.closest("#feeds li");
const step = (by) => {
  const rows = all("#feeds li").filter((row) => row.checkVisibility());
  const next = rows[currentRow() ? rows.indexOf(currentRow()) + by : 0];
  if (next) one("a", next).focus();
};
const SHORTCUTS = {
  "/": () => one("#q").select(),
  j: () => step(1),
  k: () => step(-1),
  x: () => currentRow() && one("input", currentRow()).click(),
  "?": () => one("#keys").showModal(),
};
document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (target.matches("input:not([type=checkbox]), textarea, select") || target.closest("dialog")) return;
  if (!one("#keys") || storage.keys === "off" || !Object.hasOwn(SHORTCUTS, key)) return;
  event.preventDefault();
  SHORTCUTS[key]();
});
if (one("#keys")) {
  one("[data-keys]").addEventListener("click", SHORTCUTS["?"]);
  one("#use-keys").checked = storage.keys !== "off";
  one("#use-keys").addEventListener("change", (event) => { storage.keys = event.target.checked ? "on" : "off"; });
}

// Remember collapsed groups, until another person may sign in here.
const MOST_CLOSED = 500;
if (!one(".who")) delete storage.closed;
const closed = new Set(storage.closed?.split("\n"));  // folders are single lines
document.addEventListener("click", (event) => {
  const group = event.target.closest("summary")?.closest("[data-folder]");
  if (!group) return;
  closed[group.open ? "add" : "delete"](group.dataset.folder);  // it is toggled after this
  storage.closed = [...closed].slice(-MOST_CLOSED).join("\n");
});

// Keep a list's scroll position when a row's form is sent.
const LIST = "#feeds, .plays";
const isList = one(LIST) !== null;
const sentFrom = sessionStorage.getItem("scrolled");
sessionStorage.removeItem("scrolled");
if (isList && sentFrom && !one(".problem")) scrollTo(0, Number(sentFrom));
document.addEventListener("submit", (event) => {
  if (event.target.contains(one(LIST)) || event.target.closest(".note")) sessionStorage.setItem("scrolled", scrollY);
});

// Submit some fields on change, and restore the focus on the next page.
const chosenBefore = sessionStorage.getItem("focused");
if (chosenBefore) {
  sessionStorage.removeItem("focused");
  document.getElementById(chosenBefore)?.focus();
}
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) {
    sessionStorage.setItem("focused", event.target.id);
    event.target.form.requestSubmit();
  }
  if (event.target.matches("[data-all]")) {
    all("#feeds li:not([hidden], #kept li) input").forEach((box) => { box.checked = event.target.checked; });
  }
  if (event.target.matches("input[type=checkbox]")) count();
  if (event.target.matches("[data-max]")) refuseTooLarge(event.target);
  if (event.target.matches("[data-shows]")) {
    one(event.target.dataset.shows).type = event.target.checked ? "text" : "password";
  }
});

// Remove a file that the server would refuse as too large.
function refuseTooLarge(input) {
  const isTooLarge = input.files[0]?.size > Number(input.dataset.max);
  const problem = one("#file-too-large");
  one("#file-problem")?.remove();
  problem.hidden = !isTooLarge;
  ["aria-invalid", "aria-describedby"].forEach((name) => input.removeAttribute(name));
  if (!isTooLarge) return;
  input.value = "";
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", problem.id);
}

function count() {
  const chosen = all("#feeds input[type=checkbox]:checked").length;
  all("[data-chosen]").forEach((element) => { element.hidden = chosen === 0; });
  all("[data-count]").forEach((element) => { element.textContent = chosen; });
}

// Like `folded` in rows.py: ignore case and accents.
const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/ß/g, "ss");

function filter() {
  const search = one("#q");
  if (!search || !one("#feeds")) return;
  const words = fold(search.value).split(/\s+/).filter(Boolean);
  all("[data-folder]").forEach((group) => { group.open = words.length > 0 || !closed.has(group.dataset.folder); });
  if (!search.matches("[data-filter]")) return;
  let shown = 0;
  for (const row of all("#feeds li")) {
    const text = fold(`${one("div", row).textContent} ${one("[title]", row)?.title ?? ""}`);
    row.hidden = !words.every((word) => text.includes(word));
    if (!row.hidden) shown += 1;
  }
  all("[data-folder]").forEach((group) => { group.hidden = !one("li:not([hidden])", group); });
  const found = one("[data-found]");
  found.hidden = !words.length;
  found.textContent = found.dataset.found.replace("{}", shown);
  const nothing = one("#nothing");
  if (nothing) nothing.hidden = shown > 0;
}

// The server searches lists of several pages; only the reply to the latest request is used.
let asked = 0;
async function search(form) {
  const number = asked += 1;
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  const page = await fetch(address);
  const text = page.ok && !page.redirected && await page.text();
  if (number !== asked || !text) return;
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const chosen = all("#feeds li:has(:checked)");
  ["#found", "[data-found]"].forEach((part) => one(part).replaceWith(one(part, parsed)));
  // Selected rows stay selected, found or not.
  for (const row of chosen) {
    const box = one(`#feeds [value="${one("input", row).value}"]`);
    if (box) box.checked = true;
    else one("#kept").append(row);
  }
  history.replaceState(null, "", address);
  dress();
  filter();
  count();
}

let typing;
document.addEventListener("input", (event) => {
  if (!event.target.matches("#q")) return;
  all("[data-all]").forEach((box) => { box.checked = false; });
  clearTimeout(typing);
  if (event.target.matches("[data-filter]")) filter();
  else typing = setTimeout(() => search(event.target.form).catch(() => {}), 250);
});

// Poll for changes by other devices, and for fetches of new feeds.
const EVERY_MS = 5000;

// A refresh would lose ticks, and what is being typed for a folder.
const isUsed = () => one("#feeds input:checked, [data-stamp] input:not(#q, [type=checkbox]):focus") !== null;

async function follow() {
  const list = one("[data-stamp]");
  if (document.hidden || isUsed()) return;
  const home = one(".brand").pathname;  // includes the service's base path
  const { stamp, checked } = list.dataset;
  const reply = await fetch(`${home}feeds/changed?since=${stamp}${checked ? `&checked=${checked}` : ""}`);
  if (reply.status !== 200 || !(await reply.json()).changed) return;
  // GET of a form's address would redirect.
  const page = await fetch(location.pathname === home ? location.href : home);
  if (!page.ok || page.redirected) return;
  const parsed = new DOMParser().parseFromString(await page.text(), "text/html");
  const fresh = one("[data-stamp]", parsed);
  if (!fresh || isUsed()) return;  // it may be used since the requests
  if (one("#start")) location.reload();
  const row = document.activeElement?.closest("#feeds li");
  const focused = row ? `#feeds a[href="${one("a", row).getAttribute("href")}"]` : `#${document.activeElement?.id || "none"}`;
  const typed = one("#q")?.value;
  list.replaceWith(fresh);
  one("#mass-unsubscribe")?.replaceWith(one("#mass-unsubscribe", parsed));
  if (one("#q")) one("#q").value = typed ?? "";
  dress();
  filter();
  count();
  one(focused)?.focus();
}

if (one("[data-stamp]")) {
  const again = () => follow().catch(() => {}).finally(() => setTimeout(again, EVERY_MS));
  setTimeout(again, EVERY_MS);
}

// Poll until the app has used its new password.
if (one("[data-waits]")) {
  setInterval(async () => {
    const page = !document.hidden && await fetch(location.href);
    if (page.ok && !(await page.text()).includes("data-waits")) location.reload();
  }, EVERY_MS);
}
dress();
filter();
count();
