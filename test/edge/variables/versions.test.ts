import { expect, it } from "vitest";
import { get, newId, problemIn, put } from "../../support/edge.ts";
import { getWith, putAs, TEXT } from "../../support/values.ts";

it("two earlier versions of a variable are read by their numbers", async () => {
  const id = newId();
  for (const body of ["one", "two", "three", "four"]) await putAs(id, "a", { body, type: TEXT });
  const two = await get(id, "a?version=2");
  expect(await two.text()).toBe("two");
  expect(two.headers.get("etag")).not.toBe((await get(id, "a")).headers.get("etag"));
  expect(await (await get(id, "a?version=3&offset=1&limit=2")).text()).toBe("hr");
  expect(await (await getWith(id, "a?version=2", { range: "bytes=1-1" })).text()).toBe("w");
  expect(await (await get(id, "a?version=4")).text()).toBe("four");
  for (const version of [1, 5]) {
    await problemIn(await get(id, `a?version=${version}`), "variable_not_found");
  }
  await problemIn(await get(id, "a?version=x"), "bad_request");
});

it("earlier versions of a secret are not kept, and those of a sealed variable are for people", async () => {
  const id = newId();
  await put(id, "a", 1);
  await put(id, "a?visibility=sealed", 2);
  expect(await (await get(id, "a?version=1")).json()).toBe(1);
  await put(id, "a?visibility=secret", 3);
  await problemIn(await get(id, "a?version=2"), "variable_secret");
});
