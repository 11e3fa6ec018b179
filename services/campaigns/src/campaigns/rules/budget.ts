/** The most that a campaign may use. */
export interface CampaignBudget {
  messages?: number | undefined
  money?: { amount: number; perMessage: number; currency: string } | undefined
}

/** How many messages the budget is for; undefined where there is none. */
export function budgetMessages(budget: CampaignBudget | undefined): number | undefined {
  const { messages, money } = budget ?? {}
  const limits = [
    ...(messages === undefined ? [] : [messages]),
    // In millionths: 0.1 and its like have no exact number.
    ...(money === undefined ? [] : [Math.floor(millionths(money.amount) / millionths(money.perMessage))]),
  ]
  return limits.length === 0 ? undefined : Math.min(...limits)
}

const MILLION = 1_000_000
const millionths = (amount: number): number => Math.round(amount * MILLION)
