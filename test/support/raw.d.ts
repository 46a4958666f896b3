/** The text of a file, as Vite gives it to what it bundles. */
declare module "*?raw" {
  const text: string;
  export default text;
}
