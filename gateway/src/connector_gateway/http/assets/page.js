// Shows the present entry of a navigation that is wider than the window, and puts a button beside what is to be copied.
"use strict";
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
for (const box of document.querySelectorAll(".copy")) {
  const text = box.querySelector("pre");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      // Without https browsers let nobody write there: select it, for the keyboard to copy.
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  box.append(button);
}
