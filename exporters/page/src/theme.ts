// Light, dark or as the system has it; kept for the next visit where the browser keeps anything. Paper is light.

const kThemes = ["as the system", "light", "dark"] as const;
type Theme = typeof kThemes[number];

function kept(): Theme {
  try {
    return kThemes.find((theme) => theme === localStorage.getItem("theme")) ?? "as the system";
  } catch {
    return "as the system";
  }
}

export function useTheme(button: HTMLElement, changed: () => void) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let theme = kept();
  const wear = (shown: "light" | "dark") => {
    document.documentElement.dataset["theme"] = shown;
    changed();
  };
  const apply = () => {
    button.textContent = `theme: ${theme}`;
    wear(theme === "as the system" ? (system.matches ? "dark" : "light") : theme);
  };
  button.addEventListener("click", () => {
    theme = kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length] ?? "as the system";
    try {
      localStorage.setItem("theme", theme);
    } catch { /* worn all the same */ }
    apply();
  });
  system.addEventListener("change", apply);
  window.addEventListener("beforeprint", () => wear("light"));
  window.addEventListener("afterprint", apply);
  apply();
}
