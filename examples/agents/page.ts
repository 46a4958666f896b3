/** The example questions of the page. */
export const page = {
  examples: [
    {
      title: "5,000 orders",
      question: "What are the monthly totals of my orders?",
      about: "The orders go from tool to tool. The model reads none of them.",
      agent: "orders",
      // Rounded to two digits; measured with the demo model, which counts four characters per token.
      measured: { sent: 4_800, withoutReferences: 390_000 },
    },
    {
      title: "Two cities",
      question: "Compare the weather in Oslo and Cairo",
      about: "Two results become variables. A third call receives both.",
      agent: "weather",
    },
    {
      title: "A page of 300 KB",
      question: "Change the prices on my page, and publish it.",
      about: "Large text is rewritten by reference. You approve the changes.",
      agent: "pages",
    },
    {
      title: "A refund",
      question: "Refund order ord_00009.",
      about: "It waits for your approval, and shows what would run, with its values.",
      agent: "refunds",
    },
    {
      title: "A plan",
      question: "Make a plan: monthly totals of my orders, then a report.",
      about: "Tool calls that are planned first and run when you approve.",
      agent: "orders",
    },
  ],
};
