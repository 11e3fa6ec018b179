import type { Schemas } from '@parley/client'

/** What a model answered at once, and what came of the tools that it called. */
export type Turn = Schemas['Turn']

/** What a message took of the model, in words; the turns of one answer. */
export function costOf(turns: readonly Turn[]): string {
  const sum = (of: (turn: Turn) => number) => turns.reduce((total, turn) => total + of(turn), 0)
  const tokens = `${number(sum(({ inputTokens }) => inputTokens))} tokens in, ${number(sum(({ outputTokens }) => outputTokens))} out`
  const models = [...new Set(turns.map(({ model }) => model))].join(', ')
  const turnCount = turns.length === 1 ? '1 turn' : `${turns.length} turns`
  return [models, turnCount, tokens, `${number(Math.round(sum(({ ms }) => ms)))} ms`].join(' · ')
}

const NUMBER = new Intl.NumberFormat()
const number = (value: number): string => NUMBER.format(value)
