import type { Agent } from '../agent.ts'
import type { ModelResult } from '../model-client.ts'
import { transcriptionChoiceOf } from './choices.ts'
import type { Transcript, TranscriptOf } from './transcribe.ts'

/** Transcribes the audio of messages for an agent. */
export interface Hearing {
  /** True if its assistant has a transcription model. */
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

function resultOf(transcript: Transcript): ModelResult {
  if (transcript.kind === 'retryable' || transcript.kind === 'refused') return transcript
  const text = transcript.kind === 'text' ? transcript.text : ''
  const usage = { provider: '', model: '', inputTokens: 0, outputTokens: 0, ms: 0 }
  return { kind: 'answered', turn: { ...usage, finishReason: 'stop', text, calls: [] } }
}
