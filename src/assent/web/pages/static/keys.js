// Keys: `?` shows the sheet, j and k move among items, g and a letter goes to a page.
const TYPING = "input, textarea, select, [contenteditable]";
const WAIT_MS = 1200; // for the second key
let first = "";

/** Listens for keys where nothing is typed. Enter needs nothing: items are links and buttons. */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(TYPING)) return;
    const before = first;
    first = "";
    if (before === "g") {
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) link.click();
    } else if (event.key === "?") {
      sheet();
    } else if (event.key === "g") {
      first = "g";
      setTimeout(() => (first = ""), WAIT_MS);
      return;
    } else if (event.key === "j" || event.key === "k") {
      move(event.key === "j" ? 1 : -1);
    } else {
      const key = CSS.escape(event.key);
      const item = document.activeElement.closest("[data-item]");
      const target =
        (item && item.querySelector(`[data-item-key="${key}"]`)) || document.querySelector(`[data-key="${key}"]`);
      if (!target) return;
      if (target.matches(TYPING)) target.focus();
      else target.click();
    }
    event.preventDefault();
  });
}

function sheet() {
  const shown = document.getElementById("keys");
  if (shown.open) shown.close();
  else shown.showModal();
}

function move(step) {
  const items = [...document.querySelectorAll("[data-item]")].filter((each) => each.offsetParent);
  if (!items.length) return;
  const now = items.indexOf(document.activeElement.closest("[data-item]"));
  const next = now < 0 ? (step > 0 ? 0 : items.length - 1) : now + step;
  const item = items[Math.max(0, Math.min(items.length - 1, next))];
  item.focus();
  item.scrollIntoView({ block: "nearest" });
}
