import { defined } from '@parley/shared/defined'
import type { ModelResult } from '../model-client.ts'
import { estimateTokens } from './estimate-tokens.ts'

/** The tokens that a call is expected to take of a model, before it is made. */
export interface CallEstimate {
  /** Tokens of what it sends. */
  prompt: number
  /** As the model's config says; undefined where it says nothing. */
  maxOutputTokens?: number | undefined
}

export interface Tokens {
  inputTokens: number
  outputTokens: number
  cachedTokens?: number
}

/** Nothing was read by a model: the call was not made, or its provider refused it with a status. */
const NOT_READ = /^(http_\d+|not_reached|target_refused|bad_request|config_missing|redirected)$/

/**
 * What a call took: as its provider says, or as is estimated of what was sent and received where it says nothing. An
 * answered turn has the same numbers.
 */
export function countedResult(
  result: ModelResult,
  { estimate, received }: { estimate(): CallEstimate; received: readonly string[] },
): { result: ModelResult; tokens: Tokens } {
  if (result.kind === 'answered') {
    const { turn } = result
    const said = [turn.text, ...turn.calls.flatMap(({ tool, args }) => [tool, args])]
    const tokens = countedOf(turn, { estimate, said })
    return { result: { ...result, turn: { ...turn, ...tokens } }, tokens }
  }
  const isRead = !NOT_READ.test(result.code) || received.length > 0
  const none = {
    inputTokens: result.inputTokens ?? 0,
    outputTokens: result.outputTokens ?? 0,
    ...cachedOf(result),
  }
  return { result, tokens: isRead ? countedOf(none, { estimate, said: received }) : none }
}

function countedOf(
  { inputTokens, outputTokens, cachedTokens }: Tokens,
  { estimate, said }: { estimate(): CallEstimate; said: readonly string[] },
): Tokens {
  return {
    inputTokens: isCount(inputTokens) ? inputTokens : estimate().prompt,
    outputTokens: isCount(outputTokens)
      ? outputTokens
      : said.reduce((sum, text) => sum + estimateTokens(text), 0),
    ...cachedOf({ cachedTokens }),
  }
}

const cachedOf = ({ cachedTokens }: { cachedTokens?: number | undefined }) => defined({ cachedTokens })

/** A provider may say anything. */
const isCount = (tokens: number): boolean => Number.isSafeInteger(tokens) && tokens > 0
