import { useEffect, useState } from "react";

export type Theme = "light" | "dark";

const KEY = "byref-theme";

/** The theme that the user has chosen, or else the system's. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [chosen, setChosen] = useState(() => themeIn(localStorage.getItem(KEY)));
  const [system, setSystem] = useState(systemTheme);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setSystem(systemTheme());
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  useEffect(() => {
    if (chosen === undefined) return;
    document.documentElement.dataset["theme"] = chosen;
    localStorage.setItem(KEY, chosen);
  }, [chosen]);
  return [chosen ?? system, setChosen];
}

function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function themeIn(text: string | null): Theme | undefined {
  return text === "light" || text === "dark" ? text : undefined;
}
