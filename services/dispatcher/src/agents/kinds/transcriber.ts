import type { Handled, Transcriber } from '../../channels/handle.ts'
import { findAudio } from '../../channels/media/find-media.ts'
import type { LoadAgent } from '../load-agent.ts'
import type { CallSlots, MediaKind } from '../model/media-slots.ts'
import type { Transcript, TranscriptOf } from '../model/transcribe.ts'
import { personOf } from '../usage/budgets-of.ts'
import { AGENT_KINDS } from './kinds.ts'

const TRANSCRIBER_MS = 60_000

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
    const loaded = await loadAgent({ channel, kind: AGENT_KINDS.chat, thread: record.thread })
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

function refused(code: string, reason: string): Handled {
  return { kind: 'permanent', code, fault: 'channel', reason }
}
