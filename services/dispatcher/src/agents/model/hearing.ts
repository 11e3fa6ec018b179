import type { Handled, Transcriber } from '../../channels/handle.ts'
import { findAudio } from '../../channels/media/find-media.ts'
import type { Agent } from '../agent.ts'
import type { LoadAgent } from '../load-agent.ts'
import type { ModelResult } from '../model-client.ts'
import { personOf } from '../usage/budgets-of.ts'
import { transcriptionChoiceOf } from './choices.ts'
import type { CallSlots, MediaKind } from './media-slots.ts'
import type { Transcript, TranscriptOf } from './transcribe.ts'

const TRANSCRIBER_MS = 60_000

/** What an agent hears of a message's audio. */
export interface Hearing {
  /** Whether its assistant has a model for that. */
  canHear(agent: Agent): boolean
  /** Its text is what is said. Never rejects. */
  hear(call: Parameters<TranscriptOf>[0]): Promise<ModelResult>
}

/** Hearing by the model of config `transcription`. */
export function createHearing(transcriptOf: TranscriptOf): Hearing {
  return {
    canHear: (agent) => transcriptionChoiceOf(agent) !== undefined,
    hear: async (call) => resultOf(await transcriptOf(call)),
  }
}

/** `native:agents/transcriber`: the text of a message's audio, within 60 s; nothing where it has none. */
export function createTranscriber({
  loadAgent,
  transcriptOf,
  mediaSlots,
}: {
  loadAgent: LoadAgent
  transcriptOf: TranscriptOf
  mediaSlots: Pick<Record<MediaKind, CallSlots>, 'audio'>
}): Transcriber {
  return async ({ channel, record, message, signal: given }) => {
    const loaded = await loadAgent({ channel, type: 'chat', thread: record.thread })
    if (loaded.kind === 'missing') return refused('assistant_missing', loaded.reason)
    const { agent } = loaded
    if (findAudio(record) === undefined) return { kind: 'answer', answer: {} }
    const busy = () => ({ kind: 'busy' as const, room: mediaSlots.audio.room(record.workspace) })
    const preempt = new AbortController()
    const release = mediaSlots.audio.take(record.workspace, () => preempt.abort())
    if (release === undefined) return busy()
    const signal = AbortSignal.any([given, preempt.signal, AbortSignal.timeout(TRANSCRIBER_MS)])
    const of = { agent, record, config: channel.config, person: personOf(message, record.thread) }
    const transcript = transcriptOf({ ...of, timeoutMs: TRANSCRIBER_MS, signal })
    const heard = await transcript.finally(release)
    return preempt.signal.aborted && heard.kind === 'retryable' ? busy() : handledOf(heard)
  }
}

function handledOf(transcript: Transcript): Handled {
  switch (transcript.kind) {
    case 'text':
      return { kind: 'answer', answer: { message: transcript.text } }
    case 'none':
      return { kind: 'answer', answer: {} }
    case 'unheard':
      return refused('config_missing', 'The assistant has no config transcription.')
    case 'refused':
      return refused(transcript.code, transcript.reason)
    case 'retryable':
      return { ...transcript, fault: 'channel' }
  }
}

function resultOf(transcript: Transcript): ModelResult {
  if (transcript.kind === 'retryable' || transcript.kind === 'refused') return transcript
  const text = transcript.kind === 'text' ? transcript.text : ''
  const usage = { provider: '', model: '', inputTokens: 0, outputTokens: 0, ms: 0 }
  return { kind: 'answered', turn: { ...usage, finishReason: 'stop', text, calls: [] } }
}

function refused(code: string, reason: string): Handled {
  return { kind: 'permanent', code, fault: 'channel', reason }
}
