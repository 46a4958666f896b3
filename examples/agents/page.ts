/** What the page offers to ask the example agents. */
export const page = {
  examples: [
    {
      title: "Two cities",
      question: "Compare the weather in Oslo and Cairo",
      about: "Two results become variables, and a third call gets both by name.",
      agent: "weather",
    },
    {
      title: "5,000 orders",
      question: "What are the monthly totals of my orders?",
      about: "The orders go from tool to tool. The model reads none of them.",
      agent: "orders",
    },
    {
      title: "A page of 300 KB",
      question: "Change the prices on my page, and publish it.",
      about: "Large text is rewritten by reference. You see how before it goes out.",
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
      about: "Work that is written down first, and runs when you approve it.",
      agent: "orders",
    },
  ],
};
