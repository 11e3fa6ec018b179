import { Problem } from '@parley/shared/problem'
import { presentable } from '../../channels/http/presentable.ts'
import { findAudio } from '../../channels/media/find-media.ts'
import { type MediaRecord, type MediaSources, readAudio } from '../../channels/media/read-media.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Agent } from '../agent.ts'
import type { ModelChoice, ModelResult } from '../model-client.ts'
import { type Usage, useForTurn } from '../usage/usage.ts'
import { transcriptionChoiceOf } from './choices.ts'
import { failureOf, refused, retryable } from './model-failure.ts'
import { transcriptionModelOf } from './provider-models.ts'

const MAX_CHARACTERS = 64 * 1024

/** What came of the audio of a message. */
export type Transcript =
  /** What is said in it; empty for silence. */
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
  timeoutMs: number
  signal: AbortSignal
}) => Promise<Transcript>

/** Transcribes with the assistant's own model (config `transcription`). Whoever calls it has a slot for the audio. */
export function createTranscriptOf(options: {
  fetch: typeof globalThis.fetch
  sources: MediaSources
  usage: Pick<Usage, 'note'>
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
  { record, agent, timeoutMs, signal }: Parameters<TranscriptOf>[0],
  { fetch, sources, usage }: Parameters<typeof createTranscriptOf>[0],
): Promise<Transcript> {
  const deadline = AbortSignal.timeout(timeoutMs)
  const abortSignal = AbortSignal.any([signal, deadline])
  const use = useForTranscript(record, { assistant: agent.assistant._id, choice })
  let started: number | undefined
  const note = async (kind: 'answered' | 'failed') => {
    if (started !== undefined && !signal.aborted)
      await usage.note(use, { kind, ms: performance.now() - started })
  }
  try {
    const model = await transcriptionModelOf(choice, fetch)
    if (model === undefined)
      return refused('config_missing', `${choice.provider} has no transcription models.`)
    const { bytes } = await readAudio(record, sources)
    const { transcribe } = await import('ai')
    started = performance.now()
    const { text } = await transcribe({ model, audio: bytes, maxRetries: 0, abortSignal })
    await note('answered')
    return { kind: 'text', text: text.slice(0, MAX_CHARACTERS).toWellFormed() }
  } catch (error) {
    if (error instanceof Problem) return failureOfAudio(error)
    const isSilence = error instanceof Error && error.name === 'AI_NoTranscriptGeneratedError'
    await note(isSilence ? 'answered' : 'failed')
    if (isSilence) return { kind: 'text', text: '' }
    const present = (text: string) => presentable(text, { key: choice.apiKey, prompt: [] })
    return failureOf(error, { timeoutMs, timedOut: deadline.aborted, cancelled: signal.aborted, present })
  }
}

/** Its answer is no turn, and has the same id however often a crash makes it ask. */
function useForTranscript(record: MediaRecord & TranscribedRecord, of: Parameters<typeof useForTurn>[1]) {
  const { answer, failure, ...use } = useForTurn(record, of)
  return { ...use, answer: `${answer}:audio`, failure: `${failure}:audio`, isTurn: false }
}

function failureOfAudio({ code, message }: Problem): Transcript {
  const reason = `The audio can't be read: ${message}`
  return code === 'unavailable' || code === 'upstream_timeout'
    ? retryable('audio_unavailable', reason)
    : refused('audio_unreadable', reason)
}
