// What screen readers miss in the theme: the search has a name, each navigation has one of its own, and all that scrolls
// can be reached by keyboard.
const named = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-nav .md-nav, .md-code__nav").forEach((each, place) => {
    each.removeAttribute("aria-labelledby");
    each.setAttribute("aria-label", `${each.matches(".md-code__nav") ? "Code" : "Pages"} ${place + 1}`);
  });
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) each.tabIndex = 0;
};
// A console block is copied as it is typed: without its prompts, and without what the commands print.
for (const code of document.querySelectorAll("pre > code:has(.gp)")) {
  const typed = code.cloneNode(true);
  typed.querySelectorAll(".gp, .go").forEach((part) => part.remove());
  code.dataset.copy = typed.textContent.split("\n").filter((line) => line.trim()).join("\n");
}
// A table of three or more columns with long texts: on a phone its rows are cards, in which headings name the cells.
const LONGEST_BESIDE_OTHERS = 40; // letters of a cell in a table whose columns stay side by side
for (const table of document.querySelectorAll(".md-typeset table:not([class])")) {
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells]);
  const headings = [...table.tHead.rows[0].cells].map((heading) => heading.textContent.trim());
  const isLong = (cell) => cell.textContent.length > LONGEST_BESIDE_OTHERS;
  if (headings.length < 3 || table.closest(".sortable") || !rows.some((cells) => cells.slice(1).some(isLong))) continue;
  table.dataset.cards = "";
  for (const cells of rows) cells.slice(1).forEach((cell, place) => (cell.dataset.label = headings[place + 1]));
}
// Tables that can be sorted: a heading is a button, and sorts by its column, the other way round when it is pressed again.
for (const table of document.querySelectorAll(".sortable table")) {
  const value = (row, place) => {
    const text = row.cells[place].textContent.replace(/[\u00a0,%]/g, "").trim();
    return text === "-" ? Infinity : text.startsWith("<") ? 0 : Number.isNaN(Number(text)) ? text : Number(text);
  };
  table.querySelectorAll("th").forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent.trim();
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const each of table.querySelectorAll("th")) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0);
      const rows = [...table.tBodies[0].rows].sort((a, b) => compare(value(a, place), value(b, place)));
      table.tBodies[0].append(...(down ? rows.reverse() : rows));
    });
  });
}
named();
new MutationObserver(named).observe(document.body, { childList: true, subtree: true });
