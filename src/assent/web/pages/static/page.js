// Every page: follows events, sends forms without leaving the page, and moves by keys.
import { follow } from "./live.js";
import { enhanceForms } from "./forms.js";
import { listenForKeys } from "./keys.js";

follow();
enhanceForms();
listenForKeys();
// A menu closes when something else is used.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
