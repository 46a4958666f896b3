import { expect, it } from "vitest";
import { interpolate } from "../../src/reference/resolve.ts";
import { inert, shown } from "../support/inert-values.ts";
import { sampled, samples } from "../support/slow.ts";
import { answerWith, urlLeaks } from "../support/url-fuzz.ts";
import { harmlessVariables, urlText, urlVariables } from "../support/url-grammar.ts";

it(
  "a composed or sealed value gives a renderer no URL and no tag with any of it",
  sampled,
  async () => {
    const exposed = { inUrls: true, inCode: true };
    for (let seed = 0; seed < samples(1_000); seed++) {
      const valueOf = (own: number) => answerWith(urlText(own), urlVariables, exposed);
      const [v, w] = [valueOf(seed), valueOf(seed + 10_000_000)];
      const [before, behind] = [seed + 50_000_000, seed + 90_000_000].map((own, nth) =>
        answerWith(urlText(own).slice(0, seed % (60 - 20 * nth)), harmlessVariables, exposed),
      );
      const lookup = inert({ v, w, rows: [{ a: v, [w]: w }], list: [v, w], o: { v, w: [w] } });
      for (const reference of ["$v", "${v}${w}", "$rows", "$list", "$o", "$o.w"]) {
        for (const end of ["", "\n"]) {
          const text = `${before}${end}${reference}${end}${behind}\n\n[p][a] ![p][a]`;
          expect(urlLeaks(await shown(text, lookup)), text).toEqual([]);
        }
      }
      const { text } = await interpolate(`a {{v}} b`, inert({ v }));
      expect(urlLeaks(text), text).toEqual([]);
    }
  },
);
