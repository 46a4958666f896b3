import * as fc from "fast-check";

const FRAGMENTS = [
  ..."<>/'\"- &`\nx",
  ..."<capability,<capability,name=\"a\",name='b',output_var='o',/>,</capability>,</,<?,<!DOCTYPE".split(
    ",",
  ),
  ..."<![CDATA[,]]>,<!--,-->,```,\n```\n,~~~,&amp;,&#65;,😀,\r\n".split(","),
  '<capability name="c" />',
  '<capability name="d">x</capability>',
];

/** Fragments of tags, which in random order form tags or not. */
export const xmlFragment = fc.constantFrom(...FRAGMENTS);
