"use strict";
// Sliders follow their number fields and the other way round; a chosen column fills in its declared range and narrows the
// list of its values. Without scripts the same fields are typed, and what is left empty is as the schema declares it.
(() => {
  const sliders = document.querySelectorAll("input[data-slides]");
  for (const slider of sliders) {
    const field = document.getElementById(slider.dataset.slides);
    const follow = () => { slider.value = field.value === "" ? slider.min : field.value.replace(",", "."); };
    slider.hidden = false;
    slider.addEventListener("input", () => {
      const rounded = Number(Number(slider.value).toPrecision(3));
      field.value = rounded > Number(slider.max) ? slider.max : String(rounded);  // no more than remains
    });
    field.addEventListener("input", follow);
    follow();
  }
  const ranges = [...document.querySelectorAll("fieldset[data-of]")];
  const narrow = () => {
    for (const list of document.querySelectorAll("select[data-labels]")) {
      const column = document.getElementById(`f-${list.dataset.labels}`);
      for (const group of list.querySelectorAll("optgroup")) {
        group.hidden = group.disabled = Boolean(column?.value) && column.value !== group.label;
      }
    }
  };
  document.addEventListener("change", ({target}) => {
    if (!(target instanceof HTMLSelectElement)) return;
    const chosen = target.selectedOptions[0];
    for (const range of ranges.filter((fieldset) => fieldset.dataset.of === target.name)) {
      for (const part of ["lower", "upper"]) {
        const field = range.querySelector(`[data-part=${part}]`);
        field.value = chosen.dataset[part] ?? "";
        field.placeholder = chosen.value === "" || chosen.dataset[part] ? "as declared" : range.dataset.undeclared;
      }
    }
    for (const list of document.querySelectorAll(`select[data-labels="${target.name}"]`)) list.value = "";
    narrow();
  }, true);
  narrow();
  // A sketch takes seconds: say so until it is there. A lazy image that was not asked for yet counts as complete.
  const showSketchWaits = () => {
    const sketch = document.querySelector("#plan figure img");
    if (!sketch || sketch.naturalWidth) return;
    sketch.parentNode.classList.add("drawing");
    for (const end of ["load", "error"]) sketch.addEventListener(end, () => sketch.parentNode.classList.remove("drawing"));
  };
  document.addEventListener("htmx:after:swap", showSketchWaits);
  showSketchWaits();
  // The plan comes while one types: mark the field that its message is about, and no other.
  document.addEventListener("htmx:after:swap", () => {
    const wrong = document.querySelector("#plan [data-wrong]")?.dataset.wrong;
    for (const field of document.querySelectorAll("form [aria-invalid]")) field.removeAttribute("aria-invalid");
    for (const message of document.querySelectorAll(".wrong")) message.remove();  // of the page as it was loaded
    if (wrong) document.getElementById(`f-${wrong}`)?.setAttribute("aria-invalid", "true");
  });
})();
