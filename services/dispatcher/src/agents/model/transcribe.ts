import { Problem } from '@parley/shared/problem'
import { findAudio } from '../../channels/audio/find-audio.ts'
import { type AudioRecord, type AudioSources, readAudio } from '../../channels/audio/read-audio.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Agent } from '../agent.ts'
import type { ModelChoice, ModelResult } from '../model-client.ts'
import { transcriptionChoiceOf } from './choices.ts'
import { failureOf, refused, retryable } from './model-failure.ts'
import { transcriptionModelOf } from './provider-models.ts'
import { presentable } from './provider-text.ts'

/** Each has up to 16 MiB of audio in memory, twice. */
const MAX_AT_ONCE = 8
const BUSY_SECONDS = 1
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

/** Has the audio of a message transcribed, unless its record has the text already. Never rejects. */
export type TranscriptOf = (call: {
  agent: Pick<Agent, 'configs'>
  record: AudioRecord & Pick<MessageRecord, 'transcript'>
  timeoutMs: number
  signal: AbortSignal
}) => Promise<Transcript>

/** Transcribes with the assistant's own model (config `transcription`), eight messages at once. */
export function createTranscriptOf(options: {
  fetch: typeof globalThis.fetch
  sources: AudioSources
}): TranscriptOf {
  let inFlight = 0
  return async (call) => {
    const { record, agent } = call
    if (record.transcript !== undefined) return { kind: 'text', text: record.transcript }
    if (findAudio(record) === undefined) return { kind: 'none' }
    const found = transcriptionChoiceOf(agent)
    if (found === undefined) return { kind: 'unheard' }
    if (found.kind === 'missing') return refused('config_missing', found.reason)
    if (inFlight >= MAX_AT_ONCE)
      return { ...retryable('busy', 'Too much audio is being transcribed.'), retryAfterSeconds: BUSY_SECONDS }
    inFlight++
    return transcribed(found.choice, call, options).finally(() => inFlight--)
  }
}

async function transcribed(
  choice: ModelChoice,
  { record, timeoutMs, signal }: Parameters<TranscriptOf>[0],
  { fetch, sources }: { fetch: typeof globalThis.fetch; sources: AudioSources },
): Promise<Transcript> {
  const deadline = AbortSignal.timeout(timeoutMs)
  const abortSignal = AbortSignal.any([signal, deadline])
  try {
    const model = await transcriptionModelOf(choice, fetch)
    if (model === undefined)
      return refused('config_missing', `${choice.provider} has no transcription models.`)
    const { bytes } = await readAudio(record, sources)
    const { transcribe } = await import('ai')
    const { text } = await transcribe({ model, audio: bytes, maxRetries: 0, abortSignal })
    return { kind: 'text', text: text.slice(0, MAX_CHARACTERS).toWellFormed() }
  } catch (error) {
    if (error instanceof Problem) return failureOfAudio(error)
    if (error instanceof Error && error.name === 'AI_NoTranscriptGeneratedError')
      return { kind: 'text', text: '' }
    const present = (text: string) => presentable(text, { key: choice.apiKey, prompt: [] })
    return failureOf(error, { timeoutMs, timedOut: deadline.aborted, cancelled: signal.aborted, present })
  }
}

function failureOfAudio({ code, message }: Problem): Transcript {
  const reason = `The audio can't be read: ${message}`
  return code === 'unavailable' || code === 'upstream_timeout'
    ? retryable('audio_unavailable', reason)
    : refused('audio_unreadable', reason)
}
