const filter = document.getElementById("filter");
filter?.addEventListener("change", () => {
  for (const cause of document.querySelectorAll(".cause")) {
    cause.hidden = filter.value !== "" && cause.dataset.kind !== filter.value;
  }
});
