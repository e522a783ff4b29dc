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
named();
new MutationObserver(named).observe(document.body, { childList: true, subtree: true });
