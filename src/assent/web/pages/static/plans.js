// Pages of plans and runs: comments in place, what a command says live, and a note when a plan changes.
import { TYPING } from "./keys.js";

const MOST_CHARS = 200000; // of live output that stay on the page

document.addEventListener("click", (event) => {
  const line = event.target.closest("td.n a");
  if (line) {
    event.preventDefault();
    comment(line);
  } else if (event.target.closest("a.unfold")) {
    event.preventDefault();
    unfold(event.target.closest("a.unfold"));
  } else if (event.target.closest("[data-cancel]")) {
    const form = event.target.closest("form.say");
    const row = form && form.closest("tr.said[data-new]");
    if (!row) return;
    event.preventDefault();
    const before = row.previousElementSibling.querySelector("td.n a");
    row.remove();
    if (before) before.focus();
  }
});

// By keys: `c` goes to the lines, where j and k choose one and Enter comments; Escape leads back.
document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const form = target.closest("form.say");
  if (key === "Escape" && form) form.querySelector("[data-cancel]").click();
  else if (key === "Escape" && target.closest("td.n a")) (target.closest("article") || document.getElementById("main")).focus();
  if (key !== "c" || target.closest(TYPING)) return;
  const from = target.closest("article") || document.getElementById("text") || document.querySelector("article");
  const line = from && from.querySelector("tr.ad td.n a, tr.rm td.n a, td.n a");
  if (line) line.focus();
});

// Files are found while one types; Enter goes to the first of them.
let finding = 0;
const field = document.querySelector("[data-key='/'][name=find]");
async function find() {
  const mine = ++finding;
  const address = new URL(location.href);
  address.searchParams.set("part", "files");
  address.searchParams.set("find", field.value);
  const reply = await fetch(address, { headers: { "x-assent-live": "1" } }).catch(() => null);
  const html = reply && reply.ok ? await reply.text() : "";
  if (html && mine === finding) document.getElementById("files").innerHTML = html;
}
if (field) {
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, 150);
  });
  field.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(timer);
    await find();
    const first = document.querySelector("#files [data-of] a");
    if (first) first.click();
  });
}

/** Shows lines that a diff leaves out, in place: the tables of the operation come again with them. */
async function unfold(link) {
  const operation = link.closest("article");
  const address = new URL(link.href);
  address.searchParams.set("part", operation.dataset.operation);
  const reply = await fetch(address, { headers: { "x-assent-live": "1" } }).catch(() => null);
  const page = new DOMParser().parseFromString(reply && reply.ok ? await reply.text() : "", "text/html");
  const fresh = page.querySelectorAll("table.diff");
  if (!fresh.length) {
    location.assign(link.href);
    return;
  }
  const above = link.getBoundingClientRect().top;
  const row = link.closest("tr").rowIndex;
  operation.querySelectorAll("table.diff").forEach((old, at) => fresh[at] && old.replaceWith(fresh[at]));
  const now = operation.querySelector("table.diff").rows[row];
  if (now) scrollBy(0, now.getBoundingClientRect().top - above);
  operation.focus({ preventScroll: true });
  openDrafts();
}

/** Opens the comment form below a line; the server's page has the same form without script. */
function comment(link, focus = true) {
  const template = document.getElementById("say-form");
  const row = link.closest("tr");
  if (!template || !row) return;
  const where = place(link);
  for (const old of document.querySelectorAll("tr.said[data-new]")) {
    const { elements } = old.querySelector("form");
    if (elements.where.value === where) {
      elements.text.focus();
      return;
    }
    if (!elements.text.value) old.remove(); // what was typed stays
  }
  const fresh = document.createElement("tr");
  fresh.className = "said";
  fresh.dataset.new = "yes";
  const cell = fresh.appendChild(document.createElement("td"));
  cell.colSpan = row.closest("table").matches(".split") ? 4 : row.cells.length;
  cell.append(template.content.cloneNode(true));
  const form = cell.querySelector("form");
  form.elements.where.value = where;
  const text = form.elements.text;
  text.dataset.draft += where;
  try {
    text.value = localStorage.getItem(`assent draft ${text.dataset.draft}`) || "";
  } catch {
    // A browser that keeps nothing has no draft.
  }
  row.after(fresh);
  if (focus) text.focus();
}

/** Returns which line a number is of, such as `plan:3`. */
function place(link) {
  return new URL(link.href).searchParams.get("on");
}

const review = document.querySelector("[data-plan]");

/** Opens a form below each line about which something was typed and not sent. */
function openDrafts() {
  const start = review ? `assent draft ${review.dataset.plan} ` : "";
  const typed = Object.keys(localStorage).filter((key) => start && key.startsWith(start));
  const lines = new Set(typed.map((key) => key.slice(start.length)).filter((key) => /^\w+:\d+$/.test(key)));
  for (const form of document.querySelectorAll("form.say")) lines.delete(form.elements.where.value);
  for (const link of lines.size ? document.querySelectorAll("td.n a") : []) {
    if (lines.delete(place(link))) comment(link, false);
  }
}

// What was viewed is folded, and counted, without a reload.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form.viewed")) return;
  event.preventDefault();
  const button = form.querySelector("button");
  const fields = new URLSearchParams(new FormData(form));
  fields.set(button.name, button.value);
  const viewed = fields.get("viewed") === "1";
  const send = { method: "POST", body: fields, headers: { "x-assent-live": "1" } };
  const reply = await fetch(form.action, send).catch(() => null);
  if (!reply || reply.status !== 204) {
    location.reload(); // the server says what is wrong
    return;
  }
  form.elements.viewed.value = viewed ? "" : "1";
  button.setAttribute("aria-pressed", String(viewed));
  const operation = form.closest("article");
  operation.querySelector(".op-body").open = !viewed;
  for (const row of document.querySelectorAll(`[data-of="${operation.id}"]`)) row.classList.toggle("seen", viewed);
  for (const each of document.querySelectorAll(".viewed-count")) {
    each.textContent = each.textContent.replace(/\d+/, (count) => Number(count) + (viewed ? 1 : -1));
  }
});

// A draft is forgotten once the server says that it has what was typed.
const sent = new URLSearchParams(location.search).get("sent");
try {
  if (sent && review) {
    const part = sent.replace(/-\d+$/, "");
    localStorage.removeItem(`assent draft ${review.dataset.plan} ${part}`);
    const address = new URL(location.href);
    address.searchParams.delete("sent");
    history.replaceState(null, "", address);
  }
  if (new URLSearchParams(location.search).get("decided")) {
    const plan = location.pathname.split("/")[2];
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(`assent draft ${plan} `)) localStorage.removeItem(key);
    }
  }
  openDrafts();
} catch {
  // Without storage there are no drafts.
}

// What is read stays as it is; if the plan is another one by now, the page says so.
const state = document.getElementById("state");
const stale = document.getElementById("stale");
const read = state && `${state.dataset.digest} ${state.dataset.state}`;
document.addEventListener("assent:fresh", () => {
  if (stale) stale.hidden = `${state.dataset.digest} ${state.dataset.state}` === read;
});

document.addEventListener("assent:delta", (event) => {
  const shown = document.getElementById("live-output");
  const { body } = event.detail;
  if (!shown || body.kind !== "output") return;
  const end = shown.scrollHeight - shown.scrollTop - shown.clientHeight < 8;
  shown.textContent = (shown.textContent + body.text).slice(-MOST_CHARS);
  if (end) shown.scrollTop = shown.scrollHeight;
});
