/** The price of a message: the same for all, or by the category that it counts as. */
type MessagePrice = number | Readonly<Record<string, number>>

/** The most that a campaign may use. */
export interface CampaignBudget {
  messages?: number | undefined
  money?: { amount: number; perMessage: MessagePrice; currency: string } | undefined
}

/** Returns the price of one message of a category; the highest price where the prices do not name the category. */
export function priceOf(price: MessagePrice, category: string | undefined): number {
  if (typeof price === 'number') return price
  const name = category?.toLowerCase() ?? ''
  return (Object.hasOwn(price, name) ? price[name] : undefined) ?? Math.max(...Object.values(price))
}

/**
 * How many messages the budget is for, where they count as the dearest of these categories; undefined where there is no
 * budget.
 */
export function budgetMessages(
  budget: CampaignBudget | undefined,
  categories: readonly string[],
): number | undefined {
  const { messages, money } = budget ?? {}
  const limits = [
    ...(messages === undefined ? [] : [messages]),
    ...(money === undefined ? [] : [messagesFor(money, categories)]),
  ]
  return limits.length === 0 ? undefined : Math.min(...limits)
}

function messagesFor(
  { amount, perMessage }: NonNullable<CampaignBudget['money']>,
  categories: readonly string[],
): number {
  const named = categories.length === 0 ? [undefined] : categories
  const price = Math.max(...named.map((one) => priceOf(perMessage, one)))
  // In millionths: 0.1 and its like have no exact number.
  return Math.floor(millionths(amount) / millionths(price))
}

const MILLION = 1_000_000
const millionths = (amount: number): number => Math.round(amount * MILLION)
