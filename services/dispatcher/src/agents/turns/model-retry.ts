import { RETRY_DELAYS } from '../../message/settle.ts'
import { EMPTY_RESPONSE } from '../model/model-failure.ts'

/** Tries on one model before the next one is asked. */
const TRIES = 3
const BACKOFF_MS = 500
/** For longer than that another model is asked instead, where there is one. */
const PATIENCE_MS = 5_000

/** Which of the models a try is for: each is tried three times, then the next; after the last, the first again. */
export function choiceOf(tries: number, choices: number): number {
  return Math.floor(tries / TRIES) % choices
}

/** How many models are left to ask before all have failed, the one of this try included. */
function choicesLeft(tries: number, choices: number): number {
  return choices - choiceOf(tries, choices)
}

/** True if a try is one of the first round, in which each model is tried three times. */
export function hasTriesLeft(tries: number, choices: number): boolean {
  return tries < TRIES * choices
}

/**
 * After a try that failed and may work later: how many tries count from now on, and how long to wait (milliseconds).
 * Another try of the same model comes after a backoff, or when the provider asks for it; the next model is asked at
 * once; when all have failed, the first one is asked again after the delays of any other message.
 */
export function retryOf(options: { tries: number; choices: number; retryAfterSeconds?: number }): {
  tries: number
  delay: number
} {
  const { tries, choices, retryAfterSeconds = 0 } = options
  const asked = retryAfterSeconds * 1_000
  const hasNext = choiceOf(tries, choices) < choices - 1
  const isLastTry = tries % TRIES === TRIES - 1
  if (hasNext && (isLastTry || asked > PATIENCE_MS))
    return { tries: tries - (tries % TRIES) + TRIES, delay: 0 }
  if (!isLastTry) return { tries: tries + 1, delay: asked || BACKOFF_MS * 2 ** (tries % TRIES) }
  const rounds = Math.floor(tries / (TRIES * choices))
  const delay = RETRY_DELAYS[Math.min(rounds, RETRY_DELAYS.length - 1)] ?? 0
  return { tries: tries + 1, delay: Math.max(asked, delay) }
}

/**
 * After a try that is final for its model: the next one is asked at once; after the last, the first again where another
 * failed in a way that may mend. Undefined where there is none to ask. An empty answer may be a whim: where no other model is
 * left, the same is asked once more.
 */
export function afterRefusal(options: {
  tries: number
  choices: number
  code: string
  mayMend: boolean
}): { tries: number; delay: number } | undefined {
  const { tries, choices, code, mayMend } = options
  const next = nextChoice(tries, choices)
  if (next !== undefined) return { tries: next, delay: 0 }
  if (code === EMPTY_RESPONSE && tries % TRIES === 0) return { tries: tries + 1, delay: 0 }
  const lastTry = tries - (tries % TRIES) + TRIES - 1
  return mayMend ? retryOf({ tries: lastTry, choices }) : undefined
}

/** After a try that took all the time that it had: the next model, or undefined where there is none. */
export function nextChoice(tries: number, choices: number): number | undefined {
  return choicesLeft(tries, choices) > 1 ? tries - (tries % TRIES) + TRIES : undefined
}
