import { Problem } from '@parley/shared/problem'
import type { BoundingFetch } from '../../channels/http/guarded-fetch.ts'
import { presentable } from '../../channels/http/presentable.ts'
import { findAudio } from '../../channels/media/find-media.ts'
import { type MediaRecord, type MediaSources, readAudio } from '../../channels/media/read-media.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Agent } from '../agent.ts'
import type { ModelChoice, ModelResult } from '../model-client.ts'
import type { Spender } from '../usage/budgets-of.ts'
import { estimateAudio } from '../usage/estimate-tokens.ts'
import { BUDGET_SPENT, type Usage, useForTurn } from '../usage/usage.ts'
import { transcriptionChoiceOf } from './choices.ts'
import { failureOf, refused, retryable } from './model-failure.ts'
import { transcriptionModelOf } from './provider-models.ts'

const MAX_CHARACTERS = 64 * 1024

/** The result of transcribing the audio of a message. */
export type Transcript =
  /** The words in it; empty for silence. */
  | { kind: 'text'; text: string }
  /** The message has no audio. */
  | { kind: 'none' }
  /** The assistant has no transcription model. */
  | { kind: 'unheard' }
  | Exclude<ModelResult, { kind: 'answered' }>

type TranscribedRecord = Pick<
  MessageRecord,
  'transcript' | 'order' | 'tries' | 'turns' | 'attempts' | 'timeline'
>

/** Has the audio of a message transcribed, unless its record has the text already. Never rejects. */
export type TranscriptOf = (call: {
  agent: Pick<Agent, 'configs' | 'assistant'>
  record: MediaRecord & TranscribedRecord
  /** Of the channel. */
  config: Spender['config']
  person: string
  timeoutMs: number
  signal: AbortSignal
}) => Promise<Transcript>

/** Transcribes with the assistant's own model (config `transcription`). Whoever calls it has a slot for the audio. */
export function createTranscriptOf(options: {
  fetch: BoundingFetch
  sources: MediaSources
  usage: Pick<Usage, 'meter' | 'spent'>
}): TranscriptOf {
  return async (call) => {
    const { record, agent } = call
    if (record.transcript !== undefined) return { kind: 'text', text: record.transcript }
    if (findAudio(record) === undefined) return { kind: 'none' }
    const found = transcriptionChoiceOf(agent)
    if (found === undefined) return { kind: 'unheard' }
    if (found.kind === 'missing') return refused('config_missing', found.reason)
    return transcribed(found.choice, call, options)
  }
}

async function transcribed(
  choice: ModelChoice,
  { record, agent, config, person, timeoutMs, signal }: Parameters<TranscriptOf>[0],
  { fetch, sources, usage }: Parameters<typeof createTranscriptOf>[0],
): Promise<Transcript> {
  const deadline = AbortSignal.timeout(timeoutMs)
  const abortSignal = AbortSignal.any([signal, deadline])
  const use = useForTranscript(record, { assistant: agent.assistant._id, choice, config, person })
  const spent = usage.spent(use)
  if (spent !== undefined) return refused(BUDGET_SPENT, spent)
  const failed = (error: unknown) => {
    const present = (text: string) => presentable(text, { key: choice.apiKey, prompt: [] })
    return failureOf(error, { timeoutMs, timedOut: deadline.aborted, cancelled: signal.aborted, present })
  }
  try {
    const model = await transcriptionModelOf(choice, fetch)
    if (model === undefined)
      return refused('config_missing', `${choice.provider} has no transcription models.`)
    const { bytes } = await readAudio(record, sources)
    const { transcribe } = await import('ai')
    const ask = async (): Promise<ModelResult> => {
      const started = performance.now()
      try {
        const { text } = await transcribe({ model, audio: bytes, maxRetries: 0, abortSignal })
        return heard(choice, { text, ms: performance.now() - started })
      } catch (error) {
        const isSilence = error instanceof Error && error.name === 'AI_NoTranscriptGeneratedError'
        return isSilence ? heard(choice, { text: '', ms: performance.now() - started }) : failed(error)
      }
    }
    const estimate = () => ({ prompt: estimateAudio(bytes.length) })
    const result = await usage.meter(use, { estimate, timeoutMs, signal, ask })
    return result.kind === 'answered' ? { kind: 'text', text: result.turn.text } : result
  } catch (error) {
    return error instanceof Problem ? failureOfAudio(error) : failed(error)
  }
}

function heard({ provider, model }: ModelChoice, { text, ms }: { text: string; ms: number }): ModelResult {
  const said = text.slice(0, MAX_CHARACTERS).toWellFormed()
  const turn = {
    provider,
    model,
    inputTokens: 0,
    outputTokens: 0,
    ms,
    finishReason: 'stop',
    text: said,
    calls: [],
  }
  return { kind: 'answered', turn }
}

/** Its answer is no turn, and has the same id however often a crash makes it ask. */
function useForTranscript(record: MediaRecord & TranscribedRecord, of: Parameters<typeof useForTurn>[1]) {
  const { answer, failure, ...use } = useForTurn(record, of)
  return { ...use, answer: `${answer}:audio`, failure: `${failure}:audio`, of: 'transcript' as const }
}

function failureOfAudio({ code, message }: Problem): Transcript {
  const reason = `The audio can't be read: ${message}`
  return code === 'unavailable' || code === 'upstream_timeout'
    ? retryable('audio_unavailable', reason)
    : refused('audio_unreadable', reason)
}
