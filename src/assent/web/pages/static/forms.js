// Sends forms in the background. What the server answers is shown; it decides, never the page.
import { refresh, shownHeader } from "./live.js";

const drafts = "assent draft ";
const SENT_MS = 5000; // for which a form that was sent is not sent again, unless its page is left
const LOOK_MS = 700; // for which a person has to see a button before a click on it counts
let before = new Map(); // the buttons before the page is brought up to date
let changes = []; // the buttons that this changed, with their earlier places, and until when it counts

/** Sends forms marked with `data-stay`, shows what went wrong, and keeps drafts over a reload. */
export function enhanceForms() {
  document.addEventListener("assent:before", () => (before = buttons()));
  document.addEventListener("assent:fresh", () => queueMicrotask(noteChanges)); // after it scrolled
  document.addEventListener("click", refuseSurprise, true);
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-stay]") || form.method !== "post") return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("submit", sendOnce);
  document.addEventListener("input", (event) => {
    const key = event.target.dataset && event.target.dataset.draft;
    if (key) keep(key, event.target.value);
  });
  for (const field of document.querySelectorAll("[data-draft]")) {
    const found = read(field.dataset.draft);
    if (!found || found === field.value || field.value !== field.defaultValue) continue;
    field.value = found;
    for (let at = field.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  }
}

/** Returns buttons of forms with their places and what they would send; a message is typed anyway. */
function buttons() {
  const found = new Map();
  for (const button of document.querySelectorAll("button")) {
    if (!button.form || button.form.method !== "post" || button.form.matches(".prompt")) continue;
    const hidden = [...button.form.querySelectorAll("input[type=hidden]")].map((each) => each.value);
    const sends = JSON.stringify([button.form.action, button.name, button.value, ...hidden]);
    const at = button.checkVisibility() ? button.getBoundingClientRect() : new DOMRect();
    found.set(button, { sends, at });
  }
  return found;
}

/** Notes which buttons came, moved or changed by an update of the page, and what they were. */
function noteChanges() {
  const now = performance.now();
  const changed = new Map();
  for (const [button, { sends, at }] of buttons()) {
    const old = before.get(button);
    if (!old || old.sends !== sends) changed.set(button, new DOMRect());
    else if (old.at.x !== at.x || old.at.y !== at.y) changed.set(button, old.at);
  }
  changes = [...changes.filter((each) => now < each.until), { until: now + LOOK_MS, changed }];
}

/** Stops a click by pointer on a button that was not there, or was another one, a moment ago. */
function refuseSurprise(event) {
  const button = event.target.closest("button");
  if (!button || event.detail === 0) return;
  const { clientX: x, clientY: y } = event;
  const surprises = ({ until, changed }) => {
    const was = changed.get(button);
    if (!was || performance.now() >= until) return false;
    return x < was.left || x > was.right || y < was.top || y > was.bottom;
  };
  if (!changes.some(surprises)) return;
  event.preventDefault();
  event.stopPropagation();
  notice("The page just changed. Look, and click again.", true);
}

/** Sends a form that leads to another page once, however often its button is clicked. */
function sendOnce(event) {
  const form = event.target;
  if (form.method !== "post" || form.matches("[data-stay], .viewed")) return;
  if (form.dataset.sending) event.preventDefault();
  form.dataset.sending = "yes";
  const again = () => delete form.dataset.sending;
  setTimeout(again, SENT_MS);
  addEventListener("pagehide", again, { once: true }); // one may come back to it
}

async function send(form, button) {
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  const fields = new URLSearchParams(new FormData(form));
  if (button && button.name) fields.set(button.name, button.value);
  const action = (button && button.getAttribute("formaction")) || form.getAttribute("action");
  notice("");
  try {
    const reply = await fetch(action, { method: "POST", body: fields, headers: shownHeader() });
    const html = await reply.text();
    if (!reply.ok) {
      failed(html);
      return;
    }
    const to = new URL(reply.url);
    if (to.pathname === "/login") {
      // The login has ended, so nothing was done: what was typed is kept.
      location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
      return;
    }
    for (const field of form.querySelectorAll("[data-draft]")) {
      keep(field.dataset.draft, "");
      field.value = "";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (to.pathname + to.search === location.pathname + location.search) await refresh(html);
    else location.assign(to);
  } catch {
    notice("The server did not answer. Nothing was sent; try again.");
  } finally {
    delete form.dataset.sending;
  }
}

function failed(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const found = page.getElementById("error-message");
  notice(found ? found.textContent : "The server failed. Its stderr says where.");
  refresh();
}

/** Shows a message; `over` the page if nothing may move by it. */
function notice(text, over = false) {
  const shown = document.getElementById("notice");
  shown.textContent = text;
  shown.classList.toggle("problem", text !== "");
  shown.classList.toggle("over", over);
  if (text && !over) shown.scrollIntoView({ block: "nearest" });
}

function keep(key, text) {
  try {
    if (text) localStorage.setItem(drafts + key, text);
    else localStorage.removeItem(drafts + key);
  } catch {
    // A browser that keeps nothing loses drafts on reload.
  }
}

function read(key) {
  try {
    return localStorage.getItem(drafts + key);
  } catch {
    return "";
  }
}
