/** Creates a shop's orders, whose JSON has about this many characters. Deterministic. */
function reportOf(chars: number): readonly Order[] {
  const orders: Order[] = [];
  for (let length = 2; length < chars;) {
    const order = orderOf(orders.length);
    length += JSON.stringify(order).length + 1;
    orders.push(order);
  }
  return orders;
}

type Order = ReturnType<typeof orderOf>;

const CITIES = ["Oslo", "Lisbon", "Kyoto", "Lima", "Accra", "Pune", "Quito"];
const NOTES = ["paid by card", "leave it at the door", "a gift, wrap it please", "call first", ""];

function orderOf(index: number) {
  // The multiplier of a linear congruential generator: records differ, without state.
  const mixed = (index * 1_103_515_245 + 12_345) % 2_147_483_648;
  return {
    id: `ord_${String(index).padStart(5, "0")}`,
    customer: `customer ${mixed % 9_973}`,
    city: CITIES[mixed % CITIES.length] ?? "",
    total: (mixed % 100_000) / 100,
    note: NOTES[mixed % NOTES.length] ?? "",
  };
}

/** A tool's large result, made before it is measured. */
export const REPORT = reportOf(200_000);
/** A tool's small result. */
export const SMALL = { said: "It is as it was." };
