// The form of the page on choosing: picks one of the numbers that stand in choices.json, and in the tables below it.
(async () => {
  const form = document.getElementById("choices");
  if (!form) return;
  const found = await fetch(new URL(form.dataset.numbers, location.href)).then((answer) => answer.json());
  const [setting, units, epsilon] = form.querySelectorAll("select");
  const fill = (select, texts, at) => texts.forEach((text, place) => select.add(new Option(text, place, false, place === at)));
  fill(setting, found.settings.map((each) => each.name), 8);
  fill(units, found.units.map((each) => each.toLocaleString("en")), 2);
  fill(epsilon, found.epsilons, 2);
  const told = (percent) => (percent >= 100 ? "beyond all of the records" : percent < 0.001 ? "below 0.001 %" : `${percent} %`);
  const show = () => {
    const errors = found.settings[setting.value].errors;
    const percent = errors[epsilon.value][units.value];
    const enough = found.epsilons.find((_, place) => errors[place][units.value] <= 1);
    form.querySelector("p").textContent = `Error: ${told(percent)} of ${found.units[units.value].toLocaleString("en")} records. `
      + (enough ? `Of the epsilons here, ${enough} is the smallest that brings it to 1 % or less.` : "No epsilon here brings it to 1 %.");
  };
  form.addEventListener("change", show);
  show();
  form.hidden = false;
})();
