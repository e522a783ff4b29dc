"use strict";
// Each column shows only the fields of its use. Without scripts all fields are shown.
(() => {
  for (const row of document.querySelectorAll("tr[data-column]")) {
    const list = row.querySelector("select");
    const follow = () => {
      for (const field of row.querySelectorAll(".known")) field.hidden = field.dataset.use !== list.value;
    };
    list.addEventListener("change", follow);
    follow();
  }
})();
