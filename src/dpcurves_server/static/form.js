"use strict";
// Sliders follow their number fields and the other way round; a chosen column fills in its declared range.
// Without scripts the same fields are typed, and a range that is left empty is the declared one.
(() => {
  const sliders = document.querySelectorAll("input[data-slides]");
  for (const slider of sliders) {
    const field = document.getElementById(slider.dataset.slides);
    const follow = () => { if (field.value !== "") slider.value = field.value; };
    slider.hidden = false;
    slider.addEventListener("input", () => {
      const rounded = Number(Number(slider.value).toPrecision(3));
      field.value = rounded > Number(slider.max) ? slider.max : String(rounded);  // no more than remains
    });
    field.addEventListener("input", follow);
    follow();
  }
  const ranges = [...document.querySelectorAll("fieldset[data-of]")];
  document.addEventListener("change", ({target}) => {
    if (!(target instanceof HTMLSelectElement)) return;
    const chosen = target.selectedOptions[0];
    for (const range of ranges.filter((each) => each.dataset.of === target.name)) {
      for (const part of ["lower", "upper"]) {
        range.querySelector(`[data-part=${part}]`).value = chosen.dataset[part] ?? "";
      }
    }
    if (target.id === "f-event" || target.id === "f-label") {
      for (const list of document.querySelectorAll("select[data-labels] optgroup")) {
        list.hidden = [...document.querySelectorAll("#f-event, #f-label")].every((each) => each.value !== list.label);
      }
    }
  }, true);
})();
