// The prompt: sends with Ctrl+Enter, completes files after `@`, and lists models when asked for.
const WAIT_MS = 120; // after the last key, before files are asked for
const MENTION = /(^|\s)@([^\s"@]*)$/;

for (const field of document.querySelectorAll("textarea[data-files]")) complete(field);
for (const field of document.querySelectorAll("[data-models]")) {
  field.addEventListener("focus", listModels, { once: true });
}

async function listModels(event) {
  const list = document.getElementById(event.target.getAttribute("list"));
  try {
    const reply = await fetch("/api/v1/models");
    for (const { model } of (await reply.json()).models) list.append(new Option("", model));
  } catch {
    // A model can be typed, too.
  }
}

function complete(field) {
  const list = document.createElement("ul");
  list.className = "choices";
  list.id = `${field.id}-files`;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Files");
  list.hidden = true;
  field.after(list);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id })) {
    field.setAttribute(name, value);
  }
  let timer = 0;
  let asked = 0;
  let chosen = 0;

  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const mention = () => MENTION.exec(field.value.slice(0, field.selectionStart));
  const choose = (index) => {
    chosen = (index + list.children.length) % list.children.length;
    [...list.children].forEach((each, n) => each.setAttribute("aria-selected", String(n === chosen)));
    field.setAttribute("aria-activedescendant", list.children[chosen].id);
    list.children[chosen].scrollIntoView({ block: "nearest" });
  };
  const insert = (path) => {
    const found = mention();
    if (!found) return close();
    const at = field.selectionStart - found[2].length;
    const shown = /[\s"'`<>|;,@]/.test(path) ? `"${path}" ` : `${path} `;
    field.setRangeText(shown, at, field.selectionStart, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
    close();
    field.focus();
  };
  const look = async () => {
    const found = mention();
    if (!found) return close();
    const mine = ++asked;
    const query = new URLSearchParams({ q: found[2], workspace: field.dataset.files });
    try {
      const reply = await fetch(`/api/v1/files?${query}`);
      const { files } = await reply.json();
      if (mine !== asked || !files || !files.length) return close();
      list.replaceChildren(...files.slice(0, 12).map(({ path }, n) => {
        const item = document.createElement("li");
        item.id = `${list.id}-${n}`;
        item.setAttribute("role", "option");
        item.textContent = path;
        item.addEventListener("mousedown", (event) => {
          event.preventDefault();
          insert(path);
        });
        return item;
      }));
      list.hidden = false;
      field.setAttribute("aria-expanded", "true");
      choose(0);
    } catch {
      close();
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    if (mention()) timer = setTimeout(look, WAIT_MS);
    else close();
  });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (!list.hidden) {
      const keys = {
        ArrowDown: () => choose(chosen + 1),
        ArrowUp: () => choose(chosen - 1),
        Enter: () => insert(list.children[chosen].textContent),
        Tab: () => insert(list.children[chosen].textContent),
        Escape: close,
      };
      if (keys[event.key] && !event.ctrlKey) {
        event.preventDefault();
        keys[event.key]();
        return;
      }
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      field.form.requestSubmit(field.form.querySelector("button.primary"));
    }
  });
}
