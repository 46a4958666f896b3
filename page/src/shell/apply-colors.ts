import type { ColorOfPage, PageOptions } from "../../../src/edge/page-options.ts";

/** Custom properties of `theme.css`. */
const PROPERTIES = {
  accent: "--accent",
  accentText: "--accent-text",
  background: "--bg",
  surface: "--surface",
  text: "--text",
} as const;

/** Sets the application's colours, and derives matching ones. */
export function applyColors(colors: PageOptions["colors"] = {}): void {
  const { style } = document.documentElement;
  for (const name of Object.keys(PROPERTIES) as (keyof typeof PROPERTIES)[]) {
    const color = colors[name];
    if (color !== undefined) style.setProperty(PROPERTIES[name], textOf(color));
  }
  if (colors.accent !== undefined) {
    style.setProperty("--accent-soft", "color-mix(in oklab, var(--accent) 14%, var(--surface))");
  }
}

function textOf(color: ColorOfPage): string {
  return typeof color === "string" ? color : `light-dark(${color.light}, ${color.dark})`;
}
