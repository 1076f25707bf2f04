// Buttons of pages without a program that copy a text of the page. Without this they are not there: the text can be selected.
for (const button of document.querySelectorAll("[data-copies]")) {
  const text = document.getElementById(button.dataset.copies).textContent;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", () => {
    const say = (words) => () => (button.textContent = words);
    navigator.clipboard.writeText(text).then(say("Copied"), say("Select it and copy"));
  });
}
