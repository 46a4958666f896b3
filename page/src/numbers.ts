/** The browser's language. Some name it with a suffix that is no language tag: `en-US@posix`. */
export const LOCALE = localeIn(navigator.language);

/** Falls back to English for an invalid language tag. */
function localeIn(language: string): string {
  const [tag = ""] = language.split(/[@.]/);
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? "en";
  } catch {
    return "en";
  }
}

/** Significant digits of a double. */
const DIGITS = 15;
const grouped = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: DIGITS });
const plain = new Intl.NumberFormat(LOCALE, {
  maximumSignificantDigits: DIGITS,
  useGrouping: false,
});

/** Names of columns whose numbers are names or years, not amounts. */
const NAMES = /^(?:id|year|zip|postcode|code|port)$|[_ ](?:id|year|zip|code|no)$|[a-z](?:Id|Year)$/;

/** Formats a number of a column, the same way in tables and charts. */
export function numberWords(value: number, column: string): string {
  const size = Math.abs(value);
  // Very large and very small numbers keep their exponent.
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return String(value);
  return (NAMES.test(column) ? plain : grouped).format(value);
}
