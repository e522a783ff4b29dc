"use strict";
// Each column shows only the fields of its use, and code is copied by a button. Without scripts all fields are shown.
(() => {
  for (const row of document.querySelectorAll("tr[data-column]")) {
    const list = row.querySelector("select");
    const follow = () => {
      for (const field of row.querySelectorAll(".known")) field.hidden = field.dataset.use !== list.value;
    };
    list.addEventListener("change", follow);
    follow();
  }
  for (const button of document.querySelectorAll("button[data-copies]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
      button.firstChild.textContent = "Copied";
    });
  }
})();
